"""What the system grants this process: shared memory, disk, locked memory, identity.

Sizes are those of the file systems as this process sees them: inside a container /dev/shm is the container's own, which
is 64 MiB unless somebody asked for more.

Sources: statvfs(3), getrlimit(2), group(5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from compat.detect.base import ANYWHERE
from compat.detect.machine import Machine, reason
from compat.facts import Fact, Reading, Unknown

NAME: Final = "limits"
FACTS: Final = ("shm_mib", "disk_free_mib", "memlock_kib", "user_id", "groups")
SYSTEMS: Final = ANYWHERE
SOUGHT: Final = "the process"

_SHM: Final = "/dev/shm"  # noqa: S108 - looked at, never written


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Sizes in MiB, locked memory in KiB (-1 for unlimited), numeric user id, groups by name where one exists."""
    root = machine.root
    shm = _tried(lambda: root.space(_SHM)[0] >> 20, _SHM) if machine.exists(_SHM) else Fact(None, _SHM)
    return {
        "shm_mib": shm,
        "disk_free_mib": _tried(lambda: root.space(root.folder())[1] >> 20, "the working folder's file system"),
        "memlock_kib": _tried(lambda: size if (size := root.memlock()) < 0 else size >> 10, "getrlimit RLIMIT_MEMLOCK"),
        "user_id": _tried(lambda: root.user()[0], "geteuid"),
        "groups": _tried(lambda: tuple(group_name(machine, gid) for gid in root.user()[1]), "getgroups, /etc/group"),
    }


def _tried(read: Callable[[], object], source: str) -> Reading:
    """What a question to the system answers, or its reason not to."""
    try:
        return Fact(read(), source)
    except OSError as error:
        return Unknown(f"{source}: {reason(error)}", source)
    except ImportError:
        return Unknown("this system has no such limit", source)


def group_name(machine: Machine, gid: int) -> str:
    """Name of a group from /etc/group, or its number as text: a container often has no name for a host's group."""
    return machine.once("groups", lambda: _groups(machine.text("/etc/group"))).get(gid, str(gid))


def _groups(text: str) -> dict[int, str]:
    """Group names by number from the text of /etc/group."""
    named: dict[int, str] = {}
    for line in text.splitlines():
        fields = line.split(":")
        if len(fields) >= 3 and fields[2].isdecimal() and len(fields[2]) < 11:
            named.setdefault(int(fields[2]), fields[0])
    return named
