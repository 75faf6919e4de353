"""Pasted program output -> facts.

:func:`read` takes any text: a report, several, or an issue body with prose around them. The text is cleaned
(:mod:`~compat.reading.damage`), laid out (:mod:`~compat.reading.page`), and read by every format that betrays itself
(:mod:`~compat.reading.programs`); its paths tell the rest (:mod:`~compat.reading.paths`); then the claims are weighed
(:mod:`~compat.reading.merge`). What people write in free sentences states nothing.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

from compat.excerpts import speaks, telling
from compat.facts import Host
from compat.lazy import dataclass, pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.reading.claims import Claim
    from compat.reading.page import Page, Pair

__all__ = ["Reading", "read"]

# Notes about what could not be read; a damaged log could otherwise give one per line.
MOST_NOTES: Final = 50

_LACKS: Final = pattern(
    r"\W*(?:[\w .`()/-]{1,60}:)?\s*(?:module )?not (?:found|installed|available)\W*$", re.IGNORECASE
)

# A line that Google's logging marks as a warning, an error or fatal: in glog's form, whose seconds may be those since
# 1970, or in TensorFlow's, with its stamp or without.
_LOGGED: Final = pattern(r"(?<!\w)[WEF]\d{4} \d\d:\d\d:\d{2,11}\.|^: [WEF] \S|^[WEF] [\w/]{3,100}\.cc:\d")

# Calls that ask a framework for its GPUs: what they answer stands beside them.
_ASKED: Final = pattern(r"\b(?:is_available|device_count|list_physical_devices)\(")

# Lines between two formats' marks within which one is taken for part of the other.
NEAR: Final = 10


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text told.

    Attributes:
        host: the facts, each with program and line as its source.
        programs: names of the formats that were recognised.
        unread: what looked like a report but could not be read, and why.
        own: numbers of the lines that are a report's own words (labels with their values, rows of lists), from 1.
    """

    host: Host = field(default_factory=Host)
    programs: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    own: frozenset[int] = frozenset()

    def rest(self, text: str) -> str:
        """The lines of ``text`` that are not a report's own: a fault is looked for in these alone.

        The whole text if there is no report in it.
        """
        if not self.programs:
            return text
        lines = telling(text.replace("\r\n", "\n").replace("\r", "\n"))
        beside = (line for number, line in lines if number not in self.own)
        return "\n".join(beside)


def read(text: str) -> Reading:
    """Read every report in ``text``; never raises, whatever the text.

    >>> read("Driver Version: 535.54.03  CUDA Version: 12.2 | NVIDIA-SMI").host["driver"]
    '535.54.03'
    """
    from compat.reading import paths
    from compat.reading.merge import merge
    from compat.reading.page import Page
    from compat.reading.programs import COLUMNS, PROGRAMS

    known = frozenset(label for program in PROGRAMS for label in program.vocabulary)
    page = Page.of(text)
    found = page.pairs(known, COLUMNS)
    marks = {program.name: program.recognise(page, found) for program in PROGRAMS}
    claims, unread = _claims(page, found, marks)
    own = _own(page, found, claims)
    host, disputed = merge([*claims, *paths.facts(page)])
    spoke = {claim.program for claim in claims}
    names = tuple(p.name for p in PROGRAMS if marks[p.name] or p.name in spoke)
    return Reading(host, names, tuple([*unread, *disputed][:MOST_NOTES]), own)


def _own(page: Page, found: Mapping[str, list[Pair]], claims: list[Claim]) -> frozenset[int]:
    """Numbers of the lines with a known label or a stated fact, save those that tell of the machine's fault.

    What an interactive session answers stays: the answer to another question of its line may tell of one.
    """
    from compat.reading.programs import PROGRAMS

    labels = {page.lines[pair.index].number for pairs in found.values() for pair in pairs}
    own = labels | {claim.line for claim in claims if claim.program != "session"}
    slips = {page.lines[index].number for program in PROGRAMS if program.slips for index in program.slips(page)}
    return frozenset(slips | own - {line.number for line in page.lines if line.number in own and _speaks(line.text)})


def _speaks(line: str) -> bool:
    """Whether a line may be a message, by its words, the level that it is logged with or the call that it shows.

    That an optional package is not there is none.
    """
    return bool(speaks(line) or _LOGGED.search(line) or _ASKED.search(line)) and not _LACKS.match(line)


def _shadowed(name: str, marks: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether a silent format stands inside another's output, whose labels it shares."""
    first = marks[name][0]
    return any(abs(index - first) <= NEAR for other, lines in marks.items() if other != name for index in lines)


def _claims(
    page: Page, found: Mapping[str, list[Pair]], marks: Mapping[str, tuple[int, ...]]
) -> tuple[list[Claim], list[str]]:
    """Claims of every format, and a note for each that was recognised but stated nothing."""
    from compat.reading.program import View
    from compat.reading.programs import PROGRAMS

    claims: list[Claim] = []
    unread: list[str] = []
    speakers: dict[str, tuple[str, ...]] = {}
    for program in PROGRAMS:
        for label in program.vocabulary:
            speakers[label] = (*speakers.get(label, ()), program.name)
    for program in PROGRAMS:
        mine = list(program.facts(View(page, program, found, marks, speakers)))
        claims += mine
        if marks[program.name] and not mine and not _shadowed(program.name, marks):
            line = page.lines[marks[program.name][0]].number
            unread.append(f"{program.name} line {line}: recognised, but it states no fact that could be read")
    return claims, unread
