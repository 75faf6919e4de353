"""What AMD GPUs are doing now: clocks and processes, from amdgpu's and KFD's files alone.

``pp_dpm_sclk`` lists the clocks that a card may take, one a line, the present one marked with a star
(``1: 1435Mhz *``). KFD keeps a folder per compute process, in which ``vram_<gpu_id>`` counts the bytes that it holds on
a card; a process that has a card open and holds nothing on it is not told.

Sources: Linux, Documentation/gpu/amdgpu/thermal.rst (pp_dpm_*); Linux, drivers/gpu/drm/amd/amdkfd/kfd_process.c
(kfd_procfs_show) and kfd_topology.c (gpu_id).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.lazy import pattern

if TYPE_CHECKING:
    from compat.detect.machine import Machine

_PROCESSES: Final = "/sys/class/kfd/kfd/proc"
_LEVEL: Final = pattern(r"^\d{1,2}: (\d{1,5})Mhz[ \t]*(\*?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_MOST: Final = 256  # compute processes looked at; a node that has more is told as busy all the same


def clocks(machine: Machine, device: str, kind: str) -> tuple[int | None, int | None]:
    """Present and highest clock in MHz of ``sclk`` (processors) or ``mclk`` (memory); ``None`` where none is told."""
    levels = _LEVEL.findall(machine.text(f"{device}/pp_dpm_{kind}", 4096))
    now = next((int(speed) for speed, star in levels if star), None)
    return now, max((int(speed) for speed, _ in levels), default=None)


def processes(machine: Machine, node: str) -> int | None:
    """Number of processes that hold memory on the card of a KFD node; ``None`` where the kernel keeps no such list."""
    number = machine.text(f"{node}/gpu_id", 32)
    if not number.isdecimal() or not machine.exists(_PROCESSES):
        return None
    held = (machine.number(f"{_PROCESSES}/{each}/vram_{number}") for each in machine.names(_PROCESSES)[:_MOST])
    return sum(1 for size in held if size)
