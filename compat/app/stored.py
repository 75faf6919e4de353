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
# a requirement of the shapes that the resolver writes, PEP 508 without address and marker
_WANTED: Final = rf"{_NAME}(\[[A-Za-z0-9._,-]{{1,99}}\])?([<>=!~]{{1,3}}[0-9A-Za-z.!+_*-]{{1,99}}(,|$))*"
# What the values of a stored plan look like, by key.
_SOUND: Final = {
    "plan.runtime": (r"[a-z]{2,10}[0-9.]{0,12}", "cuda12.6, rocm6.4 or cpu"),
    "plan.python": (r"[0-9]\.[0-9]{1,2}t?", "a minor version such as 3.11"),
    "plan.arch": (r"[a-z0-9_]{2,20}", "x86_64 or aarch64"),
    "plan.builds.name": (_NAME, "the name of a package"),
    "plan.builds.version": (_VERSION, "a version"),
    "plan.builds.runtime": (r"[a-z]{2,10}[0-9.]{0,12}", "cuda12.6, rocm6.4 or cpu"),
    "plan.builds.index": (r"https?://[A-Za-z0-9._~:/@%+-]{1,300}", "an http address"),
    "plan.builds.extras": (_NAME, "names of extras"),
    "plan.builds.module": (r"[A-Za-z_][A-Za-z0-9_.]{0,99}", "a module"),
    "plan.builds.pins": (_WANTED, "requirements"),
    "plan.constraints": (_WANTED, "requirements"),
    "plan.asked": (_WANTED, "requirements"),
    "plan.unjudged": (_WANTED, "requirements"),
    "plan.system": (r"[a-z]{2,20}[0-9.]{0,12}", "libraries such as cuda11.8"),
    "plan.base_image.python_from": (r"image|distribution|uv", "image, distribution or uv"),
    "plan.driver.package": (r"cuda-compat-[0-9]{1,3}-[0-9]{1,3}", "a package such as cuda-compat-12-8"),
    "plan.matrix": (r"[A-Za-z0-9:._-]{1,200}", "a digest"),
}


def stored(names: Sequence[str]) -> tuple[Answer, ...]:
    """The answers of some files, each of which holds a plan.

    Raises:
        InputError: if a file cannot be read, is no answer, or answers with something else than a plan.
        InputErrors: naming each key whose value is not what it is called.
    """
    only_once(names)
    return tuple(_checked(read_document(name), shown(name)) for name in names)


def stored_lists(names: Sequence[str]) -> tuple[Answer, ...]:
    """The same, where a file may also hold the list of answers that several hosts get.

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
    """Refuse a stored plan whose values are not what they are called: they end in Dockerfiles and in commands.

    Raises:
        InputErrors: naming each key.
    """
    base, builds = plan.base_image, plan.builds
    found = {
        "plan.runtime": (plan.runtime,),
        "plan.python": (plan.python, *((base.python,) if base and base.python else ())),
        "plan.arch": plan.archs,
        "plan.builds.name": tuple(build.name for build in builds),
        "plan.builds.version": tuple(build.version for build in builds),
        "plan.builds.runtime": tuple(build.runtime for build in builds if build.runtime),
        "plan.builds.index": tuple(build.index for build in builds if build.index),
        "plan.builds.extras": tuple(extra for build in builds for extra in build.extras),
        "plan.builds.module": tuple(build.module for build in builds if build.module),
        "plan.builds.pins": tuple(pin for build in builds for pin in build.pins),
        "plan.constraints": plan.constraints,
        "plan.asked": plan.asked,
        "plan.unjudged": plan.unjudged,
        "plan.system": plan.system,
        "plan.base_image.python_from": (base.python_from,) if base else (),
        "plan.driver.package": (plan.driver.package,) if plan.driver.package else (),
        "plan.matrix": (plan.matrix,) if plan.matrix else (),
    }
    faults = [
        InputError(f"{key} is {value[:60]!r}", where=where, expected=expected)
        for key, (pattern, expected) in _SOUND.items()
        for value in found[key]
        if not re.fullmatch(pattern, value, re.ASCII)
    ]
    if not builds:
        faults.append(InputError("plan.builds is empty", where=where, expected="what to install"))
    if faults:
        raise InputErrors(faults)
