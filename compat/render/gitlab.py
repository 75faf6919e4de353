"""GitLab's code quality report: one entry for each finding of a file.

Source: GitLab documentation, "Code Quality", section "Code Quality report format" (severities, unique fingerprints).
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from compat.findings import Finding, Report

_SEVERITIES: Final = {"error": "major", "warning": "minor", "info": "info"}


def report(found: Report) -> list[dict[str, Any]]:
    """The entries of a report; a finding about the machine as a whole stands at line 1 of no file."""
    return [
        {
            "description": finding.detail,
            "check_name": finding.code,
            "fingerprint": fingerprint(finding),
            "severity": _SEVERITIES[finding.severity],
            "location": {
                "path": finding.place.file if finding.place else "-",
                "lines": {"begin": max(1, finding.place.line if finding.place else 1)},
            },
        }
        for finding in found.findings
    ]


def fingerprint(finding: Finding) -> str:
    """What stays the same of a finding while lines move and releases rise: 32 hexadecimal digits."""
    return digest(finding.code, finding.place.file if finding.place else "", finding.detail)


def digest(code: str, file: str, detail: str) -> str:
    """The same of its parts."""
    text = "\n".join((code, file, re.sub(r"\d[\w.+-]*", "N", detail)))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]
