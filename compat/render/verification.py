"""Results of the probes told: what passed with its figures, what failed and why, what was skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from compat.facts import Host
from compat.findings import Finding, Report, Unchecked
from compat.render import text as reports
from compat.render.ink import Ink, printable

_STYLES: Final = {"pass": ("green", "fits"), "fail": ("red bold", "error"), "skip": ("yellow", "skipped")}
NOWHERE: Final = Host()


def as_report(findings: Sequence[Finding], document: Mapping[str, Any]) -> Report:
    """The same as a report of findings: passed probes are what is fine, skipped ones were not checked."""
    passed = tuple(f"{item['name']}{_figures(item)}" for item in document["probes"] if item["status"] == "pass")
    skipped = tuple(Unchecked(item["name"], item["why"]) for item in document["probes"] if item["status"] == "skip")
    return Report(tuple(findings), passed, skipped)


def text(
    document: Mapping[str, Any],
    findings: Sequence[Finding] = (),
    *,
    title: str = "envcheck verify",
    pen: Ink | None = None,
) -> str:
    """A line per probe, then the findings, then one line that says what it amounts to.

    ``findings``: what the failed probes mean, with their fixes.
    """
    pen = pen or Ink()
    lines = [pen("bold", f"{title} {printable(document['image'])}".rstrip()) + pen("dim", f"  {document['level']}"), ""]
    for item in document["probes"]:
        style, kind = _STYLES[item["status"]]
        mark = pen.mark(kind)
        why = f": {item['why']}" if item["why"] else ""
        first, *rest = pen.wrap(f"{mark} {item['name']}{why}{_figures(item)}", "", "    ")
        lines += [pen(style, mark) + first.removeprefix(mark), *rest]  # coloured last: wrapping takes colours for noise
    for finding in findings:
        lines += ["", *reports.advice(finding, pen)]
    counts = {status: sum(item["status"] == status for item in document["probes"]) for status in _STYLES}
    words = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    said = ", ".join(f"{count} {words[status]}" for status, count in counts.items() if count)
    return "\n".join([*lines, "", pen("bold", said or "nothing was probed")])


def _figures(item: Mapping[str, Any]) -> str:
    """What a probe measured, in short; lists and tables of it are in the JSON document."""
    shown = ", ".join(
        f"{key} {_number(value)}" for key, value in item["figures"].items() if not isinstance(value, (dict, list))
    )
    return f"  ({printable(shown)})" if shown else ""


def _number(value: Any) -> str:
    """Four digits of a measured number: more would claim a precision that a probe has not."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
