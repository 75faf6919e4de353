"""NVIDIA's kernel module, from /proc and /sys alone.

These facts need no library and no permission, and hold in containers too, because /proc/driver/nvidia is the host's.
The kernel module's version is one fact; the user-mode library's (:mod:`compat.detect.libraries`) is another: that they
differ is among the most frequent faults after an update.

Source: NVIDIA Linux driver README, "The /proc interface".
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

NAME: Final = "NVIDIA kernel module"
FACTS: Final = ("driver", "driver_branch")
SYSTEMS: Final = LINUX
SOUGHT: Final = "/proc/driver/nvidia/version, /sys/module/nvidia/version"

_VERSION: Final = "/proc/driver/nvidia/version"
_MODULE: Final = "/sys/module/nvidia/version"
# "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build ..." and without "Open"
# and on Jetson up to L4T 35 "... for aarch64  35.3.1": that is L4T's own number, for a branch has three digits
_NVRM: Final = pattern(r"NVRM version:.*?\s(\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)\s")


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Version and flavour of the loaded module, GPUs as /proc names them."""
    return {**_module(machine), "gpus": _gpus(machine)}


def _module(machine: Machine) -> dict[str, Reading]:
    """Release and flavour from the module's own text, else from the version it shows in /sys."""
    reading = machine.read(_VERSION)
    if isinstance(reading, Unknown):
        return dict.fromkeys(FACTS, reading)
    text = reading.value or ""
    if found := _NVRM.search(text + " "):
        branch = "open" if "Open Kernel Module" in text else "proprietary"
        return {"driver": Fact(found[1], _VERSION), "driver_branch": Fact(branch, _VERSION)}
    if text:
        return dict.fromkeys(FACTS, Unknown("the text does not name a driver release", _VERSION))
    # a module without its /proc folder (hardened kernels hide it) still shows its version in /sys
    if version := machine.text(_MODULE):
        return {"driver": Fact(version, _MODULE), "driver_branch": Unknown("only the version is told", _MODULE)}
    return dict.fromkeys(FACTS, Fact(None, SOUGHT))


def _gpus(machine: Machine) -> Reading:
    """Names from /proc/driver/nvidia/gpus/BUS/information, which needs no library at all."""
    folder = "/proc/driver/nvidia/gpus"
    found = []
    for bus in machine.names(folder):
        said = re.search(r"^Model:[ \t]*(.+)$", machine.text(f"{folder}/{bus}/information"), re.MULTILINE)
        if said is not None and "Unknown" not in said[1]:
            found.append(Gpu(name=said[1].strip(), vendor="nvidia", bus=bus, driver="nvidia"))
    return Fact(tuple(found), folder)
