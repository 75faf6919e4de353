"""Python x wheel: is there a wheel of this build for this Python. Source: the tags of the published wheels (rows)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.joints.verdict import FITS, Clash, Unknown, Verdict, sure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.matrix.rows import Build, System


def minor_of(python: str) -> str:
    """A Python as rows name it: ``3.11.4`` -> ``3.11``, ``3.13t`` as it is."""
    free = "t" if python.endswith("t") else ""
    return ".".join(python.removesuffix("t").split(".")[:2]) + free


def in_order(pythons: Iterable[str]) -> list[str]:
    """Pythons as people count them: 3.9, 3.10, 3.13, 3.13t."""
    return sorted(set(pythons), key=lambda one: (versions.release(one), one))


def is_for(build: Build, python: str) -> bool:
    """Whether a build has a wheel for a Python, as far as both are known."""
    return not python or not build.python or minor_of(python) in build.python


def verdict(build: Build, python: str) -> Verdict:
    """Whether a build can be installed into a Python; one without tags takes any.

    ``python``: ``3.11``, ``3.11.4`` or ``3.13t``; empty if not known.
    """
    if not build.python or (python and is_for(build, python)):
        return FITS
    wheels = ", ".join(in_order(build.python))
    why = f"{build.package} {build.full_version} has wheels for Python {wheels}"
    clash = Clash(why, (build,), wheels)
    return sure(clash, "python") if python else Unknown(f"{why}, and which Python it is for is not known")


def packaged(system: System, python: str) -> Verdict:
    """Whether a system's own archive has a Python."""
    if not system.pythons:
        return Unknown(f"which Pythons {system.os} packages is not known", (system,))
    offered = " and ".join(system.pythons)
    why = f"{system.os} packages only Python {offered}"
    return FITS if python in system.pythons else Clash(why, (system,), offered)
