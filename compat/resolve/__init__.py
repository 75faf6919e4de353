"""Requirement x target x matrix -> a plan, or every minimal conflict with the nearest changes that work. Pure.

A question passes these rooms in order. What fits is judged by :mod:`compat.joints`; here is the search over it.

================== =================================================================================
request            requirement lines -> wishes, and the packages to choose
read_situation     hosts and wishes -> a situation (values: ``situation``; GPUs, drivers: ``devices``)
target             options -> a host; what ``--gpu`` names
knowledge          the matrix as the search asks it (builds: ``options``)
build_fit          one build against the situation
pairs              builds together
images             base images and Pythons that carry the builds
preference         the order of plans
search             the best assignment that violates nothing
planning           that assignment as a plan; ``conditions``: what is told beside it
corrections        if there is none: every smallest set of constraints to give up
reasons, wording   the conflicts in words, with the rows that they rest on, and whether they are proven
remedies           what would help (``remedy_changes``, ``asks``), each solved once more
answering          the steps above, for one machine or for the fewest plans that cover several
================== =================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.plan import Answer, Plan


def resolve(
    requirements: Sequence[str], host: Host, matrix: Matrix, *, cpu: bool = False, prefer: str = "proven"
) -> Answer:
    """Find the builds that fit together and the target, or the reason why there are none.

    ``host``: facts of the target; facts that options state are marked as such. ``cpu``: whether CPU builds are asked
    for; never chosen otherwise.

    Raises:
        InputError: if a requirement is malformed, unknown or names a version that does not exist.
    """
    from compat.resolve.answering import answer

    return answer(requirements, [host], matrix, cpu=cpu, prefer=prefer)


def nearest(
    wish: str, beside: Sequence[str], host: Host, matrix: Matrix, *, left: Sequence[str] | None = None
) -> Plan | None:
    """The plan that remedies propose: machine code for the GPUs first, then the smallest step, then the newest release.

    What stands beside stays as it is where it can, else it moves along. ``None`` where there is no plan, or the matrix
    does not know what is asked.

    Args:
        wish: requirement that pins a release, which may move.
        beside: requirements beside it.
        host: facts of the target; none of them moves, so that its Python stays.
        matrix: what is true of builds, drivers, devices and images.
        left: the only ones of ``beside`` that are kept in the end, where nothing else works; none are given up without.
    """
    from compat.errors import InputError, InputErrors
    from compat.resolve import remedies

    steps: list[tuple[list[str], Sequence[str]]] = [([wish], beside), ([wish, *beside], ())]
    if left is not None:
        steps.append(([wish, *left], ()))
    first: Plan | None = None  # what stands beside may keep it from machine code; to give that up is no remedy
    for number, (moving, kept) in enumerate(steps):
        if first and number > 1:
            break
        try:
            plan = remedies.nearest(moving, kept, host, matrix)
        except (InputError, InputErrors):
            continue
        if plan and all(gpu.kernels != "ptx" for gpu in plan.gpus):
            return plan
        first = first or plan
    return first


def resolve_many(
    requirements: Sequence[str], hosts: Sequence[Host], matrix: Matrix, *, cpu: bool = False, prefer: str = "proven"
) -> tuple[tuple[tuple[int, ...], Answer], ...]:
    """The smallest number of plans that covers all hosts: groups of host numbers, each with its one answer.

    A host for which there is no plan stands alone with its conflict.

    Raises:
        InputError: as :func:`resolve`.
    """
    from compat.resolve.answering import cover

    return cover(requirements, hosts, matrix, cpu=cpu, prefer=prefer)
