"""Joins lines that a terminal or a mail program broke.

Two kinds are told apart: a terminal breaks at an exact column, in the middle of a word if need be; a mail program at
the last blank before column 72 to 80.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple


class Line(NamedTuple):
    """One cleaned line and ``number``, its line in the pasted text (from 1)."""

    number: int
    text: str


# Columns below which a full line is no sign of a wrap.
NARROWEST: Final = 60

# Broken lines of one length that prove a terminal's width.
EVIDENCE: Final = 2

_FRAMES: Final = ("|", "+", "-", "=", "*", "#")
_STARTS = re.compile(r"\s*(?:[-*+•>#$|\[(/\\\"'{}]|[\w .,/()\[\]-]{1,50}\s*[:=]|[\w./@-]+\s{2,}|\d+[.)]\s|$)")


def unwrap(lines: Sequence[Line]) -> list[Line]:
    """The lines with broken ones mended; a joined line keeps the number of its first part."""
    width = _width(lines)
    joined: list[Line] = []
    full = False
    for line in lines:
        if full and line.text:
            joined[-1] = Line(joined[-1].number, joined[-1].text + line.text)
            full = len(line.text) == width
        elif joined and _wrapped(joined[-1].text, line.text):
            joined[-1] = Line(joined[-1].number, f"{joined[-1].text} {line.text.strip()}")
            full = False
        else:
            joined.append(line)
            full = 0 < len(line.text) == width and not line.text.lstrip().startswith(_FRAMES)
    return joined


def _width(lines: Sequence[Line]) -> int:
    """Columns of the terminal that broke the lines; 0 if none did.

    A hard wrap leaves several different lines of exactly one length, each followed by something that begins in the
    middle of a word or value.
    """
    full: Counter[int] = Counter()
    for (_, text), (_, following) in pairwise(lines):
        if len(text) < NARROWEST or text.lstrip().startswith(_FRAMES) or _STARTS.match(following):
            continue
        if "   : " in text:
            continue  # a column of labels, above the heading of the next group
        commas = text.count(",")
        if commas < 2 or following.count(",") != commas:  # else rows of a table with commas, of like cards
            full[len(text)] += 1
    width, count = max(full.items(), key=lambda item: item[1], default=(0, 0))
    return width if count >= EVIDENCE and count * 2 > sum(full.values()) else 0


def _wrapped(text: str, following: str) -> bool:
    """Whether ``following`` is the rest of a labelled line that mail wrapped at a word.

    Mail programs break at 72 to 80 columns; the break was forced if the next word would not have fitted.
    """
    if (
        not 40 <= len(text) <= 82
        or not following
        or (":" not in text and "Linux " not in text)
        or "|" in text
        or ":    " in text  # a column of labels: whatever printed it does not wrap
        or text.endswith((".", ":"))
    ):
        return False
    word = following.split(maxsplit=1)[0] if following.strip() else ""
    return len(text) + 1 + len(word) > 72 and following[0] != " " and not _STARTS.match(following)
