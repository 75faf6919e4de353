"""What every lint finding has: code, severity, place, evidence, fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.findings import Confidence, Evidence, Finding, Fix, Place, Severity
from compat.lint.pages import RULES

if TYPE_CHECKING:
    from compat.lint.scene import Scene
    from compat.rules import Page


def page(code: str) -> Page:
    """The page of a code, lint's own or the doctor's."""
    from compat import rules
    from compat.rules.pages import page_of

    return page_of(RULES[code]) if code in RULES else rules.page(code)


def finding(
    code: str,
    scene: Scene,
    line: int,
    detail: str,
    *,
    severity: Severity,
    fix: str = "",
    commands: tuple[str, ...] = (),
    evidence: tuple[Evidence, ...] = (),
    sources: tuple[str, ...] = (),
    confidence: Confidence = "certain",
) -> Finding:
    """A finding at a line of the scene's file, with the code's own title and fix where none is given."""
    told = page(code)
    return Finding(
        code=code,
        severity=severity,
        confidence=confidence,
        title=told.title,
        detail=detail,
        evidence=evidence,
        fix=Fix(fix or told.fix, commands),
        sources=sources,
        place=Place(scene.ask.file, line),
    )
