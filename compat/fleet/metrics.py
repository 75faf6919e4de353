"""Prometheus: results of a query, and the text format; series of DCGM exporter and our own.

Sources: Prometheus, "HTTP API" (instant queries) and "Exposition formats"; NVIDIA/dcgm-exporter, pkg/dcgmexporter
(labels ``Hostname``, ``modelName``, ``UUID``, ``DCGM_FI_DRIVER_VERSION``); :mod:`compat.render.monitoring`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from compat.fleet.records import Node, Record, Seen
from compat.reading import devices

_SAMPLE: Final = re.compile(r"([A-Za-z_:]\w{0,200})\{([^\n]{0,4000})\}\s+(\S{1,40})")
_LABEL: Final = re.compile(r'(\w{1,100})="((?:[^"\\]|\\.){0,1000})"')
_ESCAPED: Final = re.compile(r"\\(.)")
_MACHINE: Final = ("os", "arch", "driver", "driver_cuda", "amdgpu", "python")  # labels of envcheck_host_info
# Labels that name the node, the surest first.
_NAMES: Final = ("node", "Hostname", "exported_instance", "instance")


def is_exposition(start: str) -> bool:
    """Whether a text begins as the text format does."""
    return start.startswith(("# HELP ", "# TYPE ")) or bool(_SAMPLE.match(start.partition("\n")[0]))


def exposition(text: str, name: str, place: str) -> Iterator[Record]:
    """The nodes of a text in Prometheus' format; series without a node's name belong to the file's."""
    series: list[tuple[Mapping[str, str], str]] = []
    for found in map(_SAMPLE.match, text.splitlines()):
        if found:
            labels = {key: _ESCAPED.sub(r"\1", value) for key, value in _LABEL.findall(found[2])}
            series.append(({"__name__": found[1], **labels}, found[3]))
    yield from _nodes(series, name, place)


def answer(document: Mapping[str, Any], name: str, place: str) -> Iterator[Record]:
    """The nodes of a query's result."""
    series = [(item["metric"], str((item.get("value") or ["", "1"])[1])) for item in document["data"]["result"]]
    yield from _nodes(series, name, place)


def _nodes(series: list[tuple[Mapping[str, str], str]], name: str, place: str) -> Iterator[Record]:
    """One record for each node that series tell of."""
    mine: dict[str, list[tuple[Mapping[str, str], str]]] = {}
    for labels, value in series:
        called = next((labels[key] for key in _NAMES if labels.get(key)), name)
        mine.setdefault(re.sub(r":\d+$", "", called), []).append((labels, value))
    for called, told in mine.items():
        found = [
            Seen(labels.get("code", ""), labels.get("severity", "error"))
            for labels, value in told
            if labels.get("__name__") == "envcheck_finding" and value == "1"
        ]
        names = {labels.get("__name__") for labels, _ in told}
        yield Node(
            name=called,
            place=place,
            facts=_facts(told),
            findings=tuple(found) if "envcheck_ok" in names or found else None,
            checked=not any(one.get("__name__") == "envcheck_checked" and value == "0" for one, value in told),
        )


def _facts(told: list[tuple[Mapping[str, str], str]]) -> dict[str, Any]:
    """Driver, system and GPUs of a node: those of DCGM exporter by their UUID, our own by their number."""
    found: dict[str, Any] = {}
    gpus: dict[str, dict[str, str]] = {}
    for labels, value in told:
        match labels.get("__name__", ""):
            case "envcheck_host_info":
                found |= {key: labels[key] for key in _MACHINE if labels.get(key)}
            case "envcheck_gpus":
                one = {key: labels[key] for key in ("name", "target") if labels.get(key)}
                for number in range(min(int(value), devices.MOST)):
                    gpus[f"{one} {number}"] = one
            case _ if labels.get("modelName"):
                number_or_id = labels.get("UUID") or labels.get("gpu") or labels.get("device") or ""
                gpus[number_or_id] = {"name": labels["modelName"], "vendor": "nvidia"}
                if driver := labels.get("DCGM_FI_DRIVER_VERSION"):
                    found["driver"] = driver
    if gpus:
        found["gpus"] = list(gpus.values())
    return found
