"""Dotted numbers of drivers, toolkits and C libraries.

Framework versions follow PEP 440 and belong to ``packaging``; everything here is a plain dotted number
(driver 535.86.10, CUDA 12.8.1, ROCm 6.4, glibc 2.35), for which a tuple of integers compares rightly and
costs a hundredth of the import.
"""

from __future__ import annotations

import re
from functools import lru_cache

from compat.lazy import pattern

_DOTTED = pattern(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,5}")


@lru_cache(maxsize=4096)
def release(text: str) -> tuple[int, ...]:
    """The leading dotted number of ``text`` as integers, trailing zeros dropped: ``"12.8.0"`` -> ``(12, 8)``.

    Trailing zeros go because ``12.8`` and ``12.8.0`` name one release in every vendor table.

    Raises:
        ValueError: if ``text`` does not start with a number.
    """
    parts = _numbers(text)
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _numbers(text: str) -> list[int]:
    """The leading dotted number, every part of it."""
    found = _DOTTED.match(text.strip().removeprefix("v"))
    if found is None:
        raise ValueError(f"{text!r} is not a dotted version number")
    return [int(part) for part in found.group().split(".")]


@lru_cache(maxsize=8192)
def same_release(left: str, right: str) -> bool:
    """Whether two texts name one release; ``2.1`` stands for ``2.1.0``, a pre-release (``2.1rc1``) for nothing else."""
    try:
        return release(left) == release(right) and not re.search(r"[a-z]", right)
    except ValueError:
        return left == right


def is_release(text: str) -> bool:
    """Whether the whole of ``text`` is a dotted number."""
    return _DOTTED.fullmatch(text.strip()) is not None


def at_least(version: str, floor: str) -> bool:
    """Whether ``version`` reaches ``floor``; a coarser version counts as its first release (``525`` < ``525.60``).

    >>> at_least("535.54.03", "525.60.13"), at_least("525", "525.60.13")
    (True, False)
    """
    return release(version) >= release(floor)


def up_to(version: str, last: str) -> bool:
    """Whether ``version`` comes no later than ``last`` and its own patch releases: 6.0.2, but not 6.1, for ``6.0``.

    ``last`` counts as exactly as it is written, its zeros too.
    """
    bound = tuple(_numbers(last))
    return release(version)[: len(bound)] <= bound


def major(version: str) -> int:
    """The first number: ``"12.8"`` -> ``12``."""
    return release(version)[0]


def unpacked_cuda(number: int) -> str:
    """CUDA's one-number version: ``12040`` -> ``"12.4"`` (``CUDA_VERSION`` is 1000 * major + 10 * minor, cuda.h)."""
    return f"{number // 1000}.{number % 1000 // 10}"


def minor(version: str) -> str:
    """Major and minor as the field writes them: ``"12.8.1"`` -> ``"12.8"``, ``"12"`` -> ``"12.0"``."""
    parts = release(version)
    return f"{parts[0]}.{parts[1] if len(parts) > 1 else 0}"


def same_series(left: str, right: str) -> bool:
    """Whether two versions share major and minor."""
    return minor(left) == minor(right)
