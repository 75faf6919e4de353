"""Accelerators that announce themselves by other means than a graphics driver: Ascend, TPU, AWS Trainium.

A PCI entry may be hidden (containers of Ascend see only device nodes) or say too little (a TPU virtual machine names
its slice in a variable). What is told here has no PCI address and is matched by vendor and order.

Sources: Huawei, CANN installation guide (``version.cfg`` below the toolkit's ``latest`` folder); Google Cloud TPU
documentation (``TPU_ACCELERATOR_TYPE``); AWS Neuron documentation, sysfs (``neuron_device``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.detect.base import LINUX
from compat.facts import Fact, Gpu, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "other accelerators"
FACTS: Final = ("cann",)
SYSTEMS: Final = LINUX
SOUGHT: Final = "/usr/local/Ascend, /dev/davinci*, TPU_* variables, /sys/devices/virtual/neuron_device"

_CANN: Final = (
    "/usr/local/Ascend/ascend-toolkit/latest/version.cfg",
    "/usr/local/Ascend/ascend-toolkit/latest/compiler/version.info",
    "/usr/local/Ascend/ascend-toolkit/latest/toolkit/version.info",
    "/usr/local/Ascend/cann/version.cfg",
)
_NEURON: Final = "/sys/devices/virtual/neuron_device"
_VERSION: Final = pattern(r"(?:^Version=|toolkit_installed_version=\[|:)(\d+\.\d+(?:\.\w+){0,3})", re.MULTILINE)


def facts(machine: Machine) -> Mapping[str, Reading]:
    """CANN's release, and accelerators that have a node or a variable but may have no PCI entry here."""
    return {"cann": _cann(machine), "gpus": Fact((*_ascend(machine), *_tpu(machine), *_neuron(machine)), SOUGHT)}


def _cann(machine: Machine) -> Reading:
    """CANN's release from the first version file that names one; its files moved over the releases."""
    for path in _CANN:
        if found := _VERSION.search(machine.text(path, 65536)):
            return Fact(found[1], path)
    if machine.exists("/usr/local/Ascend/ascend-toolkit"):
        return Unknown("the toolkit's version files do not name a release", "/usr/local/Ascend")
    return Fact(None, "/usr/local/Ascend")


def _ascend(machine: Machine) -> list[Gpu]:
    """Inside a container the nodes are there and the PCI bus may not be: one entry per node without a bus."""
    nodes = [name for name in machine.names("/dev") if re.fullmatch(r"davinci\d+", name)]
    bus = "/sys/bus/pci/devices"
    on_bus = any(machine.text(f"{bus}/{each}/vendor") == "0x19e5" for each in machine.names(bus))
    return [] if on_bus else [Gpu(vendor="huawei", driver="davinci") for _ in nodes]


def _tpu(machine: Machine) -> list[Gpu]:
    """Google's TPU VMs name the accelerator in a variable, ``v5litepod-8`` (Cloud TPU documentation)."""
    named = machine.env.get("TPU_ACCELERATOR_TYPE", "")
    return [Gpu(name=f"TPU {named}", vendor="google")] if named else []


def _neuron(machine: Machine) -> list[Gpu]:
    """Devices of AWS, which its driver names below sysfs: ``Trainium1``, ``Inferentia2`` (AWS Neuron documentation)."""
    devices = [name for name in machine.names(_NEURON) if re.fullmatch(r"neuron\d+", name)]
    told = (machine.text(f"{_NEURON}/{name}/info/architecture/device_name", 64) for name in devices)
    return [Gpu(name=name, vendor="aws", driver="neuron") for name in told]
