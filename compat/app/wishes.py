"""What is wanted, as people say it: requirements typed, and those of requirement files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat.errors import InputError, UnknownKindError
from compat.lazy import dataclass, pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.matrix import Matrix
    from compat.sources.values import Ask

_FILES: Final = (".txt", ".in", ".toml", ".yml", ".yaml", ".lock", ".cfg")
_ONE_SIGN: Final = pattern(r"([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?)=([0-9][^=]*)")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is wanted: ``known`` is what the matrix can weigh, ``beside`` the rest of the files' requirements.

    ``pythons`` has the Python of each file of conda's that names one: only ``--python`` asks for it.
    """

    known: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()


def wanted(typed: Sequence[str], files: Sequence[str], matrix: Matrix) -> Wishes:
    """The requirements that were typed and those of some files, each once.

    What was typed is always weighed: a name that the matrix does not know is a slip there, and common in a file.

    Raises:
        InputError: for a file's name in place of a requirement, one equals sign, or a file that holds no requirement.
    """
    for text in typed:
        demand_requirement(text)
    asks = {name: _asked(name) for name in files}
    listed = [line for name, ask in asks.items() for line in _listed(name, ask, matrix)]
    pythons = tuple(ask.python for ask in asks.values() if ask.kind == "conda" and ask.python)
    known = [text for name, text in listed if _is_known(name, matrix)]
    beside = [text for name, text in listed if not _is_known(name, matrix)]
    return Wishes(tuple(dict.fromkeys((*typed, *known))), tuple(dict.fromkeys(beside)), pythons)


def demand_requirement(text: str, where: str = "") -> None:
    """Refuse what people type in place of a requirement, with what they meant.

    Raises:
        InputError: for the name of a file, for an address, and for a single equals sign.
    """
    if "://" in text.partition("@")[0]:
        hint = f"`envcheck inspect {shlex.quote(text)}` reads a wheel"
        raise InputError(f"{text[:80]!r} is an address", where=where, expected="a requirement", hint=hint)
    if text.lower().endswith(_FILES) or "/" in text.partition("@")[0] or Path(text).is_file():
        raise InputError(
            f"{text[:80]!r} is a file",
            where=where,
            expected="a requirement",
            hint=f"read it with -r {shlex.quote(text)}",
        )
    if found := _ONE_SIGN.fullmatch(text.strip()):
        hint = f"did you mean {found[1]}=={found[2]}?"
        raise InputError(f"{text[:80]!r} has one equals sign", where=where, expected="two", hint=hint)


def _asked(name: str) -> Ask:
    """What a file asks for: nothing if it is of no known kind."""
    from compat.app.lint import ask_of
    from compat.sources.values import Ask

    try:
        return ask_of(name)
    except UnknownKindError:
        return Ask(file=name, kind="requirements")


def _listed(name: str, ask: Ask, matrix: Matrix) -> list[tuple[str, str]]:
    """Name and text of each requirement of a file, those of the files that it names included.

    Of conda's packages those that the matrix knows are taken under pip's names.
    """
    from compat.lint.conda import piped

    found: list[tuple[str, str]] = []
    lost: list[str] = []
    for step in (step for stage in ask.stages for step in stage.installs):
        if step.manager not in {"pip", "uv", "conda"}:
            continue
        for item in step.requests:
            known = piped(item.name, matrix)
            if step.manager != "conda":
                found.append((item.name, f"{item.text}; {item.marker}" if item.marker else item.text))
            elif _is_known(known, matrix):
                found.append((known, known + item.spec))
            elif item.name not in {"python", "pip"}:
                lost.append(item.name)
    if lost:
        why = f"has packages of conda's, which a plan does not install: {', '.join(lost)[:200]}"
        hint = "move them there; --apt NAME for the distribution's; for conda: `envcheck resolve REQ --format conda`"
        raise InputError(why, where=name, expected="what is on the package index under pip:", hint=hint)
    if not found:
        raise InputError("holds no requirement", where=name, expected="lines such as torch==2.9.1")
    return found


def _is_known(name: str, matrix: Matrix) -> bool:
    return matrix.package(name) is not None
