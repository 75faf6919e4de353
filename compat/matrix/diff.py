"""What changed between two matrices, in words: ``torch 2.16.0 added: cuda13.0 cuda13.2; drops sm_70``."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from compat.lazy import dataclass
from compat.matrix import Matrix, key_of
from compat.matrix.listing import by_release, cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compat.matrix.rows import Build, Row

_SILENT: Final = frozenset({"origin", "package", "versions"})
_LONGEST: Final = 90  # longer values are told as changed, not quoted


@dataclass(frozen=True, slots=True)
class Change:
    """One change: the table it is in, what changed, and how, as one line of text."""

    table: str
    subject: str
    words: str

    def __str__(self) -> str:
        return f"{self.subject} {self.words}"


def diff(old: Matrix, new: Matrix) -> tuple[Change, ...]:
    """Every change from ``old`` to ``new``, frameworks first, then table by table; empty if they say the same."""
    names = sorted({*old.names(), *new.names()}, key=lambda name: (not name.startswith("builds."), name))
    return tuple(change for name in names for change in _table(name, old, new))


def _table(name: str, old: Matrix, new: Matrix) -> Iterator[Change]:
    """Changes of one table, row by row."""
    if name.startswith("builds."):
        yield from _builds(name, by_release(old.table(name)), by_release(new.table(name)))
        return
    before, after = _by_key(old.table(name)), _by_key(new.table(name))
    for key in (key for key in before if key not in after):
        yield Change(name, _subject(name, key), "removed")
    for key, row in after.items():
        if key not in before:
            yield Change(name, _subject(name, key), f"added{_first_facts(row)}")
        elif words := _changed(before[key], row):
            yield Change(name, _subject(name, key), words)


def _by_key(rows: Iterable[Row]) -> dict[tuple[Any, ...], Row]:
    """Rows by what tells them apart."""
    return {key_of(row): row for row in rows}


def _subject(name: str, key: tuple[Any, ...]) -> str:
    """What to call a row: its table and its key."""
    return " ".join([name, *(text for text in map(cell, key) if text)])


def _first_facts(row: Row) -> str:
    """The first few things that a new row states, beside its key."""
    known = {id(value) for value in key_of(row)}
    stated = [
        f"{item.name} {cell(getattr(row, item.name))}"
        for item in fields(row)
        if item.name not in _SILENT | {"source", "how", "inferred", "exempt", "note"}
        and id(getattr(row, item.name)) not in known
        and cell(getattr(row, item.name))
    ]
    return f": {', '.join(stated[:3])}" if stated else ""


def _changed(before: Row, after: Row) -> str:
    """The fields in which two rows differ, with both values; empty if in none."""
    names = [item.name for item in fields(before) if item.name not in _SILENT]
    return "; ".join(words for name in names if (words := _from_to(name, getattr(before, name), getattr(after, name))))


def _from_to(name: str, before: Any, after: Any) -> str:
    """How one field changed; lists by what they lose and gain."""
    if before == after:
        return ""
    if isinstance(before, tuple):
        gone = [item for item in before if item not in after]
        come = [item for item in after if item not in before]
        parts = [f"drops {_shown(gone)}"] * bool(gone) + [f"adds {_shown(come)}"] * bool(come)
        return f"{name}: {', '.join(parts) or 'another order'}"
    left, right = cell(before), cell(after)
    if max(len(left), len(right)) > _LONGEST:
        return f"{name} changed"
    return f"{name} {left or 'not stated'} -> {right or 'not stated'}"


def _shown(items: Sequence[str]) -> str:
    """Items in a line of bearable length."""
    text = " ".join(items)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(items)})"


def _builds(name: str, old: dict[str, list[Build]], new: dict[str, list[Build]]) -> Iterator[Change]:
    """Changes of one package, release by release."""
    package = name.removeprefix("builds.")
    for version in (version for version in old if version not in new):
        yield Change(name, f"{package} {version}", "removed")
    releases = list(new)
    for number, version in enumerate(releases):
        if version in old:
            yield from _release(name, f"{package} {version}", old[version], new[version])
        else:
            previous = new[releases[number - 1]] if number else []
            yield Change(name, f"{package} {version}", _added(new[version], previous))


def _added(builds: Sequence[Build], previous: Sequence[Build]) -> str:
    """A new release: its variants, and what it no longer has of the release before it."""
    parts = [f"added: {', '.join(_gathered(builds, 'runtime')) or 'no GPU code'}"]
    for field, word in (("kernels", ""), ("python", "Python "), ("platforms", "")):
        before, after = _gathered(previous, field), _gathered(builds, field)
        if gone := [item for item in before if item not in after and after]:
            parts.append(f"drops {word}{_shown(gone)}")
        if before and (come := [item for item in after if item not in before]):
            parts.append(f"brings {word}{_shown(come)}")
    return "; ".join(parts)


def _gathered(builds: Iterable[Build], field: str) -> list[str]:
    """The values of a field over several builds, in order, each once."""
    found: dict[str, None] = {}
    for build in builds:
        value = getattr(build, field)
        found.update(dict.fromkeys(value if isinstance(value, tuple) else (value,)))
    return [item for item in found if item and item != "-"]


def _release(name: str, subject: str, old: Sequence[Build], new: Sequence[Build]) -> Iterator[Change]:
    """Builds that came, went or changed within a release; a build is told apart by what one asks an index for."""
    before, after = {_variant(build): build for build in old}, {_variant(build): build for build in new}
    for key in (key for key in before if key not in after):
        yield Change(name, f"{subject} {' '.join(key)}", "build removed")
    for key, build in after.items():
        if key not in before:
            yield Change(name, f"{subject} {' '.join(key)}", f"build added for {cell(build.platforms)}")
        elif words := _changed(before[key], build):
            yield Change(name, f"{subject} {' '.join(key)}", words)


def _variant(build: Build) -> tuple[str, ...]:
    """What one asks an index for to get this build."""
    parts = (build.runtime, build.local, build.index, cell(build.platforms), build.distribution, cell(build.extras))
    return tuple(part for part in parts if part)
