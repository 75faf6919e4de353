"""SARIF 2.1.0, for code scanning: one rule per code, one result per finding.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from compat import __version__
from compat.changes import Edit
from compat.render.gitlab import fingerprint
from compat.render.ink import printable

if TYPE_CHECKING:
    from compat.findings import Finding, Place, Report

_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def report(found: Report) -> dict[str, Any]:
    """The SARIF document of a report; findings without a place point at the machine as a whole.

    ``found``: the findings; what fits and what was not checked have no place in SARIF results.
    """
    rules = {finding.code: finding for finding in found.findings}
    driver = {"name": "envcheck", "version": __version__, "rules": [_rule(code, one) for code, one in rules.items()]}
    order = list(rules)
    run = {"tool": {"driver": driver}, "results": [_result(item, order) for item in found.findings]}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str, finding: Finding) -> dict[str, Any]:
    """The rule of a code; its help is the last address among what its finding rests on, as pages of rules come last."""
    links = [source for source in finding.sources if source.startswith("https://")]
    rule = {
        "id": code,
        "shortDescription": {"text": _plain(finding.title)},
        "help": {"text": f"envcheck explain {code}"},
    }
    return rule | ({"helpUri": links[-1]} if links else {})


def _result(finding: Finding, order: list[str]) -> dict[str, Any]:
    """One finding. ``ruleIndex`` counts from 0 in ``order``; a region's lines count from 1."""
    text = f"{finding.detail} Fix: {finding.fix.text}" if finding.fix.text else finding.detail
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": order.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": _plain(text)},
        "partialFingerprints": {"envcheck/1": fingerprint(finding)},
    }
    if finding.place:
        place: dict[str, Any] = {"artifactLocation": _file(finding.place.file)}
        if finding.place.line:
            place["region"] = {"startLine": finding.place.line} | _columns(finding.place)
        result["locations"] = [{"physicalLocation": place}]
    edits = [change for change in finding.fix.changes if isinstance(change, Edit)]
    if edits and finding.fix.checked:
        changes = [{"artifactLocation": _file(edit.file), "replacements": [_replacement(edit)]} for edit in edits]
        result["fixes"] = [{"description": {"text": _plain(finding.fix.text)}, "artifactChanges": changes}]
    return result


def _columns(place: Place) -> dict[str, int]:
    """The columns of a place, where they are known."""
    return {"startColumn": place.column, "endColumn": place.end_column} if place.column else {}


def _file(name: str) -> dict[str, str]:
    return {"uri": quote(name, errors="replace")}


def _replacement(edit: Edit) -> dict[str, Any]:
    """An edit within one line (section 3.57); an insertion deletes a region of no length."""
    region = {"startLine": edit.line, "startColumn": edit.column, "endColumn": edit.column + len(edit.old)}
    return {"deletedRegion": region, "insertedContent": {"text": edit.new}}


def _plain(text: str) -> str:
    """A text in which no reader finds a placeholder (section 3.11.5) or a link (3.11.6) that a value wrote."""
    doubled = re.sub(r"\{(\d+)\}", r"{{\1}}", printable(text))
    return re.sub(r"[\[\]]", r"\\\g<0>", doubled) if "](" in doubled else doubled
