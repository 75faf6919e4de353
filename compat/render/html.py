"""A page that stands alone: no script, no outside resource, every value escaped."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from compat.render.ink import one_line
from compat.render.text import NOTHING, UNCHECKED, summary_of, unchecked_of, value_of

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.findings import Finding, Report

_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1c2430}"
    "section{border-left:.3rem solid #999;padding:.2rem 1rem;margin:1.5rem 0}.error{border-color:#c0392b}"
    ".warning{border-color:#d68910}.info{border-color:#2874a6}pre{background:#f2f4f7;padding:.7rem;overflow:auto}"
    "td,th{text-align:left;padding:.1rem 1rem .1rem 0;vertical-align:top}small{color:#667}"
)


def escape(text: str) -> str:
    """Text without marks of HTML, without control characters and without those that turn the reading direction."""
    return html.escape(one_line(text))


def report(found: Report, host: Host) -> str:
    """The report as one HTML document.

    It loads nothing and runs nothing, so it may be opened from an untrusted build's artifacts, also without a network.
    """
    body = [f"<h1>envcheck</h1><p>{escape(summary_of(host))}</p>"]
    body += [_finding(finding) for finding in found.findings] or [f"<p>{NOTHING if found.checked else UNCHECKED}</p>"]
    body.append(_list("What fits", list(found.fine)))
    body.append(_list("Not checked", unchecked_of(found)))
    head = f'<meta charset="utf-8"><title>envcheck report</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>'


def _finding(finding: Finding) -> str:
    """A finding as a section: what, why, the evidence as a table, what to type."""
    rows = "".join(
        f"<tr><th>{escape(item.fact)}</th><td>{escape(value_of(item.value))}</td><td><small>{escape(item.source)}</small></td></tr>"
        for item in finding.evidence
    )
    commands = f"<pre>{chr(10).join(map(escape, finding.fix.commands))}</pre>" if finding.fix.commands else ""
    return (
        f'<section class="{finding.severity}"><h2>{escape(finding.title)}</h2><p>{escape(finding.detail)}</p>'
        f"<table>{rows}</table><p>{escape(finding.fix.text)}</p>{commands}"
        f"<small>{escape(finding.code)} ({finding.confidence}) {escape('; '.join(finding.sources))}</small></section>"
    )


def _list(title: str, items: list[str]) -> str:
    """A titled list, or nothing where it would be empty."""
    lines = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<h2>{title}</h2><ul>{lines}</ul>" if items else ""
