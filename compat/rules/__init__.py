"""The doctor's judgement: facts x matrix -> findings. One file per family of rules.

>>> from compat.facts import host
>>> from compat.matrix import matrix
>>> report = judge(host(driver="470.57.02", builds={"torch": {"runtime": "cuda12.1"}}), matrix())
>>> report.findings[0].code
'driver-too-old-for-runtime'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.rules.engine import Given, case_of, weighed
from compat.rules.pages import Page, page_of
from compat.rules.registry import RULES

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from compat.facts import Host
    from compat.findings import Report
    from compat.matrix import Matrix

__all__ = ["RULES", "Page", "judge", "page"]


def judge(host: Host, matrix: Matrix, **given: Unpack[Given]) -> Report:
    """Judge a machine.

    ``matrix``: what is true of frameworks, drivers and devices. ``given``: what is known and asked beside them; see
    :class:`compat.rules.engine.Given`.

    Returns:
        findings, the root cause first and consequences folded under it; what fits; and what was not judged, with the
        facts that would decide.
    """
    return weighed(RULES, case_of(host, matrix, given), given)


def page(code: str) -> Page:
    """The page of a code.

    Raises:
        KeyError: if there is no such rule.
    """
    return page_of(RULES[code])
