"""Shared GPUs: virtual ones and MPS."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.reading.messages import Hearing


class VgpuUnlicensed(Rule):
    """A virtual GPU without a licence.

    Why:
        Unlicensed virtual GPUs are slowed down and may refuse CUDA.
    Fix:
        Configure the licence and restart its daemon.
    Sources:
        - https://docs.nvidia.com/vgpu/
    """

    area = "vgpu"
    vendors = ("nvidia",)
    asks = ("gpus",)
    commands = ("sudo systemctl restart nvidia-gridd",)

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """CUDA reports that the device has no licence, or NVML says so of a guest's virtual GPU.

        Without a licence CUDA still works at first and is slowed down later, so that the state alone is a warning.
        """
        if heard := signals.get("not-licensed"):
            return Found(detail=heard.signal.meaning)
        bare = next((gpu for gpu in host.gpus or () if gpu.licensed is False), None)
        if bare is None:
            return Fits("") if any(gpu.licensed for gpu in host.gpus or ()) else None
        return Found(detail=f"{bare.name or 'A virtual GPU'} has no licence.", facts=("gpus",), severity="warning")


class VgpuComputeDisabled(Rule):
    """The virtual GPU's profile has no CUDA.

    Why:
        Only the profile classes Q and C offer CUDA; A and B are for applications and desktops.
    Fix:
        Ask for a Q or C profile. The hypervisor's operator gives it.
    Sources:
        - https://docs.nvidia.com/vgpu/
    """

    area = "vgpu"
    vendors = ("nvidia",)

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The GPU's name ends in a profile of class A or B, as in ``GRID T4-2B``."""
        plain = next((gpu for gpu in gpus if re.search(r"(?:GRID|NVIDIA) [\w-]{2,12}-\d{1,2}[AB]$", gpu.name)), None)
        return Found(detail=f"{plain.name} is a profile without CUDA.") if plain else None


class MpsBroken(Rule):
    """The MPS client cannot reach its server.

    Why:
        With MPS active every CUDA program becomes a client of one daemon.
    Fix:
        Restart the MPS daemon, or unset its variables. The daemon runs as the same user; in containers share its pipe
        and use --ipc=host.
    Sources:
        - https://docs.nvidia.com/deploy/mps/
    """

    area = "mps"
    vendors = ("nvidia",)
    asks = ("env", "mps")
    commands = ("echo quit | nvidia-cuda-mps-control", "nvidia-cuda-mps-control -d")

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """CUDA reports an error of MPS.

        Pipes that a dead daemon left behind are no fault: programs then go to the GPU themselves.
        """
        heard = signals.get("mps-errors")
        if heard is None:
            return Fits("the MPS daemon runs") if host.mps == "running" else None
        state = f" The daemon is {host.mps}." if host.mps else ""
        return Found(detail=f"{heard.signal.meaning}{state}", facts=("mps",) if host.mps else ())


RULES = family(VgpuUnlicensed, VgpuComputeDisabled, MpsBroken)
