"""What of a very long text is worth reading: a log of ten megabytes says few things, each a thousand times.

Readers of pasted text cost some microseconds per character, so what they are handed must be bounded whatever the input.
Lines are alike if they differ in digits only (times, counters, losses); of very many alike the first few are kept.
Short texts come back untouched, so nothing of this shows on a report.
"""

from __future__ import annotations

from typing import Final

LONG: Final = 1_000_000
"""Characters up to which a text is kept whole; a hundred times a usual issue."""

ALIKE: Final = 64
"""Lines kept of those that differ in digits only; the largest machines list their devices in as many."""

LOOKED_AT: Final = 400_000
"""Lines that are compared at most, half from either end; ten megabytes of an ordinary log have a quarter of it."""

WIDEST: Final = 200_000
"""Characters kept of one line; a whole log pasted as one JSON string fits."""

_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")


def numbered(text: str) -> list[tuple[int, str]]:
    r"""The lines of ``text`` that are worth reading, each with its number (from 1), in order.

    >>> numbered("a\nb")
    [(1, 'a'), (2, 'b')]
    """
    lines = text.split("\n")
    if len(text) <= LONG:
        return list(enumerate(lines, 1))
    half = LOOKED_AT // 2
    if len(lines) <= LOOKED_AT:
        return _different(lines, 1)
    return _different(lines[:half], 1) + _different(lines[-half:], len(lines) - half + 1)


def condensed(text: str) -> str:
    """The same lines as one text; short texts unchanged."""
    return text if len(text) <= LONG else "\n".join(line for _, line in numbered(text))


def _different(lines: list[str], first: int) -> list[tuple[int, str]]:
    """Of lines that are alike the first :data:`ALIKE`, numbered from ``first`` and cut to :data:`WIDEST`."""
    shapes = "\n".join(lines).encode("utf-8", "replace").translate(_DIGITS).split(b"\n")
    seen: dict[bytes, int] = {}
    kept = []
    for number, (line, shape) in enumerate(zip(lines, shapes, strict=True), first):
        count = seen.get(shape, 0)
        if count < ALIKE:
            seen[shape] = count + 1
            kept.append((number, line[:WIDEST]))
    return kept
