"""C library x wheel.

Sources: platform tags of wheels (PEP 600: ``manylinux_2_28`` is glibc 2.28); musl loads none of them (PEP 656).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.joints.verdict import FITS, Clash, Unknown, Verdict, sure

if TYPE_CHECKING:
    from compat.matrix.rows import Build, System


def is_compiled(build: Build) -> bool:
    """Whether a build's Linux wheels hold compiled code, which is for glibc: the matrix has no wheel for musl."""
    linux = any(one.startswith("linux") for one in build.platforms)
    return bool(build.glibc) or (linux and "any" not in build.platforms)


def needs(build: Build) -> str:
    """Which C library a build's wheels load on, in words, its lowest release last."""
    return f"{build.package} {build.full_version} needs glibc {build.glibc or 'of any version'}"


def reaches(glibc: str, floor: str) -> bool:
    """Whether a glibc has all that what was linked against a floor asks of it: it is as new."""
    return versions.at_least(glibc, floor)


def is_read(build: Build, named: str) -> bool:
    """Whether a pip reads the names of a build's wheels on the default index.

    ``named``: the newest glibc in a name that it reads; empty where it reads all.
    """
    return not (named and build.glibc) or bool(build.index) or reaches(named, build.tag or build.glibc)


def verdict(build: Build, glibc: str, *, is_musl: bool = False) -> Verdict:
    """Whether a build's wheels load on a C library; a build without a floor loads on any glibc."""
    bound = is_compiled(build) if is_musl else build.glibc
    if not bound or (glibc and not is_musl and reaches(glibc, build.glibc)):
        return FITS
    why = needs(build)
    if is_musl:
        return sure(Clash(f"{why}, and musl loads no such wheel", (build,), "glibc"), "platforms")
    why = f"{why} or later"
    return sure(Clash(why, (build,), f">={build.glibc}"), "glibc") if glibc else Unknown(why, (build,))


def of_system(system: System, floor: str) -> Verdict:
    """Whether the C library of a base image's system reaches the floor of what is installed there; empty asks nothing.

    Alpine, whose package manager is apk, has musl.
    """
    if not floor or (system.glibc and reaches(system.glibc, floor)):
        return FITS
    if system.manager == "apk":
        return Clash(f"{system.os} has musl", (system,), "glibc")
    why = f"{system.os} has {system.glibc or 'a glibc that is not known'}"
    return Clash(why, (system,), f">={floor}") if system.glibc else Unknown(why, (system,))
