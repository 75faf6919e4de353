"""Whether a container's memory limit explains that a program does not answer.

A program whose file pages find no room is not killed: the kernel drops them and reads them again, on and on. The
kernel counts what it reads again soon after it was dropped (kernel documentation, "Control Group v2",
``workingset_refault_file``, in pages; version 1 has the same by other names).
"""

import os
from typing import Dict, Optional

from kernel_files import value

# Version 2, then version 1: folder of the memory controller, its limit and its use, prefix of totals.
_PLACES = (
    ("", "memory.max", "memory.current", ""),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
)

# Share of the limit from which it counts as reached.
_FULL = 0.95


def crowded(root: str = "/sys/fs/cgroup") -> str:
    """How the limit explains a silence that has already lasted to a deadline; empty where it does not.

    As much as the whole limit, read again while the limit is reached, is no start-up any more.
    """
    for folder, most, now, total in _PLACES:
        limit, used = (_number(value(root, folder, name)) for name in (most, now))
        if limit is None or used is None:
            continue
        again = (_table(root, folder, "memory.stat").get(total + "workingset_refault_file") or 0) * os.sysconf(
            "SC_PAGE_SIZE"
        )
        if used <= _FULL * limit or again <= limit:
            return ""
        return "the memory limit of %d MiB is reached, and %d MiB that found no room in it were read again" % (
            limit // 2**20,
            again // 2**20,
        )
    return ""


def _table(*parts: str) -> Dict[str, Optional[int]]:
    """The numbers of a file with a name and a number on each line."""
    pairs = (line.partition(" ")[::2] for line in value(*parts).split("\n"))
    return {name: _number(number) for name, number in pairs}


def _number(text: str) -> Optional[int]:
    """A number; ``None`` for ``max`` and for a file that is not there."""
    return int(text) if text.isdigit() else None
