"""What a package asks of others (PEP 508), read only as far as verdicts need it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from compat.lazy import dataclass, pattern
from compat.names import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LINE: Final = pattern(
    r"\s*([A-Za-z0-9][\w.-]{0,80})\s*(?:\[[^\]]{0,80}\])?\s*\(?([^;)]{0,200})\)?\s*(?:;(.{0,400}))?$"
)


@dataclass(frozen=True, slots=True)
class Asks:
    """One requirement: package name in canonical spelling, its specifier, and the marker if it has one."""

    name: str
    specifier: str
    marker: str = ""


def read(line: str) -> Asks | None:
    """One Requires-Dist line; ``None`` if it is no requirement by name."""
    found = _LINE.match(line)
    if found is None:
        return None
    return Asks(normalise(found[1]), (found[2] or "").strip(), (found[3] or "").strip())


@lru_cache(maxsize=2048)
def admits(specifier: str, version: str) -> bool | None:
    """Whether a version (local tag left aside) satisfies a specifier; ``None`` if one of them cannot be read."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(specifier).contains(Version(Version(version).public), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return None


def broken(lines: Iterable[str], packages: Mapping[str, str], python: str = "") -> list[tuple[Asks, str]]:
    """Requirements that the installed packages violate: what is asked, and the version that is there."""
    found = []
    for asked in filter(None, map(read, lines)):
        version = packages.get(asked.name, "")
        if not version or not asked.specifier or not _applies(asked.marker, python):
            continue
        if admits(asked.specifier, version) is False:
            found.append((asked, version))
    return found


def _applies(marker: str, python: str) -> bool:
    """Whether a marker holds, judged on the Python version alone; an extra's requirement does not."""
    if not marker:
        return True
    if "extra" in marker or not python:
        return False
    from packaging.markers import InvalidMarker, Marker

    short = ".".join(python.split(".")[:2])
    try:
        return Marker(marker).evaluate({"python_version": short, "python_full_version": python})
    except (InvalidMarker, KeyError, ValueError):
        return False
