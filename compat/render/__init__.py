"""Findings, plans and tables told: to people, to machines, to CI. Strings only; nothing here decides anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.findings import Report

REPORT_FORMATS: Final = ("text", "json", "markdown", "sarif", "junit", "html", "github")
"""Formats of a report of findings."""


def report(found: Report, host: Host, format: str, *, colored: bool = False, title: str = "envcheck doctor") -> str:  # noqa: A002
    """A report in one of :data:`REPORT_FORMATS`; each renderer is imported only when it speaks."""
    from compat.render import document, github, html, ink, junit, markdown, sarif, text

    match format:
        case "json":
            return document.encode(document.report(found, host))
        case "sarif":
            return document.encode(sarif.report(found))
        case "markdown":
            return markdown.report(found, host)
        case "junit":
            return junit.report(found)
        case "html":
            return html.report(found, host)
        case "github":
            return github.report(found)
        case _:
            return text.report(found, host, title=title, pen=ink.ink(colored=colored))
