"""A target with some of its soft constraints dropped, or replaced by concrete values: what remedies are solved with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compat.resolve.situation import Machine, driver_number

if TYPE_CHECKING:
    from compat.resolve.request import Wish
    from compat.resolve.situation import Situation


def relaxed(target: Situation, bits: int) -> Situation:
    """The target without the constraints in ``bits``: their wishes are gone and their facts count as not known."""
    return replace(
        target,
        wishes=tuple((wish, bit) for wish, bit in target.wishes if not bit & bits),
        devices=tuple(device for device in target.devices if not device.bit & bits),
        machines=tuple(_undriven(machine) if machine.bit & bits else machine for machine in target.machines),
        places=_places(target, bits),
        **{name: value for name, bit, value in _single(target) if bit & bits},
    )


def _undriven(machine: Machine) -> Machine:
    return Machine(vendors=machine.vendors)


def _single(target: Situation) -> tuple[tuple[str, int, object], ...]:
    """Constraints on one value each: field, bit, and the value that constrains nothing."""
    return (
        ("python", target.python_bit, ""),
        ("os", target.os_bit, ""),
        ("glibc", target.glibc_bit, ""),
        ("flags", target.flags_bit, None),
        ("runtime", target.runtime_bit, ""),
        ("nothing", target.nothing, 0),
    )


def _places(target: Situation, bits: int) -> tuple[tuple[str, int], ...]:
    """Places that the remaining constraints allow, the target's own first."""
    return tuple((place, cost & ~bits) for place, cost in target.places)


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
    machines = tuple(
        Machine(version, driver_number(version), old.bit, old.vendors) if old.bit & bits else old
        for old in target.machines
    )
    return replace(target, machines=machines)
