"""A card against the product that its name says, against its fellows, and against the power that it comes with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.rules.knowledge import cite, products_of
from compat.rules.rule import Found, Outcome, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.matrix.rows import Product


class GpuUnlikeItsKind(Rule):
    """A GPU has less, or other, than its product.

    Why:
        A share of a card, an altered card or an older slot gives less than the data sheet says; several cards together
        are as slow as the slowest.
    Fix:
        Expect what the card shows, not its data sheet. A link of fewer generations comes from the slot or a riser.
    Sources:
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "info"
    area = "health"
    vendors = ("nvidia",)
    requires = ("pcie-link-degraded", "gpu-reset-required", "nvlink-down")
    # Memory that a driver shows of what is sold: error correction takes a sixteenth of GDDR, the driver some hundred
    # MiB (a T4 shows 15109 of 16384 MiB).
    _SHOWN: Final = 0.85
    _LINES: Final = frozenset(
        {"datacenter", "workstation"}
    )  # makers sell one name of other lines with several memories

    def check(self, host: Host, gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        """Memory, link or NVLinks differ from those of every product of that name, or clocks from those of its fellows.

        A link's generation falls when a card is idle: only the highest that card and slot allow is compared.
        """
        for gpu in gpus:
            if gpu.integrated or gpu.lost or gpu.mig == "enabled" or gpu.virtual not in {"", "none", "passthrough"}:
                continue
            rows = products_of(gpu, matrix)
            odd = [*self._memory(gpu, rows), *self._clocks(gpu, gpus)]
            if not host.virtual_machine and gpu.virtual != "passthrough" and host.platform in {None, "linux"}:
                odd += [*self._link(gpu, rows), *self._lanes(gpu, rows)]
            if odd:
                return Found(
                    detail=f"{gpu.name} {'; '.join(odd)}.", sources=cite(matrix, *rows[:1]), confidence="likely"
                )
        return None

    def _memory(self, gpu: Gpu, rows: tuple[Product, ...]) -> Iterator[str]:
        """That a card shows much less than the smallest, or more than the largest, of its products has."""
        sizes = [row.memory_gib for row in rows if row.segment in self._LINES and "memory_gib" not in row.inferred]
        if not gpu.memory_mib or not sizes or len(sizes) < len(rows) or not all(sizes):
            return
        shown = gpu.memory_mib / 1024
        if shown < self._SHOWN * min(sizes) or shown * self._SHOWN > max(sizes):
            yield f"shows {gpu.memory_mib} MiB of memory, and the product has {max(sizes):g} GiB"

    @staticmethod
    def _link(gpu: Gpu, rows: tuple[Product, ...]) -> Iterator[str]:
        """That the highest generation of its link is lower than the product's own."""
        own = {row.pcie for row in rows if row.segment != "laptop" and "pcie" not in row.inferred}
        if not gpu.pcie_max or len(own) != 1 or not (best := own.pop()) or "laptop" in gpu.name.lower():
            return
        here, its = (text.removeprefix("gen").partition(" ")[0] for text in (gpu.pcie_max, best))
        if here.isdecimal() and int(here) < int(its):
            yield f"has a link of {gpu.pcie_max} at most here, and the product's is {best}"

    @staticmethod
    def _lanes(gpu: Gpu, rows: tuple[Product, ...]) -> Iterator[str]:
        """That it has fewer NVLinks, up and down, than the product."""
        lanes = {row.links for row in rows}
        if gpu.nvlinks is None or len(lanes) != 1 or gpu.nvlinks + (gpu.nvlinks_down or 0) >= max(lanes):
            return
        yield f"has {gpu.nvlinks} NVLinks, and the product has {max(lanes)}"

    @staticmethod
    def _clocks(gpu: Gpu, gpus: tuple[Gpu, ...]) -> Iterator[str]:
        """That the highest clock it may take is lower than that of a card of its name beside it."""
        fellows = [one for one in gpus if one.name == gpu.name]
        for name, what in (("clock_max_mhz", "processor clock"), ("memory_clock_max_mhz", "memory clock")):
            best = max((getattr(one, name) or 0 for one in fellows), default=0)
            own = getattr(gpu, name)
            if own and own < best:
                yield f"has a highest {what} of {own} MHz, and another one of that name {best} MHz"


class GpuPowerCapped(Rule):
    """A GPU is held to less power than it comes with.

    Why:
        Somebody lowered the limit: under load the clocks stay below what the card can do, which may be meant so.
    Fix:
        Leave it if it is meant so. Else set the limit to the default that nvidia-smi names.
    Sources:
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "info"
    area = "health"
    vendors = ("nvidia",)
    _SLACK: Final = 0.98  # limits are rounded to whole watts

    def check(self, gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        """The enforced limit is below the default one; a laptop's card shares its power with the processor."""
        for gpu in gpus:
            limit, default = gpu.power_limit_w, gpu.power_default_w
            rows = products_of(gpu, matrix)
            if not limit or not default or limit >= self._SLACK * default or not rows:
                continue
            if all(row.segment in {"datacenter", "workstation", "consumer"} for row in rows):
                return Found(detail=f"{gpu.name} is held to {limit} W of {default} W.")
        return None
