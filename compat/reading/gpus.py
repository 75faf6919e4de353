"""Brings the devices that several programs name together: one entry per device, as rich as all of them know it.

The same card is ``GeForce GTX 1060 6GB`` to one program, ``NVIDIA GeForce GTX 1060 6GB`` to the next and
``GeForce GTX 106...`` to nvidia-smi's table; lists are united by names that can mean one product.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields, replace
from functools import lru_cache
from typing import Final

from compat.facts import Fact, Gpu, Reading, Unknown
from compat.reading.claims import Claim, Weight

_NOISE = re.compile(
    r"\b(?:nvidia|amd|intel|geforce|tesla|radeon|graphics|corporation|inc|quadro|instinct)\b|[^a-z0-9]+"
)
# Devices of one report at most; eight nodes of sixteen still fit. Names are compared pair by pair, so this is squared.
MOST: Final = 128

# Formats that number the devices of the machine they run on, whatever else uses them; logs number what they use.
ONE_MACHINE: Final = frozenset({"collect_env", "nvidia-smi", "mmcv collect_env"})

_CUT: Final = "..."


def merge_gpus(claims: list[Claim]) -> Reading:
    """Every device once.

    A device is counted as often as the program that names it most often does; what only people name counts where no
    program names a device at all.
    """
    named = [claim for claim in claims if claim.value.name]
    if clash := _two_machines(named):
        why = "{0.source} says {0.value.name}, {1.source} says {1.value.name} of one number: two machines".format(
            *clash
        )
        return Unknown(why, clash[0].source)
    heaviest = max((claim.weight for claim in named), default=Weight.HINT)
    if heaviest > Weight.HAND:
        named = [claim for claim in named if claim.weight > Weight.HAND]
    elif heaviest == Weight.HAND:
        named = [claim for claim in named if claim.weight == Weight.HAND]
    lists = [_devices(mine) for mine in _by_program(named).values()]
    found: list[Gpu] = []
    for devices in sorted(lists, key=len, reverse=True):
        found = _united(found, devices)
    bare = [claim for claim in claims if not claim.value.name]
    found = _targeted(found, bare)
    first = (named or bare or claims)[0]
    return Fact(tuple(found), first.source)


def _two_machines(claims: Iterable[Claim]) -> tuple[Claim, Claim] | None:
    """Two products under one number of one program, whose numbers are all of one machine."""
    first: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        if claim.key and claim.program in ONE_MACHINE:
            other = first.setdefault((claim.program, claim.key), claim)
            if not same(other.value.name, claim.value.name):
                return other, claim
    return None


def _by_program(claims: Iterable[Claim]) -> dict[tuple[str, int], list[Claim]]:
    """The claims of each program, in order; each line of a person's by itself, whose labels name one card twice."""
    grouped: dict[tuple[str, int], list[Claim]] = defaultdict(list)
    for claim in claims:
        loose = claim.weight == Weight.HAND and not claim.key
        grouped[claim.program, claim.line if loose else 0].append(claim)
    return grouped


def _devices(claims: list[Claim]) -> list[Gpu]:
    """One program's devices by their numbers; those without a number count once per line that names them."""
    numbered: dict[str, Gpu] = {}
    loose: list[Gpu] = []
    for claim in claims:
        if len(numbered) + len(loose) >= MOST:
            break
        if not claim.key:
            loose.append(claim.value)
        elif claim.key not in numbered or not same(numbered[claim.key].name, claim.value.name):
            key = claim.key if claim.key not in numbered else f"{claim.key} {claim.value.name}"
            numbered.setdefault(key, claim.value)
        else:
            numbered[claim.key] = _joined(numbered[claim.key], claim.value)
    extra = [gpu for gpu in loose if not any(same(gpu.name, other.name) for other in numbered.values())]
    return [*numbered.values(), *extra]


def _united(found: list[Gpu], devices: list[Gpu]) -> list[Gpu]:
    """``found`` with what ``devices`` add: details to devices already there, and devices that are not."""
    result, taken = list(found), set[int]()
    for gpu in devices:
        free = [index for index in range(len(result)) if index not in taken]
        exact = (index for index in free if _core(result[index].name) == _core(gpu.name))
        twin = next(exact, None)
        if twin is None:
            twin = next((index for index in free if same(result[index].name, gpu.name)), None)
        if twin is None:
            result.append(gpu)
            twin = len(result) - 1
        else:
            result[twin] = _joined(result[twin], gpu)
        taken.add(twin)
    return result


def same(left: str, right: str) -> bool:
    """Whether two names can mean one product: nvidia-smi cuts names, older drivers leave the maker out.

    >>> same("NVIDIA GeForce GTX 1060 6GB", "GeForce GTX 106...")
    True
    """
    a, b = _core(left), _core(right)
    if a[:1] != b[:1] and a and b and left[:1].lower() != right[:1].lower():
        return False  # whatever follows: all that is asked below is whether one begins the other
    if left.endswith(_CUT) or right.endswith(_CUT):
        short, long = sorted((a, b), key=len)
        return long.startswith(short)
    if left.lower().startswith(right.lower()) or right.lower().startswith(left.lower()):
        return True
    return a == b or (min(len(a), len(b)) >= 4 and (a.startswith(b) or b.startswith(a)))


@lru_cache(maxsize=8192)
def _core(name: str) -> str:
    """A name without makers, series and punctuation: what is left tells products apart."""
    return _NOISE.sub("", name.lower())


def _joined(left: Gpu, right: Gpu) -> Gpu:
    """``left`` with the fields that it lacks filled from ``right``; a cut name gives way to a whole one."""
    if left.vendor and right.vendor and left.vendor != right.vendor:
        return left  # SGLang prints a compute capability for AMD cards too, which is no kernel target
    missing = {
        item.name: getattr(right, item.name)
        for item in fields(Gpu)
        if getattr(left, item.name) in {"", None, ()} and getattr(right, item.name) not in {"", None, ()}
    }
    if left.name.endswith(_CUT) and not right.name.endswith(_CUT):
        missing["name"] = right.name
    return replace(left, **missing)


def _targeted(found: list[Gpu], bare: list[Claim]) -> list[Gpu]:
    """Targets without a name go to the devices they can only belong to, or stand for devices of their own."""
    by_key: dict[str, Gpu] = {}
    for claim in bare:
        if claim.key:
            by_key[claim.key] = _joined(by_key.get(claim.key, Gpu()), claim.value)
    lone = list(dict.fromkeys(claim.value.target for claim in bare if not claim.key and claim.value.target))
    if not found:
        return list(by_key.values()) or [Gpu(target=target, vendor=_maker(target)) for target in lone]
    if by_key and len(by_key) == len(found):
        ordered = sorted(by_key, key=lambda key: (len(key), key))
        return [_joined(gpu, by_key[key]) for gpu, key in zip(found, ordered, strict=True)]
    targets = list(dict.fromkeys([*(gpu.target for gpu in by_key.values() if gpu.target), *lone]))
    if len(targets) == 1 and len({gpu.name for gpu in found}) == 1:
        return [_joined(gpu, Gpu(target=targets[0], vendor=_maker(targets[0]))) for gpu in found]
    return found


def _maker(target: str) -> str:
    """The maker that a kernel target belongs to."""
    return "amd" if target.startswith("gfx") else "nvidia"
