"""Device nodes of accelerators: which exist, who owns them, which this process may not open.

A node that exists and may not be opened is the most frequent cause on AMD and Intel (groups ``render`` and ``video``)
and a sign of a lost device rule in containers. Permission is asked with access(2): opening a node could wake a device.
Groups are told by number where no name exists, because in a container the name is often another group's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.detect.base import LINUX
from compat.detect.limits import group_name
from compat.facts import Fact, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.detect.machine import Machine

NAME: Final = "device nodes"
FACTS: Final = ("device_nodes", "device_nodes_denied", "device_groups")
SYSTEMS: Final = LINUX
SOUGHT: Final = "/dev"

# NVIDIA's, Jetson's, AMD's, WSL's, Ascend's, TPU's and Gaudi's nodes directly below /dev
_NODES: Final = pattern(
    r"nvidia\d+|nvidiactl|nvidia-(?:uvm|uvm-tools|modeset)|nvidia-nvswitch(?:ctl|\d+)|nvhost-\S{1,40}|nvmap"
    r"|kfd|dxg|davinci\d+|davinci_manager|devmm_svm|hisi_hdc|accel\d+|hl\d+|vfio"
)
# and those in folders: renderers, the accel subsystem, MIG capabilities, IMEX channels, pass-through groups
_FOLDERS: Final = {
    "/dev/dri": pattern(r"renderD\d+|card\d+"),
    "/dev/accel": pattern(r"accel\d+"),
    "/dev/nvidia-caps": pattern(r"nvidia-cap\d+"),
    "/dev/nvidia-caps-imex-channels": pattern(r"channel\d+"),
    "/dev/vfio": pattern(r"\d+"),
}
_MOST: Final = 256  # a DGX has some 60; more tell nothing new


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Nodes by path; those that modes and groups deny; the owning group of each, by name or number."""
    if not machine.exists(SOUGHT):
        return dict.fromkeys(FACTS, Fact(None, SOUGHT))
    nodes, denied, groups = [], [], {}
    for path, _ in zip(_paths(machine), range(_MOST), strict=False):
        entry = machine.entry(path)
        if entry is None or entry.kind == "folder":
            continue
        nodes.append(path)
        groups[path] = group_name(machine, entry.gid)
        if not machine.root.may_open(path) and not path.startswith("/dev/dri/card"):
            denied.append(path)  # card nodes are for display servers: compute goes through renderD
    # an empty /dev is no machine's: then the folder was not readable, which is not the same as no nodes
    if not nodes and not machine.names(SOUGHT):
        return dict.fromkeys(FACTS, Unknown("/dev may not be listed", SOUGHT))
    return {
        "device_nodes": Fact(tuple(nodes), SOUGHT),
        "device_nodes_denied": Fact(tuple(denied), "access(2) for reading and writing"),
        "device_groups": Fact(groups, "stat, /etc/group"),
    }


def _paths(machine: Machine) -> Iterator[str]:
    """Paths of nodes of our concern, in /dev and in its known folders."""
    for name in machine.names(SOUGHT):
        if _NODES.fullmatch(name):
            yield f"{SOUGHT}/{name}"
    for folder, shape in _FOLDERS.items():
        for name in machine.names(folder):
            if shape.fullmatch(name):
                yield f"{folder}/{name}"
