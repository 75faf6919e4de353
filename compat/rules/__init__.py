"""The doctor's judgement: facts x matrix -> findings. One file per family of rules.

>>> from compat.facts import host
>>> from compat.matrix import matrix
>>> report = judge(host(driver="470.57.02", builds={"torch": {"runtime": "cuda12.1"}}), matrix())
>>> report.findings[0].code
'driver-too-old-for-runtime'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.rules.engine import judge_with
from compat.rules.pages import Page, page_of
from compat.rules.registry import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compat.facts import Host
    from compat.findings import Report
    from compat.matrix import Matrix

__all__ = ["RULES", "Page", "judge", "page"]


def judge(
    host: Host,
    matrix: Matrix,
    *,
    error: str = "",
    wishes: Sequence[str] = (),
    commands: Sequence[str] = (),
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
) -> Report:
    """Judge a machine.

    Args:
        host: its facts, complete or partial.
        matrix: what is true of frameworks, drivers and devices.
        error: an error text or log, of any size, to explain with the facts.
        wishes: requirements that somebody wants to run (``torch==2.0.1``).
        commands: commands that somebody ran.
        select: codes to keep; empty for all.
        ignore: codes to leave out.

    Returns:
        findings, the root cause first and consequences folded under it; what fits; and what was not judged, with the
        facts that would decide.
    """
    return judge_with(RULES, host, matrix, error=error, wishes=wishes, commands=commands, select=select, ignore=ignore)


def page(code: str) -> Page:
    """The page of a code.

    Raises:
        KeyError: if there is no such rule.
    """
    return page_of(RULES[code])
