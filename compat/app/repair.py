"""Repairs of files: each edit is tried on the text and judged again before it is told; then shown or made."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat.app.files import read_text, write_atomically
from compat.changes import Edit
from compat.errors import InputError
from compat.findings import Finding, Fix, Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from compat.matrix import Matrix
    from compat.sources.values import Ask

LIMIT: Final = 4 * 1024 * 1024  # bytes of a file that people write
_MARK: Final = "\ufeff"  # before a text in UTF-8, as some editors write it
_OPEN_END: Final = "\\ No newline at end of file\n"  # GNU diffutils, "Incomplete Lines"
_TRIES: Final = 40  # times that one file is judged again with edits; what is left has its advice, and is not checked


def repaired(ask: Ask, matrix: Matrix, judge: Callable[[Ask], Report], again: Callable[[str], Ask]) -> Report:
    """The report of a file, with an edit in each fix where one was tried and mends its finding.

    ``judge``: gives the report of what a file asks for.
    """
    from compat.lint.edits import edited, exact
    from compat.lint.repairs import CODES, repairs

    report = judge(ask)
    text = _exact(ask.file) if any(one.code in CODES for one in report.findings) else ""
    if not text:
        return report
    text = text.removeprefix(_MARK)
    edits = {(one.code, one.at): edit for one in repairs(ask, matrix) if (edit := exact(text, one, ask.file))}
    asked = [edits.get((one.code, one.place.line if one.place else 0)) for one in report.findings]
    told, made = list(report.findings), list[Edit]()
    before, tries = report, _TRIES
    while True:  # an edit that brings an error by itself may bring none behind another one
        left = dict.fromkeys(edit for edit, one in zip(asked, told, strict=True) if edit and not one.fix.checked)
        open_ = [edit for edit in left if edit not in made][:tries]
        after = {edit: judge(again(edited(text, [*made, edit]))) for edit in open_}
        tries -= len(open_)
        told = [
            _tried(one, edit, before, after[edit]) if edit in after else one
            for edit, one in zip(asked, told, strict=True)
        ]
        mending = [edit for edit, one in zip(asked, told, strict=True) if edit in open_ and one.fix.checked and edit]
        made += dict.fromkeys(mending)
        if not mending or len(made) == len({*asked} - {None}):
            return replace(report, findings=tuple(told))
        before = judge(again(edited(text, made)))


def _tried(finding: Finding, edit: Edit, before: Report, after: Report) -> Finding:
    """The finding with the edit in its fix where that is gone with it, and no new error is there; else as it was."""
    same = (finding.code, finding.detail)
    gone = _count(before)[same] > _count(after)[same]
    new = Counter(one.code for one in after.findings if one.severity == "error")
    new.subtract(one.code for one in before.findings if one.severity == "error")
    if not gone or any(count > 0 for count in new.values()):
        return finding
    return replace(finding, fix=Fix(_said(finding, edit), changes=(edit,), checked=True))


def _said(finding: Finding, edit: Edit) -> str:
    """The finding's own advice where it names what to write, else the edit in words."""
    from compat.lint.finding import page

    if finding.fix.text != page(finding.code).fix:
        return finding.fix.text
    new = edit.new.strip(" :\r\n")
    return f"Write {new} in the place of {edit.old.strip(' :')}." if edit.old else f"Add {new}"


def _count(report: Report) -> Counter[tuple[str, str]]:
    """How often each finding is told, wherever it stands: an edit may move lines."""
    return Counter((one.code, one.detail) for one in report.findings)


def edits_of(report: Report) -> tuple[Edit, ...]:
    """The edits of a report that were tried, each once."""
    found = (one for finding in report.findings if finding.fix.checked for one in finding.fix.changes)
    return tuple(dict.fromkeys(one for one in found if isinstance(one, Edit)))


def diff(report: Report, *, write: bool = False) -> str:
    """What the edits of a report change in the files, as a unified diff; with ``write`` they are made.

    Raises:
        InputError: if a file cannot be read or written; of those that cannot be, before any is written.
    """
    import difflib

    from compat.lint.edits import edited
    from compat.render.ink import printable

    edits, changed = edits_of(report), []
    for file in dict.fromkeys(edit.file for edit in edits):
        before = _exact(file)
        text = before.removeprefix(_MARK)
        after = before[: len(before) - len(text)] + edited(text, [edit for edit in edits if edit.file == file])
        if after != before:
            changed.append((file, before, after))
            if write and not os.access(file, os.W_OK):
                raise InputError("cannot be written: Permission denied", where=file, hint="--diff shows the edits")
    named = ((printable(file).replace("\n", " "), before, after) for file, before, after in changed)
    told = (difflib.unified_diff(_lines(before), _lines(after), file, file) for file, before, after in named)
    shown = "".join(line if line.endswith("\n") else f"{line}\n{_OPEN_END}" for part in told for line in part)
    for file, _, after in changed if write else ():
        write_atomically(file, after, option="")
    return shown


def _exact(file: str) -> str:
    """The text of a file as it stands, with the mark of its encoding; empty where it is no UTF-8, or no file."""
    if not Path(file).is_file():
        return ""
    text, raw = read_text(file, limit=LIMIT), Path(file).read_bytes()
    return next((whole for whole in (text, _MARK + text) if whole.encode() == raw), "")


def _lines(text: str) -> list[str]:
    """The lines of a text as a patch has them."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
