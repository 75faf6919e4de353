"""What ``envcheck doctor`` and ``envcheck host`` print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from compat.fleet.records import Node, Record, Seen


def report(document: Mapping[str, Any], name: str, place: str) -> Iterator[Record]:
    """``envcheck.doctor/1``: the facts, and what was found with them on the node; else a host document, maybe a part.

    Raises:
        ValueError: for a document of another schema.
    """
    schema = document.get("schema", "envcheck.host/1")
    if schema == "envcheck.host/1":
        yield Node(name=name, place=place, facts=document)
        return
    if schema != "envcheck.doctor/1":
        raise ValueError(f"schema {schema!r:.60}, expected envcheck.doctor/1 or envcheck.host/1")
    told = (tuple(str(item[key]) for key in ("code", "severity", "detail")) for item in document["findings"])
    found = tuple(Seen(*one) for one in told)
    checked = document["summary"]["ok"] is not None
    name = str(document.get("node", name))
    yield Node(name=name, place=place, facts=document["facts"], findings=found, checked=checked)
