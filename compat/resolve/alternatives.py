"""Sets of constraints as bit sets, and alternatives among them: what must be dropped so that something holds.

Violations are alternatives: machine code that only a newer driver could compile breaks with *this driver or this GPU*,
so that dropping either one mends it. Of the alternatives only the smallest are kept; a larger one says nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# Bit sets, any one of which dropped makes the thing fit; ``(0,)`` fits as it is, ``()`` never does.
Alternatives = tuple[int, ...]

# Violations, level of the kernels, strain on the drivers.
Felt = tuple[Alternatives, int, int]

FITS: Final[Alternatives] = (0,)


def either(*choices: Iterable[int]) -> Alternatives:
    """The smallest bit sets among several alternatives."""
    found = sorted({bits for choice in choices for bits in choice}, key=lambda bits: (bits.bit_count(), bits))
    kept: list[int] = []
    for bits in found:
        if not any(small & bits == small for small in kept):
            kept.append(bits)
    return tuple(kept)


def both(left: Alternatives, right: Alternatives) -> Alternatives:
    """What must be dropped so that two things hold."""
    if left == FITS:
        return right
    if right == FITS:
        return left
    return either(one | other for one in left for other in right)
