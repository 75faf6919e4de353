"""Libraries and compilers that serve fewer GPUs than the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.rules.knowledge import cite
from compat.rules.rule import Found, Outcome, Rule, family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu
    from compat.matrix import Matrix


from compat.rules.families.arch_cover import nvidia_cards


class TritonGpuTooOld(Rule):
    """torch.compile and Triton cannot target this GPU.

    Why:
        Triton generates code for capability 7.0 and later only.
    Fix:
        Run without torch.compile, or with backend='aot_eager'.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/_inductor/exc.py
    """

    severity = "warning"
    area = "arch"
    vendors = ("nvidia",)
    requires = ("arch-too-old-for-build",)
    asks = ("gpus", "packages")
    commands = ("export TORCHDYNAMO_DISABLE=1",)
    _FLOOR = (7, 0)  # torch/_inductor: "too old to be supported by the triton GPU compiler"

    def check(self, packages: Mapping[str, str], gpus: tuple[Gpu, ...]) -> Outcome:
        """The device is below compute capability 7.0 and Triton is installed."""
        old = [gpu for gpu, device in nvidia_cards(gpus) if (device.major, device.minor) < self._FLOOR]
        if "triton" not in packages or not old:
            return None
        return Found(
            detail=f"{old[0].name or old[0].target} is below what Triton compiles for.",
            facts=("gpus", "packages.triton"),
        )


class CudnnDropsGpu(Rule):
    """The bundled cuDNN no longer supports this GPU.

    Why:
        cuDNN dropped Maxwell, Pascal and Volta before the frameworks stopped compiling for them.
    Fix:
        Use a framework build with an older cuDNN.
    Sources:
        - https://docs.nvidia.com/deeplearning/cudnn/backend/latest/reference/support-matrix.html
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("arch-too-old-for-build",)
    asks = ("cudnn", "gpus")

    def check(self, cudnn: str, gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        """The first capability that the cuDNN release serves is above the device's."""
        rows = [
            row
            for row in matrix.table("cudnn")
            if row.first_cc and (row.version == cudnn or row.version.startswith(f"{cudnn}."))
        ]
        for row in rows[:1]:
            floor = tuple(int(part) for part in row.first_cc.split("."))
            old = [gpu for gpu, device in nvidia_cards(gpus) if (device.major, device.minor) < floor]
            if old:
                detail = (
                    f"cuDNN {cudnn} starts at capability {row.first_cc}; {old[0].name or 'the GPU'} is {old[0].target}."
                )
                return Found(detail=detail, facts=("cudnn", "gpus"), sources=cite(matrix, row))
        return None


RULES = family(CudnnDropsGpu, TritonGpuTooOld)
