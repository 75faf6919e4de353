"""Kernel targets: does the build carry code that this GPU runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import compat.rules.remedies as remedies
from compat.findings import Evidence, Fix
from compat.rules.families.arch_age import nvidia_cards, of_its_day, other_age, suspected, young
from compat.rules.families.arch_floors import asked_floor
from compat.rules.knowledge import cite, cuda_of_driver, knows, recent, supported, too_old
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import Installed, framework, installed, packages_of
from compat.targets import Sm, kernels_for, sm

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing


# Messages that say "no code for this GPU" without saying in which program.
_PLAIN = ("no-kernel-image", "invalid-device-function", "invalid-kernel-image")


# Messages that name the device which has no code.
_NAMED = (
    "not-compatible-torch",
    "torch-supports-list",
    "torch-cc-list",
    "ptxas-not-defined",
    "llvm-unknown-target",
    "nvrtc-arch",
    "xla-ptxas-arch",
    "conditional-mma",
)


def uncovered_by(host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> list[tuple[Gpu, Sm, Installed]]:
    """GPUs for which a framework has neither machine code nor PTX."""
    return [
        (gpu, device, item)
        for item in installed(host, matrix)
        if item.kernels and not item.rocm
        for gpu, device in nvidia_cards(gpus)
        if kernels_for(gpu.target, item.kernels, matrix.families) == "none"
    ]


def is_newer(device: Sm, kernels: tuple[str, ...], matrix: Matrix) -> bool:
    """Whether the build is what is too old: the device is above all that it carries.

    Between the lowest and the highest lies what a build left out: an old device if toolkits dropped it since.
    """
    known = [(target.major, target.minor) for text in kernels if (target := sm(text))]
    at = (device.major, device.minor)
    if not known or at > max(known):
        return True
    return at > min(known) and not too_old(matrix, f"sm_{device.major}{device.minor}")


def span(kernels: tuple[str, ...]) -> str:
    """A list of targets for a sentence, shortened to its ends where it is long."""
    return " ".join(kernels) if len(kernels) <= 12 else f"{kernels[0]} ... {kernels[-1]}"


def _quote(signals: Hearing) -> tuple[Evidence, ...]:
    heard = signals.get(*_PLAIN)
    return (Evidence("error", heard.line, "error text"),) if heard else ()


class ArchTooNewForBuild(Rule):
    """The build has no code for this newer GPU.

    Why:
        Machine code runs within one major version only; a build without PTX has nothing to run or to translate.
    Fix:
        Install the build made with a CUDA release that knows the GPU, or compile with TORCH_CUDA_ARCH_LIST.
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
    asks = ("gpus", "builds", "packages")
    remedy = Fix("Install a build whose CUDA knows this GPU, or compile it with TORCH_CUDA_ARCH_LIST set to the GPU.")

    def check(self, host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        """The build has no code that the device runs, and the device is newer than the build.

        No machine code of the same major and a minor not above, and no PTX that could be compiled for it.
        """
        uncovered = uncovered_by(host, matrix, gpus) or _refused(host, matrix, signals, gpus)
        for gpu, device, item in uncovered:
            if is_newer(device, item.kernels, matrix):
                found = self._found(gpu, device, item, matrix, host)
                return found if signals.pointing("arch-too-new-for-build") else _as_sure_as(item, gpu, found, matrix)
        if uncovered:
            return Fits("")
        if not nvidia_cards(gpus):
            return None
        return (
            self._by_release(host, matrix, signals, gpus)
            or self._elsewhere(matrix, signals, gpus)
            or _all_covered(host, matrix, gpus)
            or suspected(gpus, young, matrix, signals)
            or other_age(gpus, too_old, matrix)
        )

    @staticmethod
    def _found(gpu: Gpu, device: Sm, item: Installed, matrix: Matrix, host: Host) -> Found:
        first = matrix.capability(device.capability)
        need = f" CUDA {first.first_cuda} is the first that compiles for {device}." if first else ""
        return Found(
            detail=f"{gpu.name or 'The GPU'} is {device}; {item.label} carries {span(item.kernels)}.{need}",
            facts=("gpus", item.fact),
            fix=_newer_build(item, device, matrix, host),
            sources=cite(matrix, item.row, first),
        )

    @staticmethod
    def _by_release(host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        """The CUDA release in use predates the device, so that it can hold no machine code for it."""
        told = signals.pointing("arch-too-new-for-build")
        releases = [
            (item.cuda, item.fact)
            for item in installed(host, matrix)
            if item.cuda and (told or (item.name == "torch" and not item.kernels))
        ]
        releases += [(host["cuda_toolkit"], "cuda_toolkit")] if host["cuda_toolkit"] and told else []
        for cuda, fact in releases:
            for gpu, device in nvidia_cards(gpus):
                if knows(matrix, cuda, gpu.target) == "too new":
                    detail = f"{gpu.name or 'The GPU'} is {device}, which CUDA {cuda} does not know yet."
                    return Found(detail=detail, facts=("gpus", fact), extra=_quote(signals), confidence="likely")
        return None

    @staticmethod
    def _elsewhere(matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        """Code is missing for a GPU that current toolkits compile for: a package is older than the GPU."""
        heard = signals.get(*_PLAIN, *_NAMED)
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


def may_be_another(item: Installed, gpu: Gpu, matrix: Matrix) -> bool:
    """Whether a build is only assumed, and another of the same release carries code for the GPU."""
    others = matrix.builds_of(item.name, item.version)
    return item.inferred and any(kernels_for(gpu.target, row.kernels, matrix.families) != "none" for row in others)


def _as_sure_as(item: Installed, gpu: Gpu, found: Found, matrix: Matrix) -> Found:
    """A verdict made milder where the build is only assumed and another of the same release carries the target.

    A bare version such as 1.12.1 says nothing of the build: conda, NGC and vendor indexes write no local tag either.
    """
    if not may_be_another(item, gpu, matrix):
        return found
    detail = f"{found.detail} That holds if it is the build of the default index, which its bare version leaves open."
    return replace(found, detail=detail, confidence="possible", severity="warning")


def _refused(host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> list[tuple[Gpu, Sm, Installed]]:
    """GPUs that PyTorch itself names as not covered: it counts machine code only, never PTX."""
    if not signals.get("not-compatible-torch", "torch-supports-list", "torch-cc-list"):
        return []
    torch = framework(host, matrix, "torch")
    if torch is None or not torch.kernels:
        return []
    code = tuple(text for text in torch.kernels if text.startswith("sm_"))
    return [
        (gpu, device, torch)
        for gpu, device in nvidia_cards(gpus)
        if kernels_for(gpu.target, code, matrix.families) == "none"
    ]


def _newer_build(item: Installed, device: Sm, matrix: Matrix, host: Host) -> Fix:
    """A published build of the same framework that carries code for the device: same release first, then the newest."""
    rows = [row for row in remedies.published_for(host, matrix, item.name) if row.runtime.startswith("cuda")]
    fits = [
        row for row in rows if kernels_for(f"sm_{device.major}{device.minor}", row.kernels, matrix.families) == "native"
    ]
    same = [row for row in fits if row.version == item.version]
    if not fits or item.name != "torch":
        return ArchTooNewForBuild.remedy
    best = (same or fits)[-1]
    return Fix(
        f"Install {item.name} {best.full_version}, which carries code for {device}.",
        (remedies.from_index(best, matrix),),
    )


def _all_covered(host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
    carried = [item for item in installed(host, matrix) if item.kernels and not item.rocm]
    return (
        Fits(f"{carried[0].label} carries code for {', '.join(dict.fromkeys(gpu.target for gpu in gpus))}")
        if carried
        else None
    )


class ArchTooOldForBuild(Rule):
    """The build dropped this older GPU.

    Why:
        Vendors remove old architectures: compilers stop targeting them, and wheels drop them to save size.
    Fix:
        Use the build for the oldest CUDA still offered, or an older release of the framework.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("wrong-vendor-build", "arch-specific-target", "arch-integrated-vs-discrete")
    asks = ("gpus", "builds", "packages")
    remedy = Fix("Use a build for an older CUDA or an older release of the framework, or a newer GPU.")

    def check(self, host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        """The device is below every target that the build carries, or the program asks for a newer generation."""
        uncovered = uncovered_by(host, matrix, gpus) or _refused(host, matrix, signals, gpus)
        for gpu, device, item in uncovered:
            if not is_newer(device, item.kernels, matrix):
                found = self._found(gpu, device, item, matrix, host)
                return found if signals.pointing("arch-too-old-for-build") else _as_sure_as(item, gpu, found, matrix)
        if uncovered:
            return Fits("")
        return self._by_age(host, matrix, signals, gpus) if nvidia_cards(gpus) else None

    @staticmethod
    def _found(gpu: Gpu, device: Sm, item: Installed, matrix: Matrix, host: Host) -> Found:
        covering = [
            row
            for row in remedies.published_for(host, matrix, item.name)
            if row.runtime.startswith("cuda") and kernels_for(gpu.target, row.kernels, matrix.families) == "native"
        ]
        same = [row for row in covering if row.version == item.version]
        best = (same or covering)[-1] if covering and item.name == "torch" else None
        fix = None
        if best:
            fix = Fix(f"Install {best.package} {best.full_version}.", (remedies.from_index(best, matrix),))
        detail = f"{gpu.name or 'The GPU'} is {device}; {item.label} carries {span(item.kernels)}."
        return Found(detail=detail, facts=("gpus", item.fact), fix=fix, sources=cite(matrix, item.row, best))

    @staticmethod
    def _by_last_driver(host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        """The last driver that serves the device is below what the build needs: no upgrade can help."""
        for item in installed(host, matrix):
            for gpu, device in nvidia_cards(gpus):
                row = matrix.capability(device.capability)
                last = row.last_driver.removeprefix("R") if row else ""
                if item.cuda and last and supported(matrix, item.cuda, f"{last}.999", host["platform"]) == "none":
                    detail = f"R{last} is the last driver for {gpu.name or device}; {item.label} needs a newer one."
                    return Found(detail=detail, facts=("gpus", item.fact), sources=cite(matrix, row))
        return None

    @staticmethod
    def _by_age(host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        """The CUDA release in use dropped the device, or a message says that code is missing for an old one."""
        for item in installed(host, matrix):
            gone = next(
                (
                    gpu
                    for gpu, _ in nvidia_cards(gpus)
                    if item.cuda and not item.kernels and knows(matrix, item.cuda, gpu.target) == "too old"
                ),
                None,
            )
            if gone:
                detail = f"{gone.name or 'The GPU'} is {gone.target}, which CUDA {item.cuda} no longer compiles for."
                return Found(
                    detail=detail, facts=("gpus", item.fact), confidence="likely" if item.inferred else "certain"
                )
        served = _dropped_by_toolkit(host, matrix, gpus) or ArchTooOldForBuild._by_last_driver(host, matrix, gpus)
        served = served or _at_last_driver(host, matrix, signals, gpus)
        if served:
            return served
        return ArchTooOldForBuild._as_said(host, matrix, signals, gpus)

    @staticmethod
    def _as_said(host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        """A message says that code is missing for an old GPU, and there is one; or a hint is all there is."""
        heard = signals.pointing("arch-too-old-for-build")
        if not heard:
            found = None if of_its_day(host, matrix, gpus) else suspected(gpus, too_old, matrix, signals)
            return found or other_age(gpus, recent, matrix)
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
        if heard.signal.signal == "old-generation-named" and not old:
            return Fits("")  # the text speaks of other cards than this machine has
        direct = heard.signal.candidates[0] == "arch-too-old-for-build"
        if not direct and (not old or heard.signal.candidates[0] == "triton-gpu-too-old"):
            return None
        gpu, device = old or nvidia_cards(gpus)[0]
        torch = framework(host, matrix, "torch")
        covers = torch is not None and torch.kernels
        own = f" {torch.label} covers it, so another compiled package does not." if torch and covers else ""
        detail = f"{heard.signal.meaning} {gpu.name or 'The GPU'} is {device}.{own}"
        return Found(detail=detail, facts=("gpus",), confidence="certain" if direct else "likely")


def _dropped_by_toolkit(host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
    """A package that compiles its kernels at run time meets a toolkit that no longer compiles for the device."""
    toolkit = host["cuda_toolkit"]
    if not toolkit or not {"cupy", "numba", "pycuda"} & packages_of(host).keys():
        return None
    for gpu, device in nvidia_cards(gpus):
        if knows(matrix, toolkit, gpu.target) == "too old":
            detail = f"{gpu.name or 'The GPU'} is {device}, which the toolkit {toolkit} no longer compiles for."
            return Found(detail=detail, facts=("gpus", "cuda_toolkit"))
    return None


def _at_last_driver(host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
    """CUDA calls the driver too old, and it is already the last branch that serves the device."""
    if not signals.get("driver-too-old", "insufficient-35", "ptx-toolchain", "requires-newer-driver"):
        return None
    for gpu, device in nvidia_cards(gpus):
        row = matrix.capability(device.capability)
        last = row.last_driver.removeprefix("R") if row else ""
        at_last = last and (
            (host["driver"] or "").partition(".")[0] == last
            or (host["driver_cuda"] and host["driver_cuda"] == cuda_of_driver(matrix, f"{last}.0"))
        )
        if at_last:
            detail = f"R{last} is the last driver for {gpu.name or device}, and it is too old for the build."
            facts = ("gpus", *(name for name in ("driver", "driver_cuda") if host[name]))
            return Found(detail=detail, facts=facts, sources=cite(matrix, row))
    return None


RULES = family(ArchTooNewForBuild, ArchTooOldForBuild)
