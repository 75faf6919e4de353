"""CUDA and cuDNN of the system (or a base image) x a build that takes them from there.

Sources: libraries load by soname, so that any release of the same major cuDNN serves; CUDA keeps its binary interface
within a major from 11 on, where a newer minor serves and an older one lacks functions (CUDA Toolkit documentation,
"CUDA compatibility"); a release from before that names its libraries by the minor.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat import versions
from compat.joints.build import fixes_minor, split_runtime
from compat.joints.verdict import FITS, Clash, Fits, Unknown, Verdict
from compat.kernels.linkage import implied

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


def is_cudnn(wanted: str, have: str) -> bool:
    """Whether a cuDNN is of the major that a build loads."""
    return bool(have) and str(versions.major(have)) == wanted


def cudnn_built(builds: Iterable[Build]) -> str:
    """The newest cuDNN that builds which take one from the system were made with; empty if none says one."""
    made = (build.cudnn for build in builds if build.cudnn and needs_cudnn(build.system))
    return max(made, key=versions.release, default="")


def cuda(matrix: Matrix, build: Build, have: str) -> Verdict:
    """Whether the system's CUDA serves a build that takes CUDA from it; any other build fits.

    ``have``: CUDA of the system, ``12.4`` or ``12.4.1``; empty if not known.
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


def releases(soname: str, matrix: Matrix) -> set[str]:
    """The majors of CUDA whose toolkit has a library of this name, ``libcudart.so.11.0``; none if that is not known.

    By what NVIDIA's packages of a major hold, else by the number, where that is the toolkit's and not its own.
    """
    rows = (row for row in matrix.table("sonames") if row.soname == soname and "cudnn" not in soname)
    found = {
        of[1] for row in rows if (of := re.search(r"cu(\d+)$", row.package) or re.search(r"/cu(\d+)/", row.folder))
    }
    return found or {major for product, major in implied([soname]).items() if product == "cuda"}


def minors_past(have: str, wanted: str, system: Iterable[str]) -> int:
    """By how many minors the runtime of a base image is past that of a plan; -1 if it does not serve.

    A newer minor serves builds that ask the system for no more than the major (``cuda12``).
    """
    if have == wanted:
        return 0
    (kind, number), (other, least) = split_runtime(have), split_runtime(wanted)
    own = [item for item in system if item.startswith(kind)]
    if kind != other or "." not in number or own != [f"{kind}{versions.major(least or '0')}"]:
        return -1
    there, first = (*versions.release(number), 0), (*versions.release(least), 0)  # a release has no zeros at its end
    return there[1] - first[1] if there[0] == first[0] else -1


def cudnn(build: Build, have: str) -> Verdict:
    """Whether the system's cuDNN serves a build that takes cuDNN from it; ``have`` is empty if not known."""
    wanted = cudnn_of(build.system)
    if not wanted:
        return FITS
    why = f"{build.package} {build.full_version} is built for cuDNN {build.cudnn or wanted}, from the system"
    if not have:
        return Unknown(why, (build,))
    return FITS if is_cudnn(wanted, have) else Clash(f"{why}, which has {have}", (build,), wanted)


def stands_in(have: str, built: str) -> Verdict:
    """Whether one cuDNN serves what was made with another: same major, no older minor (torch/backends/cudnn)."""
    mine, own = versions.release(have), versions.release(built)
    if mine[0] != own[0]:
        return Clash(f"cuDNN {have} is of another major than {built}", (), f"=={own[0]}.*")
    older = "." in have and "." in built and mine[:2] < own[:2]
    return Clash(f"cuDNN {have} is older than {built}", (), f">={built}") if older else FITS


def mkl(matrix: Matrix, spec: str) -> Verdict:
    """Whether the newest MKL serves a PyTorch of its own conda channel that is asked for by a specification."""
    first, last = matrix.turn("torch-mkl-tracing"), matrix.turn("mkl-tracing")
    if not spec or not versions.clashes(spec, f">={first.version}"):
        return FITS
    return Clash(f"PyTorch before {first.version} needs an MKL before {last.version}", (last,), f"<{last.version}")


def rocm(label: str, brought: str, have: str, *rows: Build) -> Verdict:
    """Whether the ROCm libraries that a build brings go with those of the system, one of which the loader takes.

    ``have``: ROCm of the system, ``6.1`` or ``6.1.2``; empty if not known.
    """
    if not have:
        return Unknown(f"{label} brings ROCm {brought}, and that of the system is not known", rows)
    if versions.same_series(brought, have):
        return FITS
    return Clash(f"{label} brings ROCm {brought}, and the system has {have}", rows, have)
