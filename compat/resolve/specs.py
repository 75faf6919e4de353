"""Version specifiers and environment markers: pure questions of ``packaging``, each asked once.

``packaging`` is imported where it is used: a command that resolves nothing must not pay for it.

Semantics are those of PEP 440 and PEP 508 as ``packaging`` implements them: a local tag is ignored unless the
specifier has one, and a pre-release is only met by a specifier that names one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.ranges import VersionRange
    from packaging.specifiers import SpecifierSet


@lru_cache(maxsize=4096)
def specifier(spec: str) -> SpecifierSet:
    """A specifier set.

    Raises:
        packaging.specifiers.InvalidSpecifier: if it is not one; requests are checked before they come here.
    """
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(spec)


def meets(spec: str, version: str) -> bool:
    """Whether a version satisfies a specifier; pre-releases only where it names one."""
    return not spec or _contains(spec, version if "+" in spec else version.partition("+")[0])


@lru_cache(maxsize=65536)
def _contains(spec: str, version: str) -> bool:
    """Membership of one version, asked once."""
    wanted = specifier(spec)
    return wanted.contains(version, prereleases=bool(wanted.prereleases))


def both(specs: tuple[str, ...]) -> VersionRange:
    """The versions that all of ``specs`` accept."""
    return specifier(",".join(sorted({spec for spec in specs if spec}))).to_range()


@lru_cache(maxsize=16384)
def is_void(specs: tuple[str, ...]) -> bool:
    """Whether no version satisfies all of ``specs``."""
    return both(specs).is_empty


def clashes(left: str, right: str) -> bool:
    """Whether no version satisfies both specifiers."""
    return bool(left and right and left != right) and is_void((left, right) if left < right else (right, left))


@lru_cache(maxsize=16384)
def holds(marker: str, place: str, python: str, extras: tuple[str, ...]) -> bool:
    """Whether a marker is true on a place and a Python, with any of these extras asked for; one not understood is."""
    from packaging.markers import InvalidMarker, Marker

    try:
        parsed = Marker(marker)
    except InvalidMarker:
        return True
    world = environment(place, python.removesuffix("t"))
    return any(parsed.evaluate({**world, "extra": extra}) for extra in ("", *extras))


def environment(place: str, python: str) -> dict[str, str]:
    """The marker environment (PEP 508) of a place and a Python; the interpreter is CPython."""
    system, _, machine = place.partition("_")
    names = {
        "linux": ("linux", "Linux", "posix"),
        "win": ("win32", "Windows", "nt"),
        "macosx": ("darwin", "Darwin", "posix"),
    }
    sys_platform, platform_system, os_name = names.get(system, names["linux"])
    return {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": sys_platform,
        "platform_system": platform_system,
        "os_name": os_name,
        "platform_machine": {"amd64": "AMD64"}.get(machine, machine),
        "platform_release": "",
        "platform_version": "",
        "implementation_name": "cpython",
        "implementation_version": f"{python}.9",
        "platform_python_implementation": "CPython",
    }
