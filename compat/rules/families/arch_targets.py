"""Kinds of kernel code; packages, libraries and number formats that serve fewer GPUs than the framework."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.changes import Example, Variable
from compat.facts import Build, Gpu, Host
from compat.findings import Fix
from compat.joints import driver, kernels
from compat.joints.build import vendor_of
from compat.joints.verdict import FITS, Unknown, Verdict, any_of, clash_of, sure
from compat.lazy import pattern
from compat.rules.families.arch_age import may_be_another, nvidia_cards, served, span, uncovered_by
from compat.rules.lookups import cite, cuda_of_driver, is_version, recompiled
from compat.rules.rule import Found, NvidiaRule, Outcome, Rule, Unsure, told
from compat.rules.stack import Installed, canonical
from compat.targets import kernels_for, sm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.case import Case
    from compat.rules.together import Here


class ArchSpecificTarget(NvidiaRule):
    """Kernels were built for an architecture-specific target that does not match.

    Why: ``sm_90a`` code is bound to exactly that capability; ``f`` targets cover one family.
    Fix: Rebuild the kernels for this GPU's own target or for a plain one. The family target serves too.
    Sources: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#architecture-specific-features
    """

    area = "arch"
    requires = ("extension-arch-missing",)
    asks = ("builds",)
    changes = (
        Example('TORCH_CUDA_ARCH_LIST="<capability>" pip install --no-build-isolation --force-reinstall <package>'),
    )

    def check(self, case: Case, gpus: tuple[Gpu, ...]) -> Outcome:
        """The only code of the build for this major has the suffix ``a`` (one capability) or ``f`` (one family)."""
        for gpu, device, item in uncovered_by(case, nvidia_cards(gpus)):
            bound = [text for text in item.kernels if (code := sm(text)) and code.suffix and code.major == device.major]
            if bound:
                detail = f"{item.label} has {span(tuple(bound))} only, which {gpu.target} does not run."
                cited = cite(case.matrix, item.row)
                return Found(detail=detail, facts=("gpus", item.fact), sources=cited, confidence=item.sure)
        return None


class ArchIntegratedVsDiscrete(NvidiaRule):
    """Code for discrete GPUs does not run on Jetson-class GPUs, nor the reverse.

    Why: Integrated capabilities stand outside the rule that code of one major runs on higher minors.
    Fix: Use a build that names this GPU's own capability. Wheels built for that Jetson do.
    Sources: https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    requires = ("jetson-generic-wheel",)
    asks = ("builds",)

    def check(self, case: Case, gpus: tuple[Gpu, ...]) -> Outcome:
        """The device is of a Jetson-class capability, and the build has its discrete sibling's code only.

        Or the reverse.
        """
        integrated = case.matrix.families.integrated
        for gpu, device, item in uncovered_by(case, nvidia_cards(gpus)):
            kin = {text for text in item.kernels if (code := sm(text)) and not code.ptx and code.major == device.major}
            if (
                kin
                and not may_be_another(item, gpu, case.matrix)
                and (gpu.target in integrated) != bool(kin & integrated)
            ):
                detail = f"{gpu.target} and {', '.join(sorted(kin))} are of different classes."
                cited = cite(case.matrix, item.row)
                return Found(detail=detail, facts=("gpus", item.fact), sources=cited, confidence=item.sure)
        return None


class PtxJitTooNewForDriver(NvidiaRule):
    """PTX in the build is newer than the driver can compile.

    Why: Minor-version compatibility does not extend to PTX: the driver compiles it, and knows versions up to its own
        CUDA release only.
    Fix: Upgrade the driver, or use a build with native code for this GPU.
    Sources: https://docs.nvidia.com/deploy/cuda-compatibility/frequently-asked-questions.html
    """

    area = "driver"
    requires = ("driver-too-old-for-runtime",)
    asks = ("builds", "driver_cuda")

    def check(self, host: Host, installed: tuple[Installed, ...], matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        """The build has only PTX for the device, written by a CUDA release that is newer than the driver's."""
        have = host.driver_cuda or cuda_of_driver(matrix, host.driver, host.platform)
        for item in installed:
            for gpu, device in nvidia_cards(gpus):
                if not item.cuda or not is_version(item.cuda) or not is_version(have) or not item.kernels:
                    continue
                if driver.by_cuda(matrix, item.cuda, have) != FITS and served(item, gpu, matrix) == "ptx":
                    detail = f"{item.label} has only PTX for {device}; the driver knows that of CUDA {have} at most."
                    facts = (*told(driver=host.driver, driver_cuda=host.driver_cuda), "gpus", item.fact)
                    return Found(detail=detail, facts=facts, sources=cite(matrix, item.row))
        return None


class ArchPtxOnly(NvidiaRule):
    """The GPU is served by PTX alone: the first start is slow.

    Why: The driver compiles every kernel on first use and keeps the result in a cache, which containers lose.
    Fix: Keep the JIT cache, or use a build with native code. CUDA_CACHE_PATH keeps it on a volume.
    Sources: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#just-in-time-compilation
    """

    severity = "warning"
    area = "arch"
    requires = ("driver-too-old-for-runtime",)
    changes = (Variable("CUDA_CACHE_MAXSIZE", "4294967296"),)

    def check(
        self, matrix: Matrix, gpus: tuple[Gpu, ...], installed: tuple[Installed, ...], signals: Hearing
    ) -> Outcome:
        """The build has no machine code for the device, but PTX that the driver compiles at load.

        Where a program tells of a fault that this does not explain, it is a note.
        """
        beside = bool(signals.telling) and signals.pointing("arch-ptx-only") is None
        for item in installed:
            for gpu, device in nvidia_cards(gpus):
                if item.kernels and not item.rocm and served(item, gpu, matrix) == "ptx":
                    detail = f"{item.label} has only PTX for {device}."
                    return Found(detail=detail, facts=("gpus", item.fact), severity="info" if beside else None)
        return None


class ExtensionArchMissing(Rule):
    """A compiled extension lacks code for this GPU.

    Why: The framework may cover the GPU while an add-on, compiled on another machine, does not.
    Fix: Reinstall the extension compiled for this GPU.
    Sources: https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "arch"
    vendors = ("nvidia", "amd")
    requires = ("arch-too-new-for-build", "arch-too-old-for-build")
    asks = ("builds",)
    changes = (Example('TORCH_CUDA_ARCH_LIST="<cc>" pip install --no-build-isolation --force-reinstall <package>'),)

    def check(self, case: Case, gpus: tuple[Gpu, ...]) -> Outcome:
        """A package beside the framework holds machine code, and none of it runs on the device."""
        settled = {item.name for item in case.installed if item.kernels}  # by the rules on frameworks
        read = {name: one.kernels for name, one in (case.host.builds or {}).items() if one.kernels}
        own = {name: code for name, code in read.items() if canonical(name) not in settled}
        cards = [gpu for gpu in gpus if gpu.target]

        def judge(item: Here) -> Verdict:
            code = own.get(item.release.name)
            rows = [replace(part.build, kernels=code) if code else part.build for part in item.parts]
            pairs = ((gpu, row) for row in rows for gpu in cards if gpu.vendor == vendor_of(row.runtime))
            found = any_of(kernels.verdict(case.matrix, gpu.vendor, gpu.target, row) for gpu, row in pairs)
            return found if code else sure(found, "kernels", "runtime")

        judged = {
            item.release.name: (item, judge(item)) for item in case.here if canonical(item.release.name) not in settled
        }
        for name, (item, found) in judged.items():
            if clash := clash_of(found):
                targets = " ".join(dict.fromkeys(gpu.target for gpu in cards))
                return Found(
                    detail=f"{clash.why}; the GPU is {targets}.",
                    facts=("gpus", f"builds.{name}" if name in own else item.fact),
                    sources=cite(case.matrix, *clash.rows),
                    confidence="certain" if clash is found else "likely",
                    severity=None if name in own else "warning",  # nobody says that it is in use
                    fix=_compiled(name, cards[0].target, case) if name in own else None,
                )
        for name, code in own.items():
            gpu = next((one for one in cards if kernels.runs(case.matrix, one.target, code) == "none"), None)
            if name not in judged and gpu:
                detail = f"{name} carries {span(code)}, none of which runs on {gpu.target}."
                return Found(detail=detail, facts=(f"builds.{name}", "gpus"), fix=_compiled(name, gpu.target, case))
        unknown = next((one.why for _, one in judged.values() if isinstance(one, Unknown) and one.rows), "")
        telling = any(part.build.kernels not in {(), ("-",)} for item in case.here for part in item.parts)
        return Unsure(unknown) if unknown and not telling else None


def _compiled(name: str, target: str, case: Case) -> Fix:
    """An extension, compiled anew for a GPU."""
    device = sm(target)
    arch = device.capability if device else target
    changes = (Variable("TORCH_CUDA_ARCH_LIST", arch), *recompiled(case.matrix, name))
    return Fix(f"Reinstall {name} compiled for {arch}.", changes=changes)


class EngineFileForeign(NvidiaRule):
    """A TensorRT engine file was built elsewhere.

    Why: An engine runs with the TensorRT release, on the compute capability and on the platform that it was built with,
        unless it was built with the modes for version or hardware compatibility.
    Fix: Build the engine again from its model, on this machine and with this TensorRT. Or build it with
        --versionCompatible or --hardwareCompatibilityLevel; no mode carries it to another operating system.
    Sources:
        - https://docs.nvidia.com/deeplearning/tensorrt/latest/getting-started/support-matrix.html
        - https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/advanced.html
    """

    area = "arch"
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


class CudnnDropsGpu(NvidiaRule):
    """The bundled cuDNN no longer supports this GPU.

    Why: cuDNN dropped Maxwell, Pascal and Volta before the frameworks stopped compiling for them.
    Fix: Use a framework build with an older cuDNN.
    Sources: https://docs.nvidia.com/deeplearning/cudnn/backend/latest/reference/support-matrix.html
    """

    area = "arch"
    requires = ("arch-too-old-for-build",)

    def check(self, cudnn: str, gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        """The first capability that the cuDNN release serves is above the device's."""
        rows = (row for row in matrix.table("cudnn") if f"{row.version}.".startswith(f"{cudnn}."))
        row = next((row for row in rows if row.first_cc), None)
        if row is None:
            return None
        floor = tuple(int(part) for part in row.first_cc.split("."))
        old = next((gpu for gpu, device in nvidia_cards(gpus) if (device.major, device.minor) < floor), None)
        starts = f"cuDNN {cudnn} starts at capability {row.first_cc}"
        return (
            Found(detail=f"{starts}; {old.name or 'the GPU'} is {old.target}.", sources=cite(matrix, row))
            if old
            else None
        )


class TritonGpuTooOld(NvidiaRule):
    """torch.compile and Triton cannot target this GPU.

    Why: Triton generates code for capability 7.0 and later only.
    Fix: Run without torch.compile, or with backend='aot_eager'.
    Sources: https://github.com/pytorch/pytorch/blob/HEAD/torch/_inductor/exc.py
    """

    severity = "warning"
    area = "arch"
    requires = ("arch-too-old-for-build",)
    changes = (Variable("TORCHDYNAMO_DISABLE", "1"),)
    _FLOOR = (7, 0)  # torch/_inductor: "too old to be supported by the triton GPU compiler"

    def check(self, packages: Mapping[str, str], gpus: tuple[Gpu, ...]) -> Outcome:
        """The device is below compute capability 7.0 and Triton is installed."""
        old = [gpu for gpu, device in nvidia_cards(gpus) if (device.major, device.minor) < self._FLOOR]
        if "triton" not in packages or not old:
            return None
        detail = f"{old[0].name or old[0].target} is below what Triton compiles for."
        return Found(detail=detail, facts=("gpus", "packages.triton"))


class KernelsUnlikeMatrix(Rule):
    """The installed files carry other GPU code than the published build of this version.

    Why: The package was compiled by somebody else, patched, or the matrix is wrong. Verdicts on this machine rest on
        the files themselves; what a reinstall from the index would bring may differ.
    Fix: Reinstall the package if the build is not your own; else report the matrix row.
    Sources: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
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

    Why: bfloat16 came with capability 8.0, FP8 with 8.9, FP4 with 10.0; emulated formats are slow or have no kernels.
    Fix: Choose a format that the GPU has: float16 below compute capability 8.0. From 8.0 on also bfloat16.
    Sources: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#features-and-technical-specifications
    """

    area = "precision"
    changes = (Example("vllm serve <model> --dtype half"),)

    def check(self, gpus: tuple[Gpu, ...], matrix: Matrix, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """A program or a command asks for bfloat16, FP8 or another format that the device has no units for.

        In files it is a command that starts a server of models, on the GPU that `--gpu`, the project's settings or a
        node selector names.
        """
        heard = signals.get("bf16", "fp8", "half-not-implemented")
        typed = next((found[1] for line in commands if (found := _ASKED.search(line))), "")
        told = heard.signal.signal if heard else ""
        wanted = _FORMATS.get((told or typed)[:2].lower(), "")
        for gpu in gpus:
            row = matrix.capability(gpu.target) or matrix.gfx(gpu.target)
            if row and wanted and wanted not in row.features:
                detail = f"{gpu.name or gpu.target} has no {wanted}."
                return Found(detail=detail, sources=(matrix.cite(row),), severity=None if heard else "warning")
        if not heard:
            return None
        return Found(detail=heard.signal.meaning, facts=("gpus",) if gpus else (), confidence="likely")
