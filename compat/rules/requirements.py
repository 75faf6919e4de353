"""What a package asks of others, against what a host has installed; :mod:`compat.versions` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.lazy import dataclass
from compat.versions import admits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compat.versions import Environment

__all__ = ["Asks", "admits", "broken", "read"]


@dataclass(frozen=True, slots=True)
class Asks:
    """One requirement: package name in canonical spelling, its specifier, and the marker if it has one."""

    name: str
    specifier: str
    marker: str = ""


def read(line: str) -> Asks | None:
    """One Requires-Dist line; ``None`` if it is no requirement by name."""
    found = versions.requirement(line)
    return Asks(found.name, found.spec, found.marker) if found else None


def broken(lines: Iterable[str], packages: Mapping[str, str], world: Environment) -> list[tuple[Asks, str]]:
    """Requirements that the installed packages violate: what is asked, and the version that is there.

    Args:
        lines: Requires-Dist lines.
        packages: version by the normalised name of what is installed.
        world: where it is installed; a requirement whose marker is not known to hold there does not count.
    """
    found = []
    for asked in filter(None, map(read, lines)):
        version = packages.get(asked.name, "")
        is_broken = version and asked.specifier and admits(asked.specifier, version) is False
        if is_broken and versions.holds(asked.marker, world):
            found.append((asked, version))
    return found
