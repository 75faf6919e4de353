"""Findings, plans and tables told: to people, to machines, to CI. Strings only; nothing here decides anything."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

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
    return _written(found, host, format)


# Formats that another module writes than one of their own name.
_HOMES: Final = {"line": "monitoring", "nfd": "monitoring"}
# Formats that tell of the machine, too.
_OF_MACHINES: Final = ("nfd", "markdown", "html")


def _written(found: Report, host: Host, name: str) -> str:
    """A report by the module of its format; what is a document there is encoded."""
    module = import_module(f"compat.render.{_HOMES.get(name, name)}")
    write: Callable[..., Any] = getattr(module, name if name in _HOMES else "report")
    made = write(found, host) if name in _OF_MACHINES else write(found)
    if isinstance(made, str):
        return made
    from compat.render import document

    return document.encode(made)
