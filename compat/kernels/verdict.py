"""Whether a device runs what was found: natively, through PTX, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from compat.targets import kernels_for
from compat.versions import release

if TYPE_CHECKING:
    from compat.kernels.values import Code, Inspection
    from compat.targets import Families


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How one device runs what was inspected.

    Attributes:
        target: the device, ``sm_89``.
        kernels: ``native``, ``ptx``, ``none``, or ``unknown`` where something that could decide was not readable or
            there is no GPU code at all.
        isa: for ``ptx``, the lowest PTX ISA version that the driver must compile (``8.7``).
        lacking: objects with code for this vendor's GPUs but none that this device runs.
        why: one sentence.
    """

    target: str
    kernels: Literal["native", "ptx", "none", "unknown"]
    isa: str = ""
    lacking: tuple[str, ...] = ()
    why: str = ""


def judge(inspection: Inspection, target: str, families: Families) -> Verdict:
    """Weigh an inspection for a device.

    Args:
        inspection: what was found.
        target: the device's target, ``sm_89`` or ``gfx90a:xnack-``.
        families: kinship of targets, from the matrix.
    """
    how = kernels_for(target, inspection.targets, families)
    same_vendor = [code for code in inspection.objects if _of_vendor(code, target)]
    lacking = tuple(code.path for code in same_vendor if kernels_for(target, _targets(code), families) == "none")
    isa = _isa(inspection, target, families) if how == "ptx" else ""
    if how != "none":
        return Verdict(target=target, kernels=how, isa=isa, lacking=lacking, why=_why(target, how, isa))
    if not inspection.complete:
        return Verdict(
            target=target, kernels="unknown", lacking=lacking, why="no code for it was found, but not all could be read"
        )
    if not inspection.targets:
        return Verdict(
            target=target,
            kernels="unknown",
            why="it carries no GPU code; it takes its kernels from elsewhere or has none",
        )
    carried = " ".join(inspection.targets)
    return Verdict(
        target=target, kernels="none", lacking=lacking, why=f"it carries {carried}, none of which {target} runs"
    )


def _why(target: str, how: str, isa: str) -> str:
    if how == "native":
        return f"it carries machine code that {target} runs"
    return f"the driver compiles its PTX for {target}" + (
        f", which takes a driver that knows PTX ISA {isa}" if isa else ""
    )


def _targets(code: Code) -> tuple[str, ...]:
    return (*code.sass, *code.ptx, *code.gfx)


def _of_vendor(code: Code, target: str) -> bool:
    return bool(code.gfx) if target.startswith("gfx") else bool(code.sass or code.ptx)


def _isa(inspection: Inspection, target: str, families: Families) -> str:
    """The lowest ISA that serves every object: per object the lowest of its usable PTX, and of these the highest."""
    needed = [
        min((version for name, found in code.isa.items() if kernels_for(target, [name], families) == "ptx" for version in found),
            key=release, default="")
        for code in inspection.objects
    ]  # fmt: skip
    return max(filter(None, needed), key=release, default="")
