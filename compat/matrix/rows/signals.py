"""Rows of messages that programs print, and of what people write where no program speaks."""

from __future__ import annotations

from compat.lazy import dataclass
from compat.matrix.rows.base import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal(Row):
    """A message that programs print in general (table ``signals``): what it is, never what caused it in one report.

    Attributes:
        signal: short id, ``no-kernel-image``.
        pattern: regular expression (case-insensitive, linear-time: no nested repeats) with named groups for facts.
        program: who prints it: ``cuda``, ``torch``, ``docker``, ...
        candidates: codes of the rules that it may point to, likeliest first when no fact decides; none where it tells
            why the build of an image failed (``build-...``), which no rule about a machine judges.
        benign: whether it is noise that harms nothing.
        meaning: what the message says, in our words.
    """

    signal: str
    pattern: str
    program: str = ""
    candidates: tuple[str, ...] = ()
    benign: bool = False
    meaning: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Term(Row):
    """A thing that people name in prose (table ``terms``), in the languages that reports are written in.

    Attributes:
        term: short id, ``container``.
        pattern: regular expression (case-insensitive, linear-time: no nested repeats) of its words.
    """

    term: str
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase(Row):
    """What a sentence may point to that names several terms (table ``phrases``).

    Attributes:
        phrase: short id, ``container-blind``.
        terms: the terms that it names, in any order; at least one in the sentence itself, the others there or by facts.
        unless: terms that it must not name.
        candidates: codes of the rules that it may point to, likeliest first when no fact decides.
        meaning: what such a sentence says, in our words.
    """

    phrase: str
    terms: tuple[str, ...]
    unless: tuple[str, ...] = ()
    candidates: tuple[str, ...]
    meaning: str = ""
