"""Whether a device runs what was found: natively, through PTX, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from compat.targets import kernels_for
from compat.versions import release

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.kernels.values import Code, Inspection
    from compat.targets import Families


Kernels = Literal["native", "ptx", "none", "unknown"]

_FEW: Final = 10
"""A device that fewer than one in so many fat binaries serve is not served: nearly every call would fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How one device runs what was inspected.

    Attributes:
        target: the device, ``sm_89``.
        kernels: ``native``, ``ptx``, ``none``, or ``unknown`` where something that could decide was not readable or
            there is no GPU code at all.
        served: number of fat binaries with code that the device runs; ``total`` of all for this vendor.
        isa: for ``ptx``, the PTX ISA version that the driver must be able to compile (``8.7``).
        lacking: objects with code for this vendor's GPUs but none that this device runs.
        why: one sentence.
    """

    target: str
    kernels: Kernels
    served: int = 0
    total: int = 0
    isa: str = ""
    lacking: tuple[str, ...] = ()
    why: str = ""


def judge(inspection: Inspection, target: str, families: Families) -> Verdict:
    """Weigh an inspection for a device.

    A runtime picks its code within each fat binary, so each is weighed by itself: native if one serves natively and
    no greater part goes through PTX or is missing.

    Args:
        inspection: what was found.
        target: the device's target, ``sm_89`` or ``gfx90a:xnack-``.
        families: kinship of targets, from the matrix.
    """
    tally = dict.fromkeys(("native", "ptx", "none"), 0)
    for code in inspection.objects:
        for group, count in code.binaries.items():
            if _is_vendors(group, target):
                tally[kernels_for(target, group, families)] += count
    served, total = tally["native"] + tally["ptx"], sum(tally.values())
    kernels, why = _weigh(inspection, target, tally)
    return Verdict(
        target=target,
        kernels=kernels,
        served=served,
        total=total,
        isa=_isa(inspection, target, families) if kernels == "ptx" else "",
        lacking=tuple(code.path for code in inspection.objects if _is_lacking(code, target, families)),
        why=why,
    )


def _weigh(inspection: Inspection, target: str, tally: dict[str, int]) -> tuple[Kernels, str]:
    served, total = tally["native"] + tally["ptx"], sum(tally.values())
    share = "" if served == total else f" in {served} of {total} fat binaries"
    if served * _FEW >= total > 0:
        if tally["native"] >= tally["ptx"]:
            return "native", f"it carries machine code that {target} runs{share}"
        return "ptx", f"its driver must compile PTX for {target}{share}"
    if not inspection.complete:
        return "unknown", f"no code for {target} was found, but not everything could be read"
    if not inspection.targets:
        return "unknown", "it carries no GPU code: it takes its kernels from elsewhere, or has none"
    if served:
        return "none", f"only {served} of {total} fat binaries have code that {target} runs"
    return "none", f"it carries {' '.join(inspection.targets)}, none of which {target} runs"


def _is_vendors(group: Iterable[str], target: str) -> bool:
    """Whether a fat binary is for GPUs of the same vendor."""
    return any(name.startswith("gfx") == target.startswith("gfx") for name in group)


def _is_lacking(code: Code, target: str, families: Families) -> bool:
    return _is_vendors(code.targets, target) and kernels_for(target, code.targets, families) == "none"


def _isa(inspection: Inspection, target: str, families: Families) -> str:
    """The ISA that serves every object: of each the lowest among its usable PTX, and of these the highest."""
    usable = (
        [
            version
            for name, found in code.isa.items()
            if kernels_for(target, [name], families) == "ptx"
            for version in found
        ]
        for code in inspection.objects
    )
    return max((min(found, key=release) for found in usable if found), key=release, default="")
