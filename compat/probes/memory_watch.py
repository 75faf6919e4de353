"""Whether a container's memory limit keeps a program from making way.

A program whose file pages find no room is not killed: the kernel drops them and reads them again, on and on. The
kernel counts what it reads again soon after it was dropped (kernel documentation, "Control Group v2",
``workingset_refault_file``, in pages; version 1 has the same by other names). To read much, even more than fits, is no
fault by itself: what fits is used in between. So three things must come together before it is spoken of.
"""

import os
from typing import Any, Dict, List, Optional

from reporting import say

# Version 2, then version 1: folder of the memory controller and its two files, the processor's file, prefix of totals.
_PLACES = (
    ("", "memory.max", "memory.current", "cpu.stat", "_usec", ""),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "cpuacct/cpuacct.stat", "", "total_"),
)

# Share of the limit from which it counts as reached.
_FULL = 0.95
# Seconds: a start-up, or one large file, may look like it for shorter.
_SECONDS = 10.0
# Times that all file pages in memory were replaced.
_TURNS = 30
# Reads of code or mapped data that a program stood still for: one that only reads files has next to none.
_FAULTS = 50
# Share of its processor time that a program which makes way spends on itself at least.
_SHARE = 0.25


def reading(root: str = "/sys/fs/cgroup") -> Optional[Dict[str, int]]:
    """What the kernel counts for this container, sizes in bytes; ``None`` without a limit, or where nothing is told."""
    for folder, most, now, processor, unit, total in _PLACES:
        limit, used = _numbers(root, folder, most), _numbers(root, folder, now)
        if not limit or not used:
            continue
        memory, spent = _table(root, folder, "memory.stat"), _table(root, processor)
        page = os.sysconf("SC_PAGE_SIZE")
        again = memory.get(total + "workingset_refault_file")
        if again is None:
            return None
        return {
            "limit": limit[0],
            "used": used[0],
            "again": again * page,
            "room": sum(memory.get(total + name, 0) for name in ("active_file", "inactive_file")),
            "faults": memory.get(total + "pgmajfault", 0),
            "own": spent.get("user" + unit, -1),
            "kernel": spent.get("system" + unit, -1),
        }
    return None


def _table(*parts: str) -> Dict[str, int]:
    """The numbers of a file with a name and a number on each line."""
    pairs = (line.partition(" ")[::2] for line in _text(*parts).split("\n"))
    return {name: int(number) for name, number in pairs if number.isdigit()}


def _numbers(*parts: str) -> List[int]:
    """The number of a file that holds one; none for ``max`` and for a file that is not there."""
    text = _text(*parts)
    return [int(text)] if text.isdigit() else []


def _text(*parts: str) -> str:
    try:
        with open(os.path.join(*parts)) as text:
            return text.read().strip()
    except OSError:
        return ""


def crowded(seen: Optional[Dict[str, int]]) -> str:
    """How the limit explains a silence that has already lasted to a deadline; empty where it does not.

    As much as the whole limit, read again while the limit is reached, is no start-up any more.
    """
    if seen is None or seen["used"] <= _FULL * seen["limit"] or seen["again"] <= seen["limit"]:
        return ""
    return "the memory limit of %d MiB is reached, and %d MiB that found no room in it were read again" % (
        seen["limit"] // 2**20,
        seen["again"] // 2**20,
    )


class Watch:
    """Looks now and then, and says once that a program hardly makes way for want of memory.

    That is so where the limit was reached all the while; all file pages in memory were replaced many times over, pages
    that the program stood still for among them; and the kernel used up its time, not the program. A busy machine slows
    both alike, so that their ratio stays; with a slow disk it only takes longer to be sure.
    """

    def __init__(self, root: str = "/sys/fs/cgroup") -> None:
        self._root = root
        self._told = False
        self._seen = []  # type: List[Dict[str, Any]]

    def look(self, now: float) -> None:
        """Take another look, which costs a fraction of a millisecond, and tell what it comes to, once."""
        said = "" if self._told else self.weighed(reading(self._root), now)
        if said:
            self._told = True
            say({"event": "note", "text": said})

    def weighed(self, last: Optional[Dict[str, int]], now: float) -> str:
        """What a reading comes to with those before it, in words; empty as long as it comes to nothing.

        Args:
            last: what :func:`reading` gave.
            now: seconds of any clock that goes forward.
        """
        if last is None or last["used"] <= _FULL * last["limit"] or min(last["own"], last["kernel"]) < 0:
            self._seen = []
            return ""
        entry = dict(last, at=now)  # type: Dict[str, Any]
        self._seen = self._seen[-600:] + [entry]
        for first in reversed(self._seen):
            change = {name: entry[name] - first[name] for name in entry}
            if change["at"] >= _SECONDS and change["again"] >= _TURNS * last["room"] and change["faults"] >= _FAULTS:
                own, kernel = change["own"], change["kernel"]
                return _starved(last["limit"], change) if own <= _SHARE * (own + kernel) else ""
        return ""


def _starved(limit: int, change: Dict[str, Any]) -> str:
    return (
        "the memory limit of %d MiB is reached: within %d s %d MiB that found no room in it were read again, and the "
        "program itself hardly came to anything" % (limit // 2**20, change["at"], change["again"] // 2**20)
    )
