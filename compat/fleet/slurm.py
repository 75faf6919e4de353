"""``scontrol show node --json`` and ``sinfo --json``: generic resources, the system.

Source: Slurm, gres.conf(5) (``gpu:TYPE:COUNT``), rest_api (``v0.0.38_node``) and sinfo(1); until 22.05 sinfo prints the
nodes as scontrol does. A type is what the administrator or
NVML named it: it is taken for a product only where the matrix knows that name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from compat.fleet.records import Node
from compat.reading import devices, values
from compat.reading.systems import architecture
from compat.survey import Broken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.fleet.records import Record

_GRES: Final = re.compile(r"(?:^|,)gpu:(?:([A-Za-z][\w.+-]{0,80}):)?(\d{1,4})")
_RELEASE: Final = re.compile(r"Linux (\d+\.\d+\S{0,80})")


def nodes(document: Mapping[str, Any], _name: str, place: str) -> Iterator[Record]:
    """The nodes of the list."""
    for number, item in enumerate(document["nodes"]):
        where = f"{place} nodes[{number}]"
        try:
            yield Node(name=item["name"], place=where, facts=_facts(item))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            yield Broken(where, f"not a node: {type(error).__name__} {error}"[:200])


def groups(document: Mapping[str, Any], _name: str, place: str) -> Iterator[Record]:
    """The nodes of ``sinfo --json`` since 23.02: of each partition and state those that are alike."""
    for number, item in enumerate(document["sinfo"]):
        where = f"{place} sinfo[{number}]"
        try:
            facts = _facts({"gres": item["gres"]["total"]})
            yield from (Node(name=name, place=where, facts=facts) for name in item["nodes"]["nodes"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            yield Broken(where, f"no group of nodes: {type(error).__name__} {error}"[:200])


def _facts(item: Mapping[str, Any]) -> dict[str, Any]:
    """Architecture, kernel and GPUs of a node; GPUs without a type stay unknown."""
    found: dict[str, Any] = {}
    if arch := architecture(item.get("architecture") or ""):
        found["arch"] = arch
    if release := _RELEASE.match(item.get("operating_system") or ""):
        found |= {claim.fact: claim.value for claim in values.kernel_claims(release[1])}
    gpus = _GRES.findall(item.get("gres") or "")
    if gpus and all(kind for kind, _ in gpus):
        found["gpus"] = [{"name": _name(kind)} for kind, count in gpus for _ in range(min(int(count), devices.MOST))]
    elif not gpus and "gres" in item:
        found["gpus"] = []
    return found


def _name(kind: str) -> str:
    """A type as a product's name: NVML's autodetection writes it in small letters, with underscores for blanks."""
    return kind.replace("_", " ")
