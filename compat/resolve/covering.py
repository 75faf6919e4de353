"""Several machines: one plan for all of them, or the smallest number of plans that covers them.

A plan for a group is solved like one for a single machine whose GPUs and drivers are those of all members: each GPU
keeps the driver of its own machine. Machines of different platforms or Pythons never share one. Up to :data:`EXACT`
hosts all partitions are tried, those with fewer groups first; solves are remembered by group, and a fleet rarely has
more than a few kinds of machine.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

from compat.resolve.answering import answer
from compat.resolve.gathering import situation
from compat.resolve.knowledge import knowledge
from compat.resolve.situation import may_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.plan import Answer

# Hosts up to which the smallest cover is found exactly; beyond, groups are grown one host at a time.
EXACT: Final = 10

Group = tuple[int, ...]


def cover(
    requirements: Sequence[str], hosts: Sequence[Host], matrix: Matrix, *, cpu: bool, prefer: str
) -> tuple[tuple[Group, Answer], ...]:
    """Groups of host numbers with one answer each, as few as possible; a host without a plan stands alone.

    Each host is solved alone first: those without a plan cannot be in any group, since a group only adds constraints.
    Groups are told in the order of their first host, hosts without a plan last.
    """
    alone = {number: answer(requirements, [host], matrix, cpu=cpu, prefer=prefer) for number, host in enumerate(hosts)}
    found: dict[Group, Answer] = {(number,): one for number, one in alone.items()}
    known = knowledge(matrix)
    targets = [situation((), [host], known, cpu=cpu) for host in hosts]

    def solved(group: Group) -> bool:
        """Whether one plan serves a group of hosts; each group is asked once."""
        if not all(may_share(targets[one], targets[other]) for one, other in combinations(group, 2)):
            return False
        if group not in found:
            found[group] = answer(requirements, [hosts[number] for number in group], matrix, cpu=cpu, prefer=prefer)
        return found[group].status == "plan"

    served = [number for number, one in alone.items() if one.status == "plan"]
    groups = _exact(served, solved) if len(served) <= EXACT else _grown(served, solved)
    failed = [(number,) for number in alone if number not in served]
    return tuple((group, found[group]) for group in (*groups, *failed))


def _exact(hosts: Sequence[int], solved: _Test) -> tuple[Group, ...]:
    """The fewest groups; among equals the one whose first group is largest."""
    if not hosts:
        return ()
    for count in range(1, len(hosts) + 1):
        for groups in _partitions(tuple(hosts), count):
            if all(map(solved, groups)):
                return groups
    return tuple((host,) for host in hosts)


def _partitions(hosts: Group, count: int) -> Iterator[tuple[Group, ...]]:
    """Ways to cut hosts into ``count`` groups; the first host is in the first group, large first groups first."""
    if count == 1:
        yield (hosts,)
        return
    first, rest = hosts[0], hosts[1:]
    for size in range(len(rest) - count + 1, -1, -1):
        for others in combinations(rest, size):
            left = tuple(host for host in rest if host not in others)
            for tail in _partitions(left, count - 1):
                yield ((first, *others), *tail)


def _grown(hosts: Sequence[int], solved: _Test) -> tuple[Group, ...]:
    """Put each host into the first group that still has a plan with it: not minimal, but linear in solves."""
    groups: list[Group] = []
    for host in hosts:
        for place, group in enumerate(groups):
            if solved((*group, host)):
                groups[place] = (*group, host)
                break
        else:
            groups.append((host,))
    return tuple(groups)


if TYPE_CHECKING:
    from collections.abc import Callable

    _Test = Callable[[Group], bool]
