"""CUDA and cuDNN of the system (or a base image) x a build that takes them from there.

Sources: libraries load by soname, so that any release of the same major cuDNN serves; CUDA keeps its binary interface
within a major from 11 on, where a newer minor serves and an older one lacks functions (CUDA Toolkit documentation,
"CUDA compatibility"); a release from before that names its libraries by the minor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.joints.build import fixes_minor, split_runtime
from compat.joints.verdict import FITS, Clash, Fits, Unknown, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.matrix import Matrix
    from compat.matrix.rows import Build


def cudnn_of(system: Iterable[str]) -> str:
    """The major of cuDNN among what a build takes from the system; empty for one that does without."""
    majors = (item.removeprefix("cudnn") for item in system if item.startswith("cudnn"))
    return next((major for major in majors if major.isdigit()), "")


def needs_cudnn(system: Iterable[str]) -> bool:
    """Whether a build takes cuDNN from the system, of a certain major or (``cudnn``) any."""
    return "cudnn" in system or bool(cudnn_of(system))


def cuda(matrix: Matrix, build: Build, have: str) -> Verdict:
    """Whether the system's CUDA serves a build that takes CUDA from it; any other build fits.

    Args:
        matrix: what is true.
        build: the build.
        have: CUDA of the system, ``12.4`` or ``12.4.1``; empty if not known.
    """
    kind, wanted = split_runtime(build.runtime)
    if build.cuda_from != "system" or kind != "cuda":
        return FITS
    name = f"{build.package} {build.full_version}"
    why = f"{name} is built for CUDA {wanted}, from the system"
    if not have:
        return Unknown(why, (build,))
    if versions.major(have) != versions.major(wanted):
        return Clash(f"{why}, which has {have}", (build,), wanted)
    return FITS if not fixes_minor(build) or versions.same_series(have, wanted) else _other_minor(matrix, build, have)


def _other_minor(matrix: Matrix, build: Build, have: str) -> Verdict:
    """Another minor of the same CUDA major: a newer one serves, an older one may lack functions."""
    wanted = split_runtime(build.runtime)[1]
    why = f"{build.package} {build.full_version} is built for CUDA {wanted}, from the system, which has {have}"
    row = matrix.cuda(wanted)
    if row is not None and not row.family_linux:
        return Clash(f"{why}: before CUDA 11 its libraries are named by the minor", (build, row), wanted)
    if versions.at_least(have, versions.minor(wanted)):
        return Fits("by the interface that a CUDA major keeps")
    return Unknown(f"{why}: the older one may lack functions", (build,))


def cudnn(build: Build, have: str) -> Verdict:
    """Whether the system's cuDNN serves a build that takes cuDNN from it; ``have`` is empty if not known."""
    wanted = cudnn_of(build.system)
    if not wanted:
        return FITS
    why = f"{build.package} {build.full_version} is built for cuDNN {build.cudnn or wanted}, from the system"
    if not have:
        return Unknown(why, (build,))
    return FITS if str(versions.major(have)) == wanted else Clash(f"{why}, which has {have}", (build,), wanted)


def stands_in(have: str, built: str) -> Verdict:
    """Whether one cuDNN serves what was made with another: same major, no older minor (torch/backends/cudnn)."""
    mine, own = versions.release(have), versions.release(built)
    if mine[0] != own[0]:
        return Clash(f"cuDNN {have} is of another major than {built}", (), f"=={own[0]}.*")
    older = "." in have and "." in built and mine[:2] < own[:2]
    return Clash(f"cuDNN {have} is older than {built}", (), f">={built}") if older else FITS


def rocm(label: str, brought: str, have: str, *rows: Build) -> Verdict:
    """Whether the ROCm libraries that a build brings go with those of the system, one of which the loader takes.

    Args:
        label: the build, ``torch 2.3.0+rocm6.0``.
        brought: the ROCm that it brings, ``6.0``.
        have: ROCm of the system, ``6.1`` or ``6.1.2``; empty if not known.
        rows: the build's row, where there is one.
    """
    if not have:
        return Unknown(f"{label} brings ROCm {brought}, and that of the system is not known", rows)
    if versions.same_series(brought, have):
        return FITS
    return Clash(f"{label} brings ROCm {brought}, and the system has {have}", rows, have)
