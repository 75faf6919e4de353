"""Colour and line layout for terminals; plain when told so. No dependency: importing one costs more than drawing."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Final

from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


def printable(text: str) -> str:
    """The text without control characters: a fact from elsewhere must not steer the reader's terminal."""
    return "".join(mark if mark.isprintable() or mark in "\n\t" else "\N{REPLACEMENT CHARACTER}" for mark in text)


def one_line(text: str) -> str:
    """The text as a single line that no reader takes for a line of ours, nor a CI runner for a command to it.

    GitHub's runner obeys a line that begins with two colons, blanks before them or not.
    """
    return _no_command(printable(" ".join(text.split())))


def _no_command(line: str) -> str:
    said = line.lstrip()
    return f"{line[: len(line) - len(said)]}\N{REPLACEMENT CHARACTER}{said}" if said.startswith("::") else line


@dataclass(frozen=True, slots=True)
class Ink:
    """Draws text: ``ink("red bold", "no")``; without colour it returns the text as it is."""

    colored: bool = False
    width: int = 100

    def __call__(self, style: str, text: str) -> str:
        """The text in a style of words from bold, dim, red, green, yellow, blue, cyan."""
        if not self.colored or not text:
            return text
        return f"\x1b[{';'.join(_CODES[word] for word in style.split())}m{text}\x1b[0m"

    def wrap(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """Lines of ``text`` no wider than the paper, words kept whole (paths and commands are worth copying)."""
        follow = indent if hanging is None else hanging
        lines: list[str] = []
        for number, paragraph in enumerate(printable(text).splitlines() or [""]):
            lines += textwrap.wrap(
                paragraph,
                self.width,
                initial_indent=follow if number else indent,
                subsequent_indent=follow,
                break_long_words=False,
                break_on_hyphens=False,
            ) or [follow.rstrip()]
        return [_no_command(line) for line in lines]


def ink(*, colored: bool = False) -> Ink:
    """Ink for the terminal at hand: its width, held between 60 and 110 columns for a comfortable line."""
    return Ink(colored, max(60, min(110, shutil.get_terminal_size((100, 24)).columns)))


def table(rows: Sequence[tuple[str, ...]], pen: Ink, *, head: tuple[str, ...] = (), indent: str = "") -> list[str]:
    """Columns as wide as their widest cell; the last one runs free."""
    everything = [head, *rows] if head else rows
    if not everything:
        return []
    widths = [max(len(row[column]) for row in everything) for column in range(len(everything[0]))]
    lines = []
    for number, row in enumerate(everything):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        line = (indent + "  ".join(cells)).rstrip()
        lines.append(pen("bold", line) if head and number == 0 else line)
    return lines
