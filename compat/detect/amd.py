"""AMD GPUs through KFD's topology, the amdgpu driver, and ROCm on disk.

``/sys/class/kfd/kfd/topology/nodes/N/properties`` holds one ``key value`` pair a line. Processors are nodes too: they
have no SIMDs and a ``gfx_target_version`` of zero. The number is decimal, its last two parts print as hexadecimal
digits: 90402 is gfx942, 90010 is gfx90a, 110003 is gfx1103. ``HSA_OVERRIDE_GFX_VERSION`` changes what programs see and
not what is told here: it is an environment variable and a fact of its own.

``pp_dpm_sclk`` lists the clocks that a card may take, one a line, the present one marked with a star
(``1: 1435Mhz *``). KFD keeps a folder per compute process, in which ``vram_<gpu_id>`` counts the bytes that it holds on
a card; a process that has a card open and holds nothing on it is not told.

Sources: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c, kfd_process.c (kfd_procfs_show) and
Documentation/gpu/amdgpu/thermal.rst (pp_dpm_*); ROCm, rocm_agent_enumerator and libhsakmt topology.c; libdrm,
data/amdgpu.ids (``device, revision, name`` with hexadecimal ids).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.detect.base import LINUX
from compat.facts import Fact, Gpu, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "AMD"
FACTS: Final = ("amdgpu", "rocm", "hip", "rocm_installs")
SYSTEMS: Final = LINUX
SOUGHT: Final = "/sys/class/kfd, /sys/module/amdgpu, /opt/rocm*"

_NODES: Final = "/sys/class/kfd/kfd/topology/nodes"
_PCI: Final = "/sys/bus/pci/devices"
_PROCESSES: Final = "/sys/class/kfd/kfd/proc"
_LEVEL: Final = pattern(r"^\d{1,2}: (\d{1,5})Mhz[ \t]*(\*?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_MOST: Final = 256  # compute processes looked at; a node that has more is told as busy all the same
_IDS: Final = ("/usr/share/libdrm/amdgpu.ids", "/opt/amdgpu/share/libdrm/amdgpu.ids")

# amdgpu families of APUs (Linux, include/uapi/drm/amdgpu_drm.h): Kaveri, Carrizo, Raven, Van Gogh, Yellow Carp,
# GC 11.0.1 (Phoenix), GC 10.3.6 (Raphael), GC 11.5.0 (Strix), GC 10.3.7 (Mendocino)
_APU_FAMILIES: Final = frozenset({125, 135, 142, 144, 146, 148, 149, 150, 151})
# Where ROCm states its release: packages up to 7.2, then the Core SDK's own folder
_VERSION_FILES: Final = (".info/version", "core/.info/version", ".info/version-dev")
# names of folders below /opt, and of the Core SDK's below /opt/rocm
_ROCM: Final = pattern(r"rocm(?:-\d[\d.]*)?")
_CORE: Final = pattern(r"core(?:-\d[\d.]*)?")
# a build number follows after a dash and is nobody's concern: 6.2.4-139
_RELEASE: Final = pattern(r"\d{1,3}\.\d{1,3}(?:\.\d{1,3})?")


def facts(machine: Machine) -> Mapping[str, Reading]:
    """GPUs with their gfx target, version of the kernel driver, every ROCm below /opt."""
    installs = _installs(machine)
    return {
        "gpus": Fact(tuple(_gpus(machine)), _NODES),
        "amdgpu": _driver(machine),
        "rocm_installs": Fact(installs, "/opt/rocm*"),
        "rocm": _rocm(machine, installs),
        "hip": _hip(machine),
    }


def _gpus(machine: Machine) -> list[Gpu]:
    """Nodes with compute units; processors are nodes too and have none."""
    found = []
    for node in machine.names(_NODES):
        folder = f"{_NODES}/{node}"
        said = _properties(machine, folder)
        if said.get("simd_count") and said.get("gfx_target_version"):
            found.append(_gpu(machine, folder, said))
    return found


def _properties(machine: Machine, folder: str) -> dict[str, int]:
    """The numbers in a ``properties`` file of KFD's topology, by their names."""
    pairs = re.findall(r"^(\w+) (\d{1,20})$", machine.text(f"{folder}/properties"), re.MULTILINE)
    return {key: int(value) for key, value in pairs}


def _gpu(machine: Machine, folder: str, said: Mapping[str, int]) -> Gpu:
    """One GPU: target and address from KFD, memory from amdgpu's own files, name from the board or libdrm."""
    bus = address(said.get("domain", 0), said.get("location_id", 0))
    device = f"{_PCI}/{bus}"
    memory, used = (machine.number(f"{device}/mem_info_vram_{which}") for which in ("total", "used"))
    (clock, clock_max), (memory_clock, memory_max) = (_clocks(machine, device, kind) for kind in ("sclk", "mclk"))
    return Gpu(
        name=_name(machine, device, said.get("device_id", 0)),
        vendor="amd",
        target=gfx(said["gfx_target_version"]),
        pci=f"{said.get('vendor_id', 0x1002):04x}:{said.get('device_id', 0):04x}",
        bus=bus,
        driver="amdgpu",
        memory_mib=_bank_memory(machine, folder) if memory is None else memory >> 20,
        memory_used_mib=None if used is None else used >> 20,
        integrated=_integrated(said),
        clock_mhz=clock,
        clock_max_mhz=clock_max,
        memory_clock_mhz=memory_clock,
        memory_clock_max_mhz=memory_max,
        processes=_processes(machine, folder),
    )


def _clocks(machine: Machine, device: str, kind: str) -> tuple[int | None, int | None]:
    """Present and highest clock in MHz of ``sclk`` (processors) or ``mclk`` (memory); ``None`` where none is told."""
    levels = _LEVEL.findall(machine.text(f"{device}/pp_dpm_{kind}", 4096))
    now = next((int(speed) for speed, star in levels if star), None)
    return now, max((int(speed) for speed, _ in levels), default=None)


def _processes(machine: Machine, node: str) -> int | None:
    """Number of processes that hold memory on the card of a KFD node; ``None`` where the kernel keeps no such list."""
    number = machine.text(f"{node}/gpu_id", 32)
    if not number.isdecimal() or not machine.exists(_PROCESSES):
        return None
    held = (machine.number(f"{_PROCESSES}/{each}/vram_{number}") for each in machine.names(_PROCESSES)[:_MOST])
    return sum(1 for size in held if size)


def gfx(number: int) -> str:
    """``90402`` -> ``gfx942``: decimal major*10000 + minor*100 + stepping, the last two as hexadecimal digits (KFD)."""
    return f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"


def address(domain: int, location: int) -> str:
    """KFD's location_id as a PCI address: bus in bits 8-15, device in 3-7, function in 0-2."""
    return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"


def _integrated(said: Mapping[str, int]) -> bool | None:
    """By the driver's family number; older kernels without it join an APU's cores and its GPU in one node."""
    if family := said.get("family_id"):
        return family in _APU_FAMILIES
    return True if said.get("cpu_cores_count") else None


def _bank_memory(machine: Machine, folder: str) -> int | None:
    """Device memory from KFD's banks of type 1 and 2 (frame buffer, public and private); ``None`` without any."""
    total = 0
    for bank in machine.names(f"{folder}/mem_banks"):
        said = _properties(machine, f"{folder}/mem_banks/{bank}")
        if said.get("heap_type") in {1, 2}:
            total += said.get("size_in_bytes", 0)
    return total >> 20 if total else None


def _name(machine: Machine, device: str, number: int) -> str:
    """Product name: from the board itself, else from libdrm's table by device and revision."""
    if product := machine.text(f"{device}/product_name"):
        return product
    # one device id stands for several products, told apart by the PCI revision
    revision = machine.text(f"{device}/revision").removeprefix("0x").upper()
    wanted = re.compile(rf"^{number:04X},\s*{re.escape(revision) or '00'},\s*(.+?)\s*$", re.MULTILINE | re.IGNORECASE)
    for path in _IDS:
        if found := wanted.search(machine.text(path)):
            return found[1]
    return ""


def _driver(machine: Machine) -> Reading:
    """AMD's packaged driver has a version of its own; the kernel's copy goes by the kernel's."""
    if not machine.exists("/sys/module/amdgpu"):
        return Fact(None, "/sys/module/amdgpu")
    version = machine.text("/sys/module/amdgpu/version")
    return Fact(version or "inbox", "/sys/module/amdgpu/version" if version else "/sys/module/amdgpu has no version")


def _installs(machine: Machine) -> dict[str, str]:
    """Folder -> release of every ROCm below /opt, links followed so that none counts twice."""
    found: dict[str, str] = {}
    # releases lie beside each other (/opt/rocm-6.2.0) or, for the Core SDK, inside (/opt/rocm/core-7.14)
    inside = [f"/opt/rocm/{name}" for name in machine.names("/opt/rocm") if _CORE.fullmatch(name)]
    for folder in (*(f"/opt/{name}" for name in machine.names("/opt") if _ROCM.fullmatch(name)), *inside):
        if version := _version(machine, folder):
            found.setdefault(machine.real(folder), version)
    return found


def _version(machine: Machine, folder: str) -> str:
    """The release that a ROCm folder states; packages append a build number, which is dropped."""
    for name in _VERSION_FILES:
        if said := _RELEASE.match(machine.text(f"{folder}/{name}")):
            return said[0]
    return ""


def _rocm(machine: Machine, installs: Mapping[str, str]) -> Reading:
    """The release that ROCM_PATH or /opt/rocm leads to, else the only one that is there."""
    for folder in (machine.env.get("ROCM_PATH", ""), "/opt/rocm"):
        if folder and (version := installs.get(machine.real(folder)) or _version(machine, folder)):
            return Fact(version, folder)
    if len(set(installs.values())) == 1:
        folder, version = next(iter(installs.items()))
        return Fact(version, folder)
    if installs:
        return Unknown("several ROCm releases are installed and none is the default", ", ".join(installs))
    if machine.exists("/opt/rocm"):
        return Unknown("/opt/rocm is there but no file in it names a release", "/opt/rocm")
    return Fact(None, "/opt/rocm*")


def _hip(machine: Machine) -> Reading:
    """HIP's own version file (``HIP_VERSION_MAJOR=6`` ...), in its two places over the releases."""
    for path in ("/opt/rocm/share/hip/version", "/opt/rocm/bin/.hipVersion", "/opt/rocm/hip/bin/.hipVersion"):
        said = dict(re.findall(r"^HIP_VERSION_(MAJOR|MINOR|PATCH)=(\d+)", machine.text(path), re.MULTILINE))
        if {"MAJOR", "MINOR"} <= said.keys():
            return Fact(".".join(said[part] for part in ("MAJOR", "MINOR", "PATCH") if part in said), path)
    return Fact(None, "/opt/rocm/share/hip/version")
