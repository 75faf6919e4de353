"""The records that readers give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from compat.lazy import dataclass
from compat.survey import Broken


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding as the node itself reported it."""

    code: str
    severity: str = "error"
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What one source says of one node.

    Attributes:
        name: name of the node.
        place: where it was read.
        facts: host document, as :func:`compat.facts.load` takes it.
        findings: what the doctor found on the node; ``None`` where it was not asked there.
        checked: whether the doctor could check anything there.
        instance: the cloud's instance type, which tells the GPUs where nothing else does.
    """

    name: str
    place: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Seen, ...] | None = None
    checked: bool = True
    instance: str = ""


Record = Node | Broken


def each(
    document: Mapping[str, Any], key: str, place: str, read: Callable[[Any, str], Iterator[Record]]
) -> Iterator[Record]:
    """The nodes of a document's list by a reader of one entry and its place; what is no such entry is broken."""
    for number, item in enumerate(document[key]):
        where = f"{place} {key}[{number}]"
        try:
            yield from read(item, where)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            yield Broken(where, f"not a node: {type(error).__name__} {error}"[:200])
