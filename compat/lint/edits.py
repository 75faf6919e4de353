"""Repairs of lint as exact edits of a text: where each begins, and the text after them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.changes import Edit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.lint.repairs import Repair

# What ends a line for editors, git and code scanning; str.splitlines ends one at form feeds and the like, too.
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends, as they are counted wherever a place is shown."""
    return _LINE.findall(text)


def exact(text: str, repair: Repair, file: str) -> Edit | None:
    """A repair as an edit of the file; none if what it replaces does not stand there exactly once."""
    lines = lines_of(text)
    first = min(max(repair.line - 1, 0), len(lines))
    if not repair.old:
        ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
        return Edit(file, first + 1, 1, "", repair.new + ending)
    last = first + 1
    while last < len(lines) and (lines[last - 1].rstrip().endswith("\\") or _passed_over(lines[last - 1])):
        last += 1
    body = "".join(lines[first:last])
    if body.count(repair.old) != 1:
        return None
    start = body.index(repair.old)
    if not repair.behind:
        return _at(body, start, first, file, repair.old, repair.new)
    end = _behind(body, start, repair.old)
    return _at(body, end, first, file, "", f" {repair.new}") if end else None


def _at(body: str, start: int, first: int, file: str, old: str, new: str) -> Edit:
    """An edit at an offset of a logical line that begins after ``first`` lines of the file."""
    head = lines_of(body[:start]) or [""]
    below = len(head) if head[-1].endswith(("\n", "\r")) else len(head) - 1
    column = 1 if head[-1].endswith(("\n", "\r")) else len(head[-1]) + 1
    return Edit(file, first + below + 1, column, old, new)


def _passed_over(line: str) -> bool:
    """Whether a line between continued ones ends nothing: a comment or a blank one (Dockerfile reference, "Format")."""
    return not line.strip() or line.lstrip().startswith("#")


def _behind(body: str, start: int, old: str) -> int:
    """The offset behind a text, outside of the quotes that hold it alone; 0 if the word goes on."""
    end = start + len(old)
    quoted = body[end : end + 1] in {"'", '"'}
    if quoted and body[start - 1 : start] == body[end]:
        return end + 1
    return 0 if not quoted and body[end : end + 1].strip(" \t\r\n\\;&|)") else end


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text after exact edits; one whose old text does not stand in its place changes nothing."""
    lines = lines_of(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: (-edit.line, -edit.column)):
        if not 0 < edit.line < len(starts) + 1:
            continue
        start = starts[edit.line - 1] + edit.column - 1
        if text.startswith(edit.old, start):
            text = text[:start] + edit.new + text[start + len(edit.old) :]
    return text
