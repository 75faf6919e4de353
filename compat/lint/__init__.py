"""Conflicts in existing files: the requests of a Dockerfile, requirements file, ... weighed against the matrix.

Each request is resolved as its installer would, rather than compared as text, so that lean and right forms pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.findings import Report, Unchecked, ranked
from compat.lint import compilers, conda, drift, fits, images, libraries, machine, requests, steps, systems
from compat.lint.pages import RULES
from compat.lint.stages import scenes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.facts import Host
    from compat.findings import Finding
    from compat.lint.scene import Scene
    from compat.matrix import Matrix
    from compat.sources.values import Ask

__all__ = ["RULES", "lint"]

_FAMILIES: Final = (images, requests, drift, fits, compilers, libraries, conda, steps, systems, machine)


def lint(
    ask: Ask, matrix: Matrix, *, on: Host | None = None, select: Sequence[str] = (), ignore: Sequence[str] = ()
) -> Report:
    """Findings of one file, each with its line; what could not be read is listed as not checked.

    Args:
        ask: what the file asks for.
        matrix: what is true.
        on: facts of the machine that it is meant for; its GPUs, driver and processor are weighed too.
        select: codes to keep, or their beginnings; empty for all.
        ignore: codes to leave out, likewise.
    """
    stages = tuple(scenes(ask, matrix, on))
    found = [finding for finding in _findings(ask, stages, matrix) if _chosen(finding.code, select, ignore)]
    unique = {(finding.code, finding.place, finding.detail): finding for finding in found}
    unread = [Unchecked(ask.file, why) for why in ask.unread]
    return Report(
        ranked(unique.values()), (), (*unread, *(item for each in stages for item in machine.not_judged(each)))
    )


def _findings(ask: Ask, stages: Sequence[Scene], matrix: Matrix) -> Iterator[Finding]:
    """Every family of rules over every stage; services of a compose file have no stage and are asked by themselves."""
    for scene in stages:
        for family in _FAMILIES:
            for rule in family.RULES:
                yield from rule(scene)
    yield from steps.services(ask, matrix)


def _chosen(code: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    wanted = not select or any(code.startswith(prefix) for prefix in select)
    return wanted and not any(code.startswith(prefix) for prefix in ignore)
