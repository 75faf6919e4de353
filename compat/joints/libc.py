"""C library x wheel. Source: platform tags of wheels (PEP 600: ``manylinux_2_28`` is glibc 2.28); musl loads none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.joints.verdict import FITS, Clash, Unknown, Verdict

if TYPE_CHECKING:
    from compat.matrix.rows import Build


def verdict(build: Build, glibc: str, *, is_musl: bool = False) -> Verdict:
    """Whether a build's wheels load on a C library; a build without a floor loads on any glibc.

    Args:
        build: the build.
        glibc: ``2.35``; empty if not known.
        is_musl: whether the C library is musl.
    """
    name = f"{build.package} {build.full_version}"
    on_linux = any(one.startswith("linux") for one in build.platforms)
    if is_musl and (build.glibc or on_linux):
        return Clash(f"{name} needs glibc {build.glibc or 'of any version'}, and musl loads no such wheel", (build,))
    if not build.glibc or (glibc and versions.at_least(glibc, build.glibc)):
        return FITS
    why = f"{name} needs glibc {build.glibc} or later"
    return Clash(why, (build,), f">={build.glibc}") if glibc else Unknown(why, (build,))
