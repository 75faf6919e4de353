"""Jetson boards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.rules.stack import named

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.rules.stack import Installed
from compat.reading.jetson_release import image_l4t
from compat.rules.rule import Found, Outcome, Rule, family


class JetsonGenericWheel(Rule):
    """A generic ARM wheel is installed on a Jetson.

    Why:
        Jetsons have their own capabilities and driver stack; other ARM wheels are for CPUs or servers.
    Fix:
        Install the wheel that NVIDIA publishes for this JetPack, or use an l4t container.
    Sources:
        - https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/
    """

    area = "jetson"
    requires = ("cpu-only-build",)
    asks = ("jetpack", "builds")
    commands = ("cat /etc/nv_tegra_release", "pip install --no-cache <address of the wheel>")

    def check(self, host: Host, l4t: str, installed: tuple[Installed, ...]) -> Outcome:
        """The machine is a Jetson, and the framework's build is not one for it.

        It is a CPU build, or carries no code for the integrated GPU.
        """
        torch = named(installed, "torch")
        if torch is None or not torch.runtime or torch.inferred:
            return None
        targets = {gpu.target for gpu in host.gpus or () if gpu.target}
        if torch.runtime != "cpu" and (not torch.kernels or not targets or targets & set(torch.kernels)):
            return None
        return Found(detail=f"{torch.label} is not the build for L4T {l4t}.", facts=("l4t", torch.fact))


class JetsonJetpackMismatch(Rule):
    """A container for another JetPack.

    Why:
        On a Jetson the driver is part of the board's system and cannot be upgraded alone.
    Fix:
        Choose the image tag of the installed L4T release.
    Sources:
        - https://catalog.ngc.nvidia.com/orgs/nvidia/containers/l4t-base
    """

    area = "jetson"
    requires = ("container-requires-newer-driver",)
    commands = ("cat /etc/nv_tegra_release",)

    def check(self, l4t: str, image: str) -> Outcome:
        """The L4T release in the image's tag is not of the host's series."""
        tagged = image_l4t(image)
        if not tagged or tagged.partition(".")[0] == l4t.partition(".")[0]:
            return None
        return Found(detail=f"{image} is for L4T {tagged}, the host has {l4t}.")


RULES = family(JetsonGenericWheel, JetsonJetpackMismatch)
