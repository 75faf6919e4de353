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
_PLACED: Final = pattern(r"[^@;=<>!~\s]*/")  # a slash before anything that ends a requirement's name
_ONE_SIGN: Final = pattern(r"([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?)=([0-9][^=]*)")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is wanted: ``known`` is what the matrix can weigh, ``beside`` the rest of the files' requirements.

    ``pythons`` has the Python of each file of conda's that names one: only ``--python`` asks for it. ``conda`` are the
    packages of such files that no plan installs, and ``channels`` where they come from.
    """

    known: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    conda: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()


def wanted(typed: Sequence[str], files: Sequence[str], matrix: Matrix, *, conda: bool = False) -> Wishes:
    """The requirements that were typed and those of some files, each once.

    What was typed is always weighed: a name that the matrix does not know is a slip there, and common in a file.
    ``conda``: whether the answer has room for packages of conda's.

    Raises:
        InputError: for a file's name in place of a requirement, one equals sign, or a file that holds no requirement.
    """
    for text in typed:
        demand_requirement(text)
    asks = {name: _asked(name) for name in files}
    told = [(name, _apart(name, ask, matrix, taken=conda), _listed(ask, matrix)) for name, ask in asks.items()]
    if empty := next((name for name, *held in told if not any(held)), ""):
        raise InputError("holds no requirement", where=empty, expected="lines such as torch==2.9.1")
    apart = [item for _, items, _ in told for item in items]
    listed = [line for *_, lines in told for line in lines]
    pythons = tuple(ask.python for ask in asks.values() if ask.kind == "conda" and ask.python)
    installs = (step for ask in asks.values() for stage in ask.stages for step in stage.installs)
    known = [text for name, text in listed if _is_known(name, matrix)]
    beside = [text for name, text in listed if not _is_known(name, matrix)]
    return Wishes(
        known=tuple(dict.fromkeys((*typed, *known))),
        beside=tuple(dict.fromkeys(beside)),
        pythons=pythons,
        conda=tuple(dict.fromkeys(apart)),
        channels=tuple(dict.fromkeys(name for step in installs for name in step.channels)) if apart else (),
    )


def demand_requirement(text: str, where: str = "") -> None:
    """Refuse what people type in place of a requirement, with what they meant.

    Raises:
        InputError: for the name of a file, for an address, and for a single equals sign.
    """
    if "://" in text.partition("@")[0]:
        hint = f"`envcheck inspect {shlex.quote(text)}` reads a wheel"
        raise InputError(f"{text[:80]!r} is an address", where=where, expected="a requirement", hint=hint)
    if text.lower().endswith(_FILES) or _PLACED.match(text) or Path(text).is_file():
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


def _listed(ask: Ask, matrix: Matrix) -> list[tuple[str, str]]:
    """Name and text of each requirement of a file, those of the files that it names included.

    Of conda's packages those that the matrix knows are taken under pip's names.
    """
    from compat.lint.conda import piped

    found: list[tuple[str, str]] = []
    for step in (step for stage in ask.stages for step in stage.installs):
        for item in step.requests if step.manager in {"pip", "uv", "conda"} else ():
            known = piped(item.name, matrix)
            if step.manager != "conda":
                found.append((item.name, f"{item.text}; {item.marker}" if item.marker else item.text))
            elif _is_known(known, matrix):
                found.append((known, known + item.spec))
    return found


def _apart(name: str, ask: Ask, matrix: Matrix, *, taken: bool) -> list[str]:
    """The packages of conda's that no plan installs, as they are written.

    Raises:
        InputError: where they are not ``taken``, and for those that choose a CUDA, which the plan does.
    """
    from compat.lint.conda import CHOOSE_CUDA, piped

    steps = [step for stage in ask.stages for step in stage.installs if step.manager == "conda"]
    found = [item for step in steps for item in step.requests if not _is_known(piped(item.name, matrix), matrix)]
    found = [item for item in found if item.name not in {"python", "pip"}]
    lost = [item.name for item in found if not taken or item.name in CHOOSE_CUDA]
    if lost:
        why = f"has packages of conda's, which a plan does not install: {', '.join(lost)[:200]}"
        hint = "`envcheck dockerfile` takes the others from conda's channels; CUDA is named by --cuda"
        raise InputError(why, where=name, expected="what is on the package index under pip:", hint=hint)
    return [item.written for item in found]


def _is_known(name: str, matrix: Matrix) -> bool:
    return matrix.package(name) is not None
