"""The whole answer: optimum first, conflicts and remedies only where there is none.

The order of the steps is the order of their cost. Most questions end with the optimum; the enumeration of
corrections, which is some ten times dearer, runs only where there is no plan, and remedies only after it.

Three ends are told apart:

- *plan*: everything fits, and for every GPU it is known how its kernels run;
- *conflict*: nothing fits, with every minimal reason;
- *unknown*: the matrix cannot say. Either the request or a GPU lies outside it, or the best plan rests on kernels
  that nobody wrote down; then that plan is shown beside the reason.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

from compat.errors import InputError
from compat.markers import Environment, holds
from compat.plan import Answer
from compat.resolve.knowledge import knowledge
from compat.resolve.options import ANY_PYTHON
from compat.resolve.preference import SURE, order
from compat.resolve.read_situation import situation
from compat.resolve.request import is_beyond, read, unseen_variant
from compat.resolve.search import Search
from compat.resolve.situation import may_share
from compat.versions import clashes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.plan import Plan, Status
    from compat.resolve.knowledge import Knowledge
    from compat.resolve.search import Assignment
    from compat.resolve.situation import Situation
    from compat.resolve.wish import Wish


# Builds of a framework that are tried for a library that is asked for alone, newest first.
_TRIED: Final = 4


def answer(requirements: Sequence[str], hosts: Sequence[Host], matrix: Matrix, *, cpu: bool, prefer: str) -> Answer:
    """Answer one request for one plan that serves all ``hosts``, usually one; see :func:`compat.resolve.resolve`.

    Raises:
        InputError: for a request or a fact that cannot be read, and where no requirement applies on the target.
    """
    order(prefer)
    known = knowledge(matrix)
    wishes = read(requirements, known)
    target = situation(wishes, hosts, known, cpu=cpu)
    if all(wish.shared and not wish.unjudged for wish in wishes):
        return _alone(requirements, target, known, lambda asked: answer(asked, hosts, matrix, cpu=cpu, prefer=prefer))
    if (counting := tuple(wish for wish in wishes if _counts(wish, target, known))) != wishes:
        if all(wish.shared and not wish.unjudged for wish in counting):
            raise InputError(f"no requirement applies on {target.place}", where="argument", expected="one that does")
        target = situation(counting, hosts, known, cpu=cpu)
    if reasons := (*_beyond(wishes, known), *_strange(target, known), *_unread(target, known), *target.unknowns):
        return Answer(status="unknown", conditions=tuple(reasons))
    search = Search(target, known, prefer)
    uncounted: tuple[str, ...] = ()
    if plan := explained(search):
        certain = _certain(search) if is_open(plan) else None
        if certain is None:
            asks = tuple(_lacking(search))
            status: Status = "unknown" if asks or is_open(plan) else "plan"
            return Answer(status=status, plan=plan, conditions=(*asks, *plan.conditions))
        search, uncounted = certain, tuple(f"{gpu.why}: it does not count" for gpu in plan.gpus if gpu.why)
    from compat.resolve.corrections import corrections
    from compat.resolve.remedies import remedies
    from compat.resolve.wording import told

    sets = corrections(search)
    return Answer(
        status="conflict",
        conflicts=told(search, sets),
        fixes=remedies(search, sets),
        conditions=(*target.conditions, *dict.fromkeys(uncounted)),
    )


def _counts(wish: Wish, target: Situation, known: Knowledge) -> bool:
    """Whether a wish's marker is true on the target; where no Python is given, on any that its package has."""
    if not wish.marker:
        return True
    bits = 0
    for option in known.options(wish.package):
        bits |= option.pythons
    pythons = (target.python,) if target.python else known.pythons.of(bits if bits > 0 else ANY_PYTHON) or ("3",)
    return any(holds(wish.marker, Environment(target.place, python, wish.extras)) is not False for python in pythons)


def _lacking(search: Search) -> Iterator[str]:
    """What is asked for and of no use without one of several frameworks, of which none is: a question to the person."""
    rows, there = search.known.matrix.packages, {variable.package for variable in search.variables}
    for name in sorted(there & rows.keys()):
        if rows[name].needs and there.isdisjoint(rows[name].needs):
            *most, last = rows[name].needs
            yield f"{name} computes through {', '.join(most)} or {last}: ask for one of them beside it"


def is_open(plan: Plan) -> bool:
    """Whether it is not known if a GPU runs the plan's kernels: such a plan is shown, and not called one."""
    return any(gpu.kernels == "unknown" for gpu in plan.gpus)


def explained(search: Search) -> Plan | None:
    """The best plan with the choices that led to it; ``None`` if there is none."""
    from compat.resolve.conditions import choices
    from compat.resolve.planning import plan_of

    found = search.best()
    found = found and (_akin(search, found) or found)
    return replace(plan_of(search, found), choices=choices(search, found)) if found else None


def _certain(search: Search) -> Search | None:
    """The same search without builds of unknown kernels, where GPUs clash among all that is known.

    That is where each GPU alone has a plan of known kernels and no known build serves them together: then a build that
    nobody has looked into is no reason to withhold the conflict and its remedy. ``None`` everywhere else.
    """
    target = search.target
    if len({device.target for device in target.devices}) < 2:
        return None
    lone = (replace(target, devices=(device,)) for device in target.devices)
    found = (Search(one, search.known, search.prefer, certain=True).best() for one in (*lone, target))
    *alone, together = found
    return Search(target, search.known, search.prefer, certain=True) if all(alone) and together is None else None


def _akin(search: Search, found: Assignment) -> Assignment | None:
    """The same releases with each companion beside a framework of the CUDA it was compiled with, if there are any.

    Within a CUDA major another minor works too (CUDA Compatibility), so that this is a preference and no condition.
    """
    runtimes = {weighed.option.package: weighed.option for weighed in found.chosen}
    packages = search.known.matrix.packages
    leaders = [(option, runtimes.get(packages[name].follows)) for name, option in runtimes.items() if name in packages]
    mixed = [
        leader
        for option, leader in leaders
        if leader and option.kind == leader.kind == "cuda" and option.runtime != leader.runtime
    ]
    if not mixed:
        return None
    akin = Search(search.target, search.known, search.prefer, kin=True).best()
    same = akin and [one.option.version for one in akin.chosen] == [one.option.version for one in found.chosen]
    return akin if akin and same and akin.key[:SURE] == found.key[:SURE] else None


def _beyond(wishes: Sequence[Wish], known: Knowledge) -> list[str]:
    """Wishes about releases older than the matrix reaches, or variants that may be there: no verdict on those."""
    told = []
    for wish in wishes:
        if not wish.shared and (unseen := unseen_variant(wish, known)):
            told.append(unseen)
        elif not wish.shared and is_beyond(wish, known):
            oldest = (known.versions(wish.package) or ("no release",))[-1]
            told.append(f"{wish.text}: the matrix knows {wish.package} from {oldest} on, so nothing is said about it")
    return told


def _strange(target: Situation, known: Knowledge) -> list[str]:
    """That nothing is known of any package that is asked for, but perhaps images: there is no plan to make."""
    if not all(wish.shared for wish, _ in target.wishes):
        return []
    names = list(dict.fromkeys(wish.package for wish, _ in target.wishes))
    held = [name for name in names if known.images_of(f"{name}/{name}")]
    told = [f"{name} comes as images, {name}/{name}: `envcheck matrix show {name}` lists them" for name in held]
    plugs = {row.package: f"`envcheck matrix show {row.accelerator}`" for row in known.matrix.table("accelerators")}
    told += [f"which releases belong to {name}: {plugs[name]} tells" for name in names if name in plugs]
    return [f"the matrix has no builds of {', '.join(names)}, and nothing else is asked for", *told]


def _unread(target: Situation, known: Knowledge) -> Iterator[str]:
    """Packages whose builds for a GPU's maker stand where the matrix does not look: that it has none proves nothing."""
    vendors, rows = {device.vendor for device in target.devices}, known.matrix.packages
    for name in dict.fromkeys(wish.package for wish, _ in target.wishes if wish.package in rows):
        for vendor in sorted(vendors - {option.vendor for option in known.options(name)}):
            for where in rows[name].published_for(vendor):
                yield f"{rows[name].title} for {vendor} GPUs is published elsewhere, which was not read: {where}"


def _alone(
    requirements: Sequence[str], target: Situation, known: Knowledge, asked: Callable[[Sequence[str]], Answer]
) -> Answer:
    """The answer to a vendor's libraries without what computes with them: frameworks that bring them, a plan of one."""
    plans, wishes = [], [wish for wish, _ in target.wishes]
    for row in (one for one in known.matrix.packages.values() if one.kind == "framework"):
        builds = list(dict.fromkeys(_bringing(row.name, wishes, target, known)))[:_TRIED]
        found = (asked((name, *requirements)).plan for name, _ in builds)
        runtimes = {runtime for _, runtime in builds}
        plans += [one for one in found if one and not is_open(one) and one.builds[0].runtime in runtimes][:1]
    wanted = " and ".join(wish.text for wish in wishes)
    if not plans:
        why = f"no framework is asked for, and no plan of one that brings {wanted} was found"
        return Answer(status="unknown", conditions=(why,))
    fits = ", ".join(plan.builds[0].requirement for plan in plans)
    why = f"no framework is asked for: ask for one that brings {wanted}, such as {fits}"
    return Answer(status="unknown", plan=plans[0], conditions=(why, *plans[0].conditions))


def _bringing(package: str, wishes: Sequence[Wish], target: Situation, known: Knowledge) -> Iterator[tuple[str, str]]:
    """Builds that are known to require some libraries in versions that are wished: requirement and runtime of each."""
    pythons = known.pythons.bits((target.python,)) if target.python else ANY_PYTHON
    for option in (one for one in known.options(package) if one.pythons & pythons):
        asked = [(line, wish) for wish in wishes for line in option.lines.get(wish.package, ())]
        if len({wish.package for _, wish in asked}) < len(wishes) or option.build.how == "inferred":
            continue
        if not any(clashes(line.spec, wish.spec) for line, wish in asked):
            extras = f"[{','.join(option.build.extras)}]" if option.build.extras else ""
            yield f"{option.build.install_name}{extras}=={option.full}", option.runtime


# Hosts up to which the smallest cover is found exactly; beyond, one group is filled after the other.
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
        if not may_share(targets[number] for number in group):
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
    """Fill one group after the other, each with every host that it still has a plan with: not minimal, but quick.

    Hosts are tried many at once, since what serves many serves each: the questions grow with the number of hosts that
    are refused, and not with that of all hosts.
    """
    groups: list[Group] = []
    left = tuple(hosts)
    while left:
        group = _filled((), left, solved)
        groups.append(group)
        taken = frozenset(group)
        left = tuple(host for host in left if host not in taken)
    return tuple(groups)


def _filled(group: Group, block: Group, solved: _Test) -> Group:
    """A group with those of a block that it has a plan with, as if they were tried one by one."""
    if not block or solved((*group, *block)):
        return (*group, *block)
    if len(block) == 1:
        return group
    half = len(block) // 2
    return _filled(_filled(group, block[:half], solved), block[half:], solved)


if TYPE_CHECKING:
    from collections.abc import Callable

    _Test = Callable[[Group], bool]
