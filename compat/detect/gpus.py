"""One list of GPUs from the partial sights of several detectors.

Which detector sees what: the PCI bus has ids, addresses and bound drivers even without any driver; NVML has names,
capabilities and health; libcuda has Jetson's and what is visible to programs; KFD has AMD's gfx targets. Order of
precedence is the order of :data:`compat.detect.DETECTORS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from compat.facts import Fact, Gpu, Reading, Unknown

_BLANK: Final = {item.name: item.default for item in fields(Gpu)}
_NONE: Final = {"driver": "none"}  # "no driver bound" gives way to a driver that answered


def merge(sights: Sequence[Reading]) -> Reading:
    """GPUs seen by any detector, matched by PCI address; an earlier sight wins where two tell the same thing.

    Sights without an address (Jetson, WSL, nodes in a container) are matched by vendor and order.
    """
    facts = [sight for sight in sights if isinstance(sight, Fact)]
    if not facts:
        return next((sight for sight in sights if isinstance(sight, Unknown)), Unknown("no detector saw the machine"))
    found: dict[str, Gpu] = {}
    for sight in facts:
        for key, gpu in _keyed(sight.value or (), found):
            found[key] = _over(found[key], gpu) if key in found else gpu
    blind = next((sight for sight in sights if isinstance(sight, Unknown)), None)
    if blind is not None and not found:
        return blind  # "none seen" is no answer while one of the places could not be looked at
    named = {(gpu.vendor, gpu.name) for gpu in found.values() if gpu.bus and gpu.name}
    # a sight without an address that has the name of a card with one is that card (Windows' registry beside NVML)
    found = {key: gpu for key, gpu in found.items() if gpu.bus or (gpu.vendor, gpu.name) not in named}
    told = ", ".join(dict.fromkeys(sight.source for sight in facts if sight.value))
    ordered = sorted(found.values(), key=lambda gpu: (gpu.bus == "", gpu.bus))
    return Fact(tuple(ordered), told or ", ".join(dict.fromkeys(sight.source for sight in facts)))


def given(gpus: Reading) -> Reading:
    """The GPUs of a container: /sys shows all of the host's, the driver lists those that the container was given.

    Where the driver lists none, all stay: that none was given is then for the rules to find out.
    """
    if not isinstance(gpus, Fact):
        return gpus
    listed = [gpu for gpu in gpus.value if gpu.vendor != "nvidia" or gpu.memory_mib or gpu.lost]
    others = any(gpu.vendor == "nvidia" for gpu in listed)
    return Fact(tuple(listed), gpus.source) if others else gpus


def _keyed(gpus: Iterable[Gpu], found: dict[str, Gpu]) -> list[tuple[str, Gpu]]:
    """Each GPU with its key: the address, or its turn among those of its vendor that have none."""
    keyed, turns = [], dict[str, int]()
    for gpu in gpus:
        key = gpu.bus
        if not key:
            turn = turns[gpu.vendor] = turns.get(gpu.vendor, 0) + 1
            key = _same_vendor(found, gpu.vendor, turn) or f"{gpu.vendor} {turn}"
        keyed.append((key, gpu))
    return keyed


def _same_vendor(found: dict[str, Gpu], vendor: str, turn: int) -> str:
    """The key of the vendor's n-th GPU without an address that was seen before."""
    keys = [key for key, gpu in found.items() if gpu.vendor == vendor and not gpu.bus]
    return keys[turn - 1] if turn <= len(keys) else ""


def _over(first: Gpu, second: Gpu) -> Gpu:
    """The first sight, its gaps filled from the second."""
    gaps: dict[str, Any] = {}
    for name, blank in _BLANK.items():
        ours, theirs = getattr(first, name), getattr(second, name)
        if theirs != blank and (ours == blank or (ours == _NONE.get(name) and theirs != ours)):
            gaps[name] = theirs
    return replace(first, **gaps)
