"""What every lint finding has: code, severity, place, evidence, fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.findings import Confidence, Evidence, Finding, Fix, Place, Severity
from compat.lint.pages import RULES
from compat.sources.values import Ask

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

    from typing_extensions import Unpack

    from compat.lint.scene import Scene
    from compat.lint.walk import Taken
    from compat.matrix.rows import Row
    from compat.rules import Page

    class Said(TypedDict, total=False):
        """What else a finding may be given: see :func:`finding`."""

        severity: Severity
        confidence: Confidence
        fix: str
        commands: tuple[str, ...]
        evidence: tuple[Evidence, ...]
        sources: tuple[str, ...]


def page(code: str) -> Page:
    """The page of a code, lint's own or the doctor's."""
    from compat import rules
    from compat.rules.pages import page_of

    return page_of(RULES[code]) if code in RULES else rules.page(code)


def finding(
    code: str,
    where: Scene | Ask,
    line: int,
    detail: str,
    *,
    severity: Severity = "error",
    fix: str = "",
    commands: tuple[str, ...] = (),
    evidence: tuple[Evidence, ...] = (),
    sources: tuple[str, ...] = (),
    confidence: Confidence = "certain",
) -> Finding:
    """A finding at a line of a file, or of the scene's, with the code's own title and fix where none is given."""
    told, ask = page(code), where if isinstance(where, Ask) else where.ask
    return Finding(
        code=code,
        severity=severity,
        confidence=confidence,
        title=told.title,
        detail=detail,
        evidence=evidence,
        fix=Fix(fix or told.fix, commands),
        sources=sources,
        place=Place(ask.file, line),
    )


def seen(item: Taken, scene: Scene) -> Evidence:
    """A request as evidence."""
    return Evidence("requirement", item.request.text, f"{scene.ask.file}:{item.request.line}")


def of_request(
    code: str, item: Taken, scene: Scene, detail: str, *, rows: Iterable[Row] = (), **said: Unpack[Said]
) -> Finding:
    """A finding at a request, with the request as its evidence and the rows that it rests on as its sources."""
    said = {"evidence": (seen(item, scene),), "sources": tuple(dict.fromkeys(map(scene.matrix.cite, rows))), **said}
    return finding(code, scene, item.request.line, detail, **said)


def of_base(
    code: str, scene: Scene, line: int, detail: str, *, rows: Iterable[Row] = (), **said: Unpack[Said]
) -> Finding:
    """A finding that rests on the base image of a stage, which is its evidence."""
    base = scene.base.reference if scene.base else ""
    evidence = (Evidence("base image", base, f"{scene.ask.file}:{scene.chain[0].line}"),)
    said = {"evidence": evidence, "sources": tuple(scene.matrix.cite(row) for row in rows), **said}
    return finding(code, scene, line, detail, **said)
