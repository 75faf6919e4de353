"""Where a requirement would be installed, and whether its marker holds there (PEP 508, "Environment Markers").

A marker is judged in the :class:`Environment` that the caller gives, never in that of the interpreter that runs this.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Final

from compat.lazy import dataclass, pattern
from compat.versions import PLAIN_MARKER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_VARIABLE: Final = pattern(r"[a-z_]+(?= == )")
_QUOTED: Final = pattern(r"\"[^\"]*\"|'[^']*'")
# System of a wheel platform -> its names in markers: sys_platform, platform_system, os_name.
# Source: PEP 508, the same.
_SYSTEMS: Final = {
    "linux": ("linux", "Linux", "posix"),
    "win": ("win32", "Windows", "nt"),
    "macosx": ("darwin", "Darwin", "posix"),
}


@dataclass(frozen=True, slots=True)
class Environment:
    """Where a requirement would be installed; the interpreter is CPython.

    Attributes:
        place: wheel platform, ``linux_x86_64``; ``linux_`` if the machine is not known, empty if nothing is.
        python: ``3.11``, ``3.13t`` or ``3.11.4``; empty if not known.
        extras: extras asked for of the package whose requirement it is.
    """

    place: str = ""
    python: str = ""
    extras: tuple[str, ...] = ()


def environment(place: str, python: str) -> dict[str, str]:
    """The marker variables (PEP 508) of a place and a Python, without ``extra``; those that are not known are absent.

    Of a Python known by its minor alone, the patch counts as 9.
    """
    short = ".".join(python.removesuffix("t").split(".")[:2])
    full = python.removesuffix("t") if python.count(".") > 1 else f"{short}.9"
    known = {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    known |= {"platform_release": "", "platform_version": ""}
    if python:
        known |= {"python_version": short, "python_full_version": full, "implementation_version": full}
    if place:
        system, _, machine = place.replace("win32", "win_").partition("_")
        sys_platform, platform_system, os_name = _SYSTEMS.get(system, _SYSTEMS["linux"])
        known |= {"sys_platform": sys_platform, "platform_system": platform_system, "os_name": os_name}
        known |= {"platform_machine": {"amd64": "AMD64"}.get(machine, machine)} if machine else {}
    return known


def marker_of(place: str) -> str:
    """The marker that holds at one place alone, ``linux_x86_64``."""
    known = environment(place, "")
    return " and ".join(f'{name} == "{known[name]}"' for name in ("sys_platform", "platform_machine") if name in known)


_TRIED: Final = 1024  # combinations of unknown marker variables; one more quoted text multiplies them


@lru_cache(maxsize=32768)
def holds(marker: str, world: Environment) -> bool | None:
    """Whether a marker is true in an environment, the plain install or any of the extras asked for.

    ``None`` where the marker cannot be read, turns on something that the environment does not know, or quotes so many
    texts that trying them takes more than :data:`_TRIED` steps.
    """
    if not marker:
        return True
    known = environment(world.place, world.python)
    if PLAIN_MARKER.fullmatch(marker) and known.keys() >= {*_VARIABLE.findall(marker)}:
        asked = (part.split(" == ") for part in marker.split(" and "))
        return all(known[name] == value.strip('"') for name, value in asked)
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison

    try:
        parsed = Marker(marker)
        answers = {
            any(parsed.evaluate({**variables, "extra": extra}) for extra in ("", *world.extras))
            for variables in _variables(marker, known)
        }
    except (InvalidMarker, UndefinedComparison, ValueError):
        return None
    return answers.pop() if len(answers) == 1 else None


def _variables(marker: str, known: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The known variables with every value of the unknown ones that a marker could tell apart.

    A marker compares a variable with the texts that it quotes: to try those, and one below and above all, is enough.
    """
    unknown = [name for name in environment("linux_x86_64", "3") if name not in known and name in marker]
    values = tuple(dict.fromkeys(("0", *(text[1:-1] for text in _QUOTED.findall(marker)), "999")))
    if len(values) ** len(unknown) > _TRIED:
        raise ValueError("too many combinations")
    absent = dict.fromkeys((name for name in environment("linux_x86_64", "3") if name not in known), "0")
    for given in product(values, repeat=len(unknown)):
        yield {**absent, **known, **dict(zip(unknown, given, strict=True))}


def place_of(platform: str, arch: str) -> str:
    """The wheel platform of a system and machine, as the matrix spells it: ``linux_x86_64``, ``win_amd64``.

    ``platform``: ``linux``, ``wsl2``, ``windows``, ``darwin``; empty if not known, and then so is the place. ``arch``:
    ``x86_64``, ``aarch64`` or another name of them; empty if not known: ``linux_`` is Linux on any machine.
    """
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(arch, arch)
    if platform.startswith(("linux", "wsl")):
        return f"linux_{machine}"
    if platform == "windows":
        return {"aarch64": "win_arm64", "i686": "win32"}.get(machine, "win_amd64")
    if platform == "darwin":
        return "macosx_arm64" if machine == "aarch64" else f"macosx_{machine}"
    return ""
