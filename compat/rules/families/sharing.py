"""Shared GPUs: virtual ones and MPS."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat.findings import Fix
from compat.rules.rule import Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu
    from compat.rules.signals import Hearing


class VgpuUnlicensed(Rule):
    """A virtual GPU without a licence.

    Why:
        Unlicensed virtual GPUs are slowed down and may refuse CUDA.
    Fix:
        Configure the licence and restart the licence daemon.
    Sources:
        - https://docs.nvidia.com/vgpu/
    """

    area = "vgpu"
    vendors = ("nvidia",)
    asks = ("gpus",)
    remedy = Fix("Configure the licence and restart its daemon.", ("sudo systemctl restart nvidia-gridd",))

    def check(self, signals: Hearing) -> Outcome:
        """CUDA reports that the device has no licence."""
        heard = signals.get("not-licensed")
        return Found(detail=heard.signal.meaning) if heard else None


class VgpuComputeDisabled(Rule):
    """The virtual GPU's profile has no CUDA.

    Why:
        Only the profile classes Q and C offer CUDA; A and B are for applications and desktops.
    Fix:
        Ask the hypervisor's operator for a Q or C profile.
    Sources:
        - https://docs.nvidia.com/vgpu/
    """

    area = "vgpu"
    vendors = ("nvidia",)
    asks = ("gpus",)
    remedy = Fix("Ask for a Q or C profile.")

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The GPU's name ends in a profile of class A or B, as in ``GRID T4-2B``."""
        plain = next((gpu for gpu in gpus if re.search(r"(?:GRID|NVIDIA) [\w-]{2,12}-\d{1,2}[AB]$", gpu.name)), None)
        return Found(detail=f"{plain.name} is a profile without CUDA.", facts=("gpus",)) if plain else None


class MpsBroken(Rule):
    """The MPS client cannot reach its server.

    Why:
        With MPS active every CUDA program becomes a client of one daemon.
    Fix:
        Restart the daemon as the same user, or unset the variables; in containers share the pipe and use --ipc=host.
    Sources:
        - https://docs.nvidia.com/deploy/mps/
    """

    area = "mps"
    vendors = ("nvidia",)
    asks = ("env",)
    remedy = Fix(
        "Restart the MPS daemon, or unset its variables.",
        ("echo quit | nvidia-cuda-mps-control", "nvidia-cuda-mps-control -d"),
    )

    def check(self, signals: Hearing) -> Outcome:
        """CUDA reports an error of MPS, or the variable of its pipe is set and no daemon answers."""
        heard = signals.get("mps-errors")
        return Found(detail=heard.signal.meaning) if heard else None


RULES = family(VgpuUnlicensed, VgpuComputeDisabled, MpsBroken)
