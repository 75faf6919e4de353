"""GPUs and drivers of the machines that a plan must serve: which GPUs it must serve, and which it may leave idle.

A host lists everything with a display or compute function, and not all of it is meant: a desktop's processor has a
GPU inside, a server a chip for its console, a workstation a card that a virtual machine owns. A GPU that is left out of
the plan stays in the list of verdicts with the reason, and among the conditions.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.errors import InputError
from compat.facts import Fact, Gpu, Host, Unknown
from compat.lazy import dataclass, pattern
from compat.matrix.drivers import FORWARD_SEGMENTS, INTEGRATED
from compat.resolve.situation import Constraints, Device, Machine
from compat.targets import is_target, sm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.matrix.rows import Product
    from compat.resolve.knowledge import Knowledge


# Vendors for whose devices some framework publishes builds; a server's display chip is not among them.
SERVED: Final = frozenset({"nvidia", "amd", "intel", "apple", "google", "huawei"})

# What a kernel target looks like (``sm_90a``, ``gfx90a:xnack+``, ``dg2``); any other text says nothing.
_TARGET: Final = pattern(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,60}")

_MIG: Final = pattern(r" MIG [1-7]g\.[0-9]{1,3}gb")
_FRACTION: Final = pattern(r" \((1/[0-9]{1,2})\)$")


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
                name = device.name or "a GPU"
                why = f"which kernels {name} runs is unknown: no product of that name or PCI id is in the matrix"
                found.unknowns.append(why)
    found.conditions.extend(f"{device.label} is left idle: {device.idle}" for device in found.idle)
    return found


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
    return Device(name, vendor.lower(), target, brand, segment, machine, arch=arch, part=_part(name))


def _part(name: str) -> str:
    """That a GPU's name is that of a part of one, in words; empty for a whole one.

    A program enumerates a single MIG device, whatever CUDA_VISIBLE_DEVICES lists:
    https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ (2026-11-22).
    """
    if found := _FRACTION.search(name):
        return f"only {found[1]} of the card is there, with so much of its memory"
    return "a CUDA program sees one slice, however many the card has" if _MIG.search(name) else ""


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
    return product is not None and product.segment in INTEGRATED


def _out_of_reach(gpu: Gpu, device: Device, product: Product | None) -> str:
    """Why no program on this machine can compute on a device; empty if one can."""
    if gpu.driver == "vfio-pci":
        return "it is handed to a virtual machine (vfio-pci)"
    if device.vendor == "intel" and not device.target and product is None:
        return "the matrix knows no Intel compute support for it"
    return ""


# Stands for the newest release of a driver branch that is named by its number alone (``525``).
ENDLESS: Final = 999_999_999


def read_machines(
    hosts: Sequence[Host], known: Knowledge, into: Constraints, cpu: bool
) -> tuple[tuple[Machine, ...], tuple[Device, ...], tuple[int, ...], tuple[Device, ...]]:
    """Drivers and GPUs of all machines, the bit of each GPU, and GPUs left idle.

    A driver has one bit per machine, and so have GPUs that are alike: a node with eight of a kind has one clash and not
    eight, and is judged in the time of one.
    """
    read: list[Machine] = []
    bits: dict[Device, int] = {}
    fleet: list[int] = []
    idle: list[Device] = []
    for number, host in enumerate(hosts):
        machine = _machine(host, into, cpu)
        if cpu:
            read.append(machine)
            continue
        found = read_devices(host, known, number)
        vendors = frozenset(device.vendor for device in found.used)
        segments = {device.segment for device in found.used if device.vendor == "nvidia"}
        # in WSL libcuda comes from Windows; source: CUDA Compatibility, "Forward Compatibility"
        forward = bool(segments) and segments <= FORWARD_SEGMENTS and (host.platform or "linux") == "linux"
        read.append(replace(machine, vendors=vendors, forward=forward))
        into.conditions.extend(found.conditions)
        into.unknowns.extend(found.unknowns)
        idle.extend(found.idle)
        for device in found.used:
            if device not in bits:
                text = f"GPU {device.label}"
                bits[device] = into.fact(f"gpu{len(bits)}", typed_name(device, known), text, host, "gpus")
            fleet.append(bits[device])
    devices = tuple(replace(device, bit=bit) for device, bit in bits.items())
    return tuple(read), devices, tuple(fleet), tuple(idle)


def is_wsl(host: Host) -> bool:
    """Whether a host is Windows' subsystem for Linux in the version that has GPUs."""
    return bool(host.platform == "wsl2")


def _machine(host: Host, into: Constraints, cpu: bool) -> Machine:
    """A machine's drivers; a CPU plan needs none, whatever is there."""
    if cpu:
        return Machine()
    text, machine = host.driver, Machine()
    if text:
        number = driver_number(text)
        if number[-1] == ENDLESS:
            into.conditions.append(f"driver {text} is read as the newest release of branch {text}")
        side = " of Windows" if is_wsl(host) else ""
        bit = into.fact("driver", text, f"NVIDIA driver {text}{side}", host, "driver")
        machine = Machine(text, number, bit, cuda="" if host.is_option("driver") else host.driver_cuda or "")
    text = host.amdgpu
    if text and versions.is_release(text):
        bit = into.fact("amdgpu", text, f"AMD driver {text}", host, "amdgpu")
        machine = replace(machine, amdgpu=versions.release(text), amdgpu_bit=bit)
    if l4t := host.l4t:
        bit = into.fact("l4t", l4t, f"L4T {l4t}", host, "l4t")
        machine = replace(machine, l4t=l4t, l4t_bit=bit)
    return machine


def no_gpu(hosts: Sequence[Host], into: Constraints) -> int:
    """The bit of "no GPU" where that is known; where nothing is known a GPU is assumed, and said to be.

    An empty list of GPUs is a fact and excludes GPU builds; a list that could not be read is none, and must not: the
    commonest reason is a broken driver on a machine that has a GPU.
    """
    host = hosts[0]
    reading = host.reading("gpus")
    if isinstance(reading, Fact):
        names = ", ".join(gpu.name or gpu.pci or gpu.vendor for gpu in reading.value or ())
        seen = f"no GPU that a GPU build can use (only {names})" if names else "no GPU"
        return into.fact("no-gpu", "none", seen, host, "gpus")
    assert isinstance(reading, Unknown)
    why = "" if reading.why == "not given" else f" (its GPUs are unknown: {reading.why})"
    into.conditions.append(f"the target has a GPU for which the plan carries native code{why}")
    return 0


def driver_number(text: str) -> tuple[int, ...]:
    """A driver as integers; a bare branch (``525``) counts as the newest release of that branch.

    Raises:
        InputError: if it is not a dotted number.
    """
    try:
        number = versions.release(text)
    except ValueError:
        raise InputError(f"driver {text[:40]!r}", where="driver", expected="a version such as 535.54.03") from None
    return (*number, ENDLESS) if len(number) == 1 else number
