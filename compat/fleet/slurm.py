"""``scontrol show node --json`` and ``sinfo --json``: generic resources, the system.

Source: Slurm, gres.conf(5) (``gpu:TYPE:COUNT``), rest_api (``v0.0.38_node``) and sinfo(1); until 22.05 sinfo prints the
nodes as scontrol does. A type is what the administrator or
NVML named it: it is taken for a product only where the matrix knows that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from compat.fleet.records import Node, Record, each
from compat.reading import devices, values
from compat.reading.systems import architecture

_GRES: Final = re.compile(r"(?:^|,)gpu:(?:([A-Za-z][\w.+-]{0,80}):)?(\d{1,4})")
_RELEASE: Final = re.compile(r"Linux (\d+\.\d+\S{0,80})")


def nodes(document: Mapping[str, Any], _name: str, place: str) -> Iterator[Record]:
    """The nodes of the list."""
    return each(
        document, "nodes", place, lambda item, where: iter([Node(name=item["name"], place=where, facts=_facts(item))])
    )


def groups(document: Mapping[str, Any], _name: str, place: str) -> Iterator[Record]:
    """The nodes of ``sinfo --json`` since 23.02: of each partition and state those that are alike."""
    return each(document, "sinfo", place, _group)


def _group(item: Mapping[str, Any], place: str) -> Iterator[Record]:
    facts = _facts({"gres": item["gres"]["total"]})
    yield from (Node(name=name, place=place, facts=facts) for name in item["nodes"]["nodes"])


def _facts(item: Mapping[str, Any]) -> dict[str, Any]:
    """Architecture, kernel and GPUs of a node; GPUs without a type stay unknown."""
    found: dict[str, Any] = {}
    if arch := architecture(item.get("architecture") or ""):
        found["arch"] = arch
    if release := _RELEASE.match(item.get("operating_system") or ""):
        found |= {claim.fact: claim.value for claim in values.kernel_claims(release[1])}
    gpus = _GRES.findall(item.get("gres") or "")
    if gpus and all(kind for kind, _ in gpus):
        # NVML's autodetection writes a product's name in small letters, with underscores for blanks
        named = [(kind.replace("_", " "), min(int(count), devices.MOST)) for kind, count in gpus]
        found["gpus"] = [{"name": name} for name, count in named for _ in range(count)]
    elif not gpus and "gres" in item:
        found["gpus"] = []
    return found
