"""Several GPUs in one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.rules.rule import Found, Outcome, Rule, family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu


class MixedGpuArchitectures(Rule):
    """GPUs of different architectures are in one machine.

    Why:
        One build must carry code for every visible device, and collectives run at the pace of the slowest.
    Fix:
        Show one kind of GPU to a program. Or pick a build that covers all.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
    """

    severity = "info"
    area = "hardware"
    requires = ("arch-too-new-for-build", "arch-too-old-for-build", "rocm-gfx-unsupported", "rocm-igpu-interferes")
    asks = ("gpus",)
    commands = ("export CUDA_VISIBLE_DEVICES=<index>",)

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The GPUs of one vendor have different targets."""
        for vendor in ("nvidia", "amd"):
            targets = sorted({gpu.target for gpu in gpus if gpu.vendor == vendor and gpu.target})
            if len(targets) > 1:
                mask = "CUDA_VISIBLE_DEVICES" if vendor == "nvidia" else "HIP_VISIBLE_DEVICES"
                fix = self.remedy(f"export {mask}=<index>")
                return Found(detail=f"The GPUs are {' and '.join(targets)}.", facts=("gpus",), fix=fix)
        return None


class DeviceOrderMismatch(Rule):
    """CUDA and nvidia-smi number the GPUs differently.

    Why:
        CUDA puts the fastest first by default, nvidia-smi sorts by bus address.
    Fix:
        Number by bus address everywhere. That is CUDA_DEVICE_ORDER=PCI_BUS_ID.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
    """

    severity = "info"
    area = "hardware"
    vendors = ("nvidia",)
    requires = ("mixed-gpu-architectures",)
    asks = ("gpus", "env")
    commands = ("export CUDA_DEVICE_ORDER=PCI_BUS_ID",)

    def check(self, gpus: tuple[Gpu, ...], env: Mapping[str, str]) -> Outcome:
        """GPUs of different kinds, and CUDA_DEVICE_ORDER is not set."""
        names = {gpu.name for gpu in gpus if gpu.vendor == "nvidia"}
        if len(names) < 2 or "CUDA_DEVICE_ORDER" in env:
            return None
        return Found(detail=f"{len(names)} kinds of GPU, CUDA_DEVICE_ORDER unset.", facts=("gpus",))


RULES = family(MixedGpuArchitectures, DeviceOrderMismatch)
