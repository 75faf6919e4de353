"""Findings, plans and tables told: to people, to machines, to CI. Strings only; nothing here decides anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.findings import Report, Stamp

# Formats of a report of findings.
REPORT_FORMATS: Final = ("text", "json", "markdown", "sarif", "junit", "html", "github", "gitlab")
# Formats of a report about a machine, for the engines of a cluster.
NODE_FORMATS: Final = ("jsonl", "line", "prometheus", "nfd")
# Formats that say who answers, from which matrix, and when.
STAMPED: Final = ("json", "jsonl", "prometheus")


def report(
    found: Report,
    host: Host,
    format: str,  # noqa: A002
    *,
    colored: bool = False,
    title: str = "envcheck doctor",
    verbose: bool = False,
    quiet: bool = False,
    stamp: Stamp | None = None,
) -> str:
    """A report in one of :data:`REPORT_FORMATS` or :data:`NODE_FORMATS`; only the renderer that speaks is imported.

    Args:
        found: findings, worst first, with what fits and what was not checked.
        host: the machine that was judged; some formats show its facts.
        format: a name of :data:`REPORT_FORMATS`; text alone knows colour and the terminal's width.
        colored: whether to colour the text.
        title: the command that found it, as the first line of the text.
        verbose: whether the text tells all evidence and sources too.
        quiet: whether the text tells findings alone.
        stamp: who says it, and when; JSON shows it, and Prometheus needs it.
    """
    if format == "text":
        from compat.render import ink, text

        return text.report(found, host, title=title, pen=ink.ink(colored=colored), verbose=verbose, quiet=quiet)
    if format in {"json", "jsonl"}:
        from compat.render import document

        encode = document.encode if format == "json" else document.encode_line
        return encode(document.report(found, host, stamp))
    if format == "prometheus" and stamp:
        from compat.render import monitoring

        return monitoring.prometheus(found, host, stamp)
    return _WRITERS[format](found, host)


def _line(found: Report, _host: Host) -> str:
    """For a reason, a condition or a termination message."""
    from compat.render import monitoring

    return monitoring.line(found)


def _nfd(found: Report, host: Host) -> str:
    """For Node Feature Discovery."""
    from compat.render import monitoring

    return monitoring.nfd(found, host)


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
    "line": _line,
    "nfd": _nfd,
    "markdown": _markdown,
    "sarif": _sarif,
    "junit": _junit,
    "html": _html,
    "github": _github,
    "gitlab": _gitlab,
}
