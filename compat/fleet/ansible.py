"""Ansible: facts of ``setup`` (``--tree`` writes a file a host), and a play's results by the ``json`` callback.

Sources: ansible.builtin.setup (facts, ``ansible_local``), ansible.posix.json (callback). ``setup`` knows no GPU: a
local fact called ``envcheck`` that holds a host document does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import compat.fleet.own as own
from compat.fleet.records import Node, Record
from compat.reading.systems import architecture, spelling


def setup(document: Mapping[str, Any], name: str, place: str) -> Iterator[Record]:
    """One host's facts; the file that ``--tree`` writes is named like the host."""
    facts = document["ansible_facts"]
    local = (facts.get("ansible_local") or {}).get("envcheck")
    yield Node(name=name, place=place, facts=local if isinstance(local, dict) else _facts(facts))


def _facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The system, as far as ``setup`` tells it."""
    system = f"{facts.get('ansible_distribution', '')} {facts.get('ansible_distribution_version', '')}"
    found = {
        "os": spelling(system),
        "kernel": facts.get("ansible_kernel"),
        "arch": architecture(facts.get("ansible_architecture", "")),
        "platform": str(facts.get("ansible_system", "")).lower(),
    }
    return {key: value for key, value in found.items() if value}


def plays(document: Mapping[str, Any], _name: str, place: str) -> Iterator[Record]:
    """What each host of a play printed or has as facts; results of other tasks say nothing."""
    for play in document["plays"]:
        for task in play["tasks"]:
            for name, result in task["hosts"].items():
                yield from _result(result, name, f"{place} {name}")


def _result(result: Mapping[str, Any], name: str, place: str) -> Iterator[Record]:
    """One host's result of one task: a report that was printed, or facts."""
    said = str(result.get("stdout", ""))
    if said.startswith("{"):
        yield from own.report(json.loads(said), name, place)
    elif "ansible_facts" in result:
        yield from setup(result, name, place)
