"""Drivers and GPUs of the machines that a plan must serve, as soft constraints."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.errors import InputError
from compat.facts import Fact, Unknown
from compat.matrix.drivers import FORWARD_SEGMENTS
from compat.resolve.devices import Device, read_devices, typed_name
from compat.resolve.placing import is_wsl
from compat.resolve.situation import Machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Host
    from compat.resolve.constraints import Constraints
    from compat.resolve.knowledge import Knowledge

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
        read.append(replace(machine, vendors=vendors, forward=_forward(host, found.used)))
        into.conditions.extend(found.conditions)
        into.unknowns.extend(found.unknowns)
        idle.extend(found.idle)
        for device in found.used:
            if device not in bits:
                text = f"GPU {device.label}"
                bits[device] = into.fact(f"gpu{len(bits)}", typed_name(device, known), text, host, "gpus")
            fleet.append(bits[device])
    devices = tuple(device.with_bit(bit) for device, bit in bits.items())
    return tuple(read), devices, tuple(fleet), tuple(idle)


def _forward(host: Host, used: Sequence[Device]) -> bool:
    """Whether a cuda-compat package may stand in for a newer driver: every NVIDIA GPU is of the class, on Linux itself.

    WSL has Windows' driver, whose libcuda comes from outside. Source: CUDA Compatibility, "Forward Compatibility".
    """
    segments = {device.segment for device in used if device.vendor == "nvidia"}
    return bool(segments) and segments <= FORWARD_SEGMENTS and (host.platform or "linux") == "linux"


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
        machine = Machine(text, number, bit)
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
