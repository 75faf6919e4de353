"""``envcheck matrix check``: every fault of the matrix files at once, each with file, line, row and key.

Three rounds: the shape of each row (:mod:`compat.matrix.schema`), the spelling of each file
(:mod:`compat.matrix.canonical`), and the laws over all rows together (:mod:`compat.matrix.laws`). A row whose shape is
wrong is left out of the laws, so that one slip is told once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import compat.matrix.canonical as canonical
import compat.matrix.laws as laws
import compat.matrix.rows as rows
import compat.matrix.schema as schema
import compat.matrix.store as store
from compat import resources
from compat.errors import InputError, InputErrors
from compat.matrix import key_of, typed
from compat.matrix.laws.view import Placed, View, label

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# File, line and the error, so that faults can be told in the files' order.
Fault = tuple[str, int, InputError]


@dataclass(slots=True)
class _Book:
    """What reading the files brought to light."""

    faults: list[Fault] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)
    citations: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    cited: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)  # files with a row that has no shape

    def add(self, file: str, line: int, what: str, expected: str = "", hint: str = "") -> None:
        """Note a fault at a line of a file; line 0 means the file as a whole."""
        where = f"{file}:{line}" if line else file
        self.faults.append((file, line, InputError(what, where=where, expected=expected, hint=hint)))


def check(paths: Iterable[Path], *, beneath: Iterable[Path] | None = None) -> list[InputError]:
    """All faults of the files in ``paths``, in the files' order; none if they are fit to be used.

    ``paths``: the files to check: those of the shipped matrix, or somebody's overlay. ``beneath``: files that an
    overlay lies on; their rows count for the laws, their own faults are not told. By default the shipped files, unless
    one of them is itself among ``paths``.
    """
    paths = list(paths)
    below, book = _Book(), _Book()
    for path in sorted(_shipped_beneath(paths) if beneath is None else beneath):
        _read(path, below, spelling=False)
    book.citations.update(below.citations)
    inherited = set(below.citations)
    for path in sorted(paths):
        _read(path, book)
    _check_citations(book, inherited)
    _check_laws(book, below.placed)
    return [fault for _, _, fault in sorted(book.faults, key=lambda item: item[:2])]


def _shipped_beneath(paths: Iterable[Path]) -> list[Path]:
    """The shipped files, where what is checked lies outside their folder."""
    folder = resources.matrix_dir()
    own = any(path.resolve().parent == folder for path in paths)
    return [] if own else list(folder.glob("*.toml"))


def shape_faults(paths: Iterable[Path]) -> list[InputError]:
    """Faults in the shape of rows alone, for overlays in use: neither spelling nor laws, and no other file is read."""
    book = _Book()
    for path in paths:
        _read(path, book, spelling=False)
    return [fault for _, _, fault in book.faults]


def fix(path: Path) -> bool:
    """Rewrite a file in its canonical spelling; whether that changed it. A crash leaves the old file whole.

    Raises:
        InputErrors: if the file cannot be read, written, or holds what is no matrix: nothing can spell that.
    """
    if faults := shape_faults([path]):
        raise InputErrors(faults)
    text = store.read_text(path)
    better = canonical.canonical(text)
    if better == text:
        return False
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_text(better, "utf-8")
        fresh.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=str(path)) from None
    return True


def _read(path: Path, book: _Book, *, spelling: bool = True) -> None:
    """Shape and spelling of one file; what is sound goes into the book."""
    try:
        text = store.read_text(path)
        document = store.parse_toml(text, str(path))
    except InputError as fault:
        book.faults.append((str(path), 0, fault))
        return
    known = len(book.faults)
    layout = canonical.layout(text)
    _check_head(str(path), document, layout, book)
    for table, content in store.tables_of(document).items():
        _read_table(str(path), table, content, layout, book)
    if len(book.faults) > known:
        book.unread.add(str(path))
    elif spelling:  # what has no shape has no spelling
        _check_spelling(str(path), text, canonical.dump(document, layout.comments), book)


def _check_head(file: str, document: store.Raw, layout: canonical.Layout, book: _Book) -> None:
    """The schema line and the sources."""
    if document.get("schema") != canonical.SCHEMA:
        line = layout.lines.get(("schema",), 0)
        said = f"schema is {document['schema']!r:.60}" if "schema" in document else "schema is missing"
        book.add(file, line, said, f'schema = "{canonical.SCHEMA}"')
    sources = document.get("sources", {})
    if not isinstance(sources, dict):
        book.add(file, 0, f"sources is {sources!r:.60}", "a table of id and citation")
        return
    for key, citation in sources.items():
        line = layout.lines.get(("source", key), 0)
        if not isinstance(citation, str) or not citation:
            book.add(file, line, f"source {key} is {citation!r:.60}", "a citation")
        elif "; " in citation:
            book.add(file, line, f"source {key} holds a semicolon", "commas: semicolons part citations")
        elif book.citations.get(key, ("",))[0] not in {"", citation}:
            book.add(file, line, f"source {key} differs from that of {book.citations[key][1]}", "one citation per id")
        else:
            book.citations[key] = (citation, file, line)


def _read_table(file: str, table: str, content: Any, layout: canonical.Layout, book: _Book) -> None:
    """One table: its name must be known, its content a list of rows."""
    line = layout.lines.get(("table", table), 0)
    if table not in rows.TABLES and not table.startswith("builds."):
        book.add(file, line, f"{table} is not a table", f"builds.<package> or one of {', '.join(sorted(rows.TABLES))}")
    elif not isinstance(content, list):
        book.add(file, line, f"{table} is {content!r:.60}", "a list of rows")
    else:
        for number, raw in enumerate(content):
            _read_row(file, layout.lines.get(("row", table, number), line), table, raw, book)


def _read_row(file: str, line: int, table: str, raw: Any, book: _Book) -> None:
    """One row: its faults, or its typed value with the place it stands at."""
    faults = list(schema.row_faults(table, raw))
    for fault in faults:
        book.add(file, line, f"{_name(table, raw)}: {fault.key} {fault.what}".replace(":  ", ": "), fault.expected)
    if not faults:
        found = [Placed(table, row, raw, file, line) for row in typed(rows.row_type(table), raw, table)]
        book.placed.extend(found)
        for key in found[0].row.source if found else ():
            book.cited.add(key)
            book.citations.setdefault(key, ("", file, line))  # sources stand at the end: judged when all are read


def _check_citations(book: _Book, inherited: set[str]) -> None:
    """Every id cited has a citation, every citation is cited."""
    for key, (citation, file, line) in book.citations.items():
        if not citation:
            book.add(file, line, f"source {key} has no citation", "a line of [sources]")
        elif key not in book.cited and key not in inherited:
            book.add(file, line, f"source {key} is cited by no row", "a row that rests on it")


def _name(table: str, raw: Any) -> str:
    """What to call a row whose shape may be wrong: its table and the first words of its key."""
    keys = rows.KEYS[rows.row_type(table)][:2] if isinstance(raw, dict) else ()
    keys = tuple("versions" if key == "version" and table.startswith("builds.") else key for key in keys)
    words = [str(raw[key])[:60] for key in keys if raw.get(key)]
    return " ".join([table, *words])


def _check_spelling(file: str, text: str, better: str, book: _Book) -> None:
    """Compare with the canonical text and tell the first line that differs."""
    if text == better:
        return
    pairs = zip(text.splitlines(), better.splitlines(), strict=False)
    line = next((number for number, (left, right) in enumerate(pairs, 1) if left != right), len(better.splitlines()))
    shown = better.splitlines()[min(line, len(better.splitlines())) - 1]
    hint = "`envcheck matrix check --fix` rewrites it"
    book.add(file, line, "is not in canonical spelling", f"{shown[:100]!r}", hint)


def _check_laws(book: _Book, beneath: list[Placed]) -> None:
    """Tell the breaches of rows in the files under check; one row may break one law in several ways.

    What a file with a malformed row seems to lack a use for may be used by that very row: nothing is said of it.
    """
    own = {key_of(item.row): item for item in book.placed}
    replaced = {(item.table, key) for key, item in own.items()}
    view = View([*(item for item in beneath if (item.table, key_of(item.row)) not in replaced), *book.placed])
    files = {item.file for item in book.placed}
    told: set[tuple[str, int, str]] = set()
    for law, breach in laws.breaches(view):
        if law == "reachable" and breach.placed.file in book.unread:
            continue
        text = f"{label(breach.placed)}: {breach.key} {breach.what} [{law}]"
        place = (breach.placed.file, breach.placed.line, text)
        if breach.placed.file in files and place not in told:
            told.add(place)
            book.add(breach.placed.file, breach.placed.line, text, breach.expected)
