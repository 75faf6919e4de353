"""JSON documents of the contract: ``envcheck.doctor/1`` and the shared way to print one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from compat import facts

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.findings import Report, Stamp

DOCTOR: Final = "envcheck.doctor/1"


def report(found: Report, host: Host, stamp: Stamp | None = None) -> dict[str, Any]:
    """The ``envcheck.doctor/1`` document, with who says it and when if that is given.

    ``findings[0]`` is the root cause. ``facts`` has the shape of ``envcheck.host/1``: given back with ``--host`` it
    is judged again.
    """
    from compat import findings  # a plan is a document too, and has none

    return {
        "schema": DOCTOR,
        **(stamp.plain() if stamp else {}),
        "summary": {"errors": found.count("error"), "warnings": found.count("warning"), "ok": found.ok},
        "findings": [_shareable(findings.plain(finding)) for finding in found.findings],
        "fine": list(found.fine),
        "facts": facts.dump(host),
        "unchecked": [{"what": item.what, "why": item.why, "code": item.code} for item in found.unchecked],
        "questions": [
            {"run": item.run, "decides": item.decides, "codes": list(item.codes)} for item in found.questions
        ],
    }


def _shareable(finding: dict[str, Any]) -> dict[str, Any]:
    """A finding whose evidence names nobody; what is to be typed stays as it is, for it has to run."""
    told = [_shareable(item) for item in finding["consequences"]]
    return {**finding, "evidence": facts.unnamed(finding["evidence"]), "consequences": told}


def encode(document: Any) -> str:
    """JSON as it is printed: indented by two blanks, keys in the order given, text unescaped (UTF-8 is assumed)."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def encode_line(document: Any) -> str:
    """The same on one line, for JSON lines."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
