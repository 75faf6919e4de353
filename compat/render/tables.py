"""Tables of the matrix for the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from compat.render.ink import Ink, printable, table

if TYPE_CHECKING:
    from compat.tables import Line, Table


def text(tables: Iterable[Table], *, pen: Ink | None = None, sources: bool = False) -> str:
    """The tables one below the other.

    How lines are known stands beside them, or once below where all are known alike; with ``sources`` so do the ids of
    their sources, and the citations follow. Where lines come from several files, each says from which.
    """
    pen = pen or Ink()
    lines: list[str] = []
    for item in tables:
        alike = len({(line.how, tuple(line.source)) for line in item.lines}) == 1
        known = () if alike else ("how", "source") if sources else ("how",)
        files = ("file",) if len({line.origin for line in item.lines}) > 1 else ()
        head = (*item.columns, *known, *files)
        rows = [(*_row(line, len(known)), *(printable(line.origin) for _ in files)) for line in item.lines]
        lines += [pen("bold", item.title), "", *table(rows, pen, head=head, indent="  "), ""]
        lines += [pen("dim", f"  {item.lines[0].how}"), ""] if alike else []
        lines += _citations(item, pen) if sources else []
    return "\n".join(lines).rstrip()


def _row(line: Line, extra: int) -> tuple[str, ...]:
    """A line's cells, followed by as many of "how" and "source" as the table shows."""
    cells = tuple(printable(cell) for cell in line.cells)
    return (*cells, *(line.how, " ".join(line.source))[:extra])


def _citations(item: Table, pen: Ink) -> list[str]:
    """The sources' ids with what they stand for."""
    return [found for key, said in item.sources.items() for found in pen.wrap(f"{key}: {said}", "  ", "    ")] + [""]
