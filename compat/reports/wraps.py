"""Joins lines that a terminal or a mail program broke."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

class Line(NamedTuple):
    """One cleaned line and ``number``, its line in the pasted text (from 1)."""

    number: int
    text: str


NARROWEST: Final = 60
"""Columns below which a full line is no sign of a wrap."""

_STARTS = re.compile(r"\s*(?:[-*+•>#$|\[(/\\\"'{}]|[\w .,/()-]{1,50}\s*[:=]|\w+\s{2,}|\d+[.)]\s|$)")


def unwrap(lines: Sequence[Line]) -> list[Line]:
    """The lines with broken ones mended; a joined line keeps the number of its first part."""
    width = _width(lines)
    joined: list[Line] = []
    full = False
    for line in lines:
        if full and line.text and not line.text.lstrip().startswith(("|", "+")):
            joined[-1] = Line(joined[-1].number, joined[-1].text + line.text)
            full = len(line.text) == width
            continue
        if joined and _wrapped(joined[-1].text, line.text):
            joined[-1] = Line(joined[-1].number, f"{joined[-1].text} {line.text.strip()}")
            full = False
            continue
        joined.append(line)
        full = width > 0 and len(line.text) == width and not line.text.lstrip().startswith(("|", "+", "-", "=", "*"))
    return joined


def _width(lines: Sequence[Line]) -> int:
    """Columns of the terminal that broke the lines; 0 if none did.

    A hard wrap leaves several lines of exactly the same length and none that is longer.
    """
    lengths = Counter(len(line.text) for line in lines)
    longest = max(lengths, default=0)
    full = [line.text for line in lines if len(line.text) == longest]
    ordinary = [text for text in full if not text.lstrip().startswith(("|", "+", "-", "=", "*"))]
    return longest if longest >= NARROWEST and len(ordinary) >= 2 and len(set(ordinary)) >= 2 else 0


def _wrapped(text: str, following: str) -> bool:
    """Whether ``following`` is the rest of a labelled line that mail wrapped at a word.

    Mail programs break at 72 to 80 columns; the break was forced if the next word would not have fitted.
    """
    if not 40 <= len(text) <= 82 or not following or ":" not in text or text.endswith((".", ":")):
        return False
    word = following.split(maxsplit=1)[0] if following.strip() else ""
    return len(text) + 1 + len(word) > 72 and following[0] != " " and not _STARTS.match(following)
