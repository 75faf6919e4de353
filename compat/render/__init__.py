"""Findings, plans and tables told: to people, to machines, to CI. Strings only; nothing here decides anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from compat.facts import Host
    from compat.findings import Report

REPORT_FORMATS: Final = ("text", "json", "markdown", "sarif", "junit", "html", "github")
"""Formats of a report of findings."""


def report(found: Report, host: Host, format: str, *, colored: bool = False, title: str = "envcheck doctor") -> str:  # noqa: A002
    """A report in one of :data:`REPORT_FORMATS`; the renderers are small, so all are at hand."""
    from compat.render import document, github, html, ink, junit, markdown, sarif, text

    writers: dict[str, Callable[[], str]] = {
        "text": lambda: text.report(found, host, title=title, pen=ink.ink(colored=colored)),
        "json": lambda: document.encode(document.report(found, host)),
        "markdown": lambda: markdown.report(found, host),
        "sarif": lambda: document.encode(sarif.report(found)),
        "junit": lambda: junit.report(found),
        "html": lambda: html.report(found, host),
        "github": lambda: github.report(found),
    }
    return writers[format]()
