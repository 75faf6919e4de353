"""GitHub Actions annotations: one workflow command per finding.

Source: GitHub Docs, "Workflow commands for GitHub Actions" (escaping of data and properties).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.render.gitlab import path_of
from compat.render.ink import printable

if TYPE_CHECKING:
    from compat.findings import Finding, Report

_COMMANDS: Final = {"error": "error", "warning": "warning", "info": "notice"}


def report(found: Report) -> str:
    """Annotations, worst first; empty if there is nothing to say."""
    return "\n".join(_line(finding) for finding in found.findings)


def _line(finding: Finding) -> str:
    """One annotation; a finding without a place annotates the run, not a file. Lines count from 1, as GitHub's do."""
    place = f"file={_property(path_of(finding.place.file))},line={max(1, finding.place.line)}," if finding.place else ""
    fix = f" Fix: {finding.fix.text}" if finding.fix.text else ""
    return f"::{_COMMANDS[finding.severity]} {place}title={_property(finding.code)}::{_data(finding.detail + fix)}"


def _data(text: str) -> str:
    """The message of a command: a line break would end it, so it and the escape mark are encoded."""
    return printable(text.replace("\r", "\n")).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    """A property's value: a colon or comma in it would end the property as well."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
