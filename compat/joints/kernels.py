"""GPU x the code that a build carries: machine code, PTX that the driver compiles, none, or nobody wrote it down.

Sources: CUDA C++ Programming Guide for machine code and PTX (see :mod:`compat.targets`); cuDNN support matrices,
supported architectures (rows of ``cudnn``); the ROCm release notes' lists of GPUs (rows of ``rocm``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from compat import versions
from compat.joints.build import VENDORS, split_runtime, vendor_of
from compat.joints.verdict import FITS, Clash, Fits, Unknown, Verdict
from compat.targets import kernels_for, sm

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.matrix.rows import Build, LibraryRelease

How = Literal["native", "ptx", "unknown", "none"]

# How code runs that the driver compiles at first use.
PTX: Final = Fits("through PTX")
# Code that a build takes from elsewhere, from another package.
_ELSEWHERE: Final = ("-",)


@lru_cache(maxsize=65536)
def runs(matrix: Matrix, target: str, code: tuple[str, ...]) -> Literal["native", "ptx", "none"]:
    """How a GPU runs code of these targets."""
    return kernels_for(target, code, matrix.families)


def how(matrix: Matrix, target: str, build: Build) -> How:
    """How a GPU of the build's own vendor runs its code; code from elsewhere is that package's business."""
    if build.kernels == _ELSEWHERE or not target:
        return "native"
    if not build.kernels:
        return "unknown" if may_run(matrix, target, build) else "none"
    found = runs(matrix, target, build.kernels)
    return "none" if found == "ptx" and is_past_cudnn(matrix, target, build) else found


def may_run(matrix: Matrix, target: str, build: Build) -> bool:
    """Whether nothing known speaks against a build of unknown code on a GPU.

    Code for a Jetson is made for it alone, so a build that does not name it has none; a CUDA build holds no machine
    code that its toolkit could not yet make, nor any for a GPU that its toolkit no longer compiles for; and a ROCm
    build holds none for targets that its ROCm release's own libraries are not built for.
    """
    if target in matrix.families.integrated:
        return False
    kind, number = split_runtime(build.runtime)
    if kind == "cuda":
        first = first_cuda(matrix, target)
        could = (not first or versions.at_least(number, first)) and not is_dropped(matrix, target, number)
    else:
        targets = rocm_targets(matrix, number) if kind == "rocm" else ()
        could = not targets or target.partition(":")[0] in targets
    return could and not is_past_cudnn(matrix, target, build)


def is_dropped(matrix: Matrix, target: str, cuda: str) -> bool:
    """Whether a CUDA release no longer compiles for a GPU: all code that it makes, PTX too, is for newer ones."""
    row = matrix.capability(target)
    if row is None or not row.last_cuda or "." not in cuda:
        return False
    return not versions.up_to(versions.minor(cuda), row.last_cuda)


def is_past_cudnn(matrix: Matrix, target: str, build: Build) -> bool:
    """Whether a GPU is newer than anything the build's cuDNN has code for: PTX of the build alone does not help."""
    kind, number = split_runtime(build.runtime)
    last = cudnn_ceiling(matrix, build.cudnn.partition(".")[0], number) if kind == "cuda" else ()
    device = sm(target)
    return bool(last) and device is not None and (device.major, device.minor) > last


def is_below(target: str, build: Build) -> bool:
    """Whether a GPU is older than the oldest that a source without a runtime is compiled for."""
    device = sm(target) if vendor_of(build.runtime) == "" else None
    oldest = min(filter(None, map(sm, build.kernels)), default=None) if device else None
    return device is not None and oldest is not None and (device.major, device.minor) < (oldest.major, oldest.minor)


@lru_cache(maxsize=4096)
def is_spared(matrix: Matrix, build: Build) -> bool:
    """Whether a wheel does without its GPU code: its release is published without any too, for all platforms."""
    if build.runtime or build.compiled or build.kernels in {(), _ELSEWHERE}:
        return False
    rows = (one for one in matrix.builds(build.package) if one.version == build.version)
    return any("any" in one.platforms and one.kernels == _ELSEWHERE for one in rows)


def verdict(matrix: Matrix, vendor: str, target: str, build: Build) -> Verdict:
    """Whether a GPU runs a build's code.

    ``target``: its kernel target, ``sm_89``; empty if not known. ``build``: the build; one for the CPU or without GPU
    code fits any GPU, which it leaves idle.
    """
    name = f"{build.package} {build.full_version}"
    if is_spared(matrix, build):
        lacks = runs(matrix, target, build.kernels) == "none" if target else False
        return Fits(f"{name} carries {' '.join(build.kernels)}, and does without on {target}") if lacks else FITS
    if is_below(target, build):
        oldest = " ".join(build.kernels)
        return Clash(f"{name} is compiled for {oldest} and newer, and {target} is older", (build,))
    own = vendor_of(build.runtime)
    makers = made_for(matrix, build) if own in {"", "cpu"} else frozenset((own,))
    if makers and vendor not in makers:
        return Clash(f"{name} has code for GPUs of {', '.join(sorted(makers))} alone", (build,))
    found = how(matrix, target, build) if own not in {"", "cpu"} else "native"
    if found in {"native", "ptx"}:
        return PTX if found == "ptx" else FITS
    clash = Clash(why_not(matrix, target, build), (build,))
    if not build.kernels and target in matrix.families.integrated:
        return Unknown(clash.why, clash.rows, clash)  # nobody named its code: no plan is made of it, and nothing proven
    return Unknown(clash.why, clash.rows) if found == "unknown" else clash


def why_not(matrix: Matrix, target: str, build: Build) -> str:
    """Why a GPU of the build's vendor does not run its code as machine code."""
    name, code = f"{build.package} {build.full_version} ({build.runtime})", " ".join(build.kernels)
    if not code and may_run(matrix, target, build):
        return f"which kernels {name} carries is not known"
    if not code and target in matrix.families.integrated:
        return f"which kernels {name} carries is not known, and a Jetson runs only code made for it"
    if not code:
        return f"{name} names no code for {target}, and its runtime cannot have made any"
    if runs(matrix, target, build.kernels) != "ptx":
        return f"{name} carries {code}, which cannot run on {target}"
    if is_past_cudnn(matrix, target, build):
        return f"{name} carries PTX, but its {f'cuDNN {build.cudnn}'.strip()} has no code for {target}"
    return f"{name} carries {code}, which only a newer driver could compile for {target}"


# --- what the matrix knows beside the build ---


def made_for(matrix: Matrix, build: Build) -> frozenset[str]:
    """The vendors whose GPUs the package of a build has code for, where the build itself does not say for which.

    That is a build of unknown code, and of a package that is for GPUs alone one without a runtime: a stub, or a
    wheel that links its CUDA in. Sources whose targets are known may be compiled for more than those.
    """
    if build.runtime or (build.compiled and build.kernels):
        return frozenset()
    vendors = _vendors(matrix, build.package)
    is_plain = build.kernels != () and not vendors.isdisjoint({"cpu", "apple"})
    return frozenset() if is_plain else vendors - {"", "cpu"}


@lru_cache(maxsize=1024)
def _vendors(matrix: Matrix, package: str) -> frozenset[str]:
    """The vendors of all runtimes that a package has builds for."""
    kinds = {split_runtime(runtime)[0] for runtime in {one.runtime for one in matrix.builds(package)}}
    return frozenset(VENDORS.get(kind, "") for kind in kinds)


@lru_cache(maxsize=4096)
def cudnn_ceiling(matrix: Matrix, major: str, cuda: str) -> tuple[int, ...]:
    """The highest compute capability that a cuDNN major has code for: as documented, else as its CUDA can target.

    Where the cuDNN is not known, any that is made for that CUDA counts. Empty if nothing is known.
    """
    rows = [row for row in matrix.table("cudnn") if _is_cudnn(row, major, cuda)]
    told = [(*versions.release(row.last_cc), 0)[:2] for row in rows if row.last_cc]  # 9.0 is read as (9,)
    release = matrix.cuda(cuda) if cuda and not told else None
    told += [(one.major, one.minor) for one in map(sm, release.targets if release else ()) if one]
    return max(told, default=())


def _is_cudnn(row: LibraryRelease, major: str, cuda: str) -> bool:
    """Whether a cuDNN release is of a major, or where none is given made for a CUDA release."""
    if major:
        return row.version.partition(".")[0] == major
    return bool({cuda, cuda.partition(".")[0]}.intersection(row.cuda))


@lru_cache(maxsize=4096)
def first_cuda(matrix: Matrix, target: str) -> str:
    """The first CUDA release that can make machine code which a GPU runs: the GPU's own or an older kin's.

    Empty if the GPU is not in the matrix.
    """
    wanted = sm(target)
    kin = [
        row.first_cuda
        for row in matrix.table("capabilities")
        if wanted
        and versions.release(f"{row.cc}.1")[0] == wanted.major
        and int(row.cc.partition(".")[2]) <= wanted.minor
    ]
    return min(kin, key=versions.release, default="")


@lru_cache(maxsize=1024)
def rocm_targets(matrix: Matrix, rocm: str) -> tuple[str, ...]:
    """Targets that a ROCm release's libraries are built for; where it has no list, those of the release before.

    Releases of ROCm whose lists nobody wrote down are few and recent, and support is rarely taken back between two
    neighbours; the answer only ever excludes targets, for builds whose own kernels are not known.
    """
    told = [row for row in matrix.table("rocm") if row.targets and versions.up_to(row.rocm, rocm)]
    newest = max(told, key=lambda row: versions.release(row.rocm), default=None)
    return newest.targets if newest else ()
