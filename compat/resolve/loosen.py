"""A target with some of its soft constraints dropped, or replaced by concrete values: what remedies are solved with.

Bits are kept when values are replaced: a device or driver without a bit would violate nothing, and a remedy checked
with it would always seem to work.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compat.resolve.devices import Device, driver_number, vendor_of

if TYPE_CHECKING:
    from compat.resolve.request import Wish
    from compat.resolve.situation import Machine, Situation


def relaxed(target: Situation, bits: int) -> Situation:
    """The target without the constraints in ``bits``: their wishes are gone and their facts count as not known.

    Facts become unknown rather than something else, so that the search assumes about them what it assumes about any
    target that does not say; a GPU that is dropped is gone from the target.
    """
    return replace(
        target,
        wishes=tuple((wish, bit) for wish, bit in target.wishes if not bit & bits),
        devices=tuple(device for device in target.devices if not device.bit & bits),
        machines=tuple(_undriven(machine, bits) for machine in target.machines),
        places=tuple((place, cost & ~bits) for place, cost in target.places),
        python="" if target.python_bit & bits else target.python,
        os="" if target.os_bit & bits else target.os,
        glibc="" if target.glibc_bit & bits else target.glibc,
        musl_bit=target.musl_bit & ~bits,
        flags=None if target.flags_bit & bits else target.flags,
        runtime="" if target.runtime_bit & bits else target.runtime,
        nothing=target.nothing & ~bits,
    )


def _undriven(machine: Machine, bits: int) -> Machine:
    """A machine of which those drivers that are in ``bits`` are not known; what GPUs it has is."""
    if machine.bit & bits:
        machine = replace(machine, driver="", number=(), bit=0)
    return replace(machine, amdgpu=(), amdgpu_bit=0) if machine.amdgpu_bit & bits else machine


def allowed_places(target: Situation) -> tuple[str, ...]:
    """Places that cost nothing: the target's own, and others once the machine's facts are dropped."""
    return tuple(place for place, cost in target.places if not cost)


def at_place(target: Situation, place: str) -> Situation:
    """The target at one place."""
    return replace(target, places=((place, 0),))


def with_wish(target: Situation, bit: int, wish: Wish) -> Situation:
    """The target with one wish replaced."""
    return replace(target, wishes=tuple((wish, one) if one == bit else (old, one) for old, one in target.wishes))


def with_driver(target: Situation, version: str, bits: int) -> Situation:
    """The target with the drivers in ``bits`` replaced by one version."""
    number = driver_number(version)
    machines = (replace(old, driver=version, number=number) if old.bit & bits else old for old in target.machines)
    return replace(target, machines=tuple(machines))


def with_target(target: Situation, device: str) -> Situation:
    """The target with its one GPU replaced by one of another kernel target."""
    new = Device(name=device, vendor=vendor_of(device), target=device)
    vendors = frozenset({new.vendor})
    machines = tuple(replace(machine, vendors=vendors, forward=False) for machine in target.machines)
    devices = tuple(replace(new, machine=old.machine, bit=old.bit) for old in target.devices)
    return replace(target, devices=devices, machines=machines)


def with_kin(target: Situation, bit: int) -> Situation:
    """The target with one GPU replaced by any GPU of its vendor."""
    kin = (
        Device(name=f"a GPU of {old.vendor}", vendor=old.vendor, target="", machine=old.machine, bit=old.bit)
        if old.bit == bit
        else old
        for old in target.devices
    )
    return replace(target, devices=tuple(kin))
