"""C library x wheel. Source: platform tags of wheels (PEP 600: ``manylinux_2_28`` is glibc 2.28); musl loads none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.joints.verdict import FITS, Clash, Unknown, Verdict, sure

if TYPE_CHECKING:
    from compat.matrix.rows import Build


def is_compiled(build: Build) -> bool:
    """Whether a build's Linux wheels hold compiled code, which is for glibc: the matrix has no wheel for musl."""
    linux = any(one.startswith("linux") for one in build.platforms)
    return bool(build.glibc) or (linux and "any" not in build.platforms)


def needs(build: Build) -> str:
    """Which C library a build's wheels load on, in words, its lowest release last."""
    return f"{build.package} {build.full_version} needs glibc {build.glibc or 'of any version'}"


def verdict(build: Build, glibc: str, *, is_musl: bool = False) -> Verdict:
    """Whether a build's wheels load on a C library; a build without a floor loads on any glibc."""
    bound = is_compiled(build) if is_musl else build.glibc
    if not bound or (glibc and not is_musl and versions.at_least(glibc, build.glibc)):
        return FITS
    why = needs(build)
    if is_musl:
        return sure(Clash(f"{why}, and musl loads no such wheel", (build,), "glibc"), "platforms")
    why = f"{why} or later"
    return sure(Clash(why, (build,), f">={build.glibc}"), "glibc") if glibc else Unknown(why, (build,))
