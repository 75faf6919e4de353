"""Where rows come from: live TOML in a checkout, compiled JSON in a wheel; both give the same tables.

A TOML file holds ``[sources]`` (id -> citation) and tables of rows. A row with ``rows`` in it is a group: what it says
is true of each row within. A long ``pattern`` is a list of pieces. Compiling splits all files into one JSON per table,
so that a command pays only for the tables it asks for. The compile step uses the standard library alone, because
it also runs inside the isolated build of the wheel.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from compat import tomls
from compat.errors import InputError
from compat.inputs import opened
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from compat.matrix.rows import Row

Raw = dict[str, Any]
_LIMIT: Final = 16 * 1024 * 1024  # bytes; the largest shipped file has one of them


def read_toml(path: Path) -> Raw:
    """Parse one TOML file.

    Raises:
        InputError: naming file and place, if it cannot be read or is not TOML.
    """
    return parse_toml(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The text of one file.

    Raises:
        InputError: naming the file, if it cannot be read or is not UTF-8.
    """
    try:
        with opened(path) as stream:  # of a device no more than the limit: it has no end to wait for
            raw = stream.read(_LIMIT + 1)
        if len(raw) > _LIMIT:
            raise InputError(f"is larger than {_LIMIT // 1024 // 1024} MiB", where=str(path))
        return raw.decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise InputError(f"not valid TOML: {error}", where=str(path)) from None


def parse_toml(text: str, where: str) -> Raw:
    """Parse the text of one TOML file, each row whole; ``where`` names it in errors.

    Raises:
        InputError: naming file and place, if it is not TOML.
    """
    document = tomls.parsed(text, where)
    for tables in (document, document.get("builds")):
        if isinstance(tables, dict):
            tables.update({name: _each(rows) for name, rows in tables.items() if isinstance(rows, list)})
    return document


def _each(table: list[Any]) -> list[Any]:
    """The rows of a table, those of a group with what it says once for all of them."""
    found: list[Any] = []
    for row in table:
        members = row.get("rows") if isinstance(row, dict) else None
        if isinstance(members, list) and members and all(isinstance(one, dict) for one in members):
            shared = {key: value for key, value in row.items() if key != "rows"}
            found += [{**shared, **one} for one in members]
        else:
            found.append(row)
    for row in found:
        pieces = row.get("pattern") if isinstance(row, dict) else None
        if isinstance(pieces, list) and all(isinstance(piece, str) for piece in pieces):
            row["pattern"] = "".join(pieces)
    return found


def tables_of(document: Mapping[str, Any]) -> dict[str, list[Raw]]:
    """The tables of one parsed file, ``builds.torch`` for nested ones; ``schema`` and ``sources`` are not tables."""
    tables: dict[str, list[Raw]] = {}
    for name, content in document.items():
        if name in {"schema", "sources"}:
            continue
        if isinstance(content, dict):
            tables.update({f"{name}.{inner}": rows for inner, rows in content.items()})
        else:
            tables[name] = content
    return tables


def digest(files: Iterable[tuple[str, str]]) -> str:
    """What tells one state of the matrix from another: ``sha256:`` and the hash of names and texts, in name order.

    Names are part of it and folders are not, so that a checkout and the wheel that is made from it agree.
    """
    import hashlib  # loads OpenSSL, which only compiling the matrix needs

    whole = hashlib.sha256()
    for name, text in sorted(files):
        for part in (name.encode(), text.encode()):
            whole.update(len(part).to_bytes(8, "big") + part)  # with lengths, no two lists of files look alike
    return f"sha256:{whole.hexdigest()}"


def compile_files(paths: Iterable[Path]) -> dict[str, str]:
    """Compiled form of the matrix: file name -> JSON text, sorted keys, no clock: equal input, equal bytes."""
    merged: dict[str, list[Raw]] = {}
    sources: dict[str, str] = {}
    paths = sorted(paths)
    for path in paths:
        document = read_toml(path)
        sources.update(document.get("sources", {}))
        for name, rows in tables_of(document).items():
            merged.setdefault(name, []).extend({**row, "origin": path.name} for row in rows)
    state = digest((path.name, read_text(path)) for path in paths)
    files: dict[str, Any] = {f"{name}.json": rows for name, rows in merged.items()}
    files |= {"sources.json": sources, "digest.json": state}
    return {
        name: json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        for name, body in files.items()
    }


# Files of the compiled form that hold no table.
_NO_TABLES: Final = frozenset({"sources", "digest"})


class Compiled:
    """Tables of a wheel: one JSON file each, read when first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> tuple[str, ...]:
        """All table names."""
        return tuple(sorted(path.stem for path in self._folder.glob("*.json") if path.stem not in _NO_TABLES))

    def rows(self, table: str) -> list[Raw]:
        """Raw rows of a table; none if the table does not exist."""
        path = self._folder / f"{table}.json"
        rows: list[Raw] = json.loads(path.read_bytes()) if path.is_file() else []
        return rows

    def sources(self) -> dict[str, str]:
        """Source id -> citation."""
        sources: dict[str, str] = json.loads((self._folder / "sources.json").read_bytes())
        return sources

    def digest(self) -> str:
        """The digest of the files that were compiled, as :func:`digest` gives it."""
        return str(json.loads((self._folder / "digest.json").read_bytes()))


def stated(row: Row) -> Raw:
    """A build's row as a file states it: lists of words in one text."""
    from dataclasses import fields

    from compat.matrix.rows import LISTS

    told = {item.name: getattr(row, item.name) for item in fields(row) if item.name not in {"package", "origin"}}
    return {
        name: (list(value) if name in LISTS else " ".join(value)) if isinstance(value, tuple) else value
        for name, value in told.items()
    }


class Held:
    """Tables that lie in memory.

    ``tables``: rows by table. ``cited``: source id -> citation.
    """

    def __init__(self, tables: Mapping[str, list[Raw]], cited: Mapping[str, str]) -> None:
        self._tables, self._cited = dict(tables), dict(cited)

    def names(self) -> tuple[str, ...]:
        """All table names."""
        return tuple(sorted(self._tables))

    def rows(self, table: str) -> list[Raw]:
        """Raw rows of a table; none if the table does not exist."""
        return self._tables.get(table, [])

    def sources(self) -> dict[str, str]:
        """Source id -> citation."""
        return self._cited

    def digest(self) -> str:
        """The digest of the rows."""
        return digest((name, json.dumps(self._tables[name], sort_keys=True)) for name in self.names())


class Live:
    """Tables of a checkout or of overlay files: TOML, each file parsed when a table that it may hold is asked for.

    ``origin`` says how a row names its file: the shipped ones by name, an overlay by its path.
    """

    def __init__(self, paths: Iterable[Path], *, origin: Callable[[Path], str] = lambda path: path.name) -> None:
        self._paths = tuple(sorted(paths))
        self._origin = origin

    def names(self) -> tuple[str, ...]:
        """All table names."""
        return tuple(sorted({name for path in self._paths for name in tables_of(_parsed(*_state(path)))}))

    def rows(self, table: str) -> list[Raw]:
        """Raw rows of a table; none if the table does not exist."""
        name = table.removeprefix("builds.")
        return [
            {**row, "origin": self._origin(path)}
            for path in self._paths
            if name in _headings(*_state(path))
            for row in _table(path, table)
        ]

    def sources(self) -> dict[str, str]:
        """Source id -> citation."""
        return {key: text for path in self._paths for key, text in _parsed(*_state(path)).get("sources", {}).items()}

    def digest(self) -> str:
        """The digest of the files as they are now."""
        return digest((path.name, _text(*_state(path))) for path in self._paths)


def _table(path: Path, table: str) -> list[Raw]:
    """The rows of one table of one file, which must be rows."""
    content = tables_of(_parsed(*_state(path))).get(table, [])
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise InputError(f"{table} is not a list of rows", where=str(path), hint="`envcheck matrix check` tells more")
    return content


def _state(path: Path) -> tuple[Path, int, int]:
    """What a parsed file is remembered by: it is read again when it has changed."""
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from None
    return path, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=256)
def _text(path: Path, _changed: int, _size: int) -> str:
    """The text of a file in a given state."""
    return read_text(path)


@lru_cache(maxsize=256)
def _parsed(path: Path, changed: int, size: int) -> Raw:
    """The parsed file in a given state; callers leave it as it is."""
    return parse_toml(_text(path, changed, size), str(path))


# Every line that may begin a table, be it ``torch = [``, ``builds.torch = [`` or ``[[builds.torch]]``.
_HEADING: Final = pattern(
    r"^[\s\[]{0,8}(?:\"?builds\"?\.)?[\"']?([^\s\"'=\[\]]{1,200})[\"']?[\s\]]{0,8}(?:=|$)", re.MULTILINE
)

_LISTED: Final = pattern(r"^\[\[(?:builds\.)?\"?([^\s\"\]]{1,200})\"?\]\]", re.MULTILINE)
_GROUP_OF_TABLES: Final = pattern(r"^[ \t]*\[[ \t]*(?!\[|sources[ \t]*\])", re.MULTILINE)


@lru_cache(maxsize=256)
def _headings(path: Path, changed: int, size: int) -> frozenset[str]:
    """Names of the tables that a file may hold, found without parsing it.

    Keys of a group, which begin their lines too, are no tables: ``requires`` of a build, ``cuda`` of an image.
    """
    text = _text(path, changed, size)
    head, _, rest = text.partition("\n[[")
    plain = head if not _GROUP_OF_TABLES.search(rest) else text
    return frozenset(_HEADING.findall(plain)) | frozenset(_LISTED.findall(text))
