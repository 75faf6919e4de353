"""A rule's docstrings as its page; ``explain``, the docs and SARIF read these.

Title, why, how to fix and sources stand in the docstring of the class; what is checked stands in that of ``check``, or
below the title where a rule has no ``check`` of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.lazy import dataclass
from compat.rules.rule import Rule, code_of

if TYPE_CHECKING:
    from compat.findings import Severity

HEADINGS: Final = ("Why", "Fix", "Sources")


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
    """The page in a rule's docstrings; ``ValueError`` names the rule whose headings are not those of all."""
    title, _, body = (rule.__doc__ or "").strip().partition("\n")
    parts = dict(_sections(body))
    if tuple(parts) != HEADINGS:
        raise ValueError(f"{code}: headings {tuple(parts)}, expected {HEADINGS}")
    return Page(
        code=code,
        title=" ".join(title.split()).rstrip("."),
        severity=rule.severity,
        area=rule.area,
        what=_flowed(body.partition("Why:")[0]) or _flowed(rule.check.__doc__ or ""),
        why=_flowed(parts["Why"]),
        fix=_flowed(parts["Fix"]),
        sources=tuple(_flowed(item) for item in parts["Sources"].split("- ") if item.strip()),
        requires=rule.requires,
    )


def _sections(body: str) -> list[tuple[str, str]]:
    """Heading and text of each section, in order."""
    pieces = re.split(rf"^\s*({'|'.join(HEADINGS)}):", body, flags=re.MULTILINE)
    return list(zip(pieces[1::2], pieces[2::2], strict=True))


def _flowed(text: str) -> str:
    return " ".join(text.split())
