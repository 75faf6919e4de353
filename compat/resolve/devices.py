"""The target's GPUs: which of them a plan must serve, and which it may leave idle.

A host lists everything with a display or compute function, and not all of it is meant: a desktop's processor has a
GPU inside, a server a chip for its console, a workstation a card that a virtual machine owns. What is left out of the
plan is never left out silently: it stays in the list of verdicts with the reason, and among the conditions.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from compat.lazy import dataclass, pattern
from compat.targets import is_target, sm

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix.rows import Product
    from compat.resolve.knowledge import Knowledge

# Vendors for whose devices some framework publishes builds; a server's display chip is not among them.
SERVED: Final = frozenset({"nvidia", "amd", "intel", "apple", "google", "huawei"})

# What a kernel target looks like (``sm_90a``, ``gfx90a:xnack+``, ``dg2``); any other text says nothing.
_TARGET: Final = pattern(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,60}")

_INTEGRATED: Final = frozenset({"apu", "integrated", "igpu"})


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU of the target, with what the matrix knows of the product; ``machine`` numbers the host that has it.

    ``arch`` is the machine architecture where the product comes with its processor (Grace, DGX Spark, Jetson).
    """

    name: str
    vendor: str
    target: str
    brand: str = ""
    segment: str = ""
    machine: int = 0
    bit: int = 0
    idle: str = ""
    arch: str = ""

    @property
    def label(self) -> str:
        """How messages name it: ``NVIDIA A100 (sm_80)``."""
        return (
            f"{self.name} ({self.target})"
            if self.name and self.target and self.name != self.target
            else self.name or self.target
        )

    def with_bit(self, bit: int) -> Device:
        """The same device, with the bit of its constraint."""
        return replace(self, bit=bit)


@dataclass(slots=True)
class Found:
    """GPUs to be served, GPUs left idle, and what had to be assumed or is not known."""

    used: list[Device] = field(default_factory=list)
    idle: list[Device] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    unknowns: list[str] = field(default_factory=list)


def read_devices(host: Host, known: Knowledge, machine: int = 0) -> Found:
    """Sort a host's GPUs into those a plan must serve and those it may leave idle.

    A display adapter inside the processor is left idle where the machine has a card of its own, and an Intel display
    without compute support counts for nothing; every other device must be served, whatever its vendor.
    """
    found = Found()
    cards: list[tuple[Device, bool]] = []
    for stated in host.gpus or ():
        gpu = stated if _TARGET.fullmatch(stated.target) else replace(stated, target="")
        product = known.product(gpu.pci, gpu.name, gpu.target)
        device, inside = _device(gpu, product, machine), _is_integrated(gpu, product)
        if reason := _out_of_reach(gpu, device, product):
            found.idle.append(replace(device, idle=reason))
        elif device.vendor in SERVED or not device.vendor:
            cards.append((device, inside))
    discrete = any(not inside for _, inside in cards)
    for device, inside in cards:
        if inside and discrete:
            found.idle.append(
                replace(device, idle="it is built into the processor, and the machine has a card of its own")
            )
        else:
            found.used.append(device)
            if not device.target or not device.vendor:
                found.unknowns.append(_unknown(device))
    found.conditions.extend(f"{device.label} is left idle: {device.idle}" for device in found.idle)
    return found


def _unknown(device: Device) -> str:
    """Why nothing can be said about a GPU."""
    name = device.name or "a GPU"
    return f"which kernels {name} runs is unknown: no product of that name or PCI id is in the matrix"


def _device(gpu: Gpu, product: Product | None, machine: int) -> Device:
    """A GPU with its product's brand and segment; what the host states wins over the product's row.

    A bare kernel target is no product: data-center and consumer cards share many a target, so that its class and its
    brand are open.
    """
    target = gpu.target or (product.target if product else "")
    vendor = gpu.vendor or (product.vendor if product else "") or vendor_of(target)
    brand, segment, arch = (product.brand, product.segment, product.arch) if product else ("", "", "")
    if is_target(gpu.name) and not gpu.pci:
        brand = segment = ""
    name = gpu.name or (product.name if product else "") or target
    return Device(name, vendor.lower(), target, brand, segment, machine, arch=arch)


def typed_name(device: Device, known: Knowledge) -> str:
    """A device as ``--gpu`` finds it: by its name where that means one target, else by its target."""
    product = known.product("", device.name, "") if device.name else None
    return device.name if product is not None and product.target == device.target else device.target or device.name


def vendor_of(target: str) -> str:
    """The vendor that a kernel target belongs to."""
    if sm(target) is not None:
        return "nvidia"
    return "amd" if is_target(target) else ""


def _is_integrated(gpu: Gpu, product: Product | None) -> bool:
    """Whether a GPU is part of the processor: as the host says, else by the product's segment."""
    if gpu.integrated is not None:
        return gpu.integrated
    return product is not None and product.segment in _INTEGRATED


def _out_of_reach(gpu: Gpu, device: Device, product: Product | None) -> str:
    """Why no program on this machine can compute on a device; empty if one can."""
    if gpu.driver == "vfio-pci":
        return "it is handed to a virtual machine (vfio-pci)"
    if device.vendor == "intel" and not device.target and product is None:
        return "the matrix knows no Intel compute support for it"
    return ""
