"""Messages that programs print in general, found in a text of any size.

The patterns are rows of ``matrix/signals.toml``. A text of 10 MB has to pass in seconds, so each pattern first gives a
literal piece of itself that must occur; the regular expression then sees only a window around an occurrence. Each
step is linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from compat.errors import InputError
from compat.facts import Host
from compat.rules.captures import facts_of
from compat.rules.literals import literals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.matrix import Matrix
    from compat.matrix.rows import Signal

_BEFORE: Final = 300  # characters of a window before the literal: the longest line head that patterns look back on
_AFTER: Final = 800  # and after it: a list of kernel targets is the longest tail
_TRIES: Final = 8  # occurrences of one literal that are looked at; a log repeats its message
_LIMIT: Final = 64 * 1024 * 1024  # characters; what is longer is cut, so that memory stays bounded


_LONG: Final = 200_000  # characters; below, making the vocabulary costs more than it saves
_MANY: Final = 100_000  # different words; text with more is no log, and its vocabulary no smaller than itself
_DIGITS: Final = {ord(digit): "0" for digit in "123456789"}
_LETTERS: Final = bytes(
    48 if 48 <= code <= 57 else code if code < 128 and (chr(code).isalpha() or code == ord("_")) else 32
    for code in range(256)
)
"""Translation of bytes: digits become 0, and what is no letter, digit or underscore a space."""

WORDS: Final = "words"
"""Program of the rows that match mere words of the field; they count only where no message was recognised."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One message that was recognised: its row, the ``line`` it was read from, and the ``values`` captured."""

    signal: Signal
    line: str
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hearing:
    """All messages recognised in a text, in the order of the table: specific before general.

    Attributes:
        heard: the messages.
        host: facts that the messages state, with the source ``error text``.
        text: the text itself, cut at 64 million characters.
    """

    heard: tuple[Heard, ...] = ()
    host: Host = field(default_factory=Host)
    text: str = ""

    def __iter__(self) -> Iterator[Heard]:
        return iter(self.heard)

    def __contains__(self, signal: object) -> bool:
        return any(item.signal.signal == signal for item in self.heard)

    def get(self, *signals: str) -> Heard | None:
        """The first message recognised among ``signals``."""
        return next((item for item in self.heard if item.signal.signal in signals), None)

    def value(self, name: str) -> str:
        """The first value captured under ``name``; empty if none was."""
        return next((item.values[name] for item in self.heard if item.values.get(name)), "")

    def pointing(self, code: str) -> Heard | None:
        """The most specific message (fewest candidates) that has ``code`` among its candidates; no mere words."""
        found = self.hinting(code)
        return found if found and found.signal.program != WORDS else None

    def hinting(self, code: str) -> Heard | None:
        """The same, mere words of the field included."""
        fits = [item for item in self.heard if code in item.signal.candidates and not item.signal.benign]
        return min(fits, key=lambda item: len(item.signal.candidates), default=None)

    @property
    def harmful(self) -> tuple[Heard, ...]:
        """Messages that are not mere noise."""
        return tuple(item for item in self.heard if not item.signal.benign)


def recognise(text: str, matrix: Matrix) -> Hearing:
    """Every known message in ``text``, and the facts they state; linear in the text's length."""
    text = text[:_LIMIT].replace("\r\n", "\n").replace("\x00", " ")
    if not text.strip():
        return Hearing()
    lowered = text.replace("İ", "I").lower()  # the one letter whose small form is longer; offsets must stay
    words = _vocabulary(lowered)
    heard = tuple(found for row in matrix.table("signals") if (found := _hear(row, text, lowered, words)))
    if any(item.signal.program != WORDS and (item.signal.candidates or item.signal.benign) for item in heard):
        heard = tuple(item for item in heard if item.signal.program != WORDS)
    return Hearing(heard, facts_of([item.values for item in heard], text), text)


def _vocabulary(lowered: str) -> str:
    """Every different word of a long text, once and its digits alike: a log of megabytes has few of them."""
    if len(lowered) < _LONG:
        return lowered.translate(_DIGITS)
    words = set(lowered.encode("utf-8", "replace").translate(_LETTERS).split())
    return b" ".join(words).decode("ascii") if len(words) < _MANY else ""


def _hear(row: Signal, text: str, lowered: str, words: str) -> Heard | None:
    for literal in _needed(row):
        at = lowered.find(literal) if not words or _longest_word(literal) in words else -1
        for _ in range(_TRIES):
            if at < 0:
                break
            start = max(0, at - _BEFORE)
            if found := _compiled(row.pattern).search(text, start, at + _AFTER):
                values = {name: value for name, value in found.groupdict().items() if value}
                return Heard(row, _line(text, found.start(), found.end()), values)
            at = lowered.find(literal, at + max(len(literal), 1))
    return None


@lru_cache(maxsize=4096)
def _longest_word(literal: str) -> str:
    """The longest word in a literal, its digits as in the vocabulary."""
    return max(re.findall(r"[a-z0-9_]+", literal.translate(_DIGITS)), key=len, default="")


def _needed(row: Signal) -> tuple[str, ...]:
    """The literals of a row.

    Raises:
        InputError: if the pattern of an overlay's row is no usable expression.
    """
    try:
        _compiled(row.pattern)
        return literals(row.pattern)
    except (ValueError, re.error) as error:
        where = f"{row.origin or 'signals'}, signal {row.signal!r}"
        expected = "a regular expression with a literal piece in each alternative"
        raise InputError(f"pattern: {error}", where=where, expected=expected) from None


def _line(text: str, start: int, end: int) -> str:
    """The line or lines that a match covers, at most 400 characters."""
    begin = text.rfind("\n", max(0, start - 300), start) + 1 or max(0, start - 300)
    stop = text.find("\n", end, end + 300)
    return text[begin : stop if stop >= 0 else min(end + 300, len(text))].strip()[:400]


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
