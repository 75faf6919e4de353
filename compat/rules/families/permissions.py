"""May this user open the GPU's device nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import compat.reading.commands as told
from compat.findings import Fix
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import named

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed


from compat.rules.families.rocm import amd_cards


class DevicePermission(Rule):
    """The user may not open the GPU's device nodes.

    Why:
        The nodes belong to a group (render, video); group ids inside an image rarely equal the host's, so that only the
        numeric id of the node's owner helps there.
    Fix:
        Join the group that owns the device nodes and log in again. In containers pass the numeric group with
        --group-add.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """

    area = "permissions"
    platforms = ("linux",)
    requires = ("container-cgroup-lost",)
    asks = ("device_nodes_denied", "groups", "device_groups")
    commands = (
        "sudo usermod -aG render,video $USER",
        "docker run --group-add $(getent group render | cut -d: -f3) --device /dev/kfd --device /dev/dri IMAGE",
    )

    def check(
        self, host: Host, signals: Hearing, commands: tuple[str, ...], installed: tuple[Installed, ...]
    ) -> Outcome:
        """A device node exists, and opening it is refused."""
        if host.device_nodes_denied is None:
            apart = bool(host.container) or "render" in (host.groups or ())
            return self._without_group(commands, signals) or (
                None if apart else self._suspected(named(installed, "torch"), host.gpus or (), signals)
            )
        denied = [node for node in host.device_nodes_denied if not re.search(r"/dev/dri/card", node)]
        if host.container and host.selinux == "enforcing" and host.user_id == 0:
            return None  # no group helps root: it is SELinux that says no
        if not denied:
            return Fits("the GPU device nodes may be opened") if host.device_nodes else None
        owner = (host.device_groups or {}).get(denied[0], "render")
        fix = Fix(f"Join the group {owner} and log in again.", (f"sudo usermod -aG {owner} $USER",))
        if host.container:
            fix = Fix(
                "Pass the group of the node into the container.",
                (f"docker run --group-add $(stat -c %g {denied[0]}) {host.image or 'IMAGE'}",),
            )
        return Found(
            detail=f"{', '.join(denied[:3])} may not be opened.",
            facts=("device_nodes_denied", "device_groups") if host.device_groups else ("device_nodes_denied",),
            fix=fix,
        )

    @staticmethod
    def _without_group(commands: tuple[str, ...], signals: Hearing) -> Outcome:
        """A container with AMD's nodes and without their group, in which a program sees no GPU."""
        if not signals.saying("no-access") or not told.lacks_group(commands):
            return None
        return Found(
            detail="The container gets AMD's device nodes, but not the group render that owns them.",
            facts=(),
            confidence="likely",
            severity="warning",
            fix=Fix(
                "Pass the numeric id of the nodes' group into the container.",
                ("docker run --device /dev/kfd --device /dev/dri --group-add $(stat -c %g /dev/kfd) IMAGE",),
            ),
        )

    @staticmethod
    def _suspected(torch: Installed | None, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """A ROCm build on its own kernel that sees no GPU without a word: mostly a group is what was forgotten."""
        if not torch or not torch.rocm or not amd_cards(gpus) or "torch-no-gpu-generic" not in signals:
            return None
        return Found(
            detail=f"{torch.label} sees no GPU; mostly the user is not in the groups render and video.",
            facts=("gpus", torch.fact),
            confidence="possible",
            severity="warning",
        )


RULES = family(DevicePermission)
