"""Kernel targets: a build without code for a GPU that is newer or older than the build."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compat.joints.driver as joint
from compat.findings import Evidence
from compat.joints import kernels
from compat.joints.verdict import Clash
from compat.rules.families.arch_cover import (
    as_sure_as,
    asked_floor,
    is_newer,
    nvidia_cards,
    other_age,
    refused,
    span,
    uncovered_by,
)
from compat.rules.knowledge import cite, cuda_of_driver, is_version, knows, recent, too_old
from compat.rules.rule import Fits, Found, Outcome, Rule, told
from compat.rules.stack import Installed, named

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.findings import Confidence
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.case import Case
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
        carries = f"{item.label} carries {span(item.kernels)}.{need}"
        if item.row and kernels.runs(matrix, gpu.target, item.kernels) == "ptx":
            carries = f"{kernels.why_not(matrix, gpu.target, item.row)}."
        return Found(
            detail=f"{gpu.name or 'The GPU'} is {device}; {carries}",
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


class ArchTooOldForBuild(Rule):
    """The build dropped this older GPU.

    Why:
        Vendors remove old architectures: compilers stop targeting them, and wheels drop them to save size.
    Fix:
        Use a build for an older CUDA or an older release of the framework, or a newer GPU. The oldest CUDA still
        offered serves the oldest GPUs.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("wrong-vendor-build", "arch-specific-target", "arch-integrated-vs-discrete")
    asks = ("builds", "packages")

    def check(self, case: Case, gpus: tuple[Gpu, ...]) -> Outcome:
        """The device is below every target that the build carries, or the program asks for a newer generation."""
        matrix, signals = case.matrix, case.signals
        uncovered = uncovered_by(case.installed, matrix, gpus) or refused(case.installed, matrix, signals, gpus)
        for gpu, device, item in uncovered:
            if not is_newer(device, item.kernels, matrix):
                found = self._found(gpu, device, item, matrix)
                return found if signals.pointing("arch-too-old-for-build") else as_sure_as(item, gpu, found, matrix)
        if uncovered:
            return Fits("")
        if not nvidia_cards(gpus):
            return None
        compiles = {"cupy", "numba", "pycuda"} & case.distributions.keys()  # packages that compile kernels at run time
        return (
            _dropped_by_build(case.installed, matrix, gpus)
            or (_dropped_by_toolkit(case.host.cuda_toolkit or "", matrix, gpus) if compiles else None)
            or _below_need(case.installed, case.host.platform in {"windows", "wsl2"}, matrix, gpus)
            or _at_last_driver(case.host.driver, case.host.driver_cuda, matrix, signals, gpus)
            or _as_said(named(case.installed, "torch"), matrix, signals, gpus)
        )

    @staticmethod
    def _found(gpu: Gpu, device: Sm, item: Installed, matrix: Matrix) -> Found:
        detail = f"{gpu.name or 'The GPU'} is {device}; {item.label} carries {span(item.kernels)}."
        return Found(detail=detail, facts=("gpus", item.fact), sources=cite(matrix, item.row))


def _dropped_by_build(installed: tuple[Installed, ...], matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
    """A build of unknown code was made with a CUDA release that no longer compiles for the device."""
    for item in installed:
        for gpu, _ in nvidia_cards(gpus):
            if item.cuda and not item.kernels and knows(matrix, item.cuda, gpu.target) == "too old":
                detail = f"{gpu.name or 'The GPU'} is {gpu.target}, which CUDA {item.cuda} no longer compiles for."
                sure: Confidence = "likely" if item.inferred else "certain"
                return Found(detail=detail, facts=("gpus", item.fact), confidence=sure)
    return None


def _dropped_by_toolkit(toolkit: str, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
    """A package that compiles its kernels at run time meets a toolkit that no longer compiles for the device."""
    for gpu, device in nvidia_cards(gpus):
        if knows(matrix, toolkit, gpu.target) == "too old":
            detail = f"{gpu.name or 'The GPU'} is {device}, which the toolkit {toolkit} no longer compiles for."
            return Found(detail=detail, facts=("gpus", "cuda_toolkit"))
    return None


def _at_last_driver(
    driver: str | None, driver_cuda: str | None, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]
) -> Outcome:
    """CUDA calls the driver too old, and it is already the last branch that serves the device."""
    if not signals.get("driver-too-old", "insufficient-35", "ptx-toolchain", "requires-newer-driver"):
        return None
    for gpu, device in nvidia_cards(gpus):
        row = matrix.capability(device.capability)
        last = row.last_driver.removeprefix("R") if row else ""
        at_last = last and (
            (driver or "").partition(".")[0] == last
            or (driver_cuda and driver_cuda == cuda_of_driver(matrix, f"{last}.0"))
        )
        if at_last:
            detail = f"R{last} is the last driver for {gpu.name or device}, and it is too old for the build."
            facts = ("gpus", *told(driver=driver, driver_cuda=driver_cuda))
            return Found(detail=detail, facts=facts, sources=cite(matrix, row))
    return None


def _below_need(installed: tuple[Installed, ...], windows: bool, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
    """The last driver that serves the device is below what the build needs: no upgrade can help."""
    for item in installed:
        for gpu, device in nvidia_cards(gpus):
            row = matrix.capability(device.capability)
            last = row.last_driver.removeprefix("R") if row else ""
            needs = is_version(item.cuda) and last and joint.verdict(matrix, item.cuda, f"{last}.999", windows)
            if isinstance(needs, Clash):
                detail = f"R{last} is the last driver for {gpu.name or device}; {item.label} needs a newer one."
                return Found(detail=detail, facts=("gpus", item.fact), sources=cite(matrix, row))
    return None


def _as_said(torch: Installed | None, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
    """A message says that code is missing for an old GPU, and there is one."""
    heard = signals.pointing("arch-too-old-for-build")
    if not heard:
        return other_age(gpus, recent, matrix)
    old = next(((gpu, device) for gpu, device in nvidia_cards(gpus) if too_old(matrix, gpu.target)), None)
    if floor := asked_floor(signals, matrix):
        old = next((card for card in nvidia_cards(gpus) if (card[1].major, card[1].minor) < floor), None)
        if old is None:
            return Fits("")
    if (
        all(recent(matrix, gpu.target) for gpu, _ in nvidia_cards(gpus))
        and "arch-too-new-for-build" in heard.signal.candidates
    ):
        return Fits("")
    direct = heard.signal.candidates[0] == "arch-too-old-for-build"
    if not direct and (not old or heard.signal.candidates[0] == "triton-gpu-too-old"):
        return None
    gpu, device = old or nvidia_cards(gpus)[0]
    covers = torch is not None and torch.kernels
    own = f" {torch.label} covers it, so another compiled package does not." if torch and covers else ""
    detail = f"{heard.signal.meaning} {gpu.name or 'The GPU'} is {device}.{own}"
    return Found(detail=detail, facts=("gpus",), confidence="certain" if direct else "likely")
