"""Takes away what stands uniformly along many lines of a paste, because it is not the report's own.

A poster's bullets before every line of some output, an editor's line numbers, a diff's signs, the sides of a box that a
terminal drew around it, and the blank line that some forms put after every line. Each is only taken away in a run long
enough that the report itself cannot have it: forms and lists have bullets of their own, and devices are numbered too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.reading.wraps import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Lines in a row with one bullet, or with numbers that count up from 1; devices are counted from 0.
RUN: Final = 6

# The same with numbers that count up from anything else, as many as no list of devices has.
COUNTED: Final = 20

# Lines of which nearly every other is blank.
DOUBLED: Final = 12

_BULLET = re.compile(r"([-*+•])(?:\s+(?=\S)|$)")
# What a line of a drawn rule consists of.
_RULE: Final = " -=+|"
_NUMBER = re.compile(r"\s{0,8}(\d{1,5})(?:[.:)|]?\s{1,2}|[.:)|]?$)")


def unframe(lines: Sequence[Line]) -> list[Line]:
    """The lines without what is uniform along them; their numbers stay."""
    kept = list(_single(lines))
    for run in _runs(kept):
        for at in run:
            number, text = kept[at]
            kept[at] = Line(number, _without(text))
    return kept


def _single(lines: Sequence[Line]) -> Sequence[Line]:
    """The lines without a blank one after each, where a form doubled all line ends."""
    if len(lines) < DOUBLED or sum(not text for _, text in lines[1::2]) * 10 < len(lines[1::2]) * 9:
        return lines
    return lines[::2] if all(not text for _, text in lines[1::2]) else [line for line in lines if line.text]


def _mark(text: str) -> str:
    """What a line begins with: its bullet, its number, the side of a box with one cell; empty if none of these."""
    if found := _BULLET.match(text) or _NUMBER.match(text):
        return found[1]
    bare = text.strip()
    return "|" if bare.startswith("| ") and bare.endswith("|") and bare.count("|") == 2 else ""


def _without(text: str) -> str:
    """The line without its mark."""
    if _mark(text) == "|":
        return text.strip()[2:-1].rstrip()
    pattern = _BULLET if _BULLET.match(text) else _NUMBER
    return pattern.sub("", text, count=1)


def _runs(lines: Sequence[Line]) -> Iterator[list[int]]:
    """Indexes of the lines of each run that is long enough."""
    run: list[int] = []
    first, mark, last = "", "", 0
    for at, (line, text) in enumerate([*lines, Line(0, "end")]):
        if line == last:
            continue  # parted from the line before, whose mark is its own
        last, found = line, _mark(text)
        if found and found == (str(int(mark) + 1) if mark.isdigit() else mark):
            run.append(at)
            mark = found
        elif text.strip(_RULE):
            if len(run) >= (COUNTED if first.isdigit() and first != "1" else RUN):
                yield run
            run = [at] if found else []
            first = mark = found
