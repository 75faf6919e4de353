"""What was decided at boot: signed modules, SELinux, address translation.

Each of these explains failures that no GPU tool names: Secure Boot refuses an unsigned kernel module without a word to
the user, SELinux hides device nodes from containers, and an IOMMU in translating mode stalls copies between AMD GPUs.

Sources: Linux, Documentation/filesystems/efivarfs.rst; selinuxfs(5); Linux, kernel-parameters.txt (``iommu=``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.detect.base import LINUX
from compat.detect.context import container_kind
from compat.facts import Fact, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "boot"
FACTS: Final = ("secure_boot", "selinux", "iommu")
SYSTEMS: Final = LINUX
SOUGHT: Final = "/sys, /proc/cmdline"

# The variable's name carries EFI's global GUID (UEFI specification, "Globally Defined Variables")
_SECURE_BOOT: Final = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_ENFORCE: Final = "/sys/fs/selinux/enforce"
_CMDLINE: Final = "/proc/cmdline"
_TRANSLATION: Final = pattern(r"(?:^|\s)((?:intel_|amd_)?iommu)=(\S+)")


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Secure Boot from the firmware's variable, SELinux' mode, ``iommu=`` settings of the kernel command line."""
    return {"secure_boot": _secure_boot(machine), "selinux": _selinux(machine), "iommu": _iommu(machine)}


def _secure_boot(machine: Machine) -> Reading:
    """Four bytes of attributes, then one byte that is 1 when signatures are enforced (Linux, efivarfs)."""
    data = machine.data(_SECURE_BOOT)
    if len(data) == 5:
        return Fact(data[4] == 1, _SECURE_BOOT)
    if container_kind(machine):
        return Unknown("the firmware's variables are hidden inside a container", _SECURE_BOOT)
    if machine.exists("/sys/firmware/efi"):
        return Unknown("the firmware's SecureBoot variable could not be read", _SECURE_BOOT)
    return Fact(False, "/sys/firmware/efi is absent") if machine.exists("/sys") else Unknown("/sys is absent", "/sys")


def _selinux(machine: Machine) -> Reading:
    """Mode from selinuxfs; without that file system SELinux is not running."""
    reading = machine.read(_ENFORCE)
    if not isinstance(reading, Fact):
        return reading
    modes = {"1": "enforcing", "0": "permissive"}
    return Fact(modes.get((reading.value or "").strip(), "disabled"), _ENFORCE)


def _iommu(machine: Machine) -> Reading:
    """``pt``, ``on``, ``off`` ...: the general setting before the vendors' own."""
    reading = machine.read(_CMDLINE)
    if not isinstance(reading, Fact) or reading.value is None:
        return Unknown("the kernel command line could not be read", _CMDLINE)
    said = dict(_TRANSLATION.findall(reading.value))
    value = said.get("iommu") or said.get("amd_iommu") or said.get("intel_iommu")
    return Fact(value, _CMDLINE)
