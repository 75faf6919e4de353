"""GitLab's code quality report: one entry for each finding of a file.

Source: GitLab documentation, "Code Quality", section "Code Quality report format" (severities, unique fingerprints).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.findings import Finding, Report

_SEVERITIES: Final = {"error": "major", "warning": "minor", "info": "info"}


def report(found: Report) -> list[dict[str, Any]]:
    """The entries of a report; a finding about the machine as a whole stands at line 1 of no file."""
    return [
        {
            "description": finding.detail,
            "check_name": finding.code,
            "fingerprint": mark,
            "severity": _SEVERITIES[finding.severity],
            "location": {
                "path": path_of(finding.place.file) if finding.place else "-",
                "lines": {"begin": max(1, finding.place.line if finding.place else 1)},
            },
        }
        for finding, mark in zip(found.findings, fingerprints(found.findings), strict=True)
    ]


def fingerprints(findings: Iterable[Finding]) -> list[str]:
    """A fingerprint for each finding, unlike all others: those alike are counted from the first of them on."""
    known = Counter[str]()
    marks = []
    for mark in map(fingerprint, findings):
        known[mark] += 1
        marks.append(digest(mark, "", "again" * (known[mark] - 1)) if known[mark] > 1 else mark)
    return marks


def path_of(file: str) -> str:
    """The name of a file from the folder here, as a repository has it, however it was given; elsewhere the path."""
    path = os.path.normpath(file) if file else ""
    below = os.path.relpath(path) if Path(path).is_absolute() and "\0" not in path else path
    return Path(path if below.startswith("..") else below).as_posix() if path else ""


def fingerprint(finding: Finding) -> str:
    """What stays the same of a finding while lines move and releases rise: 32 hexadecimal digits."""
    return digest(finding.code, finding.place.file if finding.place else "", finding.detail)


def digest(code: str, file: str, detail: str) -> str:
    """The same of its parts."""
    text = "\n".join((code, path_of(file), re.sub(r"\d[\w.+-]*", "N", detail)))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]
