"""A rule's docstrings as its page; ``explain``, the docs and SARIF read these.

Title, why, how to fix and sources stand in the docstring of the class; what is checked stands in that of ``check``, or
below the title where a rule has no ``check`` of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.lazy import dataclass
from compat.rules.rule import HEADINGS, Rule, code_of, sections

if TYPE_CHECKING:
    from compat.findings import Severity


@dataclass(frozen=True, slots=True)
class Page:
    """What there is to say about a code when no machine is at hand."""

    code: str
    title: str
    severity: Severity
    area: str
    what: str
    why: str
    fix: str
    sources: tuple[str, ...]
    requires: tuple[str, ...] = ()


_PAGES: Final[dict[str, Page]] = {}


def page_of(rule: type[Rule]) -> Page:
    """The page of a rule.

    Raises:
        ValueError: if the docstring lacks a heading (a slip in our own code, caught by the tests).
    """
    code = code_of(rule)
    if code not in _PAGES:
        _PAGES[code] = _page(rule, code)
    return _PAGES[code]


def _page(rule: type[Rule], code: str) -> Page:
    title, _, body = (rule.__doc__ or "").strip().partition("\n")
    parts = sections(rule)
    if tuple(parts)[1:] != HEADINGS:
        raise ValueError(f"{code}: headings {tuple(parts)[1:]}, expected {HEADINGS}")
    what = " ".join(body.partition("Why:")[0].split())
    return Page(
        code=code,
        title=" ".join(title.split()).rstrip("."),
        severity=rule.severity,
        area=rule.area,
        what=what or " ".join((rule.check.__doc__ or "").split()),
        why=parts["Why"],
        fix=parts["Fix"],
        sources=tuple(item.strip() for item in parts["Sources"].split("- ") if item.strip()),
        requires=rule.requires,
    )
