"""Conflicts in existing files: the requests of a Dockerfile, requirements file, ... weighed against the matrix.

Each request is resolved as its installer would, rather than compared as text, so that lean and right forms pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.findings import Report, Unchecked, ranked
from compat.rules.lint import conda, drift, fits, images, libraries, requests, steps
from compat.rules.lint.finding import RULES
from compat.rules.lint.scene import scenes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.findings import Finding
    from compat.matrix import Matrix
    from compat.sources.values import Ask

__all__ = ["RULES", "lint"]

_FAMILIES: Final = (images, requests, drift, fits, libraries, conda, steps)


def lint(ask: Ask, matrix: Matrix, *, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> Report:
    """Findings of one file, each with its line; what could not be read is listed as not checked."""
    found = [finding for finding in _findings(ask, matrix) if _chosen(finding.code, select, ignore)]
    unique = {(finding.code, finding.place, finding.detail): finding for finding in found}
    unread = tuple(Unchecked(ask.file, why) for why in ask.unread)
    return Report(ranked(unique.values()), (), unread)


def _findings(ask: Ask, matrix: Matrix) -> Iterator[Finding]:
    """Every family of rules over every stage; services of a compose file have no stage and are asked by themselves."""
    for scene in scenes(ask, matrix):
        for family in _FAMILIES:
            for rule in family.RULES:
                yield from rule(scene)
    yield from steps.services(ask, matrix)


def _chosen(code: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    wanted = not select or any(code.startswith(prefix) for prefix in select)
    return wanted and not any(code.startswith(prefix) for prefix in ignore)
