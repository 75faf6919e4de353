"""Operating system and processor x wheel. Source: the platform tags of the published wheels (rows)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.joints.verdict import FITS, Clash, Unknown, Verdict, sure

if TYPE_CHECKING:
    from compat.matrix.rows import Build


def is_at(build: Build, place: str) -> bool:
    """Whether a build is published for a place, ``linux_x86_64``; ``linux_`` is Linux on any processor."""
    platforms = build.platforms
    if not platforms or place in platforms or "any" in platforms:
        return True
    return place.endswith("_") and any(one.startswith(place) for one in platforms)


def verdict(build: Build, place: str) -> Verdict:
    """Whether a build is published for a place (see :func:`compat.markers.place_of`; empty if not known)."""
    if is_at(build, place):
        return FITS
    why = f"{build.package} {build.full_version} is published for {', '.join(build.platforms)}"
    clash = Clash(why, (build,), " ".join(build.platforms))
    if place and build.index:  # only the default index is read whole
        return Unknown(f"{why}, as far as its index is known", (build,), clash)
    return sure(clash, "platforms") if place else Unknown(why, (build,))
