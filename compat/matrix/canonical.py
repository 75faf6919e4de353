"""The one spelling of a matrix file: load it, dump it, and the bytes are equal.

A row stays on one line where it is short. A table with a long row is written in groups: what neighbouring rows share
is said once, above them. Keys stand in the order of :mod:`compat.matrix.rows`, what equals its default is left out, and
``[sources]`` comes last. Comments are kept above the table, the row or the source that they stood above (or beside).
So a diff of two files is a diff of facts, and a machine may rewrite a file that a person wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, field, fields
from functools import lru_cache
from typing import Any, Final

import compat.matrix.rows as rows
import compat.matrix.store as store
from compat.lazy import dataclass, pattern

SCHEMA: Final = "envcheck.matrix/1"

# What a comment stands above: ``("table", name)``, ``("row", table, n)``, ``("source", id)``, ``("schema",)`` ...
Anchor = tuple[Any, ...]

_TOKEN: Final = pattern(
    r"\"\"\"[^\"\\]*(?:(?:\\.|\"(?!\"\"))[^\"\\]*)*\"\"\"|'''.*?'''"  # texts over several lines
    r"|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'"  # texts on one line
    r"|#[^\n]*|[\[\]{}=,]|\n|[^\s\"'#\[\]{}=,]+",
    re.DOTALL,
)
_BARE: Final = pattern(r"[A-Za-z0-9_-]+")
_PART: Final = pattern(r"(?:\\.|[^\\|]){1,100}\|?|\||\\", re.DOTALL)
_WIDEST: Final = 236
"""Characters of a row on one line; a longer one makes its table one of groups."""
_WIDE: Final = 116
"""Characters of a key and its value within a group; a longer list is wrapped."""
_LAST: Final = ("source", "how", "inferred", "exempt", "note")


@dataclass(slots=True)
class Layout:
    """What parsing forgets: comments, and the line that each anchor starts on (counted from 1)."""

    comments: dict[Anchor, list[str]] = field(default_factory=dict)
    lines: dict[Anchor, int] = field(default_factory=dict)


class _Reader:
    """One walk over the tokens of a text that is known to be TOML."""

    def __init__(self) -> None:
        self.layout = Layout()
        self._header, self._array, self._depth, self._line = "", "", 0, 1
        self._key: list[str] = []
        self._waiting: list[str] = []
        self._rows: dict[str, int] = {}
        self._here: Anchor = ()
        self._fresh = True  # nothing but space since the line began

    def read(self, text: str) -> Layout:
        """The layout of a whole text."""
        in_header = False
        for token in _TOKEN.findall(text):
            if token == "\n":
                in_header = self._newline(in_header)
            elif token.startswith("#"):
                self._comment(token)
            elif self._depth == 0 and self._fresh and token == "[":
                in_header, self._fresh = True, False
            elif in_header:
                self._key.extend(token if token not in {"[", "]"} else "")
            else:
                self._content(token)
            self._line += token.count("\n")
        self._anchor(("end",))
        return self.layout

    def _newline(self, in_header: bool) -> bool:
        """The end of a line: a header is complete, a key without a value is dropped."""
        if in_header:
            self._header, self._key = "".join(self._key), []
            if self._is_array_of_tables():
                self._row(self._header)
        elif self._depth == 0:
            self._key = []
        self._fresh = True
        return False

    def _is_array_of_tables(self) -> bool:
        """Whether the header just read begins a row rather than a group of keys."""
        return self._header not in {"sources", "builds"}

    def _comment(self, token: str) -> None:
        """A comment on a line of its own waits for what follows; one beside a row belongs to that row."""
        if self._fresh or not self._here:
            self._waiting.append(token)
        else:
            self.layout.comments.setdefault(self._here, []).append(token)

    def _content(self, token: str) -> None:
        """A token that is neither comment nor line end: part of a key, of a bracket pair or of a value."""
        if self._depth == 0 and token == "=":
            self._name("".join(self._key).replace('"', "").replace("'", ""))
        elif self._depth == 0:
            self._key.append(token)
        if self._depth == 1 and token == "{" and self._array:
            self._row(self._array)
        self._depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token, 0)
        self._fresh = False

    def _name(self, key: str) -> None:
        """A key is complete: it names a source, the schema, or a table whose rows follow."""
        self._key, self._array = [], ""
        if key == "rows" and self._is_array_of_tables() and self._header:
            self._array = self._header
            self._rows[self._header] -= 1  # the group is no row of its own
        elif self._header == "sources" or key.startswith("sources."):
            self._anchor(("source", key.removeprefix("sources.")))
        elif key == "schema":
            self._anchor(("schema",))
        elif self._header in {"", "builds"}:
            self._array = f"{self._header}.{key}".lstrip(".")
            self._anchor(("table", self._array))

    def _row(self, table: str) -> None:
        """A row begins; rows of a table are counted in the order of the file."""
        number = self._rows.get(table, 0)
        self._rows[table] = number + 1
        self._anchor(("row", table, number))

    def _anchor(self, anchor: Anchor) -> None:
        """Something begins that a comment can stand above."""
        self._here = anchor
        self.layout.lines[anchor] = self._line
        if self._waiting:
            self.layout.comments.setdefault(anchor, []).extend(self._waiting)
            self._waiting = []


def layout(text: str) -> Layout:
    """Comments and line numbers of a matrix file whose text is known to be valid TOML."""
    return _Reader().read(text)


def canonical(text: str) -> str:
    """The canonical spelling of a matrix file's text.

    Raises:
        InputError: if the text is not TOML.
    """
    return dump(store.parse_toml(text, "matrix file"), layout(text).comments)


def dump(document: Mapping[str, Any], comments: Mapping[Anchor, list[str]] | None = None) -> str:
    """The text of a parsed file: schema, tables in the order given, those in groups behind, sources by id."""
    notes = comments or {}
    parts = ["\n".join([*notes.get(("schema",), []), f"schema = {_text(document.get('schema', SCHEMA))}"])]
    tables = store.tables_of(document)
    grouped = [name for name, content in tables.items() if is_grouped(name, content)]
    if grouped:
        tables = {name: tables[name] for name in sorted(tables, key=lambda name: name.startswith("builds."))}
        grouped.sort(key=lambda name: name.startswith("builds."))
    parts += ["\n".join(_table(name, content, notes)) for name, content in tables.items() if name not in grouped]
    parts += [part for name in grouped for part in groups(name, tables[name], notes)]  # TOML has these last
    sources = document.get("sources", {})
    parts.append("\n".join(["[sources]", *_sources(sources, notes)]) if sources else "")
    parts.append("\n".join(notes.get(("end",), [])))
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(name: str, content: Iterable[store.Raw], notes: Mapping[Anchor, list[str]]) -> Iterator[str]:
    """The lines of one table, comments above what they are about."""
    yield from notes.get(("table", name), [])
    yield f"{'.'.join(map(_key, name.split('.', 1)))} = ["
    for number, row in enumerate(content):
        yield from (f"  {line}" for line in notes.get(("row", name, number), []))
        yield f"  {row_text(name, row)},"
    yield "]"


def is_grouped(name: str, content: Iterable[Any]) -> bool:
    """Whether a table is written in groups: one of its rows is long."""
    whole = all(isinstance(row, dict) for row in content)
    return whole and any(len(row_text(name, row)) > _WIDEST for row in content)


def groups(name: str, content: list[store.Raw], notes: Mapping[Anchor, list[str]]) -> Iterator[str]:
    """A table in groups, each a text of several lines."""
    stated = [cells(name, row) for row in content]
    number = 0
    heading = f"[[{'.'.join(map(_key, name.split('.', 1)))}]]"
    while number < len(stated):
        run, shared = _run(
            stated, number, ("requires",) if name.startswith("builds.") else ("source", "how", "inferred")
        )
        lines = [*notes.get(("table", name), [])] if number == 0 else []
        lines += [*notes.get(("row", name, number), []), heading]
        lines += [_wrapped(key, value, _shape(name).words) for key, value in shared.items()]
        if run > 1:
            lines.append("rows = [")
            for at in range(number, number + run):
                lines += [f"  {line}" for line in notes.get(("row", name, at), []) if at > number]
                lines.append(f"  {_inline({key: item for key, item in stated[at].items() if key not in shared})},")
            lines.append("]")
        yield "\n".join(lines)
        number += run


def _run(cells: list[store.Raw], start: int, by: tuple[str, ...]) -> tuple[int, store.Raw]:
    """How many rows from ``start`` on make a group, and what they share.

    They are alike in the keys ``by``, and what is left of each fits a line.
    """
    first = shared = cells[start]
    run = 1
    for row in cells[start + 1 :]:
        if any(row.get(key) != first.get(key) for key in by):
            break
        common = {key: value for key, value in shared.items() if key in row and row[key] == value}
        members = [row] if len(common) == len(shared) else [*cells[start : start + run], row]
        if any(len(_inline({k: v for k, v in one.items() if k not in common})) > _WIDEST for one in members):
            break
        run, shared = run + 1, common
    return run, shared


def _wrapped(key: str, value: Any, words: frozenset[str]) -> str:
    """A key and its value on a line; a long list on several."""
    line = f"{_key(key)} = {_text(value)}"
    if key == "pattern" and len(line) > _WIDE:
        return "\n".join([f"{key} = [", *(f"  {_text(piece)}," for piece in _pieces(str(value))), "]"])
    items = value.split() if key in words and isinstance(value, str) else value
    if len(line) > _WIDEST and isinstance(items, str):
        return _sentence(line)
    if len(line) <= _WIDE or not isinstance(items, list) or not items:
        return line
    lines = _filled([f"{_text(item)}," for item in items])
    return "\n".join([f"{_key(key)} = [", *(f"  {one}" for one in lines), "]"])


def _pieces(pattern: str) -> list[str]:
    """A regular expression in pieces, which :mod:`compat.matrix.store` joins; they end with ``|`` where they can."""
    pieces = [""]
    for part in _PART.findall(pattern):
        if pieces[-1] and len(pieces[-1]) + len(part) > _WIDE - 6:
            pieces.append("")
        pieces[-1] += part
    return pieces


def _sentence(line: str) -> str:
    """A key and a long basic text: its lines end with a backslash, which TOML drops with the line's end.

    A text that has no words to part, or that backslashes would change, stays on one line.
    """
    key, _, text = line.partition(" = ")
    words = text[1:-1].split(" ")
    if text[0] != '"' or "\\" in text or "" in words or len(words) == 1:
        return line
    return f'{key} = """\\\n' + " \\\n".join(f"  {one}" for one in _filled(words)) + '"""'


def _filled(words: Iterable[str]) -> list[str]:
    """Words in lines that are no wider than they should be."""
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > _WIDE - 4 and lines[-1]:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _sources(sources: Mapping[str, str], notes: Mapping[Anchor, list[str]]) -> Iterator[str]:
    """The lines of the sources, sorted: their order says nothing."""
    for key in sorted(sources):
        yield from notes.get(("source", key), [])
        yield _wrapped(key, sources[key], frozenset())


def row_text(table: str, row: Mapping[str, Any]) -> str:
    """One row as an inline table, without ``origin`` and without what equals its default."""
    return _inline(cells(table, row))


def cells(table: str, row: Mapping[str, Any]) -> store.Raw:
    """What a row states, in order and in plain spelling."""
    shape = _shape(table)
    cells = {key: _plain(key, value, shape) for key, value in row.items() if key != "origin"}
    kept = {key: value for key, value in cells.items() if value != shape.defaults.get(key, MISSING)}
    order = [key for key in shape.defaults if key in kept] + [key for key in kept if key not in shape.defaults]
    return {key: kept[key] for key in order}


def _inline(cells: Mapping[str, Any]) -> str:
    """Cells as an inline table."""
    return "{ " + ", ".join(f"{_key(key)} = {_text(value)}" for key, value in cells.items()) + " }"


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a table's rows are spelled: keys in order with the plain spelling of their default, and which hold words."""

    defaults: Mapping[str, Any]
    words: frozenset[str]


@lru_cache
def _shape(table: str) -> _Shape:
    """The shape of a table's rows; an unknown table has none, so that its rows are left as they are."""
    try:
        shape = rows.row_type(table)
    except KeyError:
        return _Shape({}, frozenset())
    hidden = {"origin", "package"} if shape is rows.Build else {"origin"}  # what the loader fills in
    parts = {item.name: item for item in fields(shape) if item.name not in hidden}
    words = frozenset(
        key for key, item in parts.items() if str(item.type).startswith("tuple") and key not in rows.LISTS
    )
    order = [key for key in parts if key not in _LAST] + [key for key in _LAST if key in parts]
    return _Shape({key: _default(key, parts[key].default, words) for key in order}, words)


def _default(key: str, default: Any, words: frozenset[str]) -> Any:
    """A default in the spelling of the file, to compare with."""
    if isinstance(default, tuple):
        return " ".join(default) if key in words else list(default)
    return default


def _plain(key: str, value: Any, shape: _Shape) -> Any:
    """A list of words as one text, where the field is spelled so; a whole float as an integer."""
    if key in shape.words:
        return _words(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _words(value: Any) -> Any:
    """Words in one text; a list whose items hold spaces is left for the check to complain of."""
    if isinstance(value, str):
        return " ".join(value.split())
    plain = isinstance(value, list) and all(isinstance(item, str) and " " not in item for item in value)
    return " ".join(value) if plain else value


def _key(key: str) -> str:
    """A key, quoted only where TOML asks for it."""
    return key if _BARE.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    """A basic string of TOML: JSON's spelling, but TOML forbids a bare DEL too (toml.io, "String")."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(value: Any) -> str:
    """A value in TOML: quotes and backslashes make a literal text, so that patterns stay readable."""
    if isinstance(value, str):
        literal = ("\\" in value or '"' in value) and "'" not in value and value.isprintable()
        return f"'{value}'" if literal else _quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_text(item)}" for key, item in value.items()) + " }"
    return str(value)
