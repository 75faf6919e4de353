"""Kernel targets: a build without code for a GPU that is newer than the build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.findings import Evidence
from compat.rules.families.arch_cover import as_sure_as, is_newer, nvidia_cards, other_age, refused, span, uncovered_by
from compat.rules.knowledge import cite, knows, recent, too_old
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed
    from compat.targets import Sm


def _quote(signals: Hearing) -> tuple[Evidence, ...]:
    heard = signals.saying("no-code", "code-refused")
    return (Evidence("error", heard.line, "error text"),) if heard else ()


class ArchTooNewForBuild(Rule):
    """The build has no code for this newer GPU.

    Why:
        Machine code runs within one major version only; a build without PTX has nothing to run or to translate.
    Fix:
        Install a build whose CUDA knows this GPU, or compile it with TORCH_CUDA_ARCH_LIST set to the GPU.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = (
        "driver-too-old-for-runtime",
        "wrong-vendor-build",
        "jetson-generic-wheel",
        "arch-specific-target",  # why a sibling's code does not run says more than that none does
        "arch-integrated-vs-discrete",
    )
    asks = ("builds", "packages")

    def check(
        self, host: Host, installed: tuple[Installed, ...], matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]
    ) -> Outcome:
        """The build has no code that the device runs, and the device is newer than the build.

        No machine code of the same major and a minor not above, and no PTX that could be compiled for it.
        """
        uncovered = uncovered_by(installed, matrix, gpus) or refused(installed, matrix, signals, gpus)
        for gpu, device, item in uncovered:
            if is_newer(device, item.kernels, matrix):
                found = self._found(gpu, device, item, matrix)
                return found if signals.pointing("arch-too-new-for-build") else as_sure_as(item, gpu, found, matrix)
        if uncovered:
            return Fits("")
        if not nvidia_cards(gpus):
            return None
        return (
            self._by_release(installed, host.cuda_toolkit, matrix, signals, gpus)
            or self._elsewhere(matrix, signals, gpus)
            or _all_covered(installed, gpus)
            or other_age(gpus, too_old, matrix)
        )

    @staticmethod
    def _found(gpu: Gpu, device: Sm, item: Installed, matrix: Matrix) -> Found:
        first = matrix.capability(device.capability)
        need = f" CUDA {first.first_cuda} is the first that compiles for {device}." if first else ""
        return Found(
            detail=f"{gpu.name or 'The GPU'} is {device}; {item.label} carries {span(item.kernels)}.{need}",
            facts=("gpus", item.fact),
            sources=cite(matrix, item.row, first),
        )

    @staticmethod
    def _by_release(
        installed: tuple[Installed, ...],
        toolkit: str | None,
        matrix: Matrix,
        signals: Hearing,
        gpus: tuple[Gpu, ...],
    ) -> Outcome:
        """The CUDA release in use predates the device, so that it can hold no machine code for it."""
        told = signals.pointing("arch-too-new-for-build")
        releases = [
            (item.cuda, item.fact)
            for item in installed
            if item.cuda and (told or (item.name == "torch" and not item.kernels))
        ]
        releases += [(toolkit, "cuda_toolkit")] if toolkit and told else []
        for cuda, fact in releases:
            for gpu, device in nvidia_cards(gpus):
                if knows(matrix, cuda, gpu.target) == "too new":
                    detail = f"{gpu.name or 'The GPU'} is {device}, which CUDA {cuda} does not know yet."
                    return Found(detail=detail, facts=("gpus", fact), extra=_quote(signals), confidence="likely")
        return None

    @staticmethod
    def _elsewhere(matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        """Code is missing for a GPU that current toolkits compile for: a package is older than the GPU."""
        heard = signals.saying("no-code", "code-refused", "no-code-for-target")
        new = next(((gpu, device) for gpu, device in nvidia_cards(gpus) if not too_old(matrix, gpu.target)), None)
        if heard is None and (heard := signals.pointing("arch-too-new-for-build")):
            new = next(((gpu, device) for gpu, device in nvidia_cards(gpus) if recent(matrix, gpu.target)), None)
        if not heard or not new:
            return None
        gpu, device = new
        detail = (
            f"{heard.signal.meaning} {gpu.name or 'The GPU'} is {device}; a package was compiled without code for it."
        )
        return Found(detail=detail, facts=("gpus",), confidence="likely")


def _all_covered(installed: tuple[Installed, ...], gpus: tuple[Gpu, ...]) -> Outcome:
    carried = [item for item in installed if item.kernels and not item.rocm]
    if carried:
        return Fits(f"{carried[0].label} carries code for {', '.join(dict.fromkeys(gpu.target for gpu in gpus))}")
    return None


RULES = family(ArchTooNewForBuild)
