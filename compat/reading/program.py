"""What every format is: the labels, phrases and lines of one family of programs, and how they are read."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.lazy import dataclass
from compat.reading.claims import Claim, Weight
from compat.reading.values import package_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from compat.reading.page import Page, Pair, View
    from compat.reading.values import Reader

    # A reader of one line.
    LineReader = Callable[[str], Iterable[Claim]]


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
