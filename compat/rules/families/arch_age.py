"""Kernel targets: whether a build carries code that a GPU runs, else which of the two is too old."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.joints.driver as joint
from compat.findings import Confidence, Evidence
from compat.joints import kernels
from compat.joints.verdict import Clash
from compat.rules.lookups import cite, cuda_of_driver, is_version, knows, recent, too_old
from compat.rules.rule import Fits, Found, NvidiaRule, Outcome, assumed, told
from compat.rules.stack import Installed, named
from compat.sentences import Sentence
from compat.targets import Sm, kernels_for, sm
from compat.versions import major

if TYPE_CHECKING:
    from collections.abc import Callable

    from compat.facts import Gpu
    from compat.matrix import Matrix, rows
    from compat.reading.messages import Hearing
    from compat.rules.case import Case


def nvidia_cards(gpus: tuple[Gpu, ...]) -> list[tuple[Gpu, Sm]]:
    """GPUs whose target is an NVIDIA one, with the target read."""
    return [(gpu, device) for gpu in gpus if (device := sm(gpu.target)) is not None]


def other_age(cards: list[tuple[Gpu, Sm]], of_age: Callable[[Matrix, str], bool], matrix: Matrix) -> Outcome:
    """All GPUs are of the other end: the newest are nowhere dropped, and what is dropped is nowhere too new."""
    return Fits("") if all(of_age(matrix, gpu.target) for gpu, _ in cards) else None


def uncovered_by(case: Case, cards: list[tuple[Gpu, Sm]]) -> list[tuple[Gpu, Sm, Installed]]:
    """GPUs for which a framework has neither machine code nor PTX."""
    builds = [item for item in case.installed if item.kernels and not item.rocm]
    pairs = [(gpu, device, item) for item in builds for gpu, device in cards]
    return [(gpu, device, item) for gpu, device, item in pairs if served(item, gpu, case.matrix) == "none"]


def served(item: Installed, gpu: Gpu, matrix: Matrix) -> str:
    """How a GPU runs a build's code: its own where that was read, with what its row says of cuDNN."""
    if item.row is None:
        return kernels_for(gpu.target, item.kernels, matrix.families)
    return kernels.how(matrix, gpu.target, replace(item.row, kernels=item.kernels))


def is_newer(device: Sm, code: tuple[str, ...], matrix: Matrix) -> bool:
    """Whether the build is what is too old: the device is above all that it carries.

    Between the lowest and the highest lies what a build left out: an old device if toolkits dropped it since.
    """
    known = [(target.major, target.minor) for text in code if (target := sm(text))]
    at = (device.major, device.minor)
    if not known or at > max(known):
        return True
    return at > min(known) and not too_old(matrix, f"sm_{device.major}{device.minor}")


def span(code: tuple[str, ...]) -> str:
    """A list of targets for a sentence, shortened to its ends where it is long."""
    return " ".join(code) if len(code) <= 12 else f"{code[0]} ... {code[-1]}"


def may_be_another(item: Installed, gpu: Gpu, matrix: Matrix) -> bool:
    """Whether a build is only assumed, and another of the same release carries code for the GPU."""
    others = (row for row in matrix.builds_of(item.name, item.version) if row.kernels)
    codes = (row.kernels for row in others if kernels.how(matrix, gpu.target, row) != "none")
    return item.inferred and any(kernels_for(gpu.target, code, matrix.families) != "none" for code in codes)


def as_sure_as(item: Installed, gpu: Gpu, found: Found, matrix: Matrix) -> Found:
    """A verdict made milder where the build is only assumed and another of the same release carries the target.

    A bare version such as 1.12.1 says nothing of the build: conda, NGC and vendor indexes write no local tag either.
    Nor is it surer than what is known of the build's kernels.
    """
    return assumed(found) if may_be_another(item, gpu, matrix) else replace(found, confidence=item.sure)


def refused(case: Case, cards: list[tuple[Gpu, Sm]]) -> list[tuple[Gpu, Sm, Installed]]:
    """GPUs that PyTorch itself names as not covered: it counts machine code only, never PTX."""
    torch = named(case.installed, "torch")
    said = case.signals.get("not-compatible-torch", "torch-supports-list", "torch-cc-list")
    if not said or torch is None or not torch.kernels:
        return []
    code = tuple(text for text in torch.kernels if text.startswith("sm_"))
    families = case.matrix.families
    return [(gpu, device, torch) for gpu, device in cards if kernels_for(gpu.target, code, families) == "none"]


_NUMBERS: Final = ("need_cc", "need_cc2", "need_cc3")


_NAMES: Final = ("need_generation", "need_generation2")


def asked_floor(signals: Hearing, matrix: Matrix) -> Sm | None:
    """The lowest compute capability that a message asks for; ``None`` if it names none.

    A generation stands for the lowest capability that the matrix lists under its name: Ampere is 8.0.
    """
    for text in filter(None, map(signals.value, _NUMBERS)):
        if device := sm(text if "." in text else f"sm_{text}"):
            return device
    name = next(filter(None, map(signals.value, _NAMES)), "").lower()
    rows = [row for row in matrix.table("capabilities") if name and row.architecture.lower().startswith(name)]
    return min(filter(None, (sm(row.cc) for row in rows)), default=None)


def dropped(matrix: Matrix, target: str, toolkit: str | None) -> bool:
    """Whether a toolkit that refuses a target does so because it gave the target up.

    Of an unknown toolkit this is assumed for a target that a whole major of toolkits has been without, the newest
    major not counted: a toolkit too old for such a target is hardly met any more.
    """
    device = sm(target)
    if device is None:
        return False
    below_all = device < min(filter(None, (sm(row.cc) for row in matrix.table("capabilities"))))
    if is_version(toolkit):
        return knows(matrix, toolkit or "", target) == "too old" or below_all
    row = matrix.capability(device.capability)
    if row is None:
        return below_all
    newest = max(major(item.cuda) for item in matrix.table("cuda"))
    return bool(row.last_cuda) and major(row.last_cuda) < newest - 1


class ArchTooNewForBuild(NvidiaRule):
    """The build has no code for this newer GPU.

    Why: Machine code runs within one major version only; a build without PTX has nothing to run or to translate.
    Fix: Install a build whose CUDA knows this GPU, or compile it with TORCH_CUDA_ARCH_LIST set to the GPU.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    requires = (
        "driver-too-old-for-runtime",
        "wrong-vendor-build",
        "jetson-generic-wheel",
        "arch-specific-target",  # why a sibling's code does not run says more than that none does
        "arch-integrated-vs-discrete",
    )
    asks = ("builds", "packages")

    def check(self, case: Case, gpus: tuple[Gpu, ...]) -> Outcome:
        """The build has no code that the device runs, and the device is newer than the build.

        No machine code of the same major and a minor not above, and no PTX that could be compiled for it.
        """
        cards = nvidia_cards(gpus)
        uncovered = uncovered_by(case, cards) or refused(case, cards)
        for gpu, device, item in uncovered:
            if is_newer(device, item.kernels, case.matrix):
                found = self._found(gpu, device, item, case.matrix)
                told = case.signals.pointing("arch-too-new-for-build")
                return found if told else as_sure_as(item, gpu, found, case.matrix)
        if uncovered:
            return Fits("")
        if not cards:
            return None
        return (
            self._by_release(case, cards)
            or _all_covered(case.installed, gpus)
            or self._elsewhere(case, cards)
            or other_age(cards, too_old, case.matrix)
        )

    @staticmethod
    def _found(gpu: Gpu, device: Sm, item: Installed, matrix: Matrix) -> Found:
        first = matrix.capability(gpu.target)
        need = f" CUDA {first.first_cuda} is the first that compiles for {device}." if first else ""
        carries = f"{item.label} carries {span(item.kernels)}.{need}"
        if item.row and kernels.runs(matrix, gpu.target, item.kernels) == "ptx":
            carries = f"{kernels.why_not(matrix, gpu.target, item.row)}."
        detail = f"{gpu.name or 'The GPU'} is {device}; {carries}"
        return Found(detail=detail, facts=("gpus", item.fact), sources=cite(matrix, item.row, first))

    @staticmethod
    def _by_release(case: Case, cards: list[tuple[Gpu, Sm]]) -> Outcome:
        """The CUDA release in use predates the device, so that it can hold no machine code for it."""
        told, toolkit = case.signals.pointing("arch-too-new-for-build"), case.host.cuda_toolkit
        torch = (item for item in case.installed if item.cuda and (told or (item.name == "torch" and not item.kernels)))
        releases = [(item.cuda, item.fact, item.row) for item in torch]
        releases += [(toolkit, "cuda_toolkit", None)] if toolkit and told else []
        heard = case.signals.saying("no-code", "code-refused")
        quote = (Evidence("error", heard.line, "error text"),) if heard else ()
        for cuda, fact, row in releases:
            for gpu, device in cards:
                if knows(case.matrix, cuda, gpu.target) == "too new":
                    detail = f"{gpu.name or 'The GPU'} is {device}, which CUDA {cuda} does not know yet."
                    cited = cite(case.matrix, row, case.matrix.capability(device.capability))
                    return Found(detail=detail, facts=("gpus", fact), extra=quote, confidence="likely", sources=cited)
        return None

    @staticmethod
    def _elsewhere(case: Case, cards: list[tuple[Gpu, Sm]]) -> Outcome:
        """Code is missing for a GPU that current toolkits compile for: a package is older than the GPU."""
        heard = case.signals.saying("no-code", "code-refused", "no-code-for-target")
        new = next(((gpu, device) for gpu, device in cards if not too_old(case.matrix, gpu.target)), None)
        if heard is None and (heard := case.signals.pointing("arch-too-new-for-build")):
            new = next(((gpu, device) for gpu, device in cards if recent(case.matrix, gpu.target)), None)
        if not heard or not new:
            return None
        gpu, device = new
        is_old = f"{gpu.name or 'The GPU'} is {device}; a package was compiled without code for it."
        return Found(detail=f"{heard.signal.meaning} {is_old}", facts=("gpus",), confidence="likely")


def _all_covered(installed: tuple[Installed, ...], gpus: tuple[Gpu, ...]) -> Outcome:
    carried = [item for item in installed if item.kernels and not item.rocm and not item.supposed]
    if carried:
        targets = ", ".join(dict.fromkeys(gpu.target for gpu in gpus))
        return Fits(Sentence("{build} carries code for {targets}", build=carried[0].label, targets=targets))
    return None


class ArchTooOldForBuild(NvidiaRule):
    """The build dropped this older GPU.

    Why: Vendors remove old architectures: compilers stop targeting them, and wheels drop them to save size.
    Fix: Use a build for an older CUDA or an older release of the framework, or a newer GPU. The oldest CUDA still
        offered serves the oldest GPUs.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    requires = ("wrong-vendor-build", "arch-specific-target", "arch-integrated-vs-discrete")
    asks = ("builds", "packages")

    def check(self, case: Case, gpus: tuple[Gpu, ...]) -> Outcome:
        """The device is below every target that the build carries, or the program asks for a newer generation."""
        cards, matrix = nvidia_cards(gpus), case.matrix
        uncovered = uncovered_by(case, cards) or refused(case, cards)
        for gpu, device, item in uncovered:
            if not is_newer(device, item.kernels, matrix):
                detail = f"{gpu.name or 'The GPU'} is {device}; {item.label} carries {span(item.kernels)}."
                found = Found(detail=detail, facts=("gpus", item.fact), sources=cite(matrix, item.row))
                told = case.signals.pointing("arch-too-old-for-build")
                return found if told else as_sure_as(item, gpu, found, matrix)
        if uncovered:
            return Fits("")
        if not cards:
            return None
        return (
            _dropped_by_build(case, cards)
            or _dropped_by_toolkit(case, cards)
            or _below_need(case, cards)
            or _at_last_driver(case, cards)
            or _as_said(case, cards)
        )


def _dropped_by_build(case: Case, cards: list[tuple[Gpu, Sm]]) -> Outcome:
    """A build of unknown code was made with a CUDA release that no longer compiles for the device."""
    for item in case.installed:
        for gpu, _ in cards:
            if item.cuda and not item.kernels and knows(case.matrix, item.cuda, gpu.target) == "too old":
                detail = f"{gpu.name or 'The GPU'} is {gpu.target}, which CUDA {item.cuda} no longer compiles for."
                sure: Confidence = "likely" if item.inferred else "certain"
                return Found(detail=detail, facts=("gpus", item.fact), confidence=sure)
    return None


def _dropped_by_toolkit(case: Case, cards: list[tuple[Gpu, Sm]]) -> Outcome:
    """A package that compiles its kernels at run time meets a toolkit that no longer compiles for the device."""
    toolkit = case.host.cuda_toolkit or ""
    for gpu, device in cards if {"cupy", "numba", "pycuda"} & case.distributions.keys() else ():
        if knows(case.matrix, toolkit, gpu.target) == "too old":
            detail = f"{gpu.name or 'The GPU'} is {device}, which the toolkit {toolkit} no longer compiles for."
            return Found(detail=detail, facts=("gpus", "cuda_toolkit"))
    return None


def _last_driver(matrix: Matrix, device: Sm) -> tuple[str, rows.Capability | None]:
    """Number of the last driver branch that serves a device, empty if one serves it still; and the row that says so."""
    row = matrix.capability(device.capability)
    return row.last_driver.removeprefix("R") if row else "", row


def _at_last_driver(case: Case, cards: list[tuple[Gpu, Sm]]) -> Outcome:
    """CUDA calls the driver too old, and it is already the last branch that serves the device."""
    driver, driver_cuda = case.host.driver, case.host.driver_cuda
    if not case.signals.get("driver-too-old", "insufficient-35", "ptx-toolchain", "requires-newer-driver"):
        return None
    for gpu, device in cards:
        last, row = _last_driver(case.matrix, device)
        own = (driver or "").partition(".")[0] == last
        if last and (own or (driver_cuda and driver_cuda == cuda_of_driver(case.matrix, f"{last}.0"))):
            detail = f"R{last} is the last driver for {gpu.name or device}, and it is too old for the build."
            facts = ("gpus", *told(driver=driver, driver_cuda=driver_cuda))
            return Found(detail=detail, facts=facts, sources=cite(case.matrix, row))
    return None


def _below_need(case: Case, cards: list[tuple[Gpu, Sm]]) -> Outcome:
    """The last driver that serves the device is below what the build needs: no upgrade can help."""
    windows = case.host.platform in {"windows", "wsl2"}
    for item in case.installed:
        for gpu, device in cards:
            last, row = _last_driver(case.matrix, device)
            needs = is_version(item.cuda) and last and joint.verdict(case.matrix, item.cuda, f"{last}.999", windows)
            if isinstance(needs, Clash):
                detail = f"R{last} is the last driver for {gpu.name or device}; {item.label} needs a newer one."
                return Found(detail=detail, facts=("gpus", item.fact), sources=cite(case.matrix, row))
    return None


def _as_said(case: Case, cards: list[tuple[Gpu, Sm]]) -> Outcome:
    """A message says that code is missing for an old GPU, and there is one."""
    matrix, torch = case.matrix, named(case.installed, "torch")
    heard = case.signals.pointing("arch-too-old-for-build")
    if not heard:
        return other_age(cards, recent, matrix)
    old = next(((gpu, device) for gpu, device in cards if too_old(matrix, gpu.target)), None)
    if floor := asked_floor(case.signals, matrix):
        old = next((card for card in cards if card[1] < floor), None)
        if old is None:
            return Fits("")
    young = {"arch-too-new-for-build", "toolkit-too-old-for-arch"} & {*heard.signal.candidates}
    if young and all(recent(matrix, gpu.target) for gpu, _ in cards):
        return Fits("")
    direct = heard.signal.candidates[0] == "arch-too-old-for-build"
    if not direct and (not old or heard.signal.candidates[0] == "triton-gpu-too-old"):
        return None
    gpu, device = old or cards[0]
    covers = torch is not None and torch.kernels
    own = f" {torch.label} covers it, so another compiled package does not." if torch and covers else ""
    detail = f"{heard.signal.meaning} {gpu.name or 'The GPU'} is {device}.{own}"
    return Found(detail=detail, facts=("gpus",), confidence="certain" if direct else "likely")
