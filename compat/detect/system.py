"""Operating system, kernel, architecture and C library.

``os`` joins ID and VERSION_ID of os-release(5), which is how vendors tag their images: ubuntu22.04, rhel9.4, debian12.
Rolling distributions have no version and are told by their name alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.detect.base import ANYWHERE
from compat.facts import Fact, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine
    from compat.detect.root import System

NAME: Final = "system"
FACTS: Final = ("os", "os_name", "platform", "kernel", "arch", "libc", "glibc")
SYSTEMS: Final = ANYWHERE
SOUGHT: Final = "uname"

_RELEASE_FILES: Final = ("/etc/os-release", "/usr/lib/os-release")  # in the order of os-release(5)
# shell-like assignments; values may be quoted either way (os-release(5))
_ASSIGNMENT: Final = pattern(r"""^([A-Z_]+)=["']?([^"'\r\n]*)["']?\s*$""", re.MULTILINE)
# macOS' own record of its version; sw_vers(1) prints what is in it
_PLIST: Final = "/System/Library/CoreServices/SystemVersion.plist"
_PLIST_ENTRY: Final = pattern(r"<key>(\w+)</key>\s*<string>([^<]*)</string>")

# PROCESSOR_ARCHITECTURE of Windows (Microsoft, "WOW64 Implementation Details") -> the name that uname gives elsewhere
_WINDOWS: Final = {"amd64": "x86_64", "arm64": "aarch64", "x86": "i686"}


def facts(machine: Machine) -> Mapping[str, Reading]:
    """The system's own names for itself, and the C library that programs here are linked to."""
    system = machine.system
    return {
        "kernel": Fact(system.release or None, "uname"),
        "arch": Fact(architecture(system) or None, "uname"),
        "platform": Fact(_platform(system.name, system.release), "uname"),
        **_distribution(machine),
        **_libc(machine),
    }


def architecture(system: System) -> str:
    """The processor's architecture as Linux spells it, but for macOS; Windows has names of its own."""
    return _WINDOWS.get(system.machine.lower(), system.machine) if system.name == "windows" else system.machine


def _platform(name: str, release: str) -> str:
    """WSL 1 has a 4.4 kernel that ends in ``-Microsoft``; WSL 2's says ``-microsoft-`` (Microsoft, WSL docs)."""
    if name != "linux" or "microsoft" not in release.lower():
        return name
    return "wsl1" if release.endswith("-Microsoft") else "wsl2"


def _distribution(machine: Machine) -> dict[str, Reading]:
    """Names of the system, each kind of system in its own way."""
    if machine.system.name == "windows":
        return dict.fromkeys(("os", "os_name"), Fact(machine.system.edition or None, "Windows version"))
    return _macos(machine) if machine.system.name == "darwin" else _os_release(machine)


def _os_release(machine: Machine) -> dict[str, Reading]:
    """``ID`` and ``VERSION_ID`` glued together are how image tags spell a distribution: ubuntu22.04, debian12."""
    for path in _RELEASE_FILES:
        said = dict(_ASSIGNMENT.findall(machine.text(path)))
        if said.get("ID"):
            tag = said["ID"].lower() + said.get("VERSION_ID", "")
            return {"os": Fact(tag, path), "os_name": Fact(said.get("PRETTY_NAME") or tag, path)}
    missing = Unknown("no os-release file names this distribution", ", ".join(_RELEASE_FILES))
    return dict.fromkeys(("os", "os_name"), missing)


def _macos(machine: Machine) -> dict[str, Reading]:
    """Names from macOS' version file."""
    said = dict(_PLIST_ENTRY.findall(machine.text(_PLIST)))
    version = said.get("ProductVersion", "")
    if not version:
        return dict.fromkeys(("os", "os_name"), Unknown("the system version file could not be read", _PLIST))
    name = f"{said.get('ProductName', 'macOS')} {version}"
    return {"os": Fact(f"macos{version}", _PLIST), "os_name": Fact(name, _PLIST)}


def _libc(machine: Machine) -> dict[str, Reading]:
    """GNU's libc tells its version through confstr(3); musl has none and is known by its loader's name."""
    if machine.system.name != "linux":
        return {"libc": Fact(None, "uname"), "glibc": Fact(None, "uname")}
    # both may be there (a glibc machine with musl installed): what the interpreter itself is linked to counts first
    musl = next((name for name in machine.names("/lib") if name.startswith("ld-musl-")), "")
    try:
        name, _, version = machine.root.libc().partition(" ")
    except OSError as error:
        name, version = "", str(error.strerror)
    if name == "glibc" and version:
        return {"libc": Fact("glibc", "confstr"), "glibc": Fact(version, "confstr CS_GNU_LIBC_VERSION")}
    if musl:
        return {"libc": Fact("musl", f"/lib/{musl}"), "glibc": Fact(None, f"/lib/{musl}")}
    missing = Unknown(f"neither glibc nor musl names itself ({version or 'confstr is empty'})", "confstr, /lib")
    return {"libc": missing, "glibc": missing}
