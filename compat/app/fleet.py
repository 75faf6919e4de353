"""Many machines at once: groups of alike nodes, what each cannot run, and the fewest plans for all of them.

Nodes whose facts are equal are judged once. A group is the nodes that are alike in what decides which builds run there
(:data:`ALIKE`), and the resolver is asked once a group.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat import facts
from compat.app import hosts
from compat.app.doctor import judged
from compat.app.files import only_once, read_text, shown
from compat.errors import InputError, InputErrors
from compat.facts import Fact, Host
from compat.fleet import Node, Seen, read
from compat.lazy import dataclass
from compat.survey import Alike, Broken, Covered, Fleet, Member, Upgrade

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compat.matrix import Matrix
    from compat.plan import Answer
    from compat.survey import Verdict

# Facts in which the nodes of a group are equal; ``gpus`` and ``packages`` as :func:`_traits` shortens them.
ALIKE: Final = (
    "gpus", "driver", "driver_cuda", "amdgpu", "os", "platform", "arch", "libc", "glibc", "python", "rocm",
    "cuda_toolkit", "cpu_flags", "packages",
)  # fmt: skip
LIMIT: Final = 512 * 1024 * 1024  # bytes of one source: 5,000 nodes of kubectl are some 100 MiB
_SUFFIXES: Final = frozenset({".json", ".jsonl", ".toml", ".prom", ""})


if TYPE_CHECKING:
    Judgement = tuple[Verdict, str]  # and why


@dataclass(frozen=True, slots=True)
class _Known:
    """A node that was read: its name, its facts, what was found on it, and the verdict about that."""

    name: str
    host: Host
    findings: tuple[Seen, ...]
    verdict: Judgement


def survey(sources: Sequence[str], wishes: Sequence[str], matrix: Matrix) -> Fleet:
    """Read all sources, and judge what they tell; of a node that is told of twice the last record counts.

    Raises:
        InputError: for a source that cannot be opened, or a requirement that is none.
    """
    records = list(_records(sources))
    last = {record.name: record for record in records if isinstance(record, Node)}
    broken = [record for record in records if isinstance(record, Broken)]
    known: list[_Known] = []
    kinds: dict[str, tuple[Host, tuple[Seen, ...], Judgement] | str] = {}
    for node in last.values():
        kind = json.dumps([node.facts, node.findings is None], sort_keys=True, default=str)
        if kind not in kinds:
            kinds[kind] = _judged(node, matrix)
        match kinds[kind]:
            case str() as why:
                broken.append(Broken(f"{node.place} ({node.name})", why))
            case machine, found, verdict:
                known.append(_Known(node.name, machine, *_own(node, found, verdict)))
    return _fleet(known, wishes, matrix, tuple(broken))


def _records(sources: Sequence[str]) -> Iterator[Node | Broken]:
    """The records of all sources: files, the files of folders, standard input."""
    only_once(sources)
    for name in sources:
        if Path(name).is_dir():
            for path in sorted(Path(name).iterdir()):
                if path.is_file() and path.suffix in _SUFFIXES and not path.name.startswith("."):
                    yield from read(read_text(str(path), limit=LIMIT), str(path))
        else:
            yield from read(read_text(name, limit=LIMIT), shown(name))


def _judged(node: Node, matrix: Matrix) -> tuple[Host, tuple[Seen, ...], Judgement] | str:
    """The facts of a node, and what the rules find where the node was not asked; or why it cannot be read."""
    try:
        machine = hosts.named(facts.load(node.facts, node.place), matrix)
    except (InputError, InputErrors) as error:
        return str(error)
    if node.findings is not None:
        return machine, (), ("unknown", "")
    found = judged(machine, matrix)
    seen = tuple(Seen(one.code, one.severity, one.detail) for one in found.findings)
    return machine, seen, _in_order(seen, checked=found.checked)


def _own(node: Node, found: tuple[Seen, ...], verdict: Judgement) -> tuple[tuple[Seen, ...], Judgement]:
    """What was found: by the doctor on the node where it ran there, else by the rules here."""
    if node.findings is None:
        return found, verdict
    return node.findings, _in_order(node.findings, checked=node.checked)


def _in_order(found: Sequence[Seen], *, checked: bool) -> Judgement:
    """Whether a machine is in order by what was found on it."""
    worst = next((one for one in found if one.severity == "error"), None)
    if worst:
        return "clashes", f"{worst.code}: {worst.detail}" if worst.detail else worst.code
    return ("fits", "") if checked else ("unknown", "nothing could be checked: too little is known")


def _fleet(known: Sequence[_Known], wishes: Sequence[str], matrix: Matrix, broken: tuple[Broken, ...]) -> Fleet:
    """Groups, verdicts and plans of the nodes that were read."""
    grouped: dict[str, list[_Known]] = {}
    shown_as: dict[str, dict[str, str]] = {}
    for node in known:
        traits = _traits(node.host, matrix)
        key = json.dumps(traits)
        shown_as[key] = traits
        grouped.setdefault(key, []).append(node)
    order = sorted(grouped, key=lambda key: -len(grouped[key]))
    members = [grouped[key] for key in order]
    groups = _odd([Alike(nodes=_names(mine), facts=shown_as[key]) for key, mine in zip(order, members, strict=True)])
    verdicts: dict[str, Judgement] = {node.name: node.verdict for node in known}
    plans: tuple[Covered, ...] = ()
    upgrade = None
    if wishes and members:
        machines = [mine[0].host for mine in members]
        plans, answers = _covered(groups, machines, wishes, matrix)
        verdicts = {name: answers[place] for place, group in enumerate(groups) for name in group.nodes}
        if len(plans) > 1 or any(verdict == "clashes" for verdict, _ in answers.values()):
            upgrade = _upgrade(groups, machines, wishes, matrix)
    nodes = [
        Member(
            name=node.name,
            verdict=verdicts[node.name][0],
            why=verdicts[node.name][1],
            findings=tuple(dict.fromkeys(one.code for one in node.findings)),
        )
        for node in known
    ]
    return Fleet(nodes=tuple(nodes), groups=tuple(groups), plans=plans, upgrade=upgrade, errors=broken)


def _names(nodes: Iterable[_Known]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes)


def _traits(host: Host, matrix: Matrix) -> dict[str, str]:
    """What decides which builds run on a machine, each in a few words; what nobody knows is left out."""
    return {name: _in_words(name, host, matrix) for name in ALIKE if host.known(name)}


def _in_words(name: str, host: Host, matrix: Matrix) -> str:
    """One of :data:`ALIKE` in a few words: GPUs by their number, of packages the frameworks."""
    value = host.value(name)
    if name == "gpus":
        counted = Counter(gpu.name or gpu.target or gpu.pci or "unnamed GPU" for gpu in value or ())
        return ", ".join(f"{count} x {gpu}" for gpu, count in sorted(counted.items())) or "none"
    if name == "packages":
        frameworks = {row.name for row in matrix.packages.values() if row.kind == "framework"}
        return ", ".join(f"{one} {release}" for one, release in sorted((value or {}).items()) if one in frameworks)
    if name == "cpu_flags":
        return " ".join(sorted(value or ()))
    return "none" if value is None else str(value)


def _odd(groups: Sequence[Alike]) -> list[Alike]:
    """The groups, largest first, each with what differs from the nearest larger one that has the same kind of GPU."""
    told: list[Alike] = []
    for group in groups:
        larger = [one for one in told if len(one.nodes) > len(group.nodes) and _products(one) == _products(group)]
        nearest = min((_differences(group, one) for one in larger), key=len, default={})
        told.append(replace(group, differs=nearest))
    return told


def _products(group: Alike) -> frozenset[str]:
    """The kinds of GPU of a group, whatever their number; a node without one is like no other."""
    return frozenset(part.partition(" x ")[2] for part in group.facts.get("gpus", "").split(", "))


def _differences(here: Alike, there: Alike) -> dict[str, tuple[str, str]]:
    """The facts that two groups tell differently; one that is unknown is told as such."""
    pairs = {name: (here.facts.get(name, "unknown"), there.facts.get(name, "unknown")) for name in ALIKE}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _covered(
    groups: Sequence[Alike], machines: Sequence[Host], wishes: Sequence[str], matrix: Matrix
) -> tuple[tuple[Covered, ...], dict[int, Judgement]]:
    """The fewest plans for all groups, and the verdict about each group."""
    from compat import resolve

    plans: list[Covered] = []
    verdicts: dict[int, Judgement] = {}
    for places, answer in resolve.resolve_many(wishes, machines, matrix):
        for place in places:
            verdicts[place] = _verdict(machines[place], answer)
        if answer.plan and all(verdicts[place][0] == "fits" for place in places):
            plans.append(Covered(tuple(name for place in places for name in groups[place].nodes), answer.plan))
    return tuple(plans), verdicts


def _verdict(host: Host, answer: Answer) -> Judgement:
    """What an answer says of one of its machines; a plan that rests on facts that nobody knows proves nothing."""
    if answer.status == "plan":
        if host.gpus and host.known("arch"):
            return "fits", ""
        return ("unknown", "; ".join(answer.conditions)) if answer.conditions else ("fits", "")
    if answer.status == "unknown":
        return "unknown", "; ".join(answer.conditions)
    members = answer.conflicts[0].members if answer.conflicts else ()
    return "clashes", "; ".join(member.text for member in members if member.kind != "wish")


def _upgrade(
    groups: Sequence[Alike], machines: Sequence[Host], wishes: Sequence[str], matrix: Matrix
) -> Upgrade | None:
    """The oldest NVIDIA driver with which one plan serves all, and that plan, found for machines that have it."""
    from compat import resolve, versions

    freed = [_without_driver(host) for host in machines]
    found = resolve.resolve_many(wishes, freed, matrix, prefer="oldest-driver")
    plan = found[0][1].plan if len(found) == 1 and found[0][1].status == "plan" else None
    driver = plan.driver.minimum if plan else ""
    old = [
        place for place, host in enumerate(machines) if host.driver and not versions.meets(f">={driver}", host.driver)
    ]
    if not driver or not old:
        return None
    raised = [_with_driver(host, driver) if place in old else host for place, host in enumerate(machines)]
    (first, *others) = resolve.resolve_many(wishes, raised, matrix)
    if others or first[1].status != "plan" or first[1].plan is None:
        return None
    return Upgrade(driver, tuple(name for place in old for name in groups[place].nodes), first[1].plan)


def _without_driver(host: Host) -> Host:
    kept = {name: reading for name, reading in host.readings.items() if name not in {"driver", "driver_cuda"}}
    return Host(kept)


def _with_driver(host: Host, driver: str) -> Host:
    return Host({**_without_driver(host).readings, "driver": Fact(driver, "upgrade")})
