"""Messages that programs print in general, found in a text of any size.

The patterns are rows of ``matrix/signals.toml``. A text of 10 MB has to pass in seconds, so each pattern first gives a
literal piece of itself that must occur; the regular expression then sees only a window around an occurrence. Each
step is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from compat.errors import InputError
from compat.excerpts import condensed
from compat.facts import Host
from compat.lazy import dataclass, pattern
from compat.reading.literals import literals
from compat.reading.message_facts import facts_of
from compat.reading.said import said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.matrix import Matrix
    from compat.matrix.rows import Signal

_BEFORE: Final = 300  # characters of a window before the literal: the longest line head that patterns look back on
_AFTER: Final = 800  # and after it: a list of kernel targets is the longest tail
_GAP: Final = pattern(r"\{\d*,(\d+)\}")
_TRIES: Final = 8  # occurrences of one literal that are looked at; a log repeats its message
_LIMIT: Final = 64 * 1024 * 1024  # characters; what is longer is cut, so that memory stays bounded


# What a form gives as an example, and its comments: nobody's message.
_EXAMPLE: Final = pattern(r"<!--[^\0]{0,4000}?-->|[(\[<][ ]{0,3}e\.?g\b[^)\]>\n]{0,300}[)\]>]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heard:
    """One message that was recognised: its row, the ``line`` it was read from, and the ``values`` captured.

    Attributes:
        further: libraries that later lines of the same message name.
    """

    signal: Signal
    line: str
    values: Mapping[str, str] = field(default_factory=dict)
    further: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hearing:
    """All messages recognised in a text, in the order of the table: specific before general.

    Attributes:
        heard: the messages.
        host: facts that the messages state, with the source ``error text``.
        text: the text itself; of a very long one what is worth reading (:mod:`compat.excerpts`).
        said: what programs print beside their messages, by name (:mod:`compat.reading.said`).
    """

    heard: tuple[Heard, ...] = ()
    host: Host = field(default_factory=Host)
    text: str = ""
    said: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Heard]:
        return iter(self.heard)

    def __contains__(self, signal: object) -> bool:
        return any(item.signal.signal == signal for item in self.heard)

    def get(self, *signals: str) -> Heard | None:
        """The first message recognised among ``signals``."""
        return next((item for item in self.heard if item.signal.signal in signals), None)

    def saying(self, *meanings: str) -> Heard | None:
        """The first message recognised that says one of ``meanings`` (:attr:`compat.matrix.rows.Signal.says`)."""
        return next((item for item in self.heard if not set(meanings).isdisjoint(item.signal.says)), None)

    def value(self, name: str) -> str:
        """The first value captured under ``name``; empty if none was."""
        return next((item.values[name] for item in self.heard if item.values.get(name)), "")

    def pointing(self, code: str) -> Heard | None:
        """The most specific message (fewest candidates) that has ``code`` among its candidates."""
        fits = [item for item in self.harmful if code in item.signal.candidates]
        return min(fits, key=lambda item: len(item.signal.candidates), default=None)

    @property
    def harmful(self) -> tuple[Heard, ...]:
        """Messages that are not mere noise."""
        return tuple(item for item in self.heard if not item.signal.benign)

    @property
    def telling(self) -> tuple[Heard, ...]:
        """Harmful messages that a rule may rest on: some tell of the build of an image only."""
        return tuple(item for item in self.harmful if item.signal.candidates)


def recognise(text: str, matrix: Matrix) -> Hearing:
    """Every known message in ``text``, and the facts they state; linear in the text's length."""
    text = condensed(text[:_LIMIT].replace("\r\n", "\n").replace("\r", "\n").replace("\x00", " "))
    if not text.strip():
        return Hearing()
    lowered = text.replace("İ", "I").lower()  # each at its place: the small form of this one letter is longer
    page = _Page(text, lowered, tuple(found.span() for found in _EXAMPLE.finditer(text)))
    heard = tuple(found for row in matrix.table("signals") if (found := _hear(row, page)))
    stated = [values for item in heard for values in (item.values, *({"library": one} for one in item.further))]
    return Hearing(heard, facts_of(stated), text, said(text))


class _Page(NamedTuple):
    """A text, its small letters, and the spans of what it gives as an example."""

    text: str
    lowered: str
    examples: tuple[tuple[int, int], ...]

    def is_example(self, at: int) -> bool:
        """Whether an example holds this place."""
        before = bisect_right(self.examples, (at, len(self.text)))
        return before > 0 and at < self.examples[before - 1][1]


def _hear(row: Signal, page: _Page) -> Heard | None:
    """One row's first match that captures values, else its first: a title often holds the message without them."""
    first, further = None, dict[str, None]()
    for found in _matches(row, page):
        values = {name: value for name, value in found.groupdict().items() if value}
        if "pinned" in values:  # poetry writes a release in brackets
            values["requirement"] += f"=={values['pinned']}"
        if first is None or (values and not first.values):
            first = Heard(row, _line(page.text, found.start(), found.end()), values)
        further |= dict.fromkeys(filter(None, [values.get("library")]))
        if (first.values and "library" not in values) or not found.re.groupindex:
            break
    return replace(first, further=tuple(further)) if first and further else first


def _matches(row: Signal, page: _Page) -> Iterator[re.Match[str]]:
    """A row's matches: its literals are looked up first, and only a window around each is matched."""
    text, lowered, _ = page
    for literal in _needed(row):
        at = lowered.find(literal)
        for _ in range(_TRIES):
            if at < 0:
                break
            reach = _reach(row.pattern)
            found = _compiled(row.pattern).finditer(text, max(0, at - max(_BEFORE, reach)), at + max(_AFTER, reach))
            yield from (one for one in found if not page.is_example(one.start()))
            at = lowered.find(literal, at + max(len(literal), 1))


@lru_cache(maxsize=4096)
def _reach(pattern: str) -> int:
    """How far the widest gap of a pattern reaches, in characters: a traceback between two lines of pip is long."""
    return max((int(most) for most in _GAP.findall(pattern)), default=0)


def _needed(row: Signal) -> tuple[str, ...]:
    """The literals of a row; its pattern is compiled where one of them occurs, since compiling all takes 0.1 s.

    Raises:
        InputError: if the pattern of an overlay's row has none.
    """
    try:
        return literals(row.pattern)
    except ValueError as error:
        where = f"{row.origin or 'signals'}, signal {row.signal!r}"
        expected = "a regular expression with a literal piece in each alternative"
        raise InputError(f"pattern: {error}", where=where, expected=expected) from None


def _line(text: str, start: int, end: int) -> str:
    """The line or lines that a match covers, at most 400 characters."""
    begin = text.rfind("\n", max(0, start - 300), start) + 1 or max(0, start - 300)
    stop = text.find("\n", end, end + 300)
    return text[begin : stop if stop >= 0 else min(end + 300, len(text))].strip()[:400]


@lru_cache(maxsize=4096)  # more than there are rows: a cache one row too small compiles all of them for every text
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
