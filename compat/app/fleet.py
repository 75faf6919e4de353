"""Many machines at once: groups of alike nodes, what each cannot run, and the fewest plans for all of them.

Nodes whose facts are equal are judged once. A group is the nodes that are alike in what decides which builds run there
(:data:`ALIKE`), and the resolver is asked once a group.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import takewhile
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
    from collections.abc import Callable, Iterator, Sequence

    from compat.matrix import Matrix
    from compat.plan import Answer
    from compat.survey import Verdict

# Facts in which the nodes of a group are equal; ``gpus`` and ``packages`` as :func:`_in_words` shortens them.
ALIKE: Final = (
    "gpus", "driver", "driver_cuda", "amdgpu", "os", "platform", "arch", "libc", "glibc", "python", "rocm",
    "cuda_toolkit", "cpu_flags", "packages",
)  # fmt: skip
LIMIT: Final = 128 * 1024 * 1024  # bytes of one source: 5,000 nodes of kubectl are some 100 MiB
MOST: Final = 50_000  # nodes in all; Kubernetes promises 5,000 in a cluster
KINDS: Final = 10_000  # different nodes that are judged here, each by all rules
_SUFFIXES: Final = frozenset({".json", ".jsonl", ".toml", ".prom", ".txt", ".log", ""})


if TYPE_CHECKING:
    Judgement = tuple[Verdict, str]  # and why
    _Kind = tuple[Host, tuple[Seen, ...], Judgement]


@dataclass(frozen=True, slots=True)
class _Known:
    """A node that was read: its name, its facts, what was found on it, and the verdict about that."""

    name: str
    host: Host
    findings: tuple[Seen, ...]
    verdict: Judgement


def survey(sources: Sequence[str], wishes: Sequence[str], matrix: Matrix, *, image: str = "") -> Fleet:
    """Read all sources, and judge what they tell; of a node that is told of twice the last record counts.

    ``wishes``: requirements that should run on the nodes. ``image``: container image that should run on them.

    Raises:
        InputError: for a source that cannot be opened, a requirement that is none, or an image beside requirements.
        CannotCheckError: for an image that is no file and that no engine has.
    """
    if image and wishes:
        raise InputError("an image brings its own software", where="--image", expected="no requirement beside it")
    brought = cache(lambda arch: hosts.brought(image, arch))
    records = list(_records(sources))
    last = {record.name: record for record in records if isinstance(record, Node)}
    broken = [record for record in records if isinstance(record, Broken)]
    known: list[_Known] = []
    kinds: dict[str, _Kind | str] = {}
    weighed = 0
    for node in last.values():
        asked = bool(image) or node.findings is None
        kind = json.dumps([node.facts, node.instance, asked], sort_keys=True, default=str)
        if kind not in kinds:
            weighed += asked
            if weighed > KINDS:
                raise InputError(
                    f"more than {KINDS:,} nodes of which none is like another",
                    where=node.place,
                    hint="give what `envcheck doctor --format jsonl` printed on each node, which needs no second look",
                )
            kinds[kind] = _judged(node, matrix, brought if image else None) if asked else _read(node, matrix)
        match kinds[kind]:
            case str() as why:
                broken.append(Broken(f"{node.place} ({node.name})", why))
            case machine, found, verdict:
                own = node.findings or ()
                told = (found, verdict) if asked else (own, _in_order(own, checked=node.checked))
                known.append(_Known(node.name, machine, *told))
    return _fleet(known, wishes, matrix, tuple(broken))


def _records(sources: Sequence[str]) -> Iterator[Node | Broken]:
    """The records of all sources, at most :data:`MOST`: files, the files of folders, standard input."""
    only_once(sources)
    count = 0
    for name in (file for source in sources for file in _files(source)):
        for record in read(read_text(name, limit=LIMIT), shown(name)):
            count += 1
            if count > MOST:
                raise InputError(f"more than {MOST:,} records", where=shown(name), hint="give one cluster at a time")
            yield record


def _files(source: str) -> list[str]:
    """The files of a folder that a machine may have written; a source that is no folder is one itself."""
    if not Path(source).is_dir():
        return [source]
    paths = sorted(Path(source).iterdir())
    return [str(path) for path in paths if path.is_file() and path.suffix in _SUFFIXES and path.name[0] != "."]


def _read(node: Node, matrix: Matrix) -> _Kind | str:
    """The facts of a node, or why they cannot be read; the node judged itself."""
    try:
        machine = hosts.named(facts.load(node.facts, node.place), matrix)
        return _with_instance(machine, node.instance, matrix), (), ("unknown", "")
    except (InputError, InputErrors) as error:
        return str(error)


def _with_instance(machine: Host, instance: str, matrix: Matrix) -> Host:
    """The machine with the GPUs of its cloud's instance type, where no label names them."""
    from compat.matrix.instances import is_instance
    from compat.resolve.target import named

    if machine.known("gpus") or not is_instance(instance):
        return machine
    try:
        gpus = named(matrix, instance).gpus
    except InputError:
        return machine
    return Host({**machine.readings, "gpus": Fact(gpus, f"instance type {instance}")})


def _judged(node: Node, matrix: Matrix, brought: Callable[[str], Host] | None) -> _Kind | str:
    """The facts of a node, and what the rules find there or in a container of the image that it is given."""
    known = _read(node, matrix)
    if isinstance(known, str):
        return known
    machine = known[0]
    found = judged(hosts.inside(machine, brought(machine.arch or "")) if brought else machine, matrix)
    seen = tuple(Seen(one.code, one.severity, one.detail) for one in found.findings)
    verdict = _in_order(seen, checked=found.checked)
    if brought and verdict[0] == "fits" and (wanting := _wanting(machine)):
        verdict = "unknown", f"{wanting} is unknown"
    return machine, seen, verdict


def _wanting(machine: Host) -> str:
    """The fact without which nobody knows whether a machine runs GPU code; empty if none is wanting."""
    if not machine.known("gpus"):
        return "gpus"
    return "driver" if machine.gpus and not (machine.known("driver") or machine.known("amdgpu")) else ""


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
        traits = {name: _in_words(name, node.host, matrix) for name in ALIKE if node.host.known(name)}
        key = json.dumps(traits)
        shown_as[key] = traits
        grouped.setdefault(key, []).append(node)
    order = sorted(grouped, key=lambda key: -len(grouped[key]))
    members = [grouped[key] for key in order]
    groups = _odd(
        [
            Alike(nodes=tuple(node.name for node in mine), facts=shown_as[key])
            for key, mine in zip(order, members, strict=True)
        ]
    )
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


def _in_words(name: str, host: Host, matrix: Matrix) -> str:
    """One of :data:`ALIKE` in a few words: GPUs by their number, of packages the frameworks; what is absent is none."""
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
    alike: dict[frozenset[str], list[Alike]] = {}
    for group in groups:
        kinds = frozenset(part.partition(" x ")[2] for part in group.facts.get("gpus", "").split(", "))
        earlier = alike.setdefault(kinds, [])  # whatever their number; a node without a GPU is like no other
        larger = takewhile(lambda one: len(one.nodes) > len(group.nodes), earlier)  # noqa: B023 - used at once
        nearest = min((_differences(group, one) for one in larger), key=len, default={})
        told.append(replace(group, differs=nearest))
        earlier.append(group)
    return told


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
        fitting = [place for place in places if verdicts[place][0] == "fits"]
        if answer.plan and fitting:
            plans.append(Covered(tuple(name for place in fitting for name in groups[place].nodes), answer.plan))
    return tuple(plans), verdicts


def _verdict(host: Host, answer: Answer) -> Judgement:
    """What an answer says of one of its machines; a plan that rests on facts that nobody knows proves nothing."""
    if answer.plan and answer.status == "plan":
        if answer.plan.driver.minimum and _wanting(host) == "driver":
            return "unknown", f"driver is unknown, and the plan needs {answer.plan.driver.minimum} or later"
        if host.gpus and host.known("arch"):
            return "fits", ""
        given = "; ".join(answer.conditions)
        return ("unknown", f"it runs on the condition that {given}") if given else ("fits", "")
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
    new = {"driver": Fact(driver, "upgrade")}
    raised = [Host({**_without_driver(one).readings, **new}) if at in old else one for at, one in enumerate(machines)]
    (first, *others) = resolve.resolve_many(wishes, raised, matrix)
    if others or first[1].status != "plan" or first[1].plan is None:
        return None
    return Upgrade(driver, tuple(name for place in old for name in groups[place].nodes), first[1].plan)


def _without_driver(host: Host) -> Host:
    """A machine whose driver may be any; the CUDA release that a driver supports goes with it."""
    kept = {name: reading for name, reading in host.readings.items() if name not in {"driver", "driver_cuda"}}
    return Host(kept)
