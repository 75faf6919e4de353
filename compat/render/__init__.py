"""Findings, plans and tables told: to people, to machines, to CI. Strings only; nothing here decides anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.findings import Report

# Formats of a report of findings.
REPORT_FORMATS: Final = ("text", "json", "markdown", "sarif", "junit", "html", "github", "gitlab")


def report(
    found: Report,
    host: Host,
    format: str,  # noqa: A002
    *,
    colored: bool = False,
    title: str = "envcheck doctor",
    verbose: bool = False,
    quiet: bool = False,
) -> str:
    """A report in one of :data:`REPORT_FORMATS`; only the renderer that speaks is imported.

    Args:
        found: findings, worst first, with what fits and what was not checked.
        host: the machine that was judged; some formats show its facts.
        format: a name of :data:`REPORT_FORMATS`; text alone knows colour and the terminal's width.
        colored: whether to colour the text.
        title: the command that found it, as the first line of the text.
        verbose: whether the text tells all evidence and sources too.
        quiet: whether the text tells findings alone.
    """
    if format == "text":
        from compat.render import ink, text

        return text.report(found, host, title=title, pen=ink.ink(colored=colored), verbose=verbose, quiet=quiet)
    return _WRITERS[format](found, host)


def _json(found: Report, host: Host) -> str:
    """For programs: the whole ``envcheck.doctor/1`` document."""
    from compat.render import document

    return document.encode(document.report(found, host))


def _markdown(found: Report, host: Host) -> str:
    """For an answer under somebody's issue."""
    from compat.render import markdown

    return markdown.report(found, host)


def _sarif(found: Report, _host: Host) -> str:
    """For code scanning, which knows files and lines but no machine."""
    from compat.render import document, sarif

    return document.encode(sarif.report(found))


def _junit(found: Report, _host: Host) -> str:
    """For the test tab of a CI system."""
    from compat.render import junit

    return junit.report(found)


def _html(found: Report, host: Host) -> str:
    """For a build's artifacts: one file that opens anywhere."""
    from compat.render import html

    return html.report(found, host)


def _gitlab(found: Report, _host: Host) -> str:
    """For the code quality of a merge request in GitLab."""
    from compat.render import document, gitlab

    return document.encode(gitlab.report(found))


def _github(found: Report, _host: Host) -> str:
    """For the annotations of a GitHub Actions run."""
    from compat.render import github

    return github.report(found)


_WRITERS: Final = {
    "json": _json,
    "markdown": _markdown,
    "sarif": _sarif,
    "junit": _junit,
    "html": _html,
    "github": _github,
    "gitlab": _gitlab,
}
