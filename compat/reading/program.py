"""What every format is: the labels, phrases and lines of one family of programs, and how they are read."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.lazy import dataclass
from compat.reading.claims import Claim, Weight
from compat.reading.page import PAIRS, ends
from compat.reading.values import package_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from compat.reading.page import Page, Pair
    from compat.reading.values import Reader

    # A reader of one line.
    LineReader = Callable[[str], Iterable[Claim]]


# Lines within which an ambiguous label belongs to a recognised program; the longest gap inside one report is the
# processor section of collect_env, some forty lines.
REACH: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One family of programs.

    Attributes:
        name: what sources cite.
        labels: label -> reader of the value behind it.
        marks: labels that only these programs print; one without a reader states no fact.
        phrases: parts of lines that only these programs print.
        least: how many different marks and phrases it takes, where each alone is an ordinary word.
        lines: part of a line -> reader of the lines that contain it.
        alone: whether such lines are read too where nothing marks the program.
        marked: further lines that mark the program.
        beyond: claims of what spans several lines.
        columns: labels that blanks alone may part from their values.
        fallback: whether labels far from every program fall to this one.
        slips: indexes of lines in which the program itself fails, whatever the machine.
    """

    name: str
    labels: Mapping[str, Reader] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    least: int = 1
    lines: Mapping[str, LineReader] = field(default_factory=dict)
    alone: bool = False
    marked: Callable[[Page, Mapping[str, list[Pair]]], Iterable[int]] | None = None
    beyond: Callable[[View], Iterator[Claim]] | None = None
    columns: tuple[str, ...] = ()
    fallback: bool = False
    slips: Callable[[Page], Iterable[int]] | None = None

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Every label that these programs print, each once."""
        return tuple(dict.fromkeys((*self.marks, *self.labels)))

    def recognise(self, page: Page, found: Mapping[str, list[Pair]]) -> tuple[int, ...]:
        """Sorted indexes of the lines that only these programs print."""
        own = [[pair.index for pair in found[label]] for label in self.marks if label in found]
        own += [lines for phrase in self.phrases if (lines := page.find(phrase))]
        further = self.marked(page, found) if self.marked else ()
        return tuple(sorted({*further, *(index for lines in own for index in lines if len(own) >= self.least)}))

    def facts(self, view: View) -> Iterator[Claim]:
        """What the page states in this format."""
        yield from view.labelled()
        if not (self.alone or view.own):
            return
        for phrase, read in self.lines.items():
            for index, line in view.lines(phrase):
                yield from view.stamp(index, read(line))
        if self.beyond:
            yield from self.beyond(view)


@dataclass(frozen=True, slots=True)
class View:
    """The page as one program's reader sees it: pairs that are nearer to another program are left to that one.

    Attributes:
        page: the page.
        program: who reads.
        found: all pairs, by label.
        marks: program -> sorted indexes of the lines that betray it.
        speakers: label -> programs that read it.
    """

    page: Page
    program: Program
    found: Mapping[str, list[Pair]]
    marks: Mapping[str, tuple[int, ...]]
    speakers: Mapping[str, tuple[str, ...]]

    @property
    def own(self) -> tuple[int, ...]:
        """The lines that betray this program, sorted."""
        return self.marks.get(self.program.name, ())

    def labelled(self) -> Iterator[Claim]:
        """Claims of every pair that belongs to this program."""
        if not (self.program.fallback or self.own):
            return
        for label in self.program.vocabulary:
            reader = self.program.labels.get(label)
            for pair in ends(self.found.get(label, ()) if reader else (), PAIRS):
                if reader and self._owns(pair):
                    yield from self.stamp(pair.index, reader(pair))

    def lines(self, needle: str) -> Iterator[tuple[int, str]]:
        """Index and text of the lines that contain ``needle``."""
        for index in self.page.find(needle):
            yield index, self.page.lines[index].text

    def span(self, start: int, stop: int) -> Iterator[tuple[int, str]]:
        """Index and text of the lines from ``start`` up to ``stop``."""
        stop = min(stop, len(self.page.lines))
        return ((index, self.page.lines[index].text) for index in range(start, stop))

    def sections(self, starts: Iterable[int], longest: int) -> Iterator[tuple[int, int]]:
        """Bounds of the stretches that begin at ``starts``: to the next start, ``longest`` lines at most."""
        edges = [*sorted(set(starts)), len(self.page.lines)]
        return ((start, min(stop, start + longest)) for start, stop in pairwise(edges))

    def stamp(self, index: int, claims: Iterable[Claim]) -> Iterator[Claim]:
        """The claims with their line and program put in."""
        line = self.page.lines[index].number
        last = index == self.page.last
        for claim in claims:
            yield Claim(claim.fact, claim.value, claim.key, claim.weight, line, self.program.name, last)

    def _owns(self, pair: Pair) -> bool:
        """Whether this program is the nearest of those that read the label."""
        if pair.blank:
            return bool(self.program.columns and self.own)
        speakers = self.speakers.get(pair.label, ())
        gaps = {name: _gap(self.marks[name], pair.index) for name in speakers if self.marks.get(name)}
        near = {name: gap for name, gap in gaps.items() if gap <= REACH}
        if not near:
            return self.program.fallback
        return min(near, key=near.__getitem__) == self.program.name


def _gap(marks: tuple[int, ...], index: int) -> int:
    """Lines between ``index`` and the nearest of the sorted ``marks``."""
    at = bisect_left(marks, index)
    return min(abs(marks[i] - index) for i in (at - 1, at) if 0 <= i < len(marks))


def _unpacked_cudnn(value: str) -> str:
    """``8902`` -> ``8.9.2``; a dotted version as it is. With fewer than four digits the number is cut."""
    if not value.isdigit():
        return value
    return versions.unpacked_cudnn(int(value)) if len(value) >= 4 else ""


# Fact -> how its value is brought into the catalogue's spelling.
_SPELLED: Final[Mapping[str, Callable[[str], str]]] = {
    "packages": package_version,
    "driver_cuda": lambda value: versions.unpacked_cuda(int(value)) if value.isdigit() else value,  # 12040 is 12.4
    "cudnn": _unpacked_cudnn,
    "engine": "docker {}".format,
}


def said(fact: str, pattern: str, key: str = "", weight: Weight = Weight.RUNNING) -> LineReader:
    """A reader of the value that a line states.

    ``pattern``: finds the value, in its first group or, group for group, joined by dots.
    """
    shape, spelled = re.compile(pattern), _SPELLED.get(fact, str)

    def read(line: str) -> Iterator[Claim]:
        found = shape.search(line)
        value = spelled(".".join(filter(None, found.groups())).rstrip(".")) if found else ""
        if value:
            yield Claim(fact, value, key=key, weight=weight)

    return read
