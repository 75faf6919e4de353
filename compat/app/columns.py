"""The columns that code scanning shows of a finding, by the first word that its line holds too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compat.app.files import read_text
from compat.app.repair import LIMIT

if TYPE_CHECKING:
    from compat.findings import Finding, Report


def placed(report: Report) -> Report:
    """The report with columns, from 1, at the findings of files that can be read; the end is the one behind."""
    from pathlib import Path

    from compat.lint.edits import lines_of

    files = dict.fromkeys(one.place.file for one in report.findings if one.place)
    texts = {file: lines_of(read_text(file, limit=LIMIT)) for file in files if Path(file).is_file()}
    return replace(report, findings=tuple(_placed(one, texts) for one in report.findings))


def _placed(finding: Finding, texts: dict[str, list[str]]) -> Finding:
    """A finding with the columns of its subject; of the whole line where that does not name it."""
    place = finding.place
    lines = texts.get(place.file, []) if place else []
    if place is None or not 0 < place.line <= len(lines):
        return finding
    line = lines[place.line - 1]
    words = (word.strip("`'\",.:;()") for word in finding.detail.split())
    found = next((word for word in words if len(word) > 2 and word in line), line.strip())
    column = line.find(found) + 1
    return replace(finding, place=replace(place, column=column, end_column=column + len(found)))
