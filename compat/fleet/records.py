"""The records that readers give."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from compat.lazy import dataclass
from compat.survey import Broken

if TYPE_CHECKING:
    from collections.abc import Mapping


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
