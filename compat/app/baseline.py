"""A baseline: findings that a project knows of, an earlier answer of lint in JSON; only what is new is told."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.app.files import read_text
from compat.errors import InputError
from compat.render.gitlab import digest, fingerprint

if TYPE_CHECKING:
    from compat.findings import Report

_LIMIT: Final = 64 * 1024 * 1024  # bytes: the findings of a large repository
_EXPECTED: Final = "an answer of lint in JSON (--format json)"


def new_of(report: Report, file: str) -> Report:
    """The report without what stands in the baseline; of findings that are alike as many are left out as stand there.

    Raises:
        InputError: if the file cannot be read, or is no answer of lint in JSON.
    """
    known = _read(file)
    kept = []
    for finding in report.findings:
        mark = fingerprint(finding)
        if known[mark] > 0:
            known[mark] -= 1
        else:
            kept.append(finding)
    judged, left_out = report.judged or bool(report.findings), len(report.findings) - len(kept)
    return replace(report, findings=tuple(kept), judged=judged, known=left_out)


def _read(file: str) -> Counter[str]:
    """How often each fingerprint stands in a baseline."""
    try:
        document = json.loads(read_text(file, limit=_LIMIT))
        found = ((one["code"], (one.get("place") or {}).get("file", ""), one["detail"]) for one in document["findings"])
        return Counter(digest(*one) for one in found)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("is no baseline", where=file, expected=_EXPECTED) from None
