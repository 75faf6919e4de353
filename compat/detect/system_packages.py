"""Driver packages of the distribution, from its database where that is a text, from ``rpm`` where it is not.

dpkg, apk and pacman keep texts that are read directly; rpm keeps a binary store for which its own tool is asked. Only
packages whose names concern GPUs or containers are kept.

Sources: deb822(5) and dpkg(1) (status file), apk-db(5), pacman's local database, rpm(8).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.detect.base import LINUX
from compat.facts import Fact, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "driver packages"
FACTS: Final = ("driver_packages",)
SYSTEMS: Final = LINUX
SOUGHT: Final = "package database"

_DPKG: Final = "/var/lib/dpkg/status"
_APK: Final = "/lib/apk/db/installed"
_PACMAN: Final = "/var/lib/pacman/local"
_RPM: Final = ("/var/lib/rpm", "/usr/lib/sysimage/rpm")
_LIMIT: Final = 64 << 20  # a desktop with ten thousand packages has a status file of some 15 MiB

_CONCERN: Final = (
    r"(?:(?:lib)?nvidia|cuda|libcuda|kmod-nvidia|akmod-nvidia|xserver-xorg-video-nvidia|linux-modules-nvidia"
    r"|amdgpu|rocm|hip|hsa|libdrm-amdgpu|intel-level-zero|libze|intel-opencl|level-zero|docker|podman|moby|containerd"
    r"|datacenter-gpu-manager)"
)
# Of those, the packages that are (or bring) a kernel or user-mode driver
_DRIVER: Final = pattern(
    r"nvidia-(?:driver|dkms|open|kernel|headless|utils|compute-utils|l4t-core|graphics|firmware|legacy|tesla|fabric)\S*"
    r"|(?:lib)nvidia-(?:compute|ml|gl)\S*|libcuda\d?|libcuda1\S*|cuda-drivers\S*|cuda-compat\S*|[ak]mod-nvidia\S*"
    r"|linux-modules-nvidia\S*|xorg-x11-drv-nvidia\S*|xserver-xorg-video-nvidia\S*|nvidia(?:-dkms|-lts|-open)?"
    r"|amdgpu(?:-dkms|-core|-install|-lib)?\S*|rocm-(?:core|hip-runtime|dev)"
)


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Name and version of each installed driver package, as ``name version``."""
    if not any(machine.exists(path) for path in (_DPKG, _APK, _PACMAN, *_RPM)):
        return dict.fromkeys(FACTS, Fact(None, SOUGHT))
    known, why = machine.once("system packages", lambda: _versions(machine))
    if why:
        return {"driver_packages": Unknown(why, SOUGHT)}
    kept = tuple(f"{name} {version}" for name, version in sorted(known.items()) if _DRIVER.fullmatch(name))
    return {"driver_packages": Fact(kept, SOUGHT)}


def versions(machine: Machine) -> Mapping[str, str]:
    """Installed packages that concern GPUs or containers, name -> version; empty where no database can be read."""
    return machine.once("system packages", lambda: _versions(machine))[0]


def _versions(machine: Machine) -> tuple[dict[str, str], str]:
    """From the first database that is there; and the reason if it could not be read."""
    if machine.exists(_DPKG):
        data = machine.data(_DPKG, _LIMIT)
        return _dpkg(data), "" if data else f"{_DPKG} may not be read or is empty"
    if machine.exists(_APK):
        text = machine.text(_APK, _LIMIT)
        return dict(re.findall(rf"^P:({_CONCERN}\S*)\nV:(\S+)", text, re.MULTILINE)), ""
    if names := machine.names(_PACMAN):
        found = (re.fullmatch(rf"({_CONCERN}\S*?)-(\d\S*)-\d+", name) for name in names)
        return {each[1]: each[2] for each in found if each}, ""
    return _rpm(machine) if any(machine.exists(path) for path in _RPM) else ({}, "")


def _dpkg(data: bytes) -> dict[str, str]:
    """Paragraphs of dpkg's status file whose name concerns us and whose state is installed (dpkg(1))."""
    found = {}
    data = b"\n" + data  # a pattern that begins with plain bytes is found several times faster than one with ^
    for start in re.finditer(rb"\nPackage: (" + _CONCERN.encode() + rb"[^\s]*)$", data, re.MULTILINE):
        end = data.find(b"\n\n", start.end())
        text = data[start.end() : end if end >= 0 else None]
        version = re.search(rb"^Version: (\S+)", text, re.MULTILINE)
        if version and re.search(rb"^Status: \S+ \S+ installed", text, re.MULTILINE):
            found[start[1].decode(errors="replace")] = version[1].decode(errors="replace")
    return found


def _rpm(machine: Machine) -> tuple[dict[str, str], str]:
    """Ask rpm itself: its database is a binary store."""
    if not (rpm := machine.which("rpm")):
        return {}, "the package database is rpm's and rpm is not on PATH"
    outcome = machine.ask([rpm, "-qa", "--qf", "%{NAME} %{VERSION}\\n"])
    if not outcome.ok:
        return {}, outcome.why or f"rpm ended with status {outcome.code}"
    return dict(re.findall(rf"^({_CONCERN}\S*) (\S+)$", outcome.out, re.MULTILINE)), ""
