"""What a GPU's age alone lets one suspect, where a text says that something fails and no message names the cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.rules.knowledge import cite, knows, too_old
from compat.rules.offered import modern
from compat.rules.rule import Fits, Found, Outcome
from compat.rules.stack import installed
from compat.targets import Sm, kernels_for, sm

if TYPE_CHECKING:
    from collections.abc import Callable

    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing


def nvidia_cards(gpus: tuple[Gpu, ...]) -> list[tuple[Gpu, Sm]]:
    """GPUs whose target is an NVIDIA one, with the target read."""
    return [(gpu, device) for gpu in gpus if (device := sm(gpu.target)) is not None]


def young(matrix: Matrix, target: str) -> bool:
    """Whether fewer than half of the CUDA builds of PyTorch that were ever published carry code for a target."""
    if too_old(matrix, target):
        return False
    builds = [row for row in matrix.builds("torch") if row.runtime.startswith("cuda") and row.kernels]
    carrying = [row for row in builds if kernels_for(target, row.kernels, matrix.families) != "none"]
    return len(carrying) * 2 < len(builds)


def suspected(
    gpus: tuple[Gpu, ...], of_age: Callable[[Matrix, str], bool], matrix: Matrix, signals: Hearing
) -> Outcome:
    """A text says that a program does not work, and a GPU is of an age that many builds do not serve.

    No message names the cause, so that it is a warning at most.
    """
    if signals.get("gpu-unused-said") is None or "word-precision" in signals:
        return None  # a number format is a matter of its own
    for gpu, device in nvidia_cards(gpus):
        if of_age(matrix, gpu.target):
            age = "no longer served by current toolkits" if of_age is too_old else "newer than most builds"
            detail = f"{gpu.name or 'The GPU'} is {device}, {age}: the program may carry no code for it."
            cited = cite(matrix, matrix.capability(device.capability))
            return Found(detail=detail, facts=("gpus",), confidence="likely", severity="warning", sources=cited)
    return None


def of_its_day(host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> bool:
    """Whether the CUDA release beside an old card still serves it, or the Python is as old as the card."""
    releases = [item.cuda for item in installed(host, matrix) if item.cuda] or [host.cuda_toolkit or ""]
    serves = any(knows(matrix, cuda, gpu.target) == "known" for cuda in releases for gpu, _ in nvidia_cards(gpus))
    return serves or bool(host.python and not modern(host.python, matrix))


def other_age(gpus: tuple[Gpu, ...], of_age: Callable[[Matrix, str], bool], matrix: Matrix) -> Outcome:
    """All GPUs are of the other end: the newest are nowhere dropped, and what is dropped is nowhere too new."""
    return Fits("") if all(of_age(matrix, gpu.target) for gpu, _ in nvidia_cards(gpus)) else None
