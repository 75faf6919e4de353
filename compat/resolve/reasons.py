"""Why no build of a package goes with one fact of the target: the rows of the matrix that a conflict rests on.

A core names the constraints that clash; these are the rows that make them clash, so that each can be looked up. For
each kind of fact one function picks the row that comes nearest to an agreement (the lowest driver floor, the lowest C
library) or, where nothing is near, one row per runtime. The text states the row's content and not a conclusion that
another row might contradict.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.joints import driver, kernels, libc, processor
from compat.joints.build import is_tagged, is_unseen, split_runtime
from compat.joints.driver import amdgpu_floor
from compat.joints.python import in_order
from compat.joints.verdict import FITS, Unknown, clash_of, is_inferred
from compat.lazy import dataclass
from compat.plan import Member
from compat.resolve.options import ANY_PYTHON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from compat.matrix.rows import Build, Row
    from compat.resolve.build_fit import Weighed
    from compat.resolve.request import Variable
    from compat.resolve.search import Search
    from compat.resolve.situation import Device, Soft

# Rows named of one kind; more would bury the first.
_MOST: Final = 4

# Facts on which a package may have no builds at all.
_ABOUT_PLACES: Final = frozenset({"arch", "platform"})


@dataclass(frozen=True, slots=True)
class Clash:
    """A fact and a package that do not go together.

    ``builds`` are those that meet the wishes and break nothing else of the core ``bits``, so that the fact alone keeps
    them out; where every build breaks more than that, all that meet the wishes. ``named`` are all of these.
    """

    search: Search
    soft: Soft
    variable: Variable
    builds: tuple[Weighed, ...]
    named: tuple[Weighed, ...]
    place: str
    bits: int

    @property
    def name(self) -> str:
        """The package with the versions asked for."""
        extras = sorted({extra for wish, _ in self.variable.wishes for extra in wish.extras})
        package = f"{self.variable.package}[{','.join(extras)}]" if extras else self.variable.package
        return f"{package} {', '.join(wish.spec for wish, _ in self.variable.wishes if wish.spec)}".rstrip()

    @property
    def share(self) -> str:
        """What has what is then listed: the package, or of its releases those that fit all else of the core."""
        return f"{self.name} has" if len(self.builds) == len(self.named) else f"where all else fits, {self.name} has"

    @property
    def rows(self) -> list[Build]:
        """The rows of its builds that are candidates: none for GPUs of makers that the target lacks, unless all are."""
        vendors = {*self.search.target.vendors, "", "cpu"} if self.search.target.vendors else frozenset()
        found = [one.option.build for one in self.builds if not vendors or one.option.vendor in vendors]
        return found or [one.option.build for one in self.builds]

    def row(self, text: str, *sources: Row, by: str = "", of: Sequence[Build] = ()) -> Member:
        """A member that cites rows of the matrix; it is likely where one of those that decide is only inferred.

        ``by``: the field that decides; empty where nothing that may be inferred does. ``of``: the rows whose field that
        is, where it is not the first of those cited.
        """
        likely = bool(by) and any(is_unseen(self.search.known.matrix, row, by) for row in of)
        likely = likely or (bool(by) and not of and any(is_inferred(row, by) for row in sources[:1]))
        text = f"{text}; this is only inferred" if likely else text
        cites = "; ".join(dict.fromkeys(map(self.search.known.matrix.cite, sources)))
        return Member("matrix", text, cites, likely)


def fact_reasons(search: Search, soft: Soft, variable: Variable, bits: int, place: str) -> Iterator[Member]:
    """What the matrix says against a package on one fact of the core ``bits``, at a place (``linux_x86_64``).

    It is nothing where the fact does not concern the package by itself.
    """
    subject = "gpu" if soft.subject.startswith("gpu") else soft.subject
    named = tuple(one for one in search.domain(variable, place) if _breaks_less(one, variable.bits))
    others = bits & ~soft.bit
    has_python = others & search.target.python_bit
    stopped = tuple(
        one
        for one in named
        if _breaks_less(one, others) and (not has_python or one.option.pythons & search.python_bits)
    )
    if subject in _TELLERS and (named or subject in _ABOUT_PLACES):
        yield from _TELLERS[subject](Clash(search, soft, variable, stopped or named, named, place, bits))


def _breaks_less(weighed: Weighed, bits: int) -> bool:
    """Whether a build can do without breaking any constraint of a set."""
    return any(not violated & bits for violated in weighed.violations)


def _driver(clash: Clash) -> Iterator[Member]:
    """The least demanding build and its floor; or, where the driver is new enough for it, what else a driver says.

    Where a GPU belongs to the core too, its own reason tells which drivers know it.
    """
    search, floors = clash.search, []
    for one in clash.builds:
        floor = search.scale.floor(one.option, clash.place)
        least = floor and (floor.family or floor.exact)
        if floor and least:
            lowest = max(filter(None, (least, one.option.build.driver)), key=versions.release)
            floors.append(
                (versions.release(lowest), versions.release(one.option.number), one.option.serial, lowest, one, floor)
            )
    if not floors:
        return
    *_, lowest, one, floor = min(floors, key=lambda item: item[:3])
    if all(machine.number >= versions.release(lowest) for machine in search.target.machines if machine.number):
        if not any(device.bit & clash.bits for device in search.target.devices):
            yield clash.row("an NVIDIA driver speaks for an NVIDIA GPU, so that builds for other GPUs do not count")
        return
    how = "by its own floor" if lowest in {floor.exact, one.option.build.driver} else "by minor-version compatibility"
    name = f"{one.option.package} {one.option.full} on CUDA {one.option.number}"
    told = f"the least demanding of these builds, {name}, needs driver {lowest} or later {how}"
    guessed = [build for build in clash.rows if not is_tagged(build, kind=bool(floor.family))]
    yield clash.row(told, floor.row, by="runtime" if guessed else "", of=guessed)


def _amdgpu(clash: Clash) -> Iterator[Member]:
    """The ROCm build that accepts the oldest AMD driver, and that driver."""
    matrix = clash.search.known.matrix
    told = [(amdgpu_floor(matrix, one.option.number), one) for one in clash.builds if one.option.kind == "rocm"]
    floors = [(versions.release(floor), one.option.serial, floor, one) for floor, one in told if floor]
    if floors:
        _, _, floor, one = min(floors, key=lambda item: item[:2])
        row = matrix.rocm(one.option.number)
        text = f"{one.option.package} {one.option.full} on ROCm {one.option.number} accepts AMD drivers from {floor} on"
        yield clash.row(text, *([row] if row else []))


def _l4t(clash: Clash) -> Iterator[Member]:
    """The CUDA that a board's system brings, and the builds for boards, each made for another one."""
    for machine in (one for one in clash.search.target.machines if one.l4t_bit == clash.soft.bit):
        numbers = {one.option.number: one for one in reversed(clash.builds) if one.option.on_board}
        found = [clash_of(driver.board(clash.search.known.matrix, number, machine.l4t)) for number in numbers]
        if found and found[0]:
            made = " or ".join(sorted(numbers, key=versions.release))
            text = f"{found[0].why}, and {clash.name} for boards is built for CUDA {made}"
            yield clash.row(text, *(one.option.build for one in numbers.values()), *found[0].rows, by="runtime")


def _gpu(clash: Clash) -> Iterator[Member]:
    """What excludes a device: its driver does not know it (any more), or no build has code for it."""
    search = clash.search
    device = next(device for device in search.target.devices if device.bit == clash.soft.bit)
    first, _ = search.scale.driver_span(device, clash.place)
    number = search.target.machines[device.machine].number
    row = search.known.matrix.capability(device.target)
    if row and number and first and number < versions.release(first):
        yield clash.row(f"{device.label} is known to drivers from {first} on", row)
    if row and (last := search.scale.past_branch(device, clash.place)):
        yield clash.row(f"{device.label} is served by drivers up to branch R{last}", row)
    yield from _code(clash, device)


def _code(clash: Clash, device: Device) -> Iterator[Member]:
    """Builds for the device's vendor and why their code does not run on it, one per runtime; or that there are none.

    Four rows at most, the newest release of each runtime: they show what the builds carry, from which anyone can see
    that the device is not among it.
    """
    search, vendors, matrix = clash.search, {one.option.vendor for one in clash.named}, clash.search.known.matrix
    if sources := [one.option.build for one in clash.builds if kernels.is_below(device.target, one.option.build)]:
        row = sources[0]
        text = f"{row.package} {row.full_version} is compiled for {' '.join(row.kernels)} and newer"
        yield clash.row(f"{text}, and {device.label} is older", row, by="kernels", of=sources)
        return
    if vendors == {""}:
        return  # it has no code for a device: what it brings has
    if device.vendor not in vendors:
        text = f"{clash.name} has no build for {device.vendor} GPUs on {clash.place}"
        builds = [one.option.build for one in clash.named]
        guessed = [build for build in builds if not is_tagged(build, kind=True)]
        yield clash.row(text, builds[0], by="runtime" if guessed else "", of=guessed)
        package = matrix.packages[clash.variable.package]
        plugs = [row for row in matrix.table("accelerators") if row.framework.startswith(f"{package.name}==")]
        for row in {one.package: one for one in plugs if device.target.startswith(one.accelerator)}.values():
            way = "ask for it" if row.package in matrix.packages else f"`envcheck matrix show {row.accelerator}` tells"
            yield clash.row(f"{row.package} brings {device.vendor} devices to {package.title}: {way}", row)
    elif any(one.vendor != device.vendor and one.bit & clash.bits for one in search.target.devices):
        own = next(one.option for one in clash.named if one.option.vendor == device.vendor)
        text = f"a build of {own.package} serves the GPUs of one vendor, and {device.label} needs one for"
        yield clash.row(f"{text} {own.vendor}, such as {own.full}", own.build)
        return
    by_runtime: dict[str, Weighed] = {}
    for one in clash.builds:
        if one.option.vendor == device.vendor and search.scale.runs(one.option, device) != FITS:
            by_runtime.setdefault(one.option.runtime, one)
    for one in list(by_runtime.values())[:_MOST]:
        found = kernels.verdict(matrix, device.vendor, device.target, one.option.build)
        why = kernels.why_not(matrix, device.target, one.option.build)
        unsure = f", so it does not count for {device.target}" if isinstance(found, Unknown) else ""
        member = clash.row(f"{why}{unsure}", one.option.build, by="kernels" if one.option.build.kernels else "runtime")
        yield replace(member, likely=True) if unsure else member


def _python(clash: Clash) -> Iterator[Member]:
    """The Pythons that there are wheels for, or where the one asked for is among them, that no image can have it."""
    target, bits = clash.search.target, 0
    for one in clash.builds:
        bits |= one.option.pythons
    if bits != ANY_PYTHON and not bits & clash.search.python_bits:
        minors = ", ".join(in_order(clash.search.known.pythons.of(bits)))
        yield clash.row(f"{clash.share} {_which(clash, bits)}{minors}", *clash.rows[:1], by="python", of=clash.rows)
    elif clash.place.startswith("linux") and not clash.search.images.is_ready(target.python):
        rows = clash.search.known.matrix.table("pythons")
        oldest = min(rows, key=lambda row: versions.release(row.python.rstrip("t")))
        text = f"no image can be made with Python {target.python}: the oldest that one can install into is"
        yield clash.row(f"{text} {oldest.python}", oldest)


def _which(clash: Clash, bits: int) -> str:
    """The wheels that are meant, where others of what was named, for the CPU or another place, have other Pythons."""
    wishes = tuple(wish for wish, _ in clash.variable.wishes)
    every = clash.search.known.named(clash.variable.package, wishes)
    if len(clash.builds) < len(clash.named) or all(
        one.pythons == ANY_PYTHON or not one.pythons & ~bits for one in every
    ):
        return "wheels for Python "
    kind = "GPU " * all(one.option.vendor not in {"", "cpu"} for one in clash.builds)
    return f"{kind}wheels for {clash.place.rstrip('_')} and Python "


def _glibc(clash: Clash) -> Iterator[Member]:
    """The build with the lowest C library floor."""
    needy = [one.option for one in clash.builds if one.option.build.glibc]
    if needy:
        option = min(needy, key=lambda option: (versions.release(option.build.glibc), option.serial))
        text = f"{libc.needs(option.build)} or later"
        yield clash.row(text, option.build, by="glibc", of=[one.build for one in needy])


def _libc(clash: Clash) -> Iterator[Member]:
    """A build, whose wheels musl does not load."""
    for found in (clash_of(libc.verdict(one.option.build, "", is_musl=True)) for one in clash.builds):
        if found is not None:
            yield clash.row(found.why, *found.rows, by="platforms", of=clash.rows)
            return


def _flags(clash: Clash) -> Iterator[Member]:
    """The processor features that the newest of these builds needs and the processor lacks."""
    found = clash_of(processor.verdict(clash.builds[0].option.build, clash.search.target.flags or frozenset()))
    if found is not None:
        yield clash.row(found.why, *found.rows, by="cpu", of=clash.rows)


def _runtime(clash: Clash) -> Iterator[Member]:
    """The runtimes that the package is built for: those of the kind asked for, or all where it has none of that."""
    found = {one.option.runtime: one.option for one in reversed(clash.builds) if one.option.vendor}
    kind, _ = split_runtime(clash.soft.value)
    numbered = {one: split_runtime(one) for one in found}
    runtimes = sorted(found, key=lambda one: (numbered[one][0], versions.release(numbered[one][1] or "0")))
    kinds = [one for one in runtimes if one.startswith(kind)] or runtimes
    if kinds:
        text, row = f"{clash.share} builds for {', '.join(kinds)}", found[kinds[-1]].build
        yield clash.row(text, row, by="runtime", of=clash.rows)


def _nothing(clash: Clash) -> Iterator[Member]:
    """Why a machine without GPU gets no plan: the promise never to fall back to a CPU build unasked."""
    package = clash.variable.package
    if clash.search.known.is_for_gpus(package):
        yield clash.row(f"{package} has no builds but those for a GPU or another accelerator")
        return
    yield clash.row(f"every GPU build of {package} needs a GPU; a CPU build is chosen only with --cpu")


def _place(clash: Clash) -> Iterator[Member]:
    """The places that what was named is published for, if the target's is not among them."""
    search, variable = clash.search, clash.variable
    named = search.known.named(variable.package, tuple(wish for wish, _ in variable.wishes))
    found = [option for option in named if option.vendor != "cpu"]
    places = sorted({place for option in found for place in option.build.platforms})
    if places and not {search.target.place, "any"}.intersection(places):
        builds = [option.build for option in found]
        text = f"{clash.name} is published {'with GPU code ' * (len(found) < len(named))}for {', '.join(places)}"
        elsewhere = all(build.index for build in builds)  # only the default index is read whole
        member = clash.row(text + ", as far as its index is known" * elsewhere, builds[0], by="platforms", of=builds)
        yield replace(member, likely=member.likely or elsewhere)


def _os(clash: Clash) -> Iterator[Member]:
    """No image of the system asked for: its glibc is too old, or none holds what the builds take from the system."""
    search = clash.search
    system = search.known.system(search.target.os)
    floors = [one.option.build.glibc for one in clash.builds if one.option.build.glibc]
    lowest = min(floors, key=versions.release, default="")
    judged = clash_of(libc.of_system(system, lowest or "0")) if system else None
    if system and judged:
        by, floor = ("glibc", f"{lowest} or later") if system.glibc else ("platforms", lowest or "of any version")
        yield clash.row(f"{clash.name} needs glibc {floor}, and {judged.why}", system, by=by, of=clash.rows)
        return
    vendors = search.target.vendors or {"nvidia"}
    needs = sorted({item for one in clash.builds for item in one.option.build.system if one.option.vendor in vendors})
    held = f" with {' '.join(needs)}" if needs else ""
    yield clash.row(f"no image of {search.target.os}{held} is known")


# Kind of fact -> what the matrix says against a package on it.
_TELLERS: Final[dict[str, Callable[[Clash], Iterator[Member]]]] = {
    "driver": _driver,
    "amdgpu": _amdgpu,
    "l4t": _l4t,
    "gpu": _gpu,
    "python": _python,
    "glibc": _glibc,
    "libc": _libc,
    "cpu_flags": _flags,
    "runtime": _runtime,
    "no-gpu": _nothing,
    "os": _os,
    "arch": _place,
    "platform": _place,
}
