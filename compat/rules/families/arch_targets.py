"""Kernel targets: kinds of code, and packages beside the framework."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compat.changes import Example, Install, Package, Variable
from compat.findings import Fix
from compat.joints import kernels
from compat.joints.build import vendor_of
from compat.joints.verdict import Unknown, any_of, clash_of, sure
from compat.rules.families.arch_cover import may_be_another, nvidia_cards, served, span, uncovered_by
from compat.rules.knowledge import cite, cuda_of_driver, is_version
from compat.rules.rule import Found, Outcome, Rule, Unsure, family, told
from compat.rules.stack import canonical
from compat.targets import sm
from compat.versions import minor, release

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.joints.verdict import Verdict
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.case import Case
    from compat.rules.stack import Installed
    from compat.rules.together import Here


class PtxJitTooNewForDriver(Rule):
    """PTX in the build is newer than the driver can compile.

    Why:
        Minor-version compatibility does not extend to PTX: the driver compiles it, and knows versions up to its own
        CUDA release only.
    Fix:
        Upgrade the driver, or use a build with native code for this GPU.
    Sources:
        - https://docs.nvidia.com/deploy/cuda-compatibility/frequently-asked-questions.html
    """

    area = "driver"
    vendors = ("nvidia",)
    requires = ("driver-too-old-for-runtime",)
    asks = ("builds", "driver_cuda")

    def check(self, host: Host, installed: tuple[Installed, ...], matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        """The build has only PTX for the device, written by a CUDA release that is newer than the driver's."""
        have = host.driver_cuda or cuda_of_driver(matrix, host.driver, host.platform)
        for item in installed:
            for gpu, device in nvidia_cards(gpus):
                if not item.cuda or not is_version(item.cuda) or not is_version(have) or not item.kernels:
                    continue
                newer = release(minor(item.cuda)) > release(have)
                if newer and served(item, gpu, matrix) == "ptx":
                    detail = f"{item.label} has only PTX for {device}; the driver knows that of CUDA {have} at most."
                    facts = (*told(driver=host.driver, driver_cuda=host.driver_cuda), "gpus", item.fact)
                    return Found(detail=detail, facts=facts, sources=cite(matrix, item.row))
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
                    fix=_compiled(name, cards[0].target) if name in own else None,
                )
        for name, code in own.items():
            gpu = next((one for one in cards if kernels.runs(case.matrix, one.target, code) == "none"), None)
            if name not in judged and gpu:
                detail = f"{name} carries {span(code)}, none of which runs on {gpu.target}."
                return Found(detail=detail, facts=(f"builds.{name}", "gpus"), fix=_compiled(name, gpu.target))
        unknown = next((one.why for _, one in judged.values() if isinstance(one, Unknown) and one.rows), "")
        telling = any(part.build.kernels not in {(), ("-",)} for item in case.here for part in item.parts)
        return Unsure(unknown) if unknown and not telling else None


def _compiled(name: str, target: str) -> Fix:
    """An extension, compiled anew for a GPU."""
    device = sm(target)
    arch = device.capability if device else target
    again = Install(packages=(Package(name=name),), again=True, compile=True)
    return Fix(f"Reinstall {name} compiled for {arch}.", changes=(Variable("TORCH_CUDA_ARCH_LIST", arch), again))


class ArchPtxOnly(Rule):
    """The GPU is served by PTX alone: the first start is slow.

    Why:
        The driver compiles every kernel on first use and keeps the result in a cache, which containers lose.
    Fix:
        Keep the JIT cache, or use a build with native code. CUDA_CACHE_PATH keeps it on a volume.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#just-in-time-compilation
    """

    severity = "warning"
    area = "arch"
    vendors = ("nvidia",)
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


class ArchSpecificTarget(Rule):
    """Kernels were built for an architecture-specific target that does not match.

    Why:
        ``sm_90a`` code is bound to exactly that capability; ``f`` targets cover one family.
    Fix:
        Rebuild the kernels for this GPU's own target or for a plain one. The family target serves too.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#architecture-specific-features
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("extension-arch-missing",)
    asks = ("builds",)
    changes = (
        Example('TORCH_CUDA_ARCH_LIST="<capability>" pip install --no-build-isolation --force-reinstall <package>'),
    )

    def check(self, installed: tuple[Installed, ...], matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        """The only code of the build for this major has the suffix ``a`` (one capability) or ``f`` (one family)."""
        for gpu, device, item in uncovered_by(installed, matrix, gpus):
            bound = [text for text in item.kernels if (code := sm(text)) and code.suffix and code.major == device.major]
            if bound:
                return Found(
                    detail=f"{item.label} has {span(tuple(bound))} only, which {gpu.target} does not run.",
                    facts=("gpus", item.fact),
                    sources=cite(matrix, item.row),
                )
        return None


class ArchIntegratedVsDiscrete(Rule):
    """Code for discrete GPUs does not run on Jetson-class GPUs, nor the reverse.

    Why:
        Integrated capabilities stand outside the rule that code of one major runs on higher minors.
    Fix:
        Use a build that names this GPU's own capability. Wheels built for that Jetson do.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("jetson-generic-wheel",)
    asks = ("builds",)

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
                    sources=cite(matrix, item.row),
                )
        return None


RULES = family(ArchSpecificTarget, ArchIntegratedVsDiscrete, PtxJitTooNewForDriver, ArchPtxOnly, ExtensionArchMissing)
