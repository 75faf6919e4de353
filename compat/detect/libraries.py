"""GPU libraries that can be loaded: system, ``LD_LIBRARY_PATH``, toolkits, wheels, conda; and which one wins.

Most version confusion is about several copies of one library: the system's, a toolkit's, a wheel's, conda's. All copies
are listed by their real files, and for each soname the one that the loader picks first is marked. Wheels load their own
copies through RPATH or by full path, whatever the loader would pick: both are told, and rules weigh them.

A version is taken from the real file's name (``libcudnn.so.9.1.0``); NVIDIA's wheels carry bare sonames, so there the
distribution's version counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.detect.loader as loader
from compat.detect.base import LINUX
from compat.detect.packages import environment, installed
from compat.detect.toolkits import cuda_folders
from compat.facts import Fact, Library, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.detect.machine import Machine

NAME: Final = "libraries"
FACTS: Final = ("libraries", "driver_library", "cudnn", "nccl", "tensorrt", "libstdcxx", "intel_runtime")
SYSTEMS: Final = LINUX
SOUGHT: Final = "LD_LIBRARY_PATH, /etc/ld.so.cache, loader folders"

# Sonames that GPU software opens by name, by family; everything else is found through these.
_CONCERN: Final = pattern(
    r"lib(?:cuda|nvidia-ml|nvidia-ptxjitcompiler|nvcuvid"
    r"|cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|cusparseLt|cupti|nvrtc|nvJitLink|nvshmem_host|nccl"
    r"|nvinfer|nvinfer_plugin|cutensor"
    r"|amdhip64|hsa-runtime64|rocblas|hipblas|hipblaslt|MIOpen|rccl|rocm_smi64|amd_smi|hiprtc"
    r"|ze_loader|ze_intel_gpu|OpenCL|sycl|ascendcl|tpu)\.so(?:\.\d+){0,2}"
)
_UNVERSIONED: Final = frozenset({"libtpu.so", "libascendcl.so"})  # these have no number in their soname
# lib64/stubs is for linking on machines without a driver; compat/ holds forward-compatibility drivers
_STUB: Final = pattern(r"/stubs(?:/|$)")
_COMPAT: Final = pattern(r"/compat(?:/|$)|/compat_\w+/")
# A driver release begins with its branch, which has three digits; Jetson's libcuda.so.1.1 belongs to L4T and names none
_RELEASE: Final = pattern(r"\d{3,4}\.\d{1,4}(?:\.\d{1,4})?")
# Version symbols stand as texts in the library's string table; the highest is what compiled extensions ask for
_GLIBCXX: Final = pattern(rb"GLIBCXX_(3\.4\.\d{1,2})\0")
_MOST: Final = 400
# Library -> distribution, where NVIDIA's wheel is not called like the library itself
_SHIPPED_BY: Final = {
    "cudart": "cuda-runtime", "cupti": "cuda-cupti", "nvrtc": "cuda-nvrtc", "cublaslt": "cublas",
    "nvshmem_host": "nvshmem",
}  # fmt: skip


def facts(machine: Machine) -> Mapping[str, Reading]:
    """All copies found, the winning one of each soname marked; versions of those that rules ask for most.

    ``driver_library`` is read here and not from NVML: it is a fact about files, true even when nothing can be loaded.
    """
    found = tuple(item for item, _ in zip(_all(machine), range(_MOST), strict=False))
    return {
        "libraries": Fact(found, SOUGHT),
        "driver_library": _driver(machine, found),
        "cudnn": _version(found, "libcudnn.so"),
        "nccl": _version(found, "libnccl.so"),
        "tensorrt": _version(found, "libnvinfer.so"),
        "intel_runtime": _version(found, "libze_intel_gpu.so"),
        "libstdcxx": _libstdcxx(machine),
    }


def _all(machine: Machine) -> Iterator[Library]:
    """Every copy once, by its real file, the loader's own choices first."""
    seen: set[tuple[str, str]] = set()
    for soname, path, origin in _candidates(machine):
        key = soname, machine.real(path)
        if key not in seen:
            seen.add(key)
            yield _library(machine, soname, path, origin)


def _candidates(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Soname, path and origin of every copy, in the order in which the loader and people find them."""
    for folder in loader.library_path(machine):
        yield from _folder(machine, folder, "LD_LIBRARY_PATH")
    # the cache may be stale: what it names and is gone is not a copy
    for soname, paths in loader.cache(machine).items():
        if _wanted(soname):
            yield from ((soname, path, "system") for path in paths if machine.exists(path))
    for folder in (*loader.folders(machine), "/usr/lib/wsl/lib"):
        yield from _folder(machine, folder, "system")
    # a toolkit's folders are not on the loader's path by themselves; people put them there, stubs included
    for toolkit in cuda_folders(machine):
        yield from _folder(machine, f"{toolkit}/lib64", "system")
        yield from _folder(machine, f"{toolkit}/compat", "compat")
        yield from _folder(machine, f"{toolkit}/lib64/stubs", "stubs")
    yield from _folder(machine, "/opt/rocm/lib", "system")
    yield from _of_environment(machine)


def _of_environment(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Copies inside the chosen interpreter's environment: wheels of NVIDIA, libraries beside torch, conda's lib.

    Since CUDA 13 NVIDIA's wheels share one folder, nvidia/cu13/lib; before, each had its own (nvidia/cudnn/lib).
    """
    chosen = environment(machine)
    if chosen.kind == "conda":
        yield from _folder(machine, f"{chosen.prefix}/lib", "conda")
    for site in chosen.sites:
        for part in machine.names(f"{site}/nvidia"):
            yield from _folder(machine, f"{site}/nvidia/{part}/lib", "wheel")
        for folder in ("torch/lib", "paddle/libs", "tensorrt_libs", "libtpu"):
            yield from _folder(machine, f"{site}/{folder}", "wheel")


def _folder(machine: Machine, folder: str, origin: str) -> Iterator[tuple[str, str, str]]:
    """The libraries of concern in one folder."""
    for name in machine.names(folder):
        if _wanted(name):
            yield name, f"{folder}/{name}", origin


def _wanted(name: str) -> bool:
    """A soname, not a link for linking (``libcudnn.so``) nor a full file name (``libcudnn.so.9.1.0``)."""
    return _CONCERN.fullmatch(name) is not None and (name.count(".") > 1 or name in _UNVERSIONED)


def _library(machine: Machine, soname: str, path: str, origin: str) -> Library:
    """One copy: its true origin, its version, and whether the loader would pick it."""
    # how it was found matters less than what it is: a stub on LD_LIBRARY_PATH is a stub
    if _STUB.search(path):
        origin = "stubs"
    elif _COMPAT.search(machine.real(path)):
        origin = "compat"
    winner = loader.find(machine, soname)
    same = winner != "" and machine.real(winner) == machine.real(path)
    version = loader.version_of(machine, path)
    if origin == "wheel":  # its files are called by their sonames: the libnvrtc.so.11.2 of CUDA 11.8 too
        version = _wheel_version(machine, soname) or version
    return Library(name=soname, version=version, path=path, origin=origin, loaded=same)


def _wheel_version(machine: Machine, soname: str) -> str:
    """Wheels name files by soname alone: the version is that of the distribution that ships the library."""
    stem = soname.split(".so", maxsplit=1)[0].removeprefix("lib").lower()
    owner = f"nvidia-{_SHIPPED_BY.get(stem, stem)}"
    for name, version in installed(machine).versions.items():
        if name == owner or (name.startswith(f"{owner}-cu") and name[len(owner) + 3 :].isdigit()):
            return version
    return ""


def _driver(machine: Machine, found: tuple[Library, ...]) -> Reading:
    """The version in the real name of libcuda is the driver release it belongs to (also for compat copies)."""
    winner = next((item for item in found if item.name == "libcuda.so.1" and item.loaded), None)
    if winner is None:
        return Fact(None, "libcuda.so.1 is not on the loader's path")
    # the linker's stub answers every call with an error and belongs to no driver
    if winner.origin == "stubs":
        return Unknown("the loader picks a stub of libcuda, which has no driver behind it", winner.path)
    if not _RELEASE.fullmatch(winner.version):
        return Unknown("the file that the loader picks names no driver release", machine.real(winner.path))
    return Fact(winner.version, machine.real(winner.path))


def _version(found: tuple[Library, ...], stem: str) -> Reading:
    """Version of the copy that the loader picks; of the highest soname if several majors are there."""
    winners = [item for item in found if item.name.startswith(stem) and item.loaded]
    if not winners:
        return Fact(None, f"{stem} is not on the loader's path")
    best = max(winners, key=lambda item: [int(part) for part in re.findall(r"\d{1,9}", item.version)])
    return Fact(best.version, best.path) if best.version else Unknown("the file's name has no version", best.path)


def _libstdcxx(machine: Machine) -> Reading:
    """Highest ``GLIBCXX_`` version string in the libstdc++ that the chosen interpreter would load."""
    chosen = environment(machine)
    own = f"{chosen.prefix}/lib/libstdc++.so.6"  # conda's interpreter finds it through its RPATH
    conda = chosen.kind == "conda" and machine.exists(own)
    path = own if conda else loader.find(machine, "libstdc++.so.6")
    if not path:
        return Fact(None, "libstdc++.so.6 is not on the loader's path")
    versions = _GLIBCXX.findall(machine.data(path, 32 << 20))
    if not versions:
        return Unknown("the file holds no GLIBCXX versions", path)
    return Fact(max(versions, key=lambda text: int(text.rsplit(b".", 1)[1])).decode(), path)
