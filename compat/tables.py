"""Tables for reading, as values: lines of the matrix with how each is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compat.lazy import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table: its cells, how the row behind it is known, the ids of its sources, the file it is from.

    ``evidence`` says what a measured build rests on, as in a plan.
    """

    cells: tuple[str, ...]
    how: str = ""
    source: tuple[str, ...] = ()
    origin: str = ""
    note: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table.

    Attributes:
        title: what it shows.
        columns: names of the columns.
        lines: the rows, each with as many cells as there are columns.
        sources: citation of each source id that the lines name.
    """

    title: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    sources: dict[str, str]


def document(tables: Iterable[Table]) -> dict[str, Any]:
    """The ``envcheck.matrix/1`` document of some tables."""
    return {"schema": "envcheck.matrix/1", "tables": [plain(table) for table in tables]}


def plain(table: Table) -> dict[str, Any]:
    """A table in JSON's own types: one object per line, named by column."""
    rows = [
        {**dict(zip(table.columns, line.cells, strict=True)), "how": line.how, "source": list(line.source)}
        | ({"origin": line.origin} if line.origin else {})
        | ({"note": line.note} if line.note else {})
        | ({"evidence": line.evidence} if line.evidence else {})
        for line in table.lines
    ]
    return {"title": table.title, "rows": rows, "sources": table.sources}
