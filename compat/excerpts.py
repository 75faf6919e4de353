"""What of a very long text is worth reading: a log of ten megabytes says few things, each a thousand times.

Readers of pasted text cost some microseconds per character, so what they are handed must be bounded whatever the input.
Lines are alike if they differ in digits only (times, counters, losses); of very many alike the first few are kept. Of
what is still millions of characters long (a build's output, or data) the two ends are kept, and between them the lines
that tell of a fault, with what stands right below them. Short texts come back untouched, so nothing of this shows on a
report.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

# Characters up to which a text is kept whole; a hundred times a usual issue.
LONG: Final = 1_000_000

# Lines kept of those that differ in digits only; the largest machines list their devices in as many.
ALIKE: Final = 64

# Lines that are compared at most, half from either end; ten megabytes of an ordinary log have a quarter of it.
LOOKED_AT: Final = 400_000

# Characters kept of one line; a whole log pasted as one JSON string fits.
WIDEST: Final = 200_000

# Characters of different lines that are kept about whole; ten megabytes of a log that repeats itself have fewer.
MOST: Final = 2_000_000

# Lines kept below one that tells of a fault: messages go on there.
BELOW: Final = 3

# Words of which one stands in nearly every message of a fault, and in no line that merely states a version.
_TELLING: Final = (
    "error", "warn", "fail", "exception", "traceback", "cannot", "can't", "unable", "undefined", "no such", "mismatch",
    "insufficient", "too old", "not compatible", "not supported", "not found", "not available", "not compiled",
    "incompatible", "unsupported", "invalid", "illegal", "killed", "abort",
)  # fmt: skip

_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")


@lru_cache(maxsize=1)  # the readers of one text ask after each other
def numbered(text: str) -> tuple[tuple[int, str], ...]:
    r"""The lines of ``text`` that are worth reading, each with its number (from 1), in order.

    >>> numbered("a\nb")
    ((1, 'a'), (2, 'b'))
    """
    lines = text.split("\n")
    if len(text) <= LONG:
        return tuple(enumerate(lines, 1))
    half = LOOKED_AT // 2
    if len(lines) <= LOOKED_AT:
        return tuple(_different(lines, 1))
    return (*_different(lines[:half], 1), *_different(lines[-half:], len(lines) - half + 1))


def telling(text: str) -> Sequence[tuple[int, str]]:
    """Those of them that are worth searching for messages: all if they are :data:`MOST` characters together.

    Else a quarter of that from either end, and of what lies between the lines that tell of a fault, as many from its
    ends.
    """
    lines = numbered(text)
    if len(text) <= MOST or sum(len(line) for _, line in lines) <= MOST:
        return lines
    head, tail = _ends(lines)
    first, last = _ends(_faults(lines[len(head) : len(lines) - len(tail)]))
    return (*head, *first, *last, *tail)


def condensed(text: str) -> str:
    """The same lines as one text; short texts unchanged."""
    return text if len(text) <= LONG else "\n".join(line for _, line in telling(text))


def speaks(line: str) -> bool:
    """Whether a line has a word that messages of faults have."""
    return any(map(line.lower().__contains__, _TELLING))


def _faults(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Lines that tell of a fault, each with the :data:`BELOW` next ones."""
    kept, last = [], -1
    for at, line in enumerate(lines):
        if speaks(line[1]):
            last = at + BELOW
        if at <= last:
            kept.append(line)
    return kept


def _ends(lines: Sequence[tuple[int, str]]) -> tuple[Sequence[tuple[int, str]], Sequence[tuple[int, str]]]:
    """The first and the last of ``lines``, at most a quarter of :data:`MOST` characters each, and none twice."""
    head = _within(lines)
    rest = lines[len(head) :]
    return head, rest[len(rest) - len(_within(rest[::-1])) :]


def _within(lines: Sequence[tuple[int, str]]) -> Sequence[tuple[int, str]]:
    """The first of ``lines``, up to a quarter of :data:`MOST` characters."""
    room = MOST // 4
    for count, (_, line) in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return lines[:count]
    return lines


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
