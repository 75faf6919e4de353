"""Records that facts are made of: what was read, one accelerator, what a build says of itself, one shared library."""

from __future__ import annotations

from typing import Any

from compat.lazy import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that was read, or stated by an option of the command.

    Attributes:
        value: what was read; ``None`` for a known absence.
        source: where it was read, or the option.
        option: whether an option stated it.
    """

    value: Any
    source: str = ""
    option: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that could not be read, and ``why``; ``source`` is the place that was tried."""

    why: str
    source: str = ""


Reading = Fact | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One accelerator. Empty strings and ``None`` mean "not known", never "no".

    Attributes:
        name: product name as its driver prints it.
        vendor: ``nvidia``, ``amd``, ``intel``, ``apple``, ``huawei``, ``google``, ...
        target: ``sm_89``, ``gfx1100``; AMD features may follow (``gfx90a:xnack-``).
        pci: vendor and device id, ``10de:2684``.
        bus: PCI address, ``0000:01:00.0``.
        driver: kernel driver bound to it (``nvidia``, ``nouveau``, ``vfio-pci``, ``amdgpu``, ...), ``none`` if none is.
        memory_mib: device memory in MiB.
        memory_used_mib: of which in use.
        integrated: whether it shares the processor's memory (APU, Jetson, Apple).
        mig: ``enabled`` or ``disabled``; ``mig_pending`` is the mode after the next reset.
        mig_devices: number of MIG compute instances.
        compute_mode: ``default``, ``exclusive_process``, ``prohibited``.
        persistence: whether persistence mode is on.
        ecc_uncorrected: uncorrected ECC errors since the last reset.
        remap_pending: whether row remapping or page retirement waits for a reset.
        pcie: current link, ``gen4 x16``; ``pcie_max`` what the card and slot allow.
        numa: NUMA node that the card hangs on; -1 where the firmware names none.
        nvlinks: NVLink lanes that are active; ``nvlinks_down`` those that the card has and that are not.
        fabric: registration with the NVSwitch fabric: ``completed``, ``in_progress``, ``not_started``.
        clock_mhz: clock of the processors now, in MHz; ``clock_max_mhz`` the highest it may take.
        memory_clock_mhz: clock of the memory now, in MHz; ``memory_clock_max_mhz`` the highest it may take.
        power_limit_w: power that the driver holds it to, in W; ``power_default_w`` what it comes with.
        throttle: active reasons for lowered clocks.
        processes: number of compute processes.
        virtual: ``passthrough``, ``vgpu`` (in a guest), ``host_vgpu``, ``host_vsga``; ``none`` on bare metal.
        licensed: whether a virtual GPU has its licence.
        lost: whether the driver reports the device as lost or needing a reset.
    """

    name: str = ""
    vendor: str = ""
    target: str = ""
    pci: str = ""
    bus: str = ""
    driver: str = ""
    memory_mib: int | None = None
    memory_used_mib: int | None = None
    integrated: bool | None = None
    mig: str = ""
    mig_pending: str = ""
    mig_devices: int | None = None
    compute_mode: str = ""
    persistence: bool | None = None
    ecc_uncorrected: int | None = None
    remap_pending: bool | None = None
    pcie: str = ""
    pcie_max: str = ""
    numa: int | None = None
    nvlinks: int | None = None
    nvlinks_down: int | None = None
    fabric: str = ""
    clock_mhz: int | None = None
    clock_max_mhz: int | None = None
    memory_clock_mhz: int | None = None
    memory_clock_max_mhz: int | None = None
    power_limit_w: int | None = None
    power_default_w: int | None = None
    throttle: tuple[str, ...] = ()
    processes: int | None = None
    virtual: str = ""
    licensed: bool | None = None
    lost: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What one installed framework or compiled package says of its own build.

    Attributes:
        runtime: ``cuda12.8``, ``rocm6.4``, ``xpu``, ``cpu``; empty if it does not say.
        cudnn: cuDNN it was built for or bundles, as far as it says (``9``, ``8.9.2``).
        kernels: GPU targets that it carries (``sm_80``, ``compute_90``, ``gfx1100``).
        torch: the torch release that an extension was built against.
        python_tag: ``cp311``.
        cxx11_abi: libstdc++'s new string ABI (torch and its extensions).
        path: the file or folder it was read from.
        location: ``user``, ``venv``, ``conda``, ``system`` when several installations matter.
    """

    runtime: str = ""
    cudnn: str = ""
    kernels: tuple[str, ...] = ()
    torch: str = ""
    python_tag: str = ""
    cxx11_abi: bool | None = None
    path: str = ""
    location: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """One shared library that can be loaded, or one that was asked for and is missing.

    Attributes:
        name: soname, ``libcudnn.so.9``.
        version: full version where known, ``9.1.0``.
        path: file that was found; empty if the loader finds none.
        origin: ``system``, ``wheel``, ``conda``, ``LD_LIBRARY_PATH``, ``compat``, ``stubs``.
        loaded: whether it is the copy that the loader would pick first.
    """

    name: str
    version: str = ""
    path: str = ""
    origin: str = ""
    loaded: bool | None = None
