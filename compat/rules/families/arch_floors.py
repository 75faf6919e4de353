"""How old a GPU may be at most: the floor that a program names in its message, by number or by generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.rules.knowledge import is_version, knows
from compat.targets import Sm, sm

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing

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
