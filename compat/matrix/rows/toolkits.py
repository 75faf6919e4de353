"""Rows of CUDA, ROCm, their targets, drivers and libraries."""

from __future__ import annotations

import re

from compat.matrix.rows.base import Row, row


@row("cuda", key="cuda")
class CudaRelease(Row):
    """A CUDA toolkit release (table ``cuda``).

    Attributes:
        cuda: ``12.8.1``; a driver-only value such as 12.7 has ``toolkit = false``, a preview ``preview = true``.
        driver_linux: lowest Linux driver of NVIDIA's release table; ``driver_windows`` likewise.
        family_linux: lowest driver of the major's minor-version compatibility; empty before CUDA 11.
        targets: ``sm_`` targets its ptxas accepts.
        ptx: PTX ISA version its compiler writes.
        gcc: highest gcc major its headers accept; ``clang`` likewise; ``msvc`` the highest compiler of Visual Studio.
        cudart: version of its runtime library.
        branch: driver branch that ships with it, ``R570``.
    """

    cuda: str
    toolkit: bool = True
    preview: bool = False
    driver_linux: str = ""
    driver_windows: str = ""
    family_linux: str = ""
    family_windows: str = ""
    branch: str = ""
    targets: tuple[str, ...] = ()
    ptx: str = ""
    gcc: str = ""
    clang: str = ""
    msvc: str = ""
    cudart: str = ""
    date: str = ""


@row("capabilities", key="cc")
class Capability(Row):
    """An NVIDIA compute capability (table ``capabilities``).

    Attributes:
        cc: ``8.9``.
        first_cuda: first toolkit that can target it; ``last_cuda`` the last, empty if still current.
        last_driver: last driver branch that serves it, ``R580``; empty if still current.
        integrated: Jetson-class: code for it and desktop code do not mix.
        features: ``tensor fp16 bf16 tf32 fp8 fp4 int8`` that its hardware has.
    """

    cc: str
    architecture: str
    first_cuda: str
    last_cuda: str = ""
    last_driver: str = ""
    integrated: bool = False
    features: tuple[str, ...] = ()


@row("gfx", key="gfx")
class Gfx(Row):
    """An AMD target (table ``gfx``).

    Attributes:
        gfx: ``gfx1100``.
        first_rocm: first release that supports it officially; ``last_rocm`` the last; empty if never, or still current.
        override: ``HSA_OVERRIDE_GFX_VERSION`` value by which it can borrow a sibling's code, ``10.3.0``.
        borrows: the sibling, ``gfx1030``.
        generic: LLVM's generic target that covers it.
        features: formats of its matrix cores (``fp16 bf16 tf32 fp8``), and ``xnack``; what is missing may still be
            computed by ordinary instructions.
    """

    gfx: str
    architecture: str
    first_rocm: str = ""
    last_rocm: str = ""
    override: str = ""
    borrows: str = ""
    generic: str = ""
    features: tuple[str, ...] = ()


@row("intel", key="intel")
class Intel(Row):
    """An Intel GPU target (table ``intel``).

    Attributes:
        intel: the name that Intel's offline compiler has for it, ``dg2``.
        architecture: ``Xe-HPG``.
        runs: names for which the compiler makes machine code that runs on it, its own among them.
        features: ``fp64`` if its hardware computes in double precision.
    """

    intel: str
    architecture: str
    runs: tuple[str, ...]
    features: tuple[str, ...] = ()


@row("rocm", key="rocm")
class RocmRelease(Row):
    """A ROCm release (table ``rocm``).

    Attributes:
        rocm: ``6.4.1``.
        stream: ``classic``, ``preview`` or ``core-sdk``: two numberings that overlap.
        drivers: lowest and highest amdgpu driver it accepts; a coarse highest (``6.2``) takes in
            all its releases, and one number alone is the only one known.
        targets: gfx targets its libraries are built for, officially supported.
        glibc: lowest glibc.
        os: systems it supports, ``ubuntu22.04 rhel9.4``; empty if not known.
        linux: kernels that it states for a system, ``ubuntu22.04:5.15 ubuntu22.04:6.8``; empty if not known.
    """

    rocm: str
    stream: str
    drivers: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    glibc: str = ""
    os: tuple[str, ...] = ()
    linux: tuple[str, ...] = ()
    date: str = ""


@row("drivers", key="branch")
class DriverBranch(Row):
    """An NVIDIA driver branch (table ``drivers``).

    Attributes:
        branch: ``R535``.
        kind: ``production``, ``lts``, ``new-feature``, ``legacy``; empty if not known.
        cuda: CUDA version its driver reports, ``12.2``.
        first: first Linux version; ``latest`` the newest seen; ``windows`` the newest for Windows.
        eol: end of life.
        drops: architectures that it no longer serves.
    """

    branch: str
    cuda: str
    kind: str = ""
    first: str = ""
    latest: str = ""
    windows: str = ""
    date: str = ""
    eol: str = ""
    drops: tuple[str, ...] = ()


@row("forward", key="cuda")
class Forward(Row):
    """A cuda-compat package: a newer user-space driver beside an older kernel driver (table ``forward``).

    Attributes:
        cuda: minor release that the package is named after, ``12.8``.
        branches: driver branches it runs on, ``R535``; its own is not among them, since nothing is missing there.
    """

    cuda: str
    branches: tuple[str, ...]


@row("cudnn nccl tensorrt", key="version cuda")
class LibraryRelease(Row):
    """A release of cuDNN, NCCL or TensorRT (tables ``cudnn``, ``nccl``, ``tensorrt``).

    Attributes:
        version: ``9.1.0.70``.
        cuda: CUDA releases it is built for: majors (``12``) or minors (``10.2``).
        first_cc: lowest compute capability it serves; ``last_cc`` the highest listed when it came out.
        driver_linux: lowest driver it states.
    """

    version: str
    cuda: tuple[str, ...] = ()
    first_cc: str = ""
    last_cc: str = ""
    driver_linux: str = ""
    date: str = ""


@row("sonames", key="soname package versions")
class Soname(Row):
    """A shared library, and the package of the default index that brings it (table ``sonames``).

    Attributes:
        soname: what a loader asks for: ``libcudnn.so.9``, ``cublas64_12.dll``.
        package: distribution whose wheels have it, ``nvidia-cudnn-cu12``.
        folder: where these put it, ``nvidia/cudnn/lib``.
        versions: releases that do, as a specifier of PEP 440: ``>=9.0.0.312``.
    """

    soname: str
    package: str
    versions: str
    folder: str = ""

    @property
    def cuda(self) -> str:
        """The CUDA major that NVIDIA's package is of, by its name or, since CUDA 13, by its folder; empty if none."""
        found = re.search(r"-cu(\d+)$", self.package) or re.search(r"/cu(\d+)/", self.folder)
        return found[1] if found else ""
