"""Libraries, compilers and number formats that serve fewer GPUs than the framework; files unlike published ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.changes import Command, Variable
from compat.facts import Build
from compat.lazy import pattern
from compat.rules.families.arch_cover import nvidia_cards
from compat.rules.knowledge import cite
from compat.rules.rule import Found, Outcome, Rule, family
from compat.targets import kernels_for, sm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
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
    changes = (Variable("TORCHDYNAMO_DISABLE", "1"),)
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


# Options of vLLM, SGLang and Hugging Face's trainers that ask for a number format to compute in.
_ASKED: Final = pattern(r"(?:^|\s)--(?:(?:torch[-_])?dtype[= ])?(bf16|bfloat16|fp8)(?![\w-])", re.IGNORECASE)
_FORMATS: Final = {"bf": "bf16", "fp": "fp8"}


class PrecisionUnsupported(Rule):
    """The number format has no hardware support on this GPU.

    Why:
        bfloat16 came with capability 8.0, FP8 with 8.9, FP4 with 10.0; emulated formats are slow or have no kernels.
    Fix:
        Choose a format that the device has: float16 below capability 8.0. From 8.0 on there is bfloat16.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#features-and-technical-specifications
    """

    area = "precision"
    changes = (Command("--dtype half"),)
    _TOLD: Final = {"bf16": "bf16", "fp8": "fp8"}

    def check(self, gpus: tuple[Gpu, ...], matrix: Matrix, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """A program or a command asks for bfloat16, FP8 or another format that the device has no units for.

        In files it is a command that starts a server of models, on the GPU that `--gpu`, the project's settings or a
        node selector names.
        """
        heard = signals.get("bf16", "fp8", "half-not-implemented")
        typed = next((found[1] for line in commands if (found := _ASKED.search(line))), "")
        wanted = self._TOLD.get(heard.signal.signal, "") if heard else _FORMATS.get(typed[:2].lower(), "")
        for gpu in gpus:
            device = sm(gpu.target)
            row = matrix.capability(device.capability) if device else matrix.gfx(gpu.target) if gpu.target else None
            if row and wanted and wanted not in row.features:
                return Found(
                    detail=f"{gpu.name or gpu.target} has no {wanted}.",
                    sources=(matrix.cite(row),),
                    severity=None if heard else "warning",
                )
        if not heard:
            return None
        return Found(detail=heard.signal.meaning, facts=("gpus",) if gpus else (), confidence="likely")


class EngineFileForeign(Rule):
    """A TensorRT engine file was built elsewhere.

    Why:
        An engine runs with the TensorRT release, on the compute capability and on the platform that it was built with,
        unless it was built with the modes for version or hardware compatibility.
    Fix:
        Build the engine again from its model, on this machine and with this TensorRT. Or build it with
        --versionCompatible or --hardwareCompatibilityLevel; no mode carries it to another operating system.
    Sources:
        - https://docs.nvidia.com/deeplearning/tensorrt/latest/getting-started/support-matrix.html
        - https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/advanced.html
    """

    area = "arch"
    vendors = ("nvidia",)
    commands = ("trtexec --onnx=<model>.onnx --saveEngine=<model>.engine",)
    _SAID = ("engine-other-platform", "engine-other-gpu", "engine-other-release", "engine-other-model")

    def check(self, signals: Hearing) -> Outcome:
        """TensorRT refuses an engine file for its release, its GPU or its platform, or warns of its GPU."""
        heard = next((one for name in self._SAID if (one := signals.get(name))), None)
        if heard is None:
            return None
        made, here = heard.values.get("engine_made"), heard.values.get("engine_here")
        where = f" It was built for {made}, and this GPU has {here}." if made and here else ""
        runs = heard.signal.signal == "engine-other-model"
        return Found(detail=f"{heard.signal.meaning}{where}", severity="warning" if runs else None)


RULES = family(EngineFileForeign, CudnnDropsGpu, TritonGpuTooOld, KernelsUnlikeMatrix, PrecisionUnsupported)
