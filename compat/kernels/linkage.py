"""What a host binary needs around it, by its dynamic section: libraries, C library floors, search paths, Python.

A floor is the highest version of a symbol family that is asked for: the loader refuses a library whose ``GLIBC_2.28``
is not there before any of its code runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import islice
from typing import Final

import compat.kernels.elf as elf
from compat.lazy import dataclass, pattern
from compat.versions import release


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage:
    """What the loader will look for.

    Attributes:
        needed: libraries by soname, in order.
        floors: symbol version families -> highest version needed (``{"GLIBC": "2.28", "GLIBCXX": "3.4.21"}``).
        rpath: directories of RPATH and RUNPATH, in the loader's order.
        machine: architecture, ``x86_64``.
    """

    needed: tuple[str, ...] = ()
    floors: Mapping[str, str] = field(default_factory=dict)
    rpath: tuple[str, ...] = ()
    machine: str = ""


_MOST_NEEDED: Final = 1024
_FLOOR = pattern(r"(GLIBC|GLIBCXX|CXXABI)_(\d+(?:\.\d+){1,3})")

_SONAME = pattern(r"lib([\w+-]+?)(?:-[0-9a-f]{8})?\.so\.(\d+(?:\.\d+)*)")
_DLL = pattern(r"([a-z]+?)64_(\d+)(?:_\d+)?\.dll", re.IGNORECASE)

# Library -> the product whose version its soname counts.
_PRODUCTS: Final = {
    **dict.fromkeys(("cudart", "cublas", "cublaslt", "nvrtc", "nvjitlink", "cupti"), "cuda"),
    **dict.fromkeys(("amdhip64", "amdhip", "hiprtc"), "rocm"),
    **{name: name for name in ("cudnn", "nccl", "cusparselt", "nvshmem_host", "cudss", "nvinfer")},
    **{name: name for name in ("cufft", "cusolver", "curand", "cusparse")},
}


def read(file: elf.Elf) -> Linkage:
    """The linkage of an ELF file."""
    entries: dict[int, list[str]] = {}
    for tag, text in islice(elf.dynamic(file), _MOST_NEEDED):
        entries.setdefault(tag, []).append(text)
    # With RUNPATH present the loader ignores RPATH (ld.so(8)).
    paths = entries.get(elf.DT_RUNPATH) or entries.get(elf.DT_RPATH) or []
    return Linkage(
        needed=tuple(entries.get(elf.DT_NEEDED, ())),
        floors=floors(version for _, version in elf.version_needs(file)),
        rpath=tuple(part for path in paths for part in path.split(":") if part),
        machine=elf.MACHINES.get(file.machine, ""),
    )


def floors(needs: Iterable[str]) -> dict[str, str]:
    """The highest version of each symbol family: ``["GLIBC_2.2.5", "GLIBC_2.28"]`` -> ``{"GLIBC": "2.28"}``."""
    found: dict[str, str] = {}
    for need in needs:
        if match := _FLOOR.fullmatch(need):
            family, version = match.groups()
            if family not in found or release(version) > release(found[family]):
                found[family] = version
    return dict(sorted(found.items()))


def implied(needed: Iterable[str]) -> dict[str, str]:
    """Runtimes the sonames commit to: ``["libcudart.so.12", "libcudnn.so.9"]`` -> ``{"cuda": "12", "cudnn": "9"}``.

    A soname's number is its ABI's: for CUDA's core libraries the toolkit's major version, whatever follows it
    (``libcudart.so.11.0`` serves all of 11), for HIP the major version of ROCm; cuFFT, cuSOLVER, cuRAND, cuSPARSE and
    cuDNN count for themselves. Windows writes ``cudart64_110.dll`` and ``cudart64_12.dll``.
    """
    found: dict[str, str] = {}
    for name in needed:
        match = _SONAME.fullmatch(name) or _DLL.fullmatch(name)
        if match and (product := _PRODUCTS.get(match[1].lower(), "")):
            found.setdefault(product, _major(match[2]))
    return found


def _major(version: str) -> str:
    """``11.0`` -> ``11``; Windows runs the numbers together: ``110`` -> ``11``."""
    return version[:2] if len(version) == 3 and version.isdigit() else version.partition(".")[0]


_ABI_TAG = pattern(r"\.(?:cpython-(\d+)(t?)-[\w-]+|cp(\d+)(t?)-win[\w]*|pypy(\d+)-[\w-]+|(abi3))\.(?:so|pyd)$")


def python_tag(filename: str) -> str:
    """The interpreter that an extension module's file name commits to (PEP 3149): ``cp311``, ``cp313t``, ``abi3``.

    >>> python_tag("_C.cpython-311-x86_64-linux-gnu.so"), python_tag("_C.abi3.so"), python_tag("libc10.so")
    ('cp311', 'abi3', '')
    """
    found = _ABI_TAG.search(filename)
    if found is None:
        return ""
    unix, unix_free, windows, windows_free, pypy, stable = found.groups()
    if stable or pypy:
        return stable or f"pp{pypy}"
    return f"cp{unix or windows}{unix_free or windows_free or ''}"
