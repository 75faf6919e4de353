"""Kernel targets: kinds of code, and packages beside the framework."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compat.findings import Fix
from compat.joints import kernels
from compat.joints.verdict import any_of
from compat.rules.families.arch_age import nvidia_cards
from compat.rules.families.arch_cover import may_be_another, span, uncovered_by
from compat.rules.knowledge import cuda_of_driver, is_version
from compat.rules.rule import Found, Outcome, Rule, family, told
from compat.rules.stack import FRAMEWORKS, canonical
from compat.rules.together import clashing
from compat.targets import kernels_for, sm
from compat.versions import minor, release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Build, Gpu
    from compat.joints.build import Part
    from compat.joints.verdict import Verdict
    from compat.matrix import Matrix
    from compat.rules.stack import Installed
    from compat.rules.together import Here


class PtxJitTooNewForDriver(Rule):
    """PTX in the build is newer than the driver can compile.

    Why:
        Minor-version compatibility does not extend to PTX: the driver compiles it, and knows versions up to its own
        CUDA release only.
    Fix:
        Upgrade the driver to one of the build's CUDA or newer, or use a build with native code for this GPU.
    Sources:
        - https://docs.nvidia.com/deploy/cuda-compatibility/frequently-asked-questions.html
    """

    area = "driver"
    vendors = ("nvidia",)
    requires = ("driver-too-old-for-runtime",)
    asks = ("gpus", "builds", "driver_cuda")
    remedy = Fix("Upgrade the driver, or use a build with native code for this GPU.")

    def check(
        self,
        installed: tuple[Installed, ...],
        matrix: Matrix,
        gpus: tuple[Gpu, ...],
        driver: str | None = None,
        driver_cuda: str | None = None,
        platform: str | None = None,
    ) -> Outcome:
        """The build has only PTX for the device, written by a CUDA release that is newer than the driver's."""
        have = driver_cuda or cuda_of_driver(matrix, driver, platform)
        for item in installed:
            for gpu, device in nvidia_cards(gpus):
                if not item.cuda or not is_version(item.cuda) or not is_version(have) or not item.kernels:
                    continue
                newer = release(minor(item.cuda)) > release(have)
                if newer and kernels_for(gpu.target, item.kernels, matrix.families) == "ptx":
                    detail = f"{item.label} has only PTX for {device}; the driver knows that of CUDA {have} at most."
                    facts = (*told(driver=driver, driver_cuda=driver_cuda), "gpus", item.fact)
                    return Found(detail=detail, facts=facts)
        return None


class ExtensionArchMissing(Rule):
    """A compiled extension lacks code for this GPU.

    Why:
        The framework may cover the GPU while an add-on, compiled on another machine, does not.
    Fix:
        Reinstall the extension compiled for this GPU.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "arch"
    vendors = ("nvidia", "amd")
    requires = ("arch-too-new-for-build", "arch-too-old-for-build")
    asks = ("builds", "gpus")
    remedy = Fix(
        "Reinstall the extension compiled for this GPU.",
        ('TORCH_CUDA_ARCH_LIST="<cc>" pip install --no-build-isolation --force-reinstall <package>',),
    )

    def check(
        self, here: tuple[Here, ...], gpus: tuple[Gpu, ...], matrix: Matrix, builds: Mapping[str, Build] | None = None
    ) -> Outcome:
        """A package beside the framework holds machine code, and none of it runs on the device."""
        own = {name: build.kernels for name, build in (builds or {}).items() if build.kernels}
        read = ((name, code, gpu.target) for name, code in own.items() for gpu in gpus if gpu.target)
        for name, code, target in read:
            if name not in FRAMEWORKS and canonical(name) == name and kernels.runs(matrix, target, code) == "none":
                device = sm(target)
                arch = device.capability if device else target
                command = f'TORCH_CUDA_ARCH_LIST="{arch}" pip install --no-build-isolation --force-reinstall {name}'
                return Found(
                    detail=f"{name} carries {span(code)}, none of which runs on {target}.",
                    facts=(f"builds.{name}", "gpus"),
                    fix=Fix(f"Reinstall {name} compiled for {arch}.", (command,)),
                )

        def judge(part: Part) -> Verdict:
            cards = [gpu for gpu in gpus if gpu.vendor == part.vendor and gpu.target]
            return any_of(kernels.verdict(matrix, gpu.vendor, gpu.target, part.build) for gpu in cards)

        rest = [
            item for item in here if item.release.name not in own and canonical(item.release.name) not in FRAMEWORKS
        ]
        this = f"the GPU is {' '.join(dict.fromkeys(gpu.target for gpu in gpus if gpu.target))}"
        found = clashing(rest, judge, matrix, this=this, facts=("gpus",))
        return replace(found, severity="warning") if found else None  # nobody says that it is in use


class ArchPtxOnly(Rule):
    """The GPU is served by PTX alone: the first start is slow.

    Why:
        The driver compiles every kernel on first use and keeps the result in a cache, which containers lose.
    Fix:
        Keep the cache on a volume (CUDA_CACHE_PATH), or use a build with native code.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#just-in-time-compilation
    """

    severity = "warning"
    area = "arch"
    vendors = ("nvidia",)
    requires = ("driver-too-old-for-runtime",)
    remedy = Fix("Keep the JIT cache, or use a build with native code.", ("export CUDA_CACHE_MAXSIZE=4294967296",))

    def check(self, matrix: Matrix, gpus: tuple[Gpu, ...], installed: tuple[Installed, ...]) -> Outcome:
        """The build has no machine code for the device, but PTX that the driver compiles at load."""
        for item in installed:
            for gpu, device in nvidia_cards(gpus):
                if item.kernels and not item.rocm and kernels_for(gpu.target, item.kernels, matrix.families) == "ptx":
                    return Found(detail=f"{item.label} has only PTX for {device}.", facts=("gpus", item.fact))
        return None


class ArchSpecificTarget(Rule):
    """Kernels were built for an architecture-specific target that does not match.

    Why:
        ``sm_90a`` code is bound to exactly that capability; ``f`` targets cover one family.
    Fix:
        Rebuild with the family target, the exact one, or a plain one.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#architecture-specific-features
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("extension-arch-missing",)
    asks = ("gpus", "builds")
    remedy = Fix(
        "Rebuild the kernels for this GPU's own target or for a plain one.",
        ('TORCH_CUDA_ARCH_LIST="<capability>" pip install --no-build-isolation --force-reinstall <package>',),
    )

    def check(self, installed: tuple[Installed, ...], matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        """The only code of the build for this major has the suffix ``a`` (one capability) or ``f`` (one family)."""
        for gpu, device, item in uncovered_by(installed, matrix, gpus):
            bound = [text for text in item.kernels if (code := sm(text)) and code.suffix and code.major == device.major]
            if bound:
                return Found(
                    detail=f"{item.label} has {span(tuple(bound))} only, which {gpu.target} does not run.",
                    facts=("gpus", item.fact),
                )
        return None


class ArchIntegratedVsDiscrete(Rule):
    """Code for discrete GPUs does not run on Jetson-class GPUs, nor the reverse.

    Why:
        Integrated capabilities stand outside the rule that code of one major runs on higher minors.
    Fix:
        Use wheels built for that Jetson, or an arch list that names its capability.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("jetson-generic-wheel",)
    asks = ("gpus", "builds")
    remedy = Fix("Use a build that names this GPU's own capability.")

    def check(self, installed: tuple[Installed, ...], matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        """The device is of a Jetson-class capability, and the build has its discrete sibling's code only.

        Or the reverse.
        """
        integrated = matrix.families.integrated
        for gpu, device, item in uncovered_by(installed, matrix, gpus):
            kin = {text for text in item.kernels if (code := sm(text)) and not code.ptx and code.major == device.major}
            if kin and not may_be_another(item, gpu, matrix) and (gpu.target in integrated) != bool(kin & integrated):
                return Found(
                    detail=f"{gpu.target} and {', '.join(sorted(kin))} are of different classes.",
                    facts=("gpus", item.fact),
                )
        return None


RULES = family(ArchSpecificTarget, ArchIntegratedVsDiscrete, PtxJitTooNewForDriver, ArchPtxOnly, ExtensionArchMissing)
