"""What NVIDIA's management library says, asked in a process of its own.

What the answer leaves out is not known: GeForce cards have no ECC, WSL and Jetson answer few questions, MIG devices
hide clocks. A number outside any sensible range counts as not told, because broken drivers return all ones.

Source: NVML API reference; the names of errors are those of nvml.h.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import compat.detect.loader as loader
from compat import versions
from compat.detect.answers import FAILED, ask, count, faults, text
from compat.detect.base import ANYWHERE
from compat.facts import Fact, Gpu, Reading, Unknown
from compat.untrusted import items, rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "NVML"
FACTS: Final = ("nvml", "driver_cuda", "driver")
SYSTEMS: Final = ANYWHERE
SOUGHT: Final = "libnvidia-ml.so.1 on the loader's path"

_MODES: Final = {0: "disabled", 1: "enabled"}  # nvmlEnableState_t


def facts(machine: Machine) -> Mapping[str, Reading]:
    """NVML's own state, the driver behind it, and every GPU that it lists.

    ``driver`` is told here too, for WSL and Windows, where no /proc tells it; on Linux the kernel's own word wins.
    """
    library = loader.driver_library(machine, "libnvidia-ml.so.1", "C:/Windows/System32/nvml.dll")
    if not library:
        return dict.fromkeys(FACTS, Fact(None, SOUGHT))
    answer = ask(machine, "nvml.py", library)
    if isinstance(answer, Unknown):
        return {**dict.fromkeys((*FACTS, "gpus"), answer), **faults(answer.why, library)}
    if "missing" in answer:
        return dict.fromkeys(FACTS, Unknown("nvidia-ml-py is not installed beside envcheck", sys.executable))
    state = text(answer.get("init"), 80)
    failed = text(answer.get(FAILED), 300)
    # without a start nothing else can be asked; the name of the error is the fact, the rest follows from it
    if state != "ok":
        why = Unknown(f"NVML does not start: {state or 'no answer'}", NAME)
        return {"nvml": Fact(state, NAME) if state else why, "driver_cuda": why, "driver": why}
    return {
        "nvml": Unknown(failed, NAME) if failed else Fact("ok", NAME),
        "driver": Fact(text(answer.get("driver"), 40) or None, NAME),
        "driver_cuda": _cuda(machine, answer),
        "gpus": _gpus(answer, failed),
        **faults(failed, library),
    }


def _gpus(answer: dict[str, Any], failed: str) -> Reading:
    """The devices; not known where the library failed before it had told them."""
    if failed and "gpus" not in answer:
        return Unknown(failed, NAME)
    # NVML counts the devices that a container was not given too, and denies them
    return Fact(tuple(_gpu(each) for each in rows(answer.get("gpus")) if not each.get("denied")), NAME)


def _cuda(machine: Machine, answer: dict[str, Any]) -> Reading:
    """NVML asks the libcuda that is loaded: a forward-compatibility copy would answer for itself."""
    if copy := loader.compat_libcuda(machine):
        return Unknown("a forward-compatibility libcuda is in front of the driver's own", copy)
    number = count(answer.get("cuda"), 100_000)
    if not number:
        return Unknown("NVML does not tell it", NAME)
    return Fact(versions.unpacked_cuda(number), "NVML, which asks libcuda")


def _gpu(said: dict[str, Any]) -> Gpu:
    """One GPU in our words; what is out of any sensible range counts as not told."""
    # 1 << 50 bytes is a pebibyte: more than any device has, less than "all ones"
    total, used = (count(each, 1 << 50) for each in _pair(said.get("memory")))
    up, down = (count(each, 64) for each in _pair(said.get("nvlinks")))
    clock, most = (count(each, 100_000) for each in _pair(said.get("clocks")))
    memory_clock, memory_most = (count(each, 100_000) for each in _pair(said.get("memory_clocks")))
    limit, default = (count(each, 10_000_000) for each in _pair(said.get("power")))
    mig, pending = (_MODES.get(each, "") if type(each) is int else "" for each in _pair(said.get("mig")))
    return Gpu(
        name=text(said.get("name"), 120),
        vendor="nvidia",
        target=target(said.get("capability")),
        pci=_pci(said.get("pci")),
        bus=bus(text(said.get("bus"), 40)),
        driver="nvidia",
        memory_mib=None if not total else total >> 20,
        memory_used_mib=None if used is None or not total else used >> 20,
        mig=mig,
        mig_pending=pending,
        mig_devices=count(said.get("mig_devices"), 64) if mig == "enabled" else None,
        compute_mode=text(said.get("compute_mode"), 40),
        persistence=_flag(said.get("persistence")),
        ecc_uncorrected=count(said.get("ecc_uncorrected"), 1 << 48),
        remap_pending=_flag(said.get("remap_pending")),
        pcie=_link(said.get("link")),
        pcie_max=_link(said.get("link_max")),
        nvlinks=up,
        nvlinks_down=down,
        fabric=text(said.get("fabric"), 20),
        clock_mhz=clock,
        clock_max_mhz=most,
        memory_clock_mhz=memory_clock,
        memory_clock_max_mhz=memory_most,
        power_limit_w=None if limit is None else limit // 1000,
        power_default_w=None if default is None else default // 1000,
        virtual=text(said.get("virtual"), 20),
        licensed=_flag(said.get("licensed")),
        throttle=tuple(text(each, 40) for each in items(said.get("throttle")) if isinstance(each, str)),
        processes=count(said.get("processes"), 100_000),
        lost=said.get("lost") is True,
    )


def target(capability: Any) -> str:
    """``[8, 9]`` -> ``sm_89``; empty for anything that is no compute capability."""
    high, low = (count(part, 99) for part in _pair(capability))
    return f"sm_{high}{low}" if high and low is not None and low < 10 else ""


def bus(address: str) -> str:
    """A PCI address as sysfs writes it: NVML's eight-digit domain becomes four, hexadecimal digits small."""
    domain, _, rest = address.lower().partition(":")
    return f"{domain[-4:].rjust(4, '0')}:{rest}" if rest.count(":") == 1 else ""


def _pci(number: Any) -> str:
    """nvmlPciInfo_t.pciDeviceId: device in the upper half, vendor in the lower."""
    return f"{number & 0xFFFF:04x}:{number >> 16:04x}" if type(number) is int and 0 < number < 1 << 32 else ""


def _link(pair: Any) -> str:
    """``[4, 16]`` -> ``gen4 x16``; empty for anything that is no PCI Express link."""
    generation, width = (count(part, 32) for part in _pair(pair))
    return f"gen{generation} x{width}" if generation and width else ""


def _pair(value: Any) -> tuple[Any, Any]:
    """Two values, or two times nothing for anything that is no pair."""
    return (value[0], value[1]) if isinstance(value, list) and len(value) == 2 else (None, None)


def _flag(value: Any) -> bool | None:
    """A truth value; ``None`` for anything else."""
    return value if isinstance(value, bool) else None
