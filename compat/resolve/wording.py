"""Conflicts in words: the members of each minimal core, the person's wishes first, and the rows that set them at odds."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.plan import Conflict, Member
from compat.resolve.corrections import conflicts
from compat.resolve.knowledge import ANY_PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.resolve.devices import Device
    from compat.resolve.joints import Objection
    from compat.resolve.search import Search, Variable
    from compat.resolve.situation import Soft
    from compat.resolve.weighing import Weighed

_KINDS: Final = {"wish": 0, "option": 1, "host": 2}
_PAIRS: Final = 400
"""Pairs of builds whose dispute is looked into; the newest come first."""

_MOST: Final = 4
"""Rows named of one kind; the rest is counted."""


def told(search: Search, sets: Sequence[int]) -> tuple[Conflict, ...]:
    """Every minimal conflict, those with the fewest members first, and in them the wishes before options and facts."""
    return tuple(_conflict(search, bits) for bits in conflicts(sets))


def _conflict(search: Search, bits: int) -> Conflict:
    softs = sorted(
        (soft for soft in search.target.softs if soft.bit & bits), key=lambda soft: (_KINDS[soft.kind], soft.bit)
    )
    rows = tuple(_reasons(search, softs, bits))
    members = [Member(soft.kind, soft.text, soft.source) for soft in softs]
    return Conflict((*members, *rows), why=_sentence(softs, rows))


def _sentence(softs: Sequence[Soft], rows: Sequence[Member]) -> str:
    named = [soft.text for soft in softs]
    together = (
        f"{', '.join(named[:-1])} and {named[-1]} do not go together" if len(named) > 1 else f"{named[0]} cannot be had"
    )
    return f"{together}: {'; '.join(row.text for row in rows)}" if rows else together


def _reasons(search: Search, softs: Sequence[Soft], bits: int) -> Iterator[Member]:
    """Rows of the matrix that a core rests on."""
    variables = [variable for variable in search.variables if variable.bits & bits]
    kept = {variable.package: tuple(_kept(search, variable, bits)) for variable in variables}
    for soft in softs:
        if soft.kind != "wish":
            for variable in variables:
                yield from _fact_reason(search, soft, variable, bits)
    if len(variables) > 1:
        yield from _pair_reasons(search, variables, kept)
    elif not any(soft.kind != "wish" for soft in softs) and variables:
        yield from _lone_reason(search, variables[0])


def _kept(search: Search, variable: Variable, bits: int) -> Iterator[Weighed]:
    """Builds of a package that break none of the core's constraints by themselves."""
    for weighed in search.domain(variable, search.target.place):
        if any(not violated & bits for violated in weighed.violations):
            yield weighed


def _lone_reason(search: Search, variable: Variable) -> Iterator[Member]:
    """A wish that fails by itself: published only for other places, or only as a CPU build."""
    place = search.target.place
    named = [
        option
        for option in search.known.options(variable.package)
        if all(wish.names(option, search.known) for wish, _ in variable.wishes)
    ]
    kinds = sorted({option.runtime or "no GPU code" for option in named}, key=str)
    places = sorted({platform for option in named for platform in option.build.platforms})
    if named:
        text = f"{variable.package} {named[0].version} is published as {', '.join(kinds)} for {', '.join(places)}, and the plan is for {place}"
        yield Member("matrix", text, search.known.matrix.cite(named[0].build))


def _fact_reason(search: Search, soft: Soft, variable: Variable, bits: int) -> Iterator[Member]:
    """Why no build of a package goes with one fact."""
    subject = "gpu" if soft.subject.startswith("gpu") else soft.subject
    weighed = _own(search, variable)
    if not weighed:
        return
    told = _TELLERS.get(subject)
    if told is not None:
        yield from told(search, soft, variable, weighed)


def _own(search: Search, variable: Variable) -> tuple[Weighed, ...]:
    """Builds that meet the package's own wishes, whatever the target."""
    wishes = variable.bits
    domain = search.domain(variable, search.target.place)
    return tuple(weighed for weighed in domain if any(not violated & wishes for violated in weighed.violations))


def _driver_reason(search: Search, soft: Soft, variable: Variable, weighed: Sequence[Weighed]) -> Iterator[Member]:
    floors = []
    for one in weighed:
        floor = search.scale.floor(one.option, search.target.place)
        least = floor and (floor.family or floor.exact)
        if floor and least:
            lowest = max(filter(None, (least, one.option.build.driver)), key=versions.release)
            floors.append((versions.release(lowest), lowest, one, floor))
    if not floors:
        return
    _, lowest, one, floor = min(floors, key=lambda item: (item[0], item[2].option.serial))
    name = f"{variable.package} {one.option.full}"
    how = "by minor-version compatibility" if floor.family and floor.exact != lowest else "by its own floor"
    text = (
        f"the least demanding of these builds, {name} on CUDA {one.option.number}, needs driver {lowest} or later {how}"
    )
    yield Member("matrix", text, search.known.matrix.cite(floor.row))


def _gpu_reason(search: Search, soft: Soft, variable: Variable, weighed: Sequence[Weighed]) -> Iterator[Member]:
    device = next(device for device in search.target.devices if device.bit == soft.bit)
    first, last = search.scale.driver_span(device, search.target.place)
    machine = search.target.machines[device.machine]
    if machine.number and first and machine.number < versions.release(first):
        yield Member(
            "matrix", f"{device.label} is known to drivers from {first} on", _capability(search, device.target)
        )
    if machine.number and last and machine.number[0] > last:
        yield Member(
            "matrix", f"{device.label} is served by drivers up to branch R{last}", _capability(search, device.target)
        )
    yield from _code_reasons(search, device, variable, weighed)


def _code_reasons(search: Search, device: Device, variable: Variable, weighed: Sequence[Weighed]) -> Iterator[Member]:
    """Builds for the device's vendor and why their code does not run on it, one per runtime; or that there are none."""
    by_runtime: dict[str, Weighed] = {}
    for one in weighed:
        if one.option.vendor == device.vendor and search.scale.how(one.option, device) != "native":
            by_runtime.setdefault(one.option.runtime, one)
    if not any(one.option.vendor == device.vendor for one in weighed):
        text = f"{variable.package}{_spec(variable)} has no build for {device.vendor} GPUs on {search.target.place}"
        yield Member("matrix", text, search.known.matrix.cite(weighed[0].option.build))
    elif {one.option.vendor for one in weighed} - {device.vendor, ""} and len(search.target.vendors) > 1:
        text = (
            f"a build of {variable.package} serves the GPUs of one vendor: {device.label} needs one for {device.vendor}"
        )
        yield Member("matrix", text)
    for one in list(by_runtime.values())[:_MOST]:
        yield Member("matrix", _code_reason(search, device, one), search.known.matrix.cite(one.option.build))


def _code_reason(search: Search, device: Device, one: Weighed) -> str:
    option = one.option
    name = f"{option.package} {option.full} ({option.runtime})"
    code = " ".join(option.build.kernels)
    if not code:
        kin = (
            "a Jetson runs only code made for it"
            if device.segment == "jetson"
            else f"its runtime is not made for {device.target}"
        )
        return f"{name} names no code for {device.target}, and {kin}"
    if search.known.kernels(device.target, option.build.kernels) == "ptx":
        if search.scale.is_past_cudnn(option, device):
            cudnn = f"cuDNN {option.build.cudnn}".strip()
            return f"{name} carries PTX, but its {cudnn} has no code for {device.target}"
        return f"{name} carries {code}, which only a newer driver could compile for {device.target}"
    return f"{name} carries {code}, which cannot run on {device.target}"


def _capability(search: Search, target: str) -> str:
    row = search.known.matrix.capability(target)
    return search.known.matrix.cite(row) if row else ""


def _python_reason(search: Search, soft: Soft, variable: Variable, weighed: Sequence[Weighed]) -> Iterator[Member]:
    bits = 0
    for one in weighed:
        bits |= one.option.pythons
    if bits == ANY_PYTHON or bits & search.python_bits:
        return
    minors = ", ".join(reversed(search.known.pythons(bits)))
    yield Member(
        "matrix",
        f"{variable.package}{_spec(variable)} has wheels for Python {minors}",
        search.known.matrix.cite(weighed[0].option.build),
    )


def _glibc_reason(search: Search, soft: Soft, variable: Variable, weighed: Sequence[Weighed]) -> Iterator[Member]:
    floors = [(versions.release(one.option.build.glibc), one) for one in weighed if one.option.build.glibc]
    if floors:
        one = min(floors, key=lambda pair: (pair[0], pair[1].option.serial))[1]
        text = f"{variable.package} {one.option.full} needs glibc {one.option.build.glibc} or later"
        yield Member("matrix", text, search.known.matrix.cite(one.option.build))


def _flags_reason(search: Search, soft: Soft, variable: Variable, weighed: Sequence[Weighed]) -> Iterator[Member]:
    for one in weighed[:1]:
        missing = sorted(set(one.option.build.cpu) - (search.target.flags or frozenset()))
        if missing:
            text = f"{variable.package} {one.option.full} needs the processor features {' '.join(missing)}"
            yield Member("matrix", text, search.known.matrix.cite(one.option.build))


def _runtime_reason(search: Search, soft: Soft, variable: Variable, weighed: Sequence[Weighed]) -> Iterator[Member]:
    kinds = sorted({one.option.runtime for one in weighed if one.option.vendor}, key=_by_number)
    text = f"{variable.package}{_spec(variable)} is built for {', '.join(kinds)}"
    yield Member("matrix", text, search.known.matrix.cite(weighed[0].option.build))


def _by_number(runtime: str) -> tuple[str, tuple[int, ...]]:
    kind = runtime.rstrip("0123456789.")
    return kind, versions.release(runtime[len(kind) :] or "0")


def _nothing_reason(search: Search, soft: Soft, variable: Variable, weighed: Sequence[Weighed]) -> Iterator[Member]:
    yield Member("matrix", f"every GPU build of {variable.package} needs a GPU; a CPU build is chosen only with --cpu")


def _image_reason(search: Search, soft: Soft, variable: Variable, weighed: Sequence[Weighed]) -> Iterator[Member]:
    floors = [one.option.build.glibc for one in weighed if one.option.build.glibc]
    system = search.known.matrix.system(search.target.os)
    if system and system.glibc and floors and not versions.at_least(system.glibc, min(floors, key=versions.release)):
        lowest = min(floors, key=versions.release)
        text = f"{variable.package}{_spec(variable)} needs glibc {lowest} or later, and {system.os} has {system.glibc}"
        yield Member("matrix", text, search.known.matrix.cite(system))
        return
    needs = sorted({item for one in weighed for item in one.option.build.system})
    if needs:
        yield Member("matrix", f"no image of {search.target.os} with {' '.join(needs)} is known")


def _place_reason(search: Search, soft: Soft, variable: Variable, weighed: Sequence[Weighed]) -> Iterator[Member]:
    return iter(())


_TELLERS: Final = {
    "driver": _driver_reason,
    "gpu": _gpu_reason,
    "python": _python_reason,
    "glibc": _glibc_reason,
    "cpu_flags": _flags_reason,
    "runtime": _runtime_reason,
    "no-gpu": _nothing_reason,
    "os": _image_reason,
}


def _spec(variable: Variable) -> str:
    return f" {', '.join(wish.spec for wish, _ in variable.wishes if wish.spec)}".rstrip()


def _pair_reasons(
    search: Search, variables: Sequence[Variable], kept: dict[str, tuple[Weighed, ...]]
) -> Iterator[Member]:
    """What two packages dispute: the objections of the pair of builds that comes nearest to an agreement."""
    joints = search.joints(search.target.place)
    for one, other in combinations(variables, 2):
        pairs = list(product(_unlike(search, one, kept), _unlike(search, other, kept)))
        if any(joints.pythons(left.option, right.option) for left, right in pairs):
            continue
        near = [(left, right) for left, right in pairs if joints.goes(left.option, right.option)] or pairs[:1]
        disputes = [(list(joints.objections(left.option, right.option)), left, right) for left, right in near[:_PAIRS]]
        if disputes:
            yield from _dispute(search, *min(disputes, key=lambda dispute: _severity(dispute[0])))


def _unlike(search: Search, variable: Variable, kept: dict[str, tuple[Weighed, ...]]) -> tuple[Weighed, ...]:
    """One build of each kind that other packages can tell apart, newest first."""
    found: dict[object, Weighed] = {}
    for weighed in kept[variable.package]:
        found.setdefault(search.joint_of(variable, weighed), weighed)
    return tuple(found.values())


def _severity(objections: Sequence[Objection]) -> int:
    """How far two builds are from an agreement: another runtime is far, one pinned dependency is near."""
    weights = {"runtime": 1000, "system": 100, "requires": 50, "python": 20, "shared": 1}
    return sum(weights[objection.kind] for objection in objections)


def _dispute(search: Search, objections: Sequence[Objection], left: Weighed, right: Weighed) -> Iterator[Member]:
    names = _name(left), _name(right)
    cites = "; ".join(dict.fromkeys(search.known.matrix.cite(weighed.option.build) for weighed in (left, right)))
    for objection in objections[:_MOST]:
        yield Member("matrix", _objection(objection, *names), cites)


def _name(weighed: Weighed) -> str:
    return f"{weighed.option.package} {weighed.option.full}".strip()


def _objection(objection: Objection, left: str, right: str) -> str:
    match objection.kind:
        case "runtime":
            return f"{left} is built for {objection.left} and {right} for {objection.right}, which do not share an environment"
        case "system":
            return f"{left} takes {objection.left} from the system and {right} {objection.right}: an image holds one"
        case "requires":
            return f"{objection.asker} requires {objection.name}{objection.left}"
        case "python":
            return f"{left} has wheels for Python {objection.left}, {right} for {objection.right}"
        case _:
            return (
                f"{left} requires {objection.name}{objection.left}, {right} requires {objection.name}{objection.right}"
            )
