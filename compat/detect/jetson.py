"""NVIDIA Jetson: L4T, JetPack and the integrated GPU's board.

The GPU of a Jetson is part of the chip: it has no PCI entry, and older releases have no NVML for it. L4T's release file
is on the board and, through the container runtime's mounts, in containers too.

Source: NVIDIA Jetson Linux developer guide; JetPack installation notes (meta package ``nvidia-jetpack``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.detect.base import LINUX
from compat.detect.system_packages import versions
from compat.facts import Fact, Gpu, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "Jetson"
FACTS: Final = ("l4t", "jetpack")
SYSTEMS: Final = LINUX
SOUGHT: Final = "/etc/nv_tegra_release, /proc/device-tree/compatible"

_RELEASE: Final = "/etc/nv_tegra_release"
# The line reads: # R35 (release), REVISION: 4.1, GCID: ... (Jetson Linux Developer Guide)
_L4T: Final = pattern(r"#\s*R(\d{2,3})\s*\(release\),\s*REVISION:\s*([\d.]+)")
_DPKG: Final = "/var/lib/dpkg/status"


def facts(machine: Machine) -> Mapping[str, Reading]:
    """L4T from its release file, JetPack from its meta package, the board's model as the GPU's name."""
    if not machine.exists(_RELEASE) and "nvidia,tegra" not in machine.text("/proc/device-tree/compatible", 4096):
        return dict.fromkeys(FACTS, Fact(None, SOUGHT))
    found = _L4T.search(machine.text(_RELEASE))
    packages = versions(machine)
    packaged = packages.get("nvidia-l4t-core", "")
    by_package = Fact(packaged.split("-")[0], _DPKG)
    nobody = Unknown("neither the release file nor a package names it", _RELEASE)
    l4t = Fact(f"{found[1]}.{found[2]}", _RELEASE) if found else by_package if packaged else nobody
    jetpack = re.split(r"[-+]", packages.get("nvidia-jetpack", ""))[0]  # 5.1.2-b104, 6.2+b77
    absent = Unknown("the package nvidia-jetpack is not installed; L4T tells the release", _DPKG)
    return {"l4t": l4t, "jetpack": Fact(jetpack, _DPKG) if jetpack else absent, "gpus": _gpu(machine)}


def _gpu(machine: Machine) -> Reading:
    """The board's model stands for its GPU, whose own name (``Orin``) is shared by several modules."""
    model = machine.text("/proc/device-tree/model", 4096).strip("\0 ")
    return Fact((Gpu(name=model, vendor="nvidia", integrated=True),), "/proc/device-tree/model")
