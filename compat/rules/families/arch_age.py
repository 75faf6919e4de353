"""Which end of the range of GPUs a machine's cards are at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.rules.rule import Fits, Outcome
from compat.targets import Sm, sm

if TYPE_CHECKING:
    from collections.abc import Callable

    from compat.facts import Gpu
    from compat.matrix import Matrix


def nvidia_cards(gpus: tuple[Gpu, ...]) -> list[tuple[Gpu, Sm]]:
    """GPUs whose target is an NVIDIA one, with the target read."""
    return [(gpu, device) for gpu in gpus if (device := sm(gpu.target)) is not None]


def other_age(gpus: tuple[Gpu, ...], of_age: Callable[[Matrix, str], bool], matrix: Matrix) -> Outcome:
    """All GPUs are of the other end: the newest are nowhere dropped, and what is dropped is nowhere too new."""
    return Fits("") if all(of_age(matrix, gpu.target) for gpu, _ in nvidia_cards(gpus)) else None
