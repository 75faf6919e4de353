"""Whether a device runs what was found: natively, through PTX, or not at all."""

from __future__ import annotations

from typing import Final, Literal

from compat.kernels.values import FEW, Code, Inspection
from compat.lazy import dataclass
from compat.targets import Families, kernels_for
from compat.versions import release

_PIECES: Final = frozenset({"cubin", "ptx", "hsaco", "kpack", "name"})
Kernels = Literal["native", "ptx", "none", "unknown"]


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


@dataclass(frozen=True, slots=True)
class _Share:
    """How many of an object's fat binaries a device runs, and how."""

    path: str
    native: int
    ptx: int
    total: int
    core: bool
    piece: bool

    @property
    def served(self) -> int:
        """Fat binaries with code for the device."""
        return self.native + self.ptx

    @property
    def serves(self) -> bool:
        """Whether the object supports the device: with a core, by more than single kernels."""
        return self.served > 0 and (not self.core or self.served >= FEW * self.total)


def judge(inspection: Inspection, target: str, families: Families) -> Verdict:
    """Weigh an inspection for a device.

    A runtime picks its code within each fat binary, so each is weighed by itself, object by object.
    """
    found = [_share(code, target, families) for code in inspection.objects]
    # A file for one target is a piece of a set: that there are others beside it takes nothing from the device.
    shares = [share for share in found if share.served or (share.total and not share.piece)]
    kernels, why = _weigh(inspection, target, shares)
    return Verdict(
        target=target,
        kernels=kernels,
        served=sum(share.served for share in shares),
        total=sum(share.total for share in shares),
        isa=_isa(inspection, target, families) if kernels == "ptx" else "",
        lacking=tuple(share.path for share in shares if not share.serves),
        why=why,
    )


def _share(code: Code, target: str, families: Families) -> _Share:
    """Count an object's fat binaries by how the device runs them; those for the other vendor do not count."""
    tally = dict.fromkeys(("native", "ptx", "none"), 0)
    for group, count in code.binaries.items():
        if any(name.startswith("gfx") == target.startswith("gfx") for name in group):
            tally[kernels_for(target, group, families)] += count
    return _Share(code.path, tally["native"], tally["ptx"], sum(tally.values()), code.has_core, code.form in _PIECES)


def _weigh(inspection: Inspection, target: str, shares: list[_Share]) -> tuple[Kernels, str]:
    """The verdict and its reason: support first, then what keeps an absence from being a fact, then the absence."""
    serving = [share for share in shares if share.serves]
    if serving and _is_enough(serving, shares):
        return _supported(target, serving)
    if doubt := _doubt(inspection, target):
        return "unknown", doubt
    if served := sum(share.served for share in shares):
        total = sum(share.total for share in shares)
        return "none", f"only {served} of {total} fat binaries have code that {target} runs"
    return "none", f"it carries {' '.join(inspection.targets)}, none of which {target} runs"


def _supported(target: str, serving: list[_Share]) -> tuple[Kernels, str]:
    native, ptx = sum(share.native for share in serving), sum(share.ptx for share in serving)
    total = sum(share.total for share in serving)
    share = "" if native + ptx == total else f" in {native + ptx} of {total} fat binaries"
    if native >= ptx:
        return "native", f"it carries machine code that {target} runs{share}"
    return "ptx", f"its driver must compile PTX for {target}{share}"


def _doubt(inspection: Inspection, target: str) -> str:
    """Why code that was not found may be there all the same; empty if it is not."""
    packs = {pack for code in inspection.objects for pack in code.packs}
    if packs and not any(code.form == "kpack" for code in inspection.objects):
        return f"its code lies in {' '.join(sorted(packs))}, which is not there"
    if not inspection.complete:
        return f"no code for {target} was found, but not everything could be read"
    if not inspection.targets:
        return "it carries no GPU code: it takes its kernels from elsewhere, or has none"
    return ""


def _is_enough(serving: list[_Share], shares: list[_Share]) -> bool:
    """Whether the largest object serves the device, or those that do are no mere sideline."""
    largest = max(shares, key=lambda share: share.total)
    return largest.serves or sum(share.total for share in serving) >= FEW * sum(share.total for share in shares)


def _isa(inspection: Inspection, target: str, families: Families) -> str:
    """The ISA that serves every object: of each the lowest among its usable PTX, and of these the highest."""
    lowest = []
    for code in inspection.objects:
        usable = (found for name, found in code.isa.items() if kernels_for(target, [name], families) == "ptx")
        lowest += sorted((version for found in usable for version in found), key=release)[:1]
    return max(lowest, key=release, default="")
