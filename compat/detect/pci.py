"""Accelerators by their PCI id: what is plugged in, whatever drivers say.

``/sys/bus/pci/devices`` is readable by anyone, in containers too, and needs no lspci. It shows the card that no driver
has claimed, the one that nouveau or vfio-pci holds, and the link each card has now and could have. What stands between
two cards is told too: whether the bridges above them redirect their traffic, and whether an IOMMU translates it.

Sources: Linux, Documentation/ABI/testing/sysfs-bus-pci and sysfs-kernel-iommu_groups; Linux, pci_regs.h (extended
capabilities, PCI_EXT_CAP_ID_ACS, PCI_ACS_CTRL); PCI Code and ID Assignment Specification (classes); the PCI ID
repository (vendors). Names of products are facts of the matrix.
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

NAME: Final = "PCI bus"
FACTS: Final = ("gpus", "nvswitch", "pcie_acs", "infiniband")
SYSTEMS: Final = LINUX
SOUGHT: Final = "/sys/bus/pci/devices"

# Vendor ids as the PCI ID repository lists them; display chips of servers (ASPEED, Matrox) and of virtual machines
# are not accelerators and stay out.
_VENDORS: Final = {
    "10de": "nvidia",
    "1002": "amd",
    "8086": "intel",
    "1da3": "habana",
    "19e5": "huawei",
    "1ae0": "google",
    "1ed5": "mthreads",
    "cabc": "cambricon",
    "1d22": "kunlunxin",
    "9999": "metax",
    "1e3e": "iluvatar",
    "1e36": "enflame",
    "1d94": "hygon",
}
# PCI base classes (PCI Code and ID Assignment): display controller, processing accelerator; NVSwitch is a bridge
# (0x0680 "other bridge" is what NVIDIA's switches of all generations call themselves)
_DISPLAY, _ACCELERATOR, _SWITCH = "0x03", "0x12", "0x0680"

# Transfer rate in GT/s -> generation (PCI Express base specifications 1 to 6)
_GENERATION: Final = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6}

_BRIDGE: Final = pattern(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ACS: Final = 0x000D  # PCI_EXT_CAP_ID_ACS
_REDIRECTS: Final = 0x01 | 0x04  # PCI_ACS_SV source validation, PCI_ACS_RR request redirect
_CONFIG: Final = 4096  # bytes of a PCI Express configuration space; the first 64 are all that others than root may read
_EXTENDED: Final = 0x100
# Kinds of IOMMU domain in sysfs -> our word for what happens to a device's addresses
_DOMAINS: Final = {"identity": "pt", "DMA": "translated", "DMA-FQ": "translated"}


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Every accelerator on the bus with its ids, address, bound driver and link; and the number of NVSwitches."""
    if not machine.exists("/sys/bus"):
        return dict.fromkeys(FACTS, Unknown("/sys is not mounted", SOUGHT))
    addresses = machine.names(SOUGHT)
    gpus = tuple(gpu for address in addresses if (gpu := _gpu(machine, address)) is not None)
    return {
        "gpus": Fact(gpus, SOUGHT),
        "nvswitch": Fact(sum(_is_switch(machine, each) for each in addresses), SOUGHT),
        "pcie_acs": _redirecting(machine, [gpu.bus for gpu in gpus]),
        "infiniband": Fact(len(machine.names("/sys/class/infiniband")), "/sys/class/infiniband"),
        **_translation(machine, [gpu.bus for gpu in gpus if not gpu.integrated]),
    }


def _translation(machine: Machine, addresses: list[str]) -> dict[str, Reading]:
    """What the IOMMU does with the addresses of cards, from the kind of their domains; nothing where none is told."""
    kinds = {_DOMAINS.get(machine.text(f"{SOUGHT}/{each}/iommu_group/type"), "") for each in addresses} - {""}
    value = "translated" if "translated" in kinds else "pt"
    return {"iommu": Fact(value, f"{SOUGHT}/*/iommu_group/type")} if kinds else {}


def _redirecting(machine: Machine, addresses: list[str]) -> Reading:
    """Bridges above the GPUs whose access control sends traffic between devices up to the processor.

    It matters where two cards could talk to each other, and is only looked at there.
    """
    source = f"{SOUGHT}/*/config"
    if len(addresses) < 2:
        return Fact((), "fewer than two GPUs on the bus")
    above = dict.fromkeys(part for each in addresses for part in machine.real(f"{SOUGHT}/{each}").split("/"))
    bridges = [part for part in above if part not in addresses and _BRIDGE.fullmatch(part)]
    spaces = {each: machine.data(f"{SOUGHT}/{each}/config", _CONFIG) for each in bridges}
    if bridges and all(len(space) <= _EXTENDED for space in spaces.values()):
        return Unknown("only root may read the extended configuration of PCIe bridges", source)
    return Fact(tuple(each for each, space in spaces.items() if _acs_control(space) & _REDIRECTS), source)


def _acs_control(space: bytes) -> int:
    """The control register of Access Control Services in a configuration space; 0 where a bridge has none.

    Extended capabilities are a list from 0x100 on: 16 bits of id, 4 of version, 12 with the place of the next one.
    """
    place, seen = _EXTENDED, set[int]()
    while _EXTENDED <= place <= len(space) - 8 and place not in seen:
        seen.add(place)
        head = int.from_bytes(space[place : place + 4], "little")
        if head & 0xFFFF == _ACS:
            return int.from_bytes(space[place + 6 : place + 8], "little")
        place = head >> 20
    return 0


def _gpu(machine: Machine, address: str) -> Gpu | None:
    """One device of the bus, or ``None`` if it is no accelerator."""
    folder = f"{SOUGHT}/{address}"
    kind = machine.text(f"{folder}/class")
    if not kind.startswith((_DISPLAY, _ACCELERATOR)):
        return None
    vendor = machine.text(f"{folder}/vendor").removeprefix("0x")
    device = machine.text(f"{folder}/device").removeprefix("0x")
    if vendor not in _VENDORS or not device:
        return None
    # no name and no target: which product a device id stands for is a fact of the matrix
    return Gpu(
        vendor=_VENDORS[vendor],
        pci=f"{vendor}:{device}",
        bus=address,
        driver=machine.link(f"{folder}/driver") or "none",
        # Intel's processor graphics are always at 00:02.0; a display class elsewhere is a card; others: not known
        integrated=address == "0000:00:02.0" if vendor == "8086" and kind.startswith(_DISPLAY) else None,
        pcie=link(machine, folder, "current"),
        pcie_max=link(machine, folder, "max"),
        numa=_node(machine.text(f"{folder}/numa_node", 16)),
    )


def _node(text: str) -> int | None:
    """A NUMA node's number, -1 for "the firmware names none"; ``None`` where the kernel does not tell."""
    return int(text) if re.fullmatch(r"-1|[0-9]{1,4}", text) else None


def link(machine: Machine, folder: str, which: str) -> str:
    """``gen4 x16`` from ``current_link_*`` or ``max_link_*``; empty where the bus does not tell (virtual machines)."""
    speed = machine.text(f"{folder}/{which}_link_speed").split(" ", 1)[0].removesuffix(".0")
    width = machine.number(f"{folder}/{which}_link_width")
    if speed not in _GENERATION or width is None or not 0 < width <= 32:
        return ""
    return f"gen{_GENERATION[speed]} x{width}"


def _is_switch(machine: Machine, address: str) -> bool:
    """Whether a device is an NVSwitch: NVIDIA's, of class bridge."""
    folder = f"{SOUGHT}/{address}"
    return machine.text(f"{folder}/vendor") == "0x10de" and machine.text(f"{folder}/class").startswith(_SWITCH)
