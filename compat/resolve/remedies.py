"""The nearest changes that work: each smallest correction turned into a concrete change and solved again.

A correction says which constraints to give up; solving without them gives a plan, and the plan says what to change
them to (this driver, that Python, another version). The change is then applied as a value and solved once more: what
is offered has been found to work. A CPU build is only mentioned, with ``--cpu``, and comes last.

Nearness is counted in changes first and in their kind then: another version, runtime, Python or system can be typed,
a driver must be installed, a GPU or a machine must be had. Another version means the release nearest to the one asked
for. Where no version alone helps, a version with one more change is tried; where packages cannot be together, two
images; where GPUs cannot be served together, one image each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.joints.build import split_runtime
from compat.plan import Plan, Remedy
from compat.resolve.asks import for_cpu, for_gpus, mended, without
from compat.resolve.knowledge import knowledge
from compat.resolve.planning import plan_of
from compat.resolve.read_situation import situation
from compat.resolve.remedy_changes import (
    allowed_places,
    at_place,
    branch_ended,
    changes_of,
    relaxed,
    subject,
    with_driver,
    with_kin,
    with_target,
    with_wish,
)
from compat.resolve.request import read
from compat.resolve.search import Search
from compat.versions import meets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.resolve.situation import Situation, Soft

# Remedies offered; more would hide the near ones.
MOST: Final = 8

# What is easiest to change first: what is asked for, then software, then the machine.
_NEARNESS: Final = {
    "wish": 0,
    "runtime": 1,
    "python": 2,
    "os": 3,
    "glibc": 4,
    "libc": 4,
    "driver": 5,
    "amdgpu": 5,
    "l4t": 5,
    "gpu": 6,
    "arch": 7,
    "platform": 8,
    "cpu_flags": 9,
}

# What another machine would be needed for.
_MACHINE: Final = frozenset({"arch", "platform", "gpu"})


def remedies(search: Search, sets: Sequence[int]) -> tuple[Remedy, ...]:
    """Remedies, nearest first; every one has been solved with its change applied.

    Two remedies that change the same things to the same values are one. Another GPU comes after all that this one can
    do. The CPU build is added after the cut, so that it is never crowded out and never comes first.
    """
    found = [
        remedy for bits in sorted(sets, key=lambda bits: _distance(search, bits)) for remedy in _mend(search, bits)
    ]
    found += [*_per_gpu(search, sets), *_split(search)]
    packages = {wish.package for wish, _ in search.target.wishes}
    if not any(packages.intersection(remedy.changes) for remedy in found):
        found += _pairs(search, sets)
    unlike = {tuple(sorted(remedy.changes.items())): remedy for remedy in reversed(found)}
    kept = [remedy for remedy in found if unlike[tuple(sorted(remedy.changes.items()))] is remedy][:MOST]
    kept.sort(key=lambda remedy: "gpu" in remedy.changes)
    is_stuck = all(_MACHINE.intersection(remedy.changes) for remedy in kept)
    return (*_for_gpus(search), *kept, *_cpu(search, of_another_release=is_stuck), *_with_gpu(search))


def solve(
    target: Situation, search: Search, prefer: str = "nearest", anchors: dict[str, int] | None = None
) -> Plan | None:
    """The plan for a changed target; ``None`` if there is none that is known to run on every GPU."""
    for place in allowed_places(target):
        again = Search(at_place(target, place), search.known, prefer, anchors)
        if not any(not wish.shared for wish, _ in again.target.wishes):
            return None
        if found := again.best():
            plan = plan_of(again, found)
            return None if any(gpu.kernels == "unknown" for gpu in plan.gpus) else plan
    return None


def nearest(moving: Sequence[str], kept: Sequence[str], host: Host, matrix: Matrix) -> Plan | None:
    """The nearest plan that moves the releases of some requirements, most important first, and keeps the others.

    Raises:
        InputError: as :func:`compat.resolve.resolve`.
    """
    known = knowledge(matrix)
    target = situation(read([*moving, *kept], known), [host], known, cpu=False)
    search = Search(target, known)
    bits = sum(bit for _, bit in target.wishes[: len(moving)])
    return None if target.unknowns else _moved(search, softs_of(search, bits), bits)


def softs_of(search: Search, bits: int) -> tuple[Soft, ...]:
    """The constraints of a bit set."""
    return tuple(soft for soft in search.target.softs if soft.bit & bits)


def _distance(search: Search, bits: int) -> tuple[object, ...]:
    """How far a correction is from what was asked: fewer changes, then easier ones, then those that keep frameworks."""
    softs = softs_of(search, bits)
    packages = search.known.matrix.packages
    frameworks = sum(
        bool(bit & bits) and wish.package in packages and packages[wish.package].kind == "framework"
        for wish, bit in search.target.wishes
    )
    return len(softs), sorted(_NEARNESS.get(subject(soft), 6) for soft in softs), frameworks, bits


def _mend(search: Search, bits: int) -> Iterator[Remedy]:
    """Remedies for one correction.

    Drivers are mended towards the lowest that works, everything else towards what is nearest to the question.
    """
    softs = softs_of(search, bits)
    if any(soft.subject == "no-gpu" for soft in softs):
        return
    plan = _moved(search, softs, bits)
    if plan is not None and (remedy := _told(search, softs, plan)):
        yield remedy
    if len(softs) == 1 and subject(softs[0]) == "gpu":
        yield from _override(search, softs[0])


def _moved(search: Search, softs: Sequence[Soft], bits: int) -> Plan | None:
    """The plan without some constraints whose releases are the nearest to those asked for."""
    anchors = {
        wish.package: search.known.anchor(wish) for wish, bit in search.target.wishes if bit & bits and not wish.shared
    }
    is_old = any(soft.subject == "driver" and not branch_ended(search, soft) for soft in softs)
    alone = "oldest-driver" if is_old else "proven" if bits & search.target.runtime_bit else "nearest"
    prefer = "nearest" if anchors else alone
    loosened = _without(search.target, softs, bits)
    kind, number = split_runtime(search.target.runtime if bits & search.target.runtime_bit else "")
    plan = None
    if "." in number:  # another minor is nearer than another major
        near = replace(loosened, runtime=kind + number.partition(".")[0], runtime_bit=search.target.runtime_bit)
        plan = solve(near, search, prefer, anchors)
    plan = plan or solve(loosened, search, prefer, anchors)
    if plan is None and (plain := _plain(loosened, bits)) is not loosened:
        plan = solve(plain, search, prefer, anchors)
    if plan is None and len(search.target.devices) == 1 and search.target.devices[0].bit & bits:
        plan = solve(relaxed(loosened, search.target.devices[0].bit), search, prefer, anchors)
    return plan


def _without(target: Situation, softs: Sequence[Soft], bits: int) -> Situation:
    """The target without some constraints.

    A wish gives up its version before the package as such, and a lone GPU its model before its vendor.
    """
    lone = bits & target.devices[0].bit if len(target.devices) == 1 else 0
    wishes = sum(soft.bit for soft in softs if soft.kind == "wish")
    loosened = relaxed(target, bits & ~wishes & ~lone)
    if lone:
        loosened = with_kin(loosened, lone)
    for wish, bit in target.wishes:
        if bit & bits and wish.shared:
            loosened = relaxed(loosened, bit)
        elif bit & bits:
            loosened = with_wish(loosened, bit, replace(wish, spec="", text=wish.package))
    return loosened


def _plain(target: Situation, bits: int) -> Situation:
    """The target with the wishes in ``bits`` as plain packages: extras and distributions may choose one kind alone."""
    for wish, bit in target.wishes:
        if bit & bits and (wish.extras or wish.distribution):
            target = with_wish(target, bit, replace(wish, extras=(), distribution=""))
    return target


def _told(search: Search, softs: Sequence[Soft], plan: Plan) -> Remedy | None:
    """The change in words, solved once more with the new values in place; ``None`` if a part of it cannot be said.

    Solving without a constraint shows that some value works; solving with the value shows that this one does. The two
    can differ where a new driver or GPU brings rules of its own. All other values are then those of the second plan.
    """
    said = changes_of(search, softs, plan)
    if said is None:
        return None
    changes = {one.key: one.value for one in said}
    concrete = _concrete(search, softs, changes)
    if concrete is not None:
        then = solve(concrete, search)
        told = changes_of(search, softs, then) if then else None
        if then is None or told is None:
            return None
        said = [old if old.key in {"driver", "gpu"} else new for old, new in zip(said, told, strict=True)]
        plan, changes = then, {one.key: one.value for one in said}
    text = " and ".join(one.text for one in said)
    return Remedy(text=text, changes=changes, asks=mended(search, softs, changes, plan), plans=(plan,))


def _concrete(search: Search, softs: Sequence[Soft], changes: dict[str, str]) -> Situation | None:
    """The target with a new driver or GPU in place of the old; ``None`` where neither changes.

    A new GPU takes the place of all that the target has; where some stay, the others are left out.
    """
    kinds = {"driver": 0, "gpu": 0}
    for soft in softs:
        if subject(soft) in kinds:
            kinds[subject(soft)] |= soft.bit
    is_swap = kinds["gpu"].bit_count() == len(search.target.devices) > 0
    if not kinds["driver"] and not is_swap:
        return None
    swapped = kinds["driver"] | (kinds["gpu"] if is_swap else 0)
    others = [soft for soft in softs if not soft.bit & swapped]
    target = _without(search.target, others, sum(soft.bit for soft in others))
    for wish, bit in target.wishes:
        version = changes.get(wish.package, "left out")
        if bit in {soft.bit for soft in others} and not wish.shared and version != "left out":
            target = with_wish(target, bit, replace(wish, spec=f"=={version}"))
    if kinds["driver"]:
        target = with_driver(target, changes["driver"], kinds["driver"])
    return with_target(target, changes["gpu"]) if is_swap else target


def _override(search: Search, soft: Soft) -> Iterator[Remedy]:
    """Borrowing a sibling's code on AMD: known to work for many, supported by nobody; offered and never chosen.

    Known where the matrix has a row that says which sibling's code a target can borrow, and under which number.
    """
    device = next((device for device in search.target.devices if device.bit == soft.bit), None)
    row = search.known.matrix.gfx(device.target) if device and device.vendor == "amd" else None
    if device is None or row is None or not row.override or not row.borrows:
        return
    devices = tuple(replace(one, target=row.borrows) if one is device else one for one in search.target.devices)
    plan = solve(replace(search.target, devices=devices), search, "proven")
    if plan is not None:
        env = {**(plan.env or {}), "HSA_OVERRIDE_GFX_VERSION": row.override}
        text = f"let {device.label} borrow the code of {row.borrows}, which AMD does not support: "
        text += f"set HSA_OVERRIDE_GFX_VERSION={row.override} and take the plan of {row.borrows}"
        changes, plans = {"HSA_OVERRIDE_GFX_VERSION": row.override}, (replace(plan, env=env),)
        yield Remedy(text=text, changes=changes, asks=(for_gpus(search, {device: row.borrows}),), plans=plans)


def _pairs(search: Search, sets: Sequence[int]) -> Iterator[Remedy]:
    """Where no other version alone helps: another version together with one other change that costs little."""
    near = [soft for soft in search.target.softs if subject(soft) in {"python", "os", "runtime", "glibc", "driver"}]
    for wish, bit in search.target.wishes:
        if bit not in sets or wish.shared:
            continue
        for remedy in (remedy for soft in near for remedy in _mend(search, bit | soft.bit)):
            if not meets(wish.spec, remedy.changes.get(wish.package, "")):
                yield remedy


def _per_gpu(search: Search, sets: Sequence[int]) -> list[Remedy]:
    """One image per GPU, where each can be served and not both by one."""
    devices = [device for device in search.target.devices if device.bit in sets]
    if len(devices) < 2 or len(devices) != len(search.target.devices):
        return []
    every = sum(device.bit for device in devices)
    whole = _plans(search, [every & ~device.bit for device in devices])
    if not whole:
        return []
    told = ", ".join(f"{plan.runtime} for {device.label}" for plan, device in zip(whole, devices, strict=True))
    asks = tuple(for_gpus(search, {device: ""}) for device in devices)
    changes = {"images": str(len(whole))}
    return [Remedy(text=f"make one image per GPU: {told}", changes=changes, asks=asks, plans=whole)]


def _split(search: Search) -> list[Remedy]:
    """Two images: one package apart from the rest, each half solved on the whole target; the last asked goes first.

    Companions stay with their framework: apart from it they would be of no use. The first package that can be set apart
    is taken, from the last asked on, since what is asked first matters most and should keep its company.
    """
    packages = [variable for variable in search.variables if variable.bits and not variable.shared]
    if len(packages) < 2:
        return []
    everything = sum(variable.bits for variable in packages)
    tried: set[int] = set()
    for apart in reversed(packages):
        companions = sum(variable.bits for variable in packages if variable.package in apart.followers)
        alone = apart.bits | companions
        if everything & ~alone in {0, *tried} or any(apart.package in one.followers for one in packages):
            continue
        tried.add(alone)
        dropped = (alone, everything & ~alone)
        if plans := _plans(search, dropped):
            halves = [", ".join(build.requirement for build in plan.builds if build.asked) for plan in plans]
            text = f"split into two images: {halves[0]} in one, {halves[1]} in the other"
            asks = tuple(without(search, bits) for bits in dropped)
            return [Remedy(text=text, changes={"images": "2"}, asks=asks, plans=plans)]
    return []


def _plans(search: Search, dropped: Sequence[int]) -> tuple[Plan, ...]:
    """One plan without each set of constraints; none at all as soon as one set has no plan."""
    found: list[Plan] = []
    for bits in dropped:
        plan = solve(relaxed(search.target, bits), search, "proven")
        if plan is None:
            return ()
        found.append(plan)
    return tuple(found)


def _for_gpus(search: Search) -> Iterator[Remedy]:
    """The package that brings the same for GPUs, where one that is asked for is its build for the CPU."""
    for wish, bit in search.target.wishes if not search.target.cpu else ():
        twins = [row.name for row in search.known.matrix.packages.values() if row.cpu_name == wish.package != row.name]
        for name in twins if not wish.distribution else ():
            asked = replace(wish, package=name, text=wish.text.replace(wish.package, name, 1))
            plan = solve(with_wish(search.target, bit, asked), search, "proven")
            if plan is not None:
                changes = {wish.package: "left out", name: next(one.version for one in plan.builds if one.name == name)}
                text = f"ask for {name}, which has the same for GPUs"
                yield Remedy(text=text, changes=changes, asks=(without(search, bit, asked.text),), plans=(plan,))


def _cpu(search: Search, *, of_another_release: bool) -> list[Remedy]:
    """The CPU build, mentioned last and only if there is one: of what is asked for, else perhaps of the nearest."""
    if search.target.cpu:
        return []
    target = replace(search.target, cpu=True, devices=(), machines=(), nothing=0, runtime="")
    text = "if a CPU build will do, ask for one with --cpu; none is chosen unasked"
    if plan := solve(target, search, "proven"):
        return [Remedy(text=text, changes={"cpu": "true"}, asks=(for_cpu(search),), plans=(plan,))]
    apart = Search(target, search.known)
    for _, bit in target.wishes if of_another_release else ():
        for remedy in _mend(apart, bit):
            if "left out" not in remedy.changes.values():
                told = f"if a CPU build will do, {remedy.text} with --cpu; none is chosen unasked"
                asks = tuple(for_cpu(search, ask.requirements) for ask in remedy.asks)
                return [replace(remedy, text=told, changes={"cpu": "true", **remedy.changes}, asks=asks)]
    return []


def _with_gpu(search: Search) -> list[Remedy]:
    """The same without ``--cpu``, where that is what stands in the way and nothing is said of what GPUs there are."""
    if not search.target.cpu or not search.target.bare:
        return []
    plan = solve(replace(search.target, cpu=False), search, "proven")
    if plan is None:
        return []
    names = ", ".join(build.requirement for build in plan.builds if build.asked)
    text = f"leave --cpu out, on a machine with a GPU: {names} for {plan.runtime}"
    return [Remedy(text=text, changes={"cpu": "false"}, asks=(without(search, 0),), plans=(plan,))]
