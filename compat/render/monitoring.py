"""A node's report for the engines of a cluster: one short line, Prometheus' text format, labels for NFD.

Sources: node-problem-detector, docs/custom_plugin_monitor.md (80 characters of standard output); Slurm, sinfo(1) (the
reason's first 20 characters in ``sinfo -R``); Prometheus, "Exposition formats" (text format 0.0.4); Node Feature
Discovery, "Customization guide" (feature files); Kubernetes, "Labels and Selectors" (values of labels).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from compat.findings import RANK
from compat.render.ink import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from compat.facts import Host
    from compat.findings import Report, Stamp

WIDTH: Final = 80
_LONGEST_LABEL: Final = 63


def line(found: Report) -> str:
    """The verdict in at most :data:`WIDTH` characters, its code first: a reader may see no more than that.

    An error outweighs what could not be checked, and that outweighs a warning.
    """
    said = one_line(_verdict(found))
    return said if len(said) <= WIDTH else said[: WIDTH - 3] + "..."


def _verdict(found: Report) -> str:
    """Code and detail of the worst finding; ``unchecked`` or ``ok`` where there is none that counts."""
    worst = found.findings[0] if found.findings else None
    if worst and worst.severity == "error":
        sure = "" if worst.confidence == "certain" else f" ({worst.confidence})"
        return f"{worst.code}{sure}: {worst.detail}"
    if not found.checked:
        gaps = [gap for gap in found.unchecked if gap.what in found.unanswered] or list(found.unchecked)
        return f"unchecked: {f'{gaps[0].what}: {gaps[0].why}' if gaps else 'too little is known'}"
    return f"{worst.code} ({worst.severity}): {worst.detail}" if worst else "ok: nothing found that does not fit"


def nfd(found: Report, host: Host) -> str:
    """A feature file of Node Feature Discovery: ``name=value`` lines that become labels of the node."""
    cause = next((finding.code for finding in found.findings if finding.severity == "error"), "")
    values = {
        "ok": {True: "true", False: "false", None: "unknown"}[found.ok],
        "cause": cause,
        "driver": host.driver or host.amdgpu or "",
        "cuda": host.driver_cuda or "",
        "targets": "_".join(host.targets()),
    }
    return "\n".join(f"envcheck.{name}={_label(value)}" for name, value in values.items() if _label(value))


def _label(text: str) -> str:
    """A text as the value of a label: letters, digits, points, dashes and underscores, the first and last no mark."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:_LONGEST_LABEL].strip("-._")


def prometheus(found: Report, host: Host, stamp: Stamp) -> str:
    """Gauges for the textfile collector of node_exporter; names and labels are a contract."""
    node = {"node": stamp.node} if stamp.node else {}
    release = {"version": stamp.version, "matrix": stamp.matrix, **node}
    return gauges(
        (
            ("ok", "1 if all that was checked fits, 0 if not or if nothing was.", [(node, found.ok or 0)]),
            ("checked", "1 if what was asked for could be checked.", [(node, found.checked)]),
            ("finding", "1 for each finding.", _findings(found, node)),
            ("gpus", "GPUs by name and kernel target.", _gpus(host, node)),
            ("host_info", "Driver and system of the machine.", [(_machine(host) | node, 1)]),
            ("info", "Release of envcheck and state of its matrix.", [(release, 1)]),
            ("last_run_timestamp_seconds", "When this was written, since 1970.", [(node, stamp.seconds)]),
        )
    )


def _findings(found: Report, node: Mapping[str, str]) -> Iterator[Sample]:
    """Each code once, as its worst finding has it."""
    first = {finding.code: finding for finding in sorted(found.findings, key=lambda one: -RANK[one.severity])}
    for code, finding in sorted(first.items()):
        yield {"code": code, "severity": finding.severity, "confidence": finding.confidence, **node}, 1


def _gpus(host: Host, node: Mapping[str, str]) -> Iterator[Sample]:
    """How many GPUs there are of each name and target."""
    for (name, target), count in Counter((gpu.name, gpu.target) for gpu in host.gpus or ()).items():
        yield {"name": name, "target": target, **node}, count


def _machine(host: Host) -> dict[str, str]:
    """Labels of ``envcheck_host_info``: what is known of them."""
    names = ("os", "arch", "driver", "driver_cuda", "amdgpu", "python")
    return {name: str(host.value(name)) for name in names if host.value(name)}


def gauges(series: Iterable[tuple[str, str, Iterable[Sample]]]) -> str:
    """Gauges in the text format, each a name without the prefix, its help, and samples of labels with a value."""
    lines: list[str] = []
    for name, told, samples in series:
        if values := [f"envcheck_{name}{_labels(labels)} {int(value)}" for labels, value in samples]:
            lines += [f"# HELP envcheck_{name} {told}", f"# TYPE envcheck_{name} gauge", *values]
    return "\n".join(lines)


def _labels(labels: Mapping[str, str]) -> str:
    """Labels in braces; backslash, quote and line end are what would end a value."""
    kept = (f'{name}="{_quoted(value)}"' for name, value in labels.items())
    return f"{{{','.join(kept)}}}" if labels else ""


def _quoted(value: str) -> str:
    """The text inside the quotes of a label's value."""
    return one_line(value).replace("\\", "\\\\").replace('"', '\\"')


if TYPE_CHECKING:
    Sample = tuple[Mapping[str, str], float]
