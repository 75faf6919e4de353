"""Texts into documents, documents to the reader that knows their shape."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import compat.fleet.ansible as ansible
import compat.fleet.kubernetes as kubernetes
import compat.fleet.metrics as metrics
import compat.fleet.own as own
import compat.fleet.slurm as slurm
from compat import facts, reading, tomls
from compat.fleet.records import Node
from compat.survey import Broken
from compat.untrusted import json_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from compat.fleet.records import Record

    Reader = Callable[[Mapping[str, Any], str, str], Iterator[Record]]

# The name before a line, as clush -L, pdsh and srun --label print it.
_PREFIXED: Final = re.compile(r"([\w.-]{1,253}): (?=\{)")
_NAMED: Final = re.compile(r"([\w.-]{1,253}):(?: (.*))?")
_SEVERAL: Final = 4  # lines a node: a report has more, and a list of names with values has one each


def read(text: str, place: str) -> Iterator[Record]:
    """The nodes of one text: JSON, JSON lines, Prometheus' text format, a pasted report, or a host file in TOML.

    ``place``: what to call it in messages; the stem of its name stands for a node that has no other name.
    """
    stem = PurePath(place).stem
    start = text.lstrip()[:300]
    if start[:1] in {"{", "["} and (document := json_of(text)) is not None:
        for item in document if isinstance(document, list) else [document]:
            yield from _document(item, stem, place)
    elif start[:1] == "{" or _PREFIXED.match(start):
        yield from _lines(text, stem, place)
    elif metrics.is_exposition(start):
        yield from _whole(metrics.exposition(text, stem, place), place)
    else:
        yield from _text(text, stem, place)


def _lines(text: str, stem: str, place: str) -> Iterator[Record]:
    """JSON lines, each with or without the node's name before it."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        found = _PREFIXED.match(line)
        document = json_of(line[found.end() :] if found else line)
        if document is None:
            yield Broken(f"{place}:{number}", "not one JSON object")
        else:
            yield from _document(document, found[1] if found else f"{stem}:{number}", f"{place}:{number}")


def _text(text: str, stem: str, place: str) -> Iterator[Record]:
    """A host file written by hand, or pasted reports: one, or several, a name before each line."""
    try:
        document = tomls.loads(text)
    except (ValueError, RecursionError) as error:
        parts = _by_name(text) or {stem: text}
        told = {name: reading.read(part) for name, part in parts.items()}
        if not any(one.programs for one in told.values()):
            expected = "neither JSON, Prometheus' text format, a report of a known program nor a host file in TOML"
            yield Broken(place, f"{expected}: {error}")
            return
        for name, one in told.items():
            known = Node(name=name, place=place, facts=facts.dump(one.host))
            if "kubernetes" in one.programs:
                yield kubernetes.described(known, parts[name])
            else:
                yield known if one.programs else Broken(f"{place} ({name})", "no report of a known program")
    else:
        yield from own.report(document, stem, place)


def _by_name(text: str) -> dict[str, str]:
    """The lines of each node, where every line has a name before it and each name has several; else nothing."""
    told = [_NAMED.fullmatch(line) for line in text.splitlines() if line.strip()]
    lines: dict[str, list[str]] = {}
    for one in told:
        if one is None:
            return {}
        lines.setdefault(one[1], []).append(one[2] or "")
    return {name: "\n".join(part) for name, part in lines.items()} if len(told) >= _SEVERAL * len(lines) else {}


# A key that only this kind of document has -> its reader.
_READERS: Final[Mapping[str, Reader]] = {
    "nodes": slurm.nodes,
    "sinfo": slurm.groups,
    "items": kubernetes.nodes,
    "metadata": kubernetes.node,
    "data": metrics.answer,
    "ansible_facts": ansible.setup,
    "plays": ansible.plays,
}


def _document(document: Any, name: str, place: str) -> Iterator[Record]:
    """The nodes of one document; a shape that its reader does not know makes one broken record."""
    if not isinstance(document, dict):
        yield Broken(place, "not a JSON object")
        return
    reader: Reader = own.report
    if "schema" not in document:
        reader = next((one for key, one in _READERS.items() if key in document), own.report)
    yield from _whole(reader(document, name, place), place)


def _whole(records: Iterator[Record], place: str) -> Iterator[Record]:
    """The records, until their reader meets what it cannot read: then one that is broken."""
    try:
        for record in records:
            if isinstance(record, Node) and not (isinstance(record.facts, dict) and isinstance(record.name, str)):
                yield Broken(record.place, "a name that is no text, or facts that are no object")
            else:
                yield record
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        yield Broken(place, f"not what it looks like: {type(error).__name__} {error}"[:200])
