"""Libraries and compilers that serve fewer GPUs than the framework, and files that differ from the published build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.facts import Build
from compat.rules.families.arch_cover import nvidia_cards
from compat.rules.knowledge import cite
from compat.rules.rule import Found, Outcome, Rule, family
from compat.targets import kernels_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu
    from compat.matrix import Matrix
    from compat.rules.stack import Installed


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
                return Found(detail=detail, sources=cite(matrix, row))
        return None


class KernelsUnlikeMatrix(Rule):
    """The installed files carry other GPU code than the published build of this version.

    Why:
        The package was compiled by somebody else, patched, or the matrix is wrong. Verdicts on this machine rest on the
        files themselves; what a reinstall from the index would bring may differ.
    Fix:
        Reinstall the package if the build is not your own; else report the matrix row.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    """

    severity = "warning"
    area = "arch"

    def check(
        self, matrix: Matrix, gpus: tuple[Gpu, ...], builds: Mapping[str, Build], installed: tuple[Installed, ...]
    ) -> Outcome:
        """What was read from the installed files and the matrix row lead to different verdicts for a GPU here."""
        for item in installed:
            build = builds.get(item.fact.removeprefix("builds."), Build())
            stated = tuple(target for target in item.row.kernels if target != "-") if item.row else ()
            if not build.path or not build.kernels or not stated:
                continue
            for gpu in gpus:
                seen = kernels_for(gpu.target, build.kernels, matrix.families) if gpu.target else ""
                said = kernels_for(gpu.target, stated, matrix.families) if gpu.target else ""
                if seen != said:
                    detail = f"{item.label}: its files have {seen} code for {gpu.target}, the matrix says {said}."
                    sources = (matrix.cite(item.row),) if item.row else ()
                    return Found(detail=detail, facts=("gpus", item.fact), sources=sources)
        return None


RULES = family(CudnnDropsGpu, TritonGpuTooOld, KernelsUnlikeMatrix)
