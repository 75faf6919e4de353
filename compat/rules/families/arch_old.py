"""Kernel targets: a build that dropped a GPU which is older than the build."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compat.joints.driver as joint
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
from compat.rules.rule import Fits, Found, Outcome, Rule, family, told
from compat.rules.stack import Installed, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu, Host
    from compat.findings import Confidence
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.targets import Sm


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

    def check(
        self,
        host: Host,
        installed: tuple[Installed, ...],
        distributions: Mapping[str, str],
        matrix: Matrix,
        signals: Hearing,
        gpus: tuple[Gpu, ...],
    ) -> Outcome:
        """The device is below every target that the build carries, or the program asks for a newer generation."""
        uncovered = uncovered_by(installed, matrix, gpus) or refused(installed, matrix, signals, gpus)
        for gpu, device, item in uncovered:
            if not is_newer(device, item.kernels, matrix):
                found = self._found(gpu, device, item, matrix)
                return found if signals.pointing("arch-too-old-for-build") else as_sure_as(item, gpu, found, matrix)
        if uncovered:
            return Fits("")
        if not nvidia_cards(gpus):
            return None
        compiles = {"cupy", "numba", "pycuda"} & distributions.keys()  # packages that compile kernels at run time
        return (
            _dropped_by_build(installed, matrix, gpus)
            or (_dropped_by_toolkit(host.cuda_toolkit or "", matrix, gpus) if compiles else None)
            or _below_need(installed, host.platform in {"windows", "wsl2"}, matrix, gpus)
            or _at_last_driver(host.driver, host.driver_cuda, matrix, signals, gpus)
            or _as_said(named(installed, "torch"), matrix, signals, gpus)
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


RULES = family(ArchTooOldForBuild)
