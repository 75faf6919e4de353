"""Requirement x target x matrix -> a plan, or every minimal conflict with the nearest changes that work. Pure.

The way through: :mod:`request` reads the wishes, :mod:`gathering` the target, :mod:`weighing` judges each build alone,
:mod:`joints` pairs of builds, :mod:`images` the base image and Python, :mod:`search` finds the optimum by the order
that :mod:`preference` states, :mod:`corrections` all minimal conflicts, :mod:`remedies` what would mend them, and
:mod:`planning`, with :mod:`serving` and :mod:`caveats`, and :mod:`wording` say it. What the matrix knows is asked of
:mod:`knowledge`, which gathers :mod:`packages`, :mod:`hardware` and :mod:`pythons`. Beneath all stand the values:
:mod:`situation`, :mod:`options`, :mod:`wishes`, :mod:`needs`, :mod:`alternatives`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.plan import Answer


def resolve(
    requirements: Sequence[str], host: Host, matrix: Matrix, *, cpu: bool = False, prefer: str = "proven"
) -> Answer:
    """Find the builds that fit together and the target, or the reason why there are none.

    Args:
        requirements: PEP 508 requirements, most important first.
        host: facts of the target; options are facts whose source starts with ``--``.
        matrix: what is true of builds, drivers, devices and images.
        cpu: whether CPU builds are asked for; never chosen otherwise.
        prefer: ``proven``, ``newest``, ``smallest``, ``oldest-driver`` or ``stable``.

    Raises:
        InputError: if a requirement is malformed, unknown or names a version that does not exist.
    """
    from compat.resolve.answering import answer

    return answer(requirements, [host], matrix, cpu=cpu, prefer=prefer)


def resolve_many(
    requirements: Sequence[str], hosts: Sequence[Host], matrix: Matrix, *, cpu: bool = False, prefer: str = "proven"
) -> tuple[tuple[tuple[int, ...], Answer], ...]:
    """The smallest number of plans that covers all hosts: groups of host numbers, each with its one answer.

    A host for which there is no plan stands alone with its conflict.

    Raises:
        InputError: as :func:`resolve`.
    """
    from compat.resolve.covering import cover

    return cover(requirements, hosts, matrix, cpu=cpu, prefer=prefer)
