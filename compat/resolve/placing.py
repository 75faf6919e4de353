"""The platform tags that a plan may be for, and what each costs: ``linux_x86_64``, ``win_amd64``, ``macosx_arm64``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.resolve.situation import DEFAULT_ARCH
from compat.versions import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Host
    from compat.resolve.constraints import Constraints
    from compat.resolve.devices import Device

_MACHINES: Final = {"arm64": "aarch64", "amd64": "x86_64"}

# Platforms of hosts that are no Linux; WSL is one.
FOREIGN: Final = frozenset({"windows", "darwin"})


def read_places(hosts: Sequence[Host], devices: Sequence[Device], into: Constraints) -> tuple[tuple[str, int], ...]:
    """The platform tag of the target, then those that a change of machine would open.

    Leaving the machine for another architecture, or its platform for Linux, costs the bits of those facts; an unstated
    architecture is assumed and cannot be left.
    """
    host, stated = telling(hosts, "arch"), telling(hosts, "platform")
    platform = stated.platform if stated.platform in FOREIGN else "linux"
    implied = next((device.arch for device in devices if device.arch), "")
    usual = "aarch64" if platform == "darwin" else DEFAULT_ARCH  # Apple builds no other since 2020
    arch = _MACHINES.get(host.arch or "", host.arch or implied or usual)
    if not host.arch and not implied:
        said = "arm64" if platform == "darwin" else usual  # Apple's word for it
        into.conditions.append(f"the machine's architecture is assumed to be {said}")
    arch_bit = into.fact("arch", arch, f"architecture {arch}", host, "arch") if host.arch else 0
    platform_bit = 0
    if is_wsl(stated) and stated.is_option("platform"):
        into.fact("platform", "wsl2", "platform wsl2", stated, "platform")  # only ever repeated, never broken
    elif platform != "linux":
        platform_bit = into.fact("platform", platform, f"platform {platform}", stated, "platform")
    tags = {place_of(platform, arch): 0}
    for other, cost in (
        (arch, platform_bit),
        *((_other(arch), bits) for bits in {arch_bit, arch_bit | platform_bit} if arch_bit),
    ):
        if cost:
            tags.setdefault(place_of("linux" if cost & platform_bit else platform, other), cost)
    return tuple(tags.items())


def _other(arch: str) -> str:
    """The other architecture that builds are published for."""
    return "aarch64" if arch == DEFAULT_ARCH else DEFAULT_ARCH


def is_wsl(host: Host) -> bool:
    """Whether a host is Windows' subsystem for Linux in the version that has GPUs."""
    return bool(host.platform == "wsl2")


def telling(hosts: Sequence[Host], name: str) -> Host:
    """The first machine that states a fact; the first of all where none does."""
    return next((host for host in hosts if host.value(name)), hosts[0])
