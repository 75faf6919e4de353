"""Whether a build carries code that a GPU runs, else which of the two is too old; and floors that are named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.joints import kernels
from compat.rules.knowledge import is_version, knows, too_old
from compat.rules.rule import Fits
from compat.rules.stack import Installed, named
from compat.targets import Sm, kernels_for, sm

if TYPE_CHECKING:
    from collections.abc import Callable

    from compat.facts import Gpu
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.case import Case
    from compat.rules.rule import Found, Outcome


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
    """
    if not may_be_another(item, gpu, matrix):
        return found
    detail = f"{found.detail} That holds if it is the build of the default index, which its bare version leaves open."
    return replace(found, detail=detail, confidence="possible", severity="warning")


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


def asked_floor(signals: Hearing, matrix: Matrix) -> tuple[int, int] | None:
    """The lowest compute capability, major and minor, that a message asks for; ``None`` if it names none.

    A generation stands for the lowest capability that the matrix lists under its name: Ampere is 8.0.
    """
    for text in filter(None, map(signals.value, _NUMBERS)):
        if device := sm(text if "." in text else f"sm_{text}"):
            return device.major, device.minor
    name = next(filter(None, map(signals.value, _NAMES)), "").lower()
    rows = [row for row in matrix.table("capabilities") if name and row.architecture.lower().startswith(name)]
    return min((_capability(row.cc) for row in rows), default=None)


def _capability(text: str) -> tuple[int, int]:
    """Major and minor of a dotted version; what follows them does not count."""
    major, minor = (*text.split("."), "0")[:2]
    return int(major), int(minor)


def dropped(matrix: Matrix, target: str, toolkit: str | None) -> bool:
    """Whether a toolkit that refuses a target does so because it gave the target up.

    Of an unknown toolkit this is assumed for a target that a whole major of toolkits has been without, the newest
    major not counted: a toolkit too old for such a target is hardly met any more.
    """
    device = sm(target)
    if device is None:
        return False
    if is_version(toolkit):
        return knows(matrix, toolkit or "", target) == "too old" or _below_all(matrix, device)
    row = matrix.capability(device.capability)
    if row is None:
        return _below_all(matrix, device)
    newest = max(_capability(item.cuda)[0] for item in matrix.table("cuda"))
    return bool(row.last_cuda) and _capability(row.last_cuda)[0] < newest - 1


def _below_all(matrix: Matrix, device: Sm) -> bool:
    """Whether a device is older than all that the matrix lists: no toolkit of its releases compiles for it."""
    lowest = min(_capability(row.cc) for row in matrix.table("capabilities"))
    return (device.major, device.minor) < lowest
