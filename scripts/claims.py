"""What second sources claim about rows of the matrix (``matrix/claims/*.csv``), and where the matrix says otherwise.

One file per table. A line is what one source says of one row: the columns marked ``@`` find the row, the others are its
fields under the names of :mod:`compat.matrix.rows`, the last is the id of the source in ``sources.csv``. An empty cell
claims nothing. ``field.some`` claims that these are among the row's, not that they are all.

Two values agree if they are equal, if one is the other less exactly (``8.9`` and ``8.9.7.29``, ``2022`` and
``2022-10-03``), or, for numbers, within :data:`TOLERANCE`, since sources round.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from settlements import Difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from compat.matrix import Matrix

FOLDER = Path(__file__).parent.parent / "matrix" / "claims"

TOLERANCE = 0.02
"""Share by which two numbers may differ and still be one figure rounded twice (1008 and 1010 GB/s)."""

EXACTNESS = re.compile(r"[.-]")
"""What separates the parts of a version or a date."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One line of a claims file.

    Attributes:
        table: the table it speaks of, the file's name.
        key: finder -> value, without the ``@``.
        fields: column -> what the source says; empty cells left out.
        source: id of the source.
        place: ``cuda.csv:12``.
    """

    table: str
    key: dict[str, str]
    fields: dict[str, str]
    source: str
    place: str

    @property
    def name(self) -> str:
        """Its key in words: ``2.9.1 cuda12.8``."""
        return " ".join(value for value in self.key.values() if value not in {"", "true"})


@dataclass(slots=True)
class Compared:
    """How many rows of a table a second source speaks of, by identity."""

    total: int
    rows: set[int] = field(default_factory=set)


FINDERS: dict[str, Callable[[Any], tuple[str, ...]]] = {
    "version": lambda row: getattr(row, "versions", None) or (row.version,),
    "platform": lambda row: row.platforms,
    "reference": lambda row: row.references(),
    "minor": lambda row: (".".join(row.cuda.split(".")[:2]),),
    "distribution": lambda row: (row.install_name,),
    "runtime": lambda row: tuple(_coarser(row.runtime)),
    "toolkit": lambda row: (str(row.toolkit).lower(),),
    "local": lambda row: (row.local or "-",),
    "index": lambda row: (row.index or "-",),
    "published": lambda row: tuple(filter(None, (row.version, row.published, row.full_version))),
}
"""Columns that find a row by something else than a field of one value."""


def load(folder: Path = FOLDER) -> list[Claim]:
    """All claims of a folder, file by file.

    Raises:
        ValueError: a file is not in canonical spelling, or names a source that ``sources.csv`` lacks.
    """
    known = sources(folder)
    return [claim for path in sorted(folder.glob("*.csv")) if path.stem != "sources" for claim in _file(path, known)]


def sources(folder: Path = FOLDER) -> dict[str, str]:
    """Source id -> its address or name, and when it was read."""
    rows = list(csv.reader((folder / "sources.csv").read_text("utf-8").splitlines()))
    _canonical(folder / "sources.csv", rows)
    return dict(rows[1:])


def _file(path: Path, known: dict[str, str]) -> Iterator[Claim]:
    rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    _canonical(path, rows)
    header = rows[0]
    for number, cells in enumerate(rows[1:], 2):
        said = dict(zip(header, cells, strict=True))
        source = said.pop("source")
        if source not in known:
            raise ValueError(f"{path.name}:{number}: source {source!r} is not in sources.csv")
        key = {name[1:]: value for name, value in said.items() if name[0] == "@"}
        fields = {name: value for name, value in said.items() if name[0] != "@" and value}
        yield Claim(path.stem, key, fields, source, f"{path.name}:{number}")


def _canonical(path: Path, rows: list[list[str]]) -> None:
    """One spelling: sorted lines, each once, quoted only where needed."""
    if path.read_text("utf-8") != spelled(rows[0], rows[1:]):
        raise ValueError(f"{path.name}: not in canonical spelling: sorted lines, each once, quoted only where needed")


def spelled(header: list[str], rows: Iterable[list[str]]) -> str:
    """The text of a claims file in its one spelling."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *sorted({tuple(row) for row in rows})])
    return out.getvalue()


class Comparison:
    """Claims laid beside the rows of a matrix: the differences, and how far the second sources reach."""

    def __init__(self, table: Matrix) -> None:
        self._matrix = table
        self._indexes: dict[tuple[str, str], dict[str, list[Any]]] = {}
        self.reach: dict[str, Compared] = {}

    def differences(self, claims: Iterable[Claim]) -> Iterator[Difference]:
        """Every cell on which a claim and the row that it is about differ; ``row`` where there is no such row."""
        for claim in claims:
            found = self.rows(claim)
            self._reached(claim.table, found)
            if not found:
                yield _difference(claim, "row", "", "there")
            for name, theirs in claim.fields.items():
                yield from _differs(claim, name, theirs, found)

    def rows(self, claim: Claim) -> list[Any]:
        """The rows that all the claim's finders name; a finder without a value leaves the choice open."""
        (first, value), *rest = ((name, value) for name, value in claim.key.items() if value)
        found = self._index(claim.table, first).get(value, [])
        return [row for row in found if all(wanted in _values(row, name) for name, wanted in rest)]

    def _index(self, table: str, finder: str) -> dict[str, list[Any]]:
        if (table, finder) not in self._indexes:
            index = self._indexes.setdefault((table, finder), {})
            for row in self._all(table):
                for value in _values(row, finder):
                    index.setdefault(value, []).append(row)
        return self._indexes[table, finder]

    def _all(self, table: str) -> tuple[Any, ...]:
        found = (
            self._matrix.builds(table.partition(".")[2]) if table.startswith("builds.") else self._matrix.table(table)
        )
        return tuple(found)

    def _reached(self, table: str, found: list[Any]) -> None:
        compared = self.reach.setdefault(table, Compared(len(self._all(table))))
        compared.rows.update(id(row) for row in found)


def _values(row: Any, finder: str) -> tuple[str, ...]:
    if finder in FINDERS:
        return FINDERS[finder](row)
    value = getattr(row, finder)
    return tuple(value) if isinstance(value, tuple) else (str(value),)


def _coarser(runtime: str) -> Iterator[str]:
    """A runtime and what names it less exactly: ``rocm6.2.4``, ``rocm6.2``, ``rocm6``."""
    while runtime:
        yield runtime
        runtime = runtime.rpartition(".")[0]


def _differs(claim: Claim, name: str, theirs: str, found: list[Any]) -> Iterator[Difference]:
    """One difference per cell, however many rows share it; Pythons are those of all these rows together."""
    column, _, some = name.partition(".")
    told = {_value(row, column) for row in found}
    if column == "python" and all(isinstance(value, tuple) for value in told):
        told = {tuple(dict.fromkeys(python for pythons in told for python in pythons))} if told else told
    for ours in sorted(told, key=_text):
        if not agree(ours, theirs, bool(some)):
            yield _difference(claim, column, _text(ours), theirs)


def _value(row: Any, column: str) -> Any:
    """A cell of ours; requirements without markers and spaces, as claims spell them."""
    value = getattr(row, column)
    return tuple(map(bare, value)) if column == "requires" else value


@lru_cache(maxsize=65536)
def bare(line: str) -> str:
    """Name and specifier of a requirement alone, in one spelling: ``torch<3,>=2.0``."""
    requirement = Requirement(line.partition(";")[0])
    return f"{canonicalize_name(requirement.name)}{','.join(sorted(map(str, requirement.specifier)))}"


def _difference(claim: Claim, name: str, ours: str, theirs: str) -> Difference:
    return Difference(claim.table, claim.name, name, ours, theirs, claim.source)


def agree(ours: Any, theirs: str, some: bool = False) -> bool:
    """Whether a row's value and a claimed one say the same.

    Examples:
        >>> agree("8.9.7.29", "8.9"), agree(("3.9", "3.10"), "3.9", some=True), agree("", "R470")
        (True, True, False)
    """
    if isinstance(ours, tuple):
        said = set(theirs.split())
        return said <= set(ours) if some else said == set(ours) or (theirs == "-" and not ours)
    if isinstance(ours, bool):
        return theirs == str(ours).lower()
    if isinstance(ours, (int, float)):
        return abs(ours - float(theirs)) <= TOLERANCE * max(abs(ours), abs(float(theirs)))
    return theirs == (ours or "-") or (ours != "" and _less_exact(EXACTNESS.split(ours), EXACTNESS.split(theirs)))


def _less_exact(ours: list[str], theirs: list[str]) -> bool:
    shared = min(len(ours), len(theirs))
    return ours[:shared] == theirs[:shared]


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value or "")
