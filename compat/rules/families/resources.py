"""Disks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.reading.messages import Hearing


class DiskSpaceLow(Rule):
    """There is little disk space for images and wheels.

    Why:
        GPU images take 5 to 25 GiB, and a pull needs the compressed and the unpacked form at once.
    Fix:
        Remove what is unused, or move it to a larger disk. The engine's data and TMPDIR can be moved.
    Sources:
        - https://docs.docker.com/engine/manage-resources/pruning/
    """

    severity = "warning"
    area = "resources"
    asks = ("disk_free_mib",)
    commands = ("docker system prune", "pip cache purge")
    _SMALL: Final = 5 * 1024  # MiB: the smallest GPU images

    def check(self, disk_free_mib: int, signals: Hearing) -> Outcome:
        """A write failed for want of space, or less is free than a GPU image takes."""
        told = "no-space" in signals
        if not told and disk_free_mib >= self._SMALL:
            return Fits(f"{disk_free_mib // 1024} GiB of disk are free")
        return Found(
            detail=f"{disk_free_mib} MiB are free.", facts=("disk_free_mib",), severity="error" if told else None
        )


RULES = family(DiskSpaceLow)
