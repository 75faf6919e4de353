"""How each GPU of the target runs a plan: natively, through PTX, not at all, or nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from compat.plan import GpuVerdict
from compat.resolve.build_fit import UNKNOWN, level_of
from compat.resolve.options import is_unread
from compat.resolve.search import runtime_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.resolve.build_fit import Weighed
    from compat.resolve.devices import Device
    from compat.resolve.options import Option
    from compat.resolve.search import Search

Kernels = Literal["native", "ptx", "none", "unknown"]

_LEVEL_NAMES: Final[dict[int, Kernels]] = {0: "native", 1: "ptx", 2: "unknown", 3: "none"}


def verdicts(search: Search, chosen: Sequence[Weighed]) -> Iterator[GpuVerdict]:
    """How each GPU of the target runs the plan; the weakest build decides, unknown companions leave it to others.

    A companion whose kernels are not known leaves the verdict to the builds whose kernels are, and is named beside it;
    a framework whose kernels are not known makes the verdict unknown.
    """
    target = search.target
    if runtime_of(chosen) == "cpu":
        kernels, why = _without_code(chosen)
        told = {
            one.bit: GpuVerdict(name=one.name, target=one.target, kernels=kernels, why=why) for one in target.devices
        }
        idle: tuple[Device, ...] = ()
    else:
        told = {one.bit: _verdict(search, chosen, one) for one in target.devices}
        idle = target.idle
    yield from (told[bit] for bit in target.fleet if bit in told)
    for device in idle:
        yield GpuVerdict(name=device.name, target=device.target, kernels="none", why=device.idle)


def _verdict(search: Search, chosen: Sequence[Weighed], device: Device) -> GpuVerdict:
    """How a GPU runs builds of which at least one is for GPUs."""
    levels = [(_level(search, weighed, device), weighed) for weighed in chosen]
    open_ones = [weighed for level, weighed in levels if level == UNKNOWN]
    telling = [pair for pair in levels if pair[0] != UNKNOWN or pair[1].option.is_framework]
    level, weakest = max(telling, key=lambda pair: pair[0], default=(UNKNOWN, chosen[0]))
    reasons = [_weakness(weakest, device, level)] if level else []
    reasons += [_weakness(weighed, device, UNKNOWN) for weighed in open_ones if weighed is not weakest or not level]
    why = "; ".join(dict.fromkeys(reasons))
    return GpuVerdict(name=device.name, target=device.target, kernels=_LEVEL_NAMES[level], why=why)


def _level(search: Search, weighed: Weighed, device: Device) -> int:
    """How a device runs one build; code that is not GPU code runs everywhere."""
    if is_unread(weighed.option):
        return UNKNOWN
    return 0 if weighed.option.vendor in {"", "cpu"} else level_of(search.scale.runs(weighed.option, device))


def _weakness(weighed: Weighed, device: Device, level: int) -> str:
    """Why a verdict is not native."""
    name = f"{weighed.option.package} {weighed.option.full}"
    if level == UNKNOWN:
        return f"which kernels {name} carries is not known"
    code = "PTX" if device.vendor == "nvidia" else "SPIR-V"
    return f"{name} carries no machine code for {device.target}: the driver compiles its {code} at first use"


def _without_code(chosen: Sequence[Weighed]) -> tuple[Kernels, str]:
    """The verdict where no build has GPU code: as asked, by its nature, or because nobody wrote down what it has."""
    if asked := [one.option for one in chosen if one.option.vendor == "cpu"]:
        return "none", f"no GPU code in {_named(asked)}, as asked: the GPU stays idle"
    if unread := [one.option for one in chosen if not one.option.vendor and is_unread(one.option)]:
        return "unknown", f"which GPU code {_named(unread)} has is not known"
    return "none", "nothing in the plan has GPU code of its own"


def _named(options: Sequence[Option]) -> str:
    return ", ".join(f"{option.package} {option.full}" for option in options)


def is_bare(search: Search, chosen: Sequence[Weighed]) -> bool:
    """Whether a plan has no GPU code although a GPU may be there and no CPU build was asked for."""
    target = search.target
    return not (target.cpu or target.nothing) and all(weighed.option.vendor == "" for weighed in chosen)
