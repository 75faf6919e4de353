"""All rows with the place each stands at, and the sets that several laws ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import compat.matrix.rows as rows
from compat import targets, versions
from compat.lazy import dataclass


@dataclass(frozen=True, slots=True)
class Placed:
    """One row and where it stands; a build stands once per release.

    Attributes:
        table: name of its table.
        row: the typed row.
        raw: what the file says.
        file: path of the file.
        line: its line, counted from 1; 0 if not known.
    """

    table: str
    row: Any
    raw: Mapping[str, Any]
    file: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Breach:
    """A row that breaks a law: the key that does, what it says, and what the law expects."""

    placed: Placed
    key: str
    what: str
    expected: str = ""


class View:
    """The rows of all files together, as the laws see them."""

    def __init__(self, placed: Iterable[Placed]) -> None:
        self._tables: dict[str, list[Placed]] = {}
        for item in placed:
            self._tables.setdefault(item.table, []).append(item)
        self._keys: dict[str, frozenset[str]] = {}

    def of(self, table: str) -> list[Placed]:
        """The placed rows of a table, in the files' order."""
        return self._tables.get(table, [])

    def keys(self, table: str) -> frozenset[str]:
        """What others name the rows of a table by: the first field of their key, images by their references."""
        if table not in self._keys:
            self._keys[table] = frozenset(name for item in self.of(table) for name in _names(item.row))
        return self._keys[table]

    def names(self) -> tuple[str, ...]:
        """All tables that have rows."""
        return tuple(self._tables)

    def builds(self) -> dict[str, list[Placed]]:
        """Package -> its builds, one per release."""
        return {name.removeprefix("builds."): items for name, items in self._tables.items() if name[:7] == "builds."}

    @cached_property
    def toolkits(self) -> dict[str, set[str]]:
        """CUDA minor of a published toolkit -> targets that any of its releases accepts."""
        found: dict[str, set[str]] = {}
        for item in self.of("cuda"):
            if item.row.toolkit:
                found.setdefault(versions.minor(item.row.cuda), set()).update(item.row.targets)
        return found

    @cached_property
    def toolkit_versions(self) -> set[str]:
        """Full CUDA releases that were published as a toolkit."""
        return {item.row.cuda for item in self.of("cuda") if item.row.toolkit}

    @cached_property
    def gfx(self) -> set[str]:
        """AMD targets, generic ones included."""
        return {name for item in self.of("gfx") for name in (item.row.gfx, item.row.generic) if name}

    @cached_property
    def intel(self) -> set[str]:
        """Names of code for Intel devices, SPIR-V included; empty if nothing is said of them."""
        found = {name for item in self.of("intel") for name in item.row.runs}
        return found | {targets.SPIRV} if found else found

    @cached_property
    def capabilities(self) -> set[str]:
        """Compute capabilities as targets, ``sm_89``."""
        return {f"sm_{item.row.cc.replace('.', '')}" for item in self.of("capabilities")}


def _names(row: Any) -> tuple[str, ...]:
    if isinstance(row, rows.Image):
        return row.references()
    return getattr(row, rows.KEYS[type(row)][0]), *(row.aliases if isinstance(row, rows.System) else ())


def label(placed: Placed) -> str:
    """What to call a row in a message: its table and the first fields of its key, ``cuda 12.8.1``."""
    keys = rows.KEYS[type(placed.row)]
    shown = [getattr(placed.row, key) for key in keys[:2]]
    words = [" ".join(item) if isinstance(item, tuple) else str(item) for item in shown]
    return " ".join([placed.table, *(word for word in words if word)])
