"""JUnit XML, which every CI system shows: an error is a failed test case, a warning or hint a passed one."""

from __future__ import annotations

from html import escape  # XML's five marks too; xml.sax would import a network stack
from typing import TYPE_CHECKING

from compat.render.ink import one_line

if TYPE_CHECKING:
    from compat.findings import Finding, Report


def report(found: Report, name: str = "envcheck") -> str:
    """The XML of a report: errors fail, what was not checked is skipped.

    Source: the elements ``testsuite`` and ``testcase`` as Jenkins, GitLab and GitHub's report readers take them;
    there is no standard beyond that use.
    """
    cases = [_case(finding) for finding in found.findings]
    skipped = [_skipped(name, item.why) for item in found.unchecked for name in item.names]
    cases += skipped
    cases += [f"  <testcase classname={quoteattr(name)} name={quoteattr(one_line(text))}/>" for text in found.fine]
    counts = f'tests="{len(cases)}" failures="{found.count("error")}" skipped="{len(skipped)}"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuite name={quoteattr(name)} {counts}>",
            *cases,
            "</testsuite>",
        ]
    )


def _case(finding: Finding) -> str:
    """A finding as a test case. A warning passes: CI must not turn red where ``--fail-on error`` would exit 0.

    Its place stands in ``file`` and ``line``, which GitLab's and other readers link, and in the text for all others.
    """
    place, where, attributes = finding.place, "", ""
    if place:
        where = f"{place.file}:{place.line}: " if place.line else f"{place.file}: "
        attributes = f" file={quoteattr(one_line(place.file))}" + (f' line="{place.line}"' if place.line else "")
    head = f'  <testcase classname="envcheck" name={quoteattr(finding.code)}{attributes}>'
    body = escape(f"{one_line(where + finding.detail)}\n{one_line(finding.fix.text)}")
    if finding.severity == "error":
        return f"{head}<failure message={quoteattr(one_line(finding.title))}>{body}</failure></testcase>"
    return f"{head}<system-out>{body}</system-out></testcase>"


def _skipped(name: str, why: str) -> str:
    """What nobody checked, as skipped with its reason: green would claim that it fits."""
    said = f"<skipped message={quoteattr(one_line(why))}/>"
    return f'  <testcase classname="envcheck" name={quoteattr(one_line(name))}>{said}</testcase>'


def quoteattr(text: str) -> str:
    """Text as an attribute's value, in quotes."""
    return f'"{escape(text).replace(chr(10), "&#10;").replace(chr(9), "&#9;")}"'
