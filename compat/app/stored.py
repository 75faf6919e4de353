"""Stored answers: read back, and refused where a value is not what it is called.

A plan that was stored may have been edited since, or be somebody else's; its values end in Dockerfiles and commands.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from compat import plan as plans
from compat.app.files import only_once, read_document, shown
from compat.errors import InputError, InputErrors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.plan import Answer, Plan

_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_VERSION: Final = r"[0-9A-Za-z.!+_-]{1,99}"
_MINOR: Final = r"[0-9]\.[0-9]{1,2}t?"
# a requirement of the shapes that the resolver writes, PEP 508 without address and marker
_WANTED: Final = rf"{_NAME}(\[[A-Za-z0-9._,-]{{1,99}}\])?([<>=!~]{{1,3}}[0-9A-Za-z.!+_*-]{{1,99}}(,|$))*"
# What the values of a stored plan look like, by key; what may be empty has an empty choice.
_SOUND: Final = {
    "runtime": (r"[a-z]{2,10}[0-9.]{0,12}", "cuda12.6, rocm6.4 or cpu"),
    "python": (_MINOR, "a minor version such as 3.11"),
    "base_image.python": (rf"|{_MINOR}", "a minor version such as 3.11"),
    **dict.fromkeys(("arch", "also"), (r"[a-z0-9_]{2,20}", "x86_64 or aarch64")),
    "builds.name": (_NAME, "the name of a package"),
    "builds.version": (_VERSION, "a version"),
    "builds.runtime": (r"|[a-z]{2,10}[0-9.]{0,12}", "cuda12.6, rocm6.4 or cpu"),
    **dict.fromkeys(
        ("builds.index", "builds.address"),
        (r"|https?://[A-Za-z0-9._~:/@%+-]{1,300}(#sha256=[0-9a-f]{64})?", "an http address"),
    ),
    "builds.extras": (_NAME, "names of extras"),
    "builds.module": (r"|[A-Za-z_][A-Za-z0-9_.]{0,99}", "a module"),
    **dict.fromkeys(("builds.pins", "constraints", "asked"), (_WANTED, "requirements")),
    "unjudged": (rf"{_WANTED}|{_NAME} @ git\+https://[A-Za-z0-9._/#&=-]{{1,300}}", "requirements"),
    "system": (r"[a-z]{2,20}[0-9.]{0,12}", "libraries such as cuda11.8"),
    "base_image.python_from": (r"image|distribution|uv", "image, distribution or uv"),
    "driver.package": (r"|cuda-compat-[0-9]{1,3}-[0-9]{1,3}", "a package such as cuda-compat-12-8"),
    "matrix": (r"|[A-Za-z0-9:._-]{1,200}", "a digest"),
}


def stored(name: str) -> Answer:
    """The answer of a file, which holds a plan.

    Raises:
        InputError: if it cannot be read, is no answer, or answers with something else than a plan.
        InputErrors: naming each key whose value is not what it is called.
    """
    return _checked(read_document(name), shown(name))


def stored_lists(names: Sequence[str]) -> tuple[Answer, ...]:
    """The answers of some files, each of which may also hold the list of answers that several hosts get.

    Raises:
        InputError: as :func:`stored`.
    """
    only_once(names)
    return tuple(_checked(document, where) for name in names for document, where in _documents(name))


def _documents(name: str) -> Iterator[tuple[Any, str]]:
    """The answers of a file, each with where it stands."""
    found = read_document(name, lists=True)
    if isinstance(found, list):
        yield from ((document, f"{shown(name)}[{number}]") for number, document in enumerate(found))
    else:
        yield found, shown(name)


def _checked(document: Any, where: str) -> Answer:
    """One stored answer."""
    answer = plans.load(document, where)
    if answer.plan is None or answer.status != "plan":
        raise InputError(f"holds no plan but a {answer.status}", where=where)
    _demand_sound(answer.plan, where)
    return answer


def _demand_sound(plan: Plan, where: str) -> None:
    """Refuse a stored plan whose values are not what they are called: they end in Dockerfiles and in commands."""
    faults = [
        InputError(f"plan.{key} is {value[:60]!r}", where=where, expected=expected)
        for key, (pattern, expected) in _SOUND.items()
        for value in _texts(plan, key)
        if not re.fullmatch(pattern, value, re.ASCII)
    ]
    if not plan.builds:
        faults.append(InputError("plan.builds is empty", where=where, expected="what to install"))
    if faults:
        raise InputErrors(faults)


def _texts(plan: Plan, key: str) -> list[str]:
    """The texts that stand under a key of a plan, of all items of its lists; none within what it lacks."""
    found: list[Any] = [plan]
    for name in key.split("."):
        held = [getattr(one, name) for one in found if one is not None]
        found = [item for one in held for item in (one if isinstance(one, tuple) else (one,))]
    return found
