"""Colour and line layout for terminals; plain when told so. No dependency: importing one costs more than drawing.

A terminal that says it is dumb (``TERM=dumb``) gets what a screen reader or a braille line reads well: a word in place
of each mark, a paragraph a line, and rows of a table as sentences.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from compat.lazy import dataclass, pattern
from compat.render.language import ENGLISH, Catalogue, spoken

_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}

# What stands before a line, drawn and in words.
MARKS: Final = {
    "error": ("✗", "Error:"),
    "warning": ("!", "Warning:"),
    "info": ("i", "Note:"),
    "fits": ("✓", "OK:"),
    "unknown": ("?", "Not known:"),
    "skipped": ("-", "Skipped:"),
    "command": ("$", "Run:"),
}
_PIECE: Final = pattern(r"\s+|[（《“]?(?:[\u2e80-\uffef]|[^\s\u2e80-\uffef]+)[，。、；：）》”？！]*")
_ENDLESS: Final = 1 << 20  # columns of a paper on which no line is folded


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


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide character (Unicode Standard Annex 11)."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(mark) in {"W", "F"} else 1 for mark in text)


def _filled(text: str, width: int, first: str, follow: str) -> list[str]:
    """Lines of a text with wide characters: between two of those a line may end, and no mark that closes begins one."""
    lines, line = [], first
    for piece in _PIECE.findall(text):
        if columns(line + piece) > width and line.strip() and line not in {first, follow}:
            lines.append(line.rstrip())
            line = follow
        line += piece if piece.strip() or line.strip() else ""
    return [*lines, line.rstrip()]


@dataclass(frozen=True, slots=True)
class Ink:
    """Draws text: ``ink("red bold", "no")``; without colour it returns the text as it is.

    Attributes:
        colored: whether to colour.
        width: of the paper for running text, in columns.
        columns: of the terminal, to which tables are folded; 0 where no terminal reads, for then a row stays one line
            that ``grep`` finds whole.
        plain: whether words stand for marks, and rows of tables are sentences.
        words: the language of what is written.
    """

    colored: bool = False
    width: int = 100
    columns: int = 0
    plain: bool = False
    words: Catalogue = ENGLISH

    def mark(self, kind: str) -> str:
        """What stands before a line: error, warning, info, fits, unknown, skipped, or a command to type."""
        return self.words.said(MARKS[kind][1]) if self.plain else MARKS[kind][0]

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
            if columns(paragraph) != len(paragraph):
                lines += _filled(paragraph, self.width, follow if number else indent, follow)
                continue
            lines += textwrap.wrap(
                paragraph,
                self.width,
                initial_indent=follow if number else indent,
                subsequent_indent=follow,
                break_long_words=False,
                break_on_hyphens=False,
            ) or [follow.rstrip()]
        return [_no_command(line) for line in lines]

    def headed(self, style: str, title: str, aside: str = "") -> list[str]:
        """A headline with what stands behind it; folded, and that below it, where both are wider than the paper."""
        title, aside = one_line(title), one_line(aside)
        if columns(f"{title}  {aside}".rstrip()) <= self.width:
            return [self(style, title) + self("dim", f"  {aside}" if aside else "")]
        below = self.wrap(aside, "    ") if aside else []
        return [self(style, line) for line in self.wrap(title, "", "  ")] + [self("dim", line) for line in below]


def ink(*, colored: bool = False) -> Ink:
    """Ink for the terminal at hand: its width, held between 60 and 110 columns for a comfortable line."""
    if os.environ.get("TERM") == "dumb":
        return Ink(colored, _ENDLESS, plain=True, words=spoken())
    room = shutil.get_terminal_size((100, 24)).columns
    return Ink(colored, max(60, min(110, room)), room if sys.stdout.isatty() else 0, words=spoken())


def table(rows: Sequence[tuple[str, ...]], pen: Ink, *, head: tuple[str, ...] = (), indent: str = "") -> list[str]:
    """Columns as wide as their widest cell, folded where the terminal is narrower than the table.

    Where even single words do not fit beside each other, each row becomes a block: its cells below each other.
    """
    everything = [head, *rows] if head else list(rows)
    if not everything:
        return []
    if pen.plain:
        return [indent + "; ".join(_cells(row, head)) for row in rows]
    room = pen.columns - len(indent) if pen.columns else 0
    for gap in ("  ", " "):
        if widths := _widths(everything, room, gap):
            break
    else:
        return _blocks(rows, pen, head, indent) if head else _stacked(rows, pen, indent)
    drawn = [[(indent + line).rstrip() for line in _row(row, widths, gap)] for row in everything]
    if head:
        drawn[0] = [pen("bold", line) for line in drawn[0]]
    return [line for lines in drawn for line in lines]


def _cells(row: tuple[str, ...], head: tuple[str, ...]) -> list[str]:
    """The cells that say something, each behind the name of its column if that has one."""
    names = [f"{name}: " for name in head] or [""] * len(row)
    return [name + cell for name, cell in zip(names, row, strict=True) if cell]


def _widths(rows: Sequence[tuple[str, ...]], room: int, gap: str) -> list[int]:
    """The width of each column, the widest narrowed until all fit into ``room`` (0 for no bound); [] if they cannot."""
    by_column = list(zip(*rows, strict=True))
    widths = [max(map(columns, column)) for column in by_column]
    least = [max(columns(word) for cell in column for word in cell.split() or [""]) for column in by_column]
    while room and sum(widths) + len(gap) * (len(widths) - 1) > room:
        narrower = [(width, at) for at, width in enumerate(widths) if width > least[at]]
        if not narrower:
            return []
        widths[max(narrower)[1]] -= 1
    return widths


def _row(row: tuple[str, ...], widths: list[int], gap: str) -> list[str]:
    """One row's lines: its cells side by side, each within its column."""
    cells = [
        [cell] if columns(cell) <= width else textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)
        for cell, width in zip(row, widths, strict=True)
    ]
    return [
        gap.join(part + " " * (width - columns(part)) for part, width in zip(parts, widths, strict=True))
        for parts in zip_longest(*cells, fillvalue="")
    ]


def _stacked(rows: Sequence[tuple[str, ...]], pen: Ink, indent: str) -> list[str]:
    """Each row's first cell, and the others folded below it."""
    paper = Ink(width=pen.columns)
    return [
        line
        for first, *rest in rows
        for line in [indent + first, *(line for cell in rest if cell for line in paper.wrap(cell, f"{indent}    "))]
    ]


def _blocks(rows: Sequence[tuple[str, ...]], pen: Ink, head: tuple[str, ...], indent: str) -> list[str]:
    """Each row below the other, a line per column that has something to say."""
    label = max(map(len, head))
    lines: list[str] = []
    for number, row in enumerate(rows):
        lines += [""] if number else []
        for name, cell in zip(head, row, strict=True):
            said = Ink(width=pen.columns).wrap(cell, f"{indent}{name.ljust(label)}  ", indent + " " * (label + 2))
            lines += said if cell else []
    return lines
