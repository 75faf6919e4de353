"""SARIF 2.1.0, for code scanning: one rule per code, one result per finding.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from compat import __version__
from compat.changes import Edit
from compat.render.gitlab import fingerprints, path_of
from compat.render.ink import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.findings import Finding, Report
    from compat.render.explanation import Topic

_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def report(found: Report, pages: Iterable[Topic] = ()) -> dict[str, Any]:
    """The SARIF document of a report; findings without a place point at the machine as a whole.

    ``found``: the findings; what fits and what was not checked have no place in SARIF results. ``pages``: of the codes.
    """
    rules = {finding.code: finding for finding in found.findings}
    known, order = {page.code: page for page in pages}, list(rules)
    told = [_rule(one, known.get(code)) for code, one in rules.items()]
    driver = {"name": "envcheck", "version": __version__, "rules": told}
    marked = zip(found.findings, fingerprints(found.findings), strict=True)
    results = [_result(item, order.index(item.code), mark) for item, mark in marked]
    counted = {"columnKind": "unicodeCodePoints", "newlineSequences": ["\r\n", "\n", "\r"]}
    run = {"tool": {"driver": driver}, **counted, "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding, page: Topic | None) -> dict[str, Any]:
    """The rule of a code with its page, where there is one: for readers that show it, and what it rests on first."""
    rule = {"id": finding.code, "shortDescription": {"text": _plain(finding.title)}}
    if page is None:
        return rule | {"help": {"text": f"envcheck explain {finding.code}"}}
    body = f"{page.what}\n\nWhy: {page.why}\n\nFix: {page.fix}\n".replace("``", "`")
    listed = "".join(f"- {source}\n" for source in page.sources)
    links = [source for source in page.sources if source.startswith("https://")]
    rule["help"] = {"text": _plain(body), "markdown": f"{body}\n{listed}"}
    return rule | ({"helpUri": links[0]} if links else {})


def _result(finding: Finding, index: int, mark: str) -> dict[str, Any]:
    """One finding of the rule at ``index``, from 0; a region's lines count from 1."""
    text = f"{finding.detail} Fix: {finding.fix.text}" if finding.fix.text else finding.detail
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": _plain(text)},
        "partialFingerprints": {"envcheck/1": mark},
    }
    if finding.place:
        place: dict[str, Any] = {"artifactLocation": _file(finding.place.file)}
        if finding.place.line:
            columns = {"startColumn": finding.place.column, "endColumn": finding.place.end_column}
            place["region"] = {"startLine": finding.place.line} | (columns if finding.place.column else {})
        result["locations"] = [{"physicalLocation": place}]
    edits = [change for change in finding.fix.changes if isinstance(change, Edit)]
    if edits and finding.fix.checked:
        changes = [{"artifactLocation": _file(edit.file), "replacements": [_replacement(edit)]} for edit in edits]
        result["fixes"] = [{"description": {"text": _plain(finding.fix.text)}, "artifactChanges": changes}]
    return result


def _file(name: str) -> dict[str, str]:
    path = path_of(name)
    outside = path.startswith(("/", ".."))  # a relative name is one of the repository
    path = Path(path).resolve().as_posix() if outside else path
    return {"uri": ("file://" if outside else "") + quote(path, errors="replace")}


def _replacement(edit: Edit) -> dict[str, Any]:
    """An edit within one line (section 3.57); an insertion deletes a region of no length."""
    region = {"startLine": edit.line, "startColumn": edit.column, "endColumn": edit.column + len(edit.old)}
    return {"deletedRegion": region, "insertedContent": {"text": edit.new}}


def _plain(text: str) -> str:
    """A text in which no reader finds a placeholder (section 3.11.5) or a link (3.11.6) that a value wrote."""
    doubled = re.sub(r"\{(\d+)\}", r"{{\1}}", printable(text))
    return re.sub(r"[\[\]]", r"\\\g<0>", doubled) if "](" in doubled else doubled
