"""What is told beside a plan: why each build was chosen, what was assumed, and what to know before relying on it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from compat.joints.driver import amdgpu_floor
from compat.plan import Choice, DriverNeed, GpuVerdict
from compat.resolve.build_fit import FORWARD, Weighed
from compat.resolve.options import is_unread
from compat.resolve.pairs import agreed
from compat.resolve.preference import MEASURES, Preference
from compat.resolve.search import Assignment, Search, forward_package, need_of, runtime_of
from compat.resolve.situation import FITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.resolve.request import Variable


# Losers named per decision.
_MOST: Final = 6

# Field of a build that decides and may be only inferred -> how it is called.
_GUESSED: Final = {"runtime": "its runtime", "python": "its Pythons", "kernels": "its GPU code"}


def choices(search: Search, found: Assignment) -> tuple[Choice, ...]:
    """One choice per package, then the base image and the Python."""
    return (*_builds(search, found), *_footing(search, found))


def _builds(search: Search, found: Assignment) -> Iterator[Choice]:
    """One choice per package that has builds; a wish about a shared dependency chooses nothing."""
    preference = search.preference(found.place)
    for variable, taken in zip(search.variables, found.chosen, strict=True):
        if taken.option.version:
            yield _build(search, found, variable, taken, preference)


def _build(search: Search, found: Assignment, variable: Variable, taken: Weighed, preference: Preference) -> Choice:
    """What a package's chosen build won against, newest first.

    Listed are builds that something excludes, and the other variants of the chosen release with the measure by which
    they lost; releases that merely are older need no reason.
    """
    own = preference.own(taken)
    vendors = search.target.vendors
    rejected = []
    for weighed in search.domain(variable, found.place):
        is_foreign = vendors and weighed.option.vendor not in {"", "cpu", *vendors}  # it was no candidate
        if weighed.option is taken.option or is_foreign:
            continue
        why = _why_not(search, found, weighed, taken)
        if why or weighed.option.version == taken.option.version:
            rejected.append(
                f"{weighed.option.full} {weighed.option.runtime}".strip()
                + f": {why or _lost(preference, own, weighed)}"
            )
        if len(rejected) == _MOST:
            break
    said = f"{taken.option.full} {taken.option.runtime}".strip()
    whys = (MEASURES[name].why for name in preference.names[:-1])  # the last one only breaks ties
    return Choice(subject=variable.package, chosen=said, rejected=tuple(rejected), why="; ".join(whys))


def _why_not(search: Search, found: Assignment, weighed: Weighed, taken: Weighed) -> str:
    """What a build breaks; empty if it could stand in the chosen one's place."""
    if weighed.violations != FITS:
        bits = min(weighed.violations, key=lambda one: (one.bit_count(), one))
        return "breaks " + ", ".join(soft.text for soft in search.target.softs if soft.bit & bits)
    joints = search.joints(found.place)
    python = search.known.pythons.bits((found.footing.python,))
    for other in found.chosen:
        if other is not taken and not joints.pythons(other.option, weighed.option):
            return f"does not fit {other.option.package} {other.option.full}"
    return "" if weighed.option.pythons & python else f"has no wheel for Python {found.footing.python}"


def _lost(preference: Preference, own: tuple[int, ...], weighed: Weighed) -> str:
    """The first measure by which a build that also fits is worse."""
    for name, mine, theirs in zip(preference.names, own, preference.own(weighed), strict=True):
        if mine < theirs:
            return MEASURES[name].why
    return "another build decides"


def _footing(search: Search, found: Assignment) -> Iterator[Choice]:
    """The base image with its reason, and the Python with where it comes from; each with what lost to it."""
    image, bits = found.footing.image, _shared_pythons(search, found)
    if image is not None:
        need = need_of(found.chosen, found.place, bits)
        lost = islice(search.images.losers(need, image.image), _MOST)
        yield Choice(
            subject="base image",
            chosen=image.image,
            rejected=tuple(f"{name}: {why}" for name, why in lost),
            why=image.why,
        )
    source = (
        f"from the {image.python_from}" if image is not None and image.python_from != "uv" else "a standalone build"
    )
    asked = "asked for" if search.target.python else f"suits all builds, {source}"
    others = () if search.target.python or bits < 0 else _other_pythons(search, found, bits)
    yield Choice(subject="python", chosen=found.footing.python, rejected=tuple(others), why=asked)


def _shared_pythons(search: Search, found: Assignment) -> int:
    """The Pythons on which all of a plan's builds agree."""
    bits, options = search.python_bits, [one.option for one in found.chosen]
    for number, option in enumerate(options):
        bits = search.joints(found.place).shared(option, options[:number], bits)
    return agreed(found.chosen, bits, found.place, search.known)


def _other_pythons(search: Search, found: Assignment, bits: int) -> Iterator[str]:
    """The other Pythons that all builds share, and why the image's was taken."""
    image = found.footing.image
    system = search.known.system(image.os) if image else None
    for python in search.known.pythons.of(bits):
        if python != found.footing.python:
            is_there = system is not None and python in {system.python, *system.pythons}
            named = f"is not the python3 of {image.os}" if is_there and image else "would be a standalone build"
            yield f"{python}: {named if image else 'lost to the newest that most packages serve'}"


def conditions(
    search: Search, found: Assignment, chosen: Sequence[Weighed], driver: DriverNeed, gpus: Sequence[GpuVerdict]
) -> Iterator[str]:
    """What a plan's reader should know, the weightiest first.

    That is: assumptions about the target, limits of the driver, weak verdicts on GPUs, checks that could not be made,
    rows that are only inferred, and what the image does not bring by itself.
    """
    target = search.target
    yield from target.conditions
    yield from _strange_extras(search)
    if strange := [wish.package for wish, _ in target.wishes if wish.unjudged]:
        what = "the installer chooses the release, and whether that computes on the GPU is not known"
        yield f"not judged, since the matrix has no rows of it: {', '.join(strange)}; {what}"
    yield from _repositories(search)
    yield from _jetpacks(search, chosen)
    yield from _no_code(search, chosen)
    if unread := [one.option.label for one in chosen if is_unread(one.option) and not is_bare(search, chosen)]:
        yield f"whether {', '.join(unread)} computes on the GPU is not known: no wheel of it was read for GPU code"
    yield from _plugged(search, chosen)
    if driver.minimum and not any(machine.number for machine in target.machines):
        side = " of Windows" if target.wsl else ""
        yield f"the host has NVIDIA driver {driver.minimum}{side} or later (no driver version is known)"
    yield from _amd_driver(search, chosen)
    if driver.note and any(weighed.strain for weighed in chosen):
        yield driver.note
    for verdict in dict.fromkeys(gpus):
        if verdict.why and (verdict.kernels != "none" or verdict.why.endswith("stays idle")):
            yield f"{verdict.name}: {verdict.why}"
    yield from _unread_pins(chosen)
    yield from _preloads(search, chosen)
    yield from _sources(chosen)
    yield from _inferred(search, chosen)
    yield from _newer_inferred(search, found)
    yield from _newer_forward(search, found)
    image = found.footing.image
    if image is not None and image.how == "inferred":
        yield f"the tag {image.image} was not seen: it follows from how its siblings are named"
    if image is not None and image.python_from == "uv":
        lacks = f"{image.os} packages no final release of it"
        yield f"Python {found.footing.python} comes as a standalone build, since {lacks}"


def _repositories(search: Search) -> Iterator[str]:
    """Packages that only their repository has, of those without rows."""
    for wish, _ in search.target.wishes:
        if wish.unjudged and search.known.matrix.repository(wish.package):
            newest = f"; its newest state is taken, whether or not that is {wish.spec}" if wish.spec else ""
            yield f"{wish.package} is in its repository alone: it is compiled at installation, with a toolkit{newest}"


def _sources(chosen: Sequence[Weighed]) -> Iterator[str]:
    """Builds that are compiled where they are installed; beside a later framework nobody has seen them compile."""
    for option in (weighed.option for weighed in chosen if weighed.option.build.compiled):
        yield f"{option.label} is published as source: it is compiled at installation, with a toolkit's devel image"
        leads = (one.option for one in chosen if one.option.is_framework and one.option.package in option.lines)
        if later := next((one for one in leads if "" < option.build.date < one.build.date), None):
            yield f"{option.label} is older than {later.label}: whether it compiles beside it is not known"


def preload(search: Search, weighed: Weighed) -> str:
    """The call without which a build finds its CUDA packages on the loader's path alone; empty if it needs none."""
    row = search.known.matrix.packages[weighed.option.package]
    return row.preload if weighed.option.build.cuda_from == "packages" else ""


def _preloads(search: Search, chosen: Sequence[Weighed]) -> Iterator[str]:
    """That a build finds the CUDA packages that it brings only with help, and computes on the CPU without."""
    for weighed in chosen:
        if call := preload(search, weighed):
            ways = f"by {call} in the program or by LD_LIBRARY_PATH, which our images set"
            yield f"{weighed.option.package} finds CUDA's packages {ways}; else it computes on the CPU"


def _strange_extras(search: Search) -> Iterator[str]:
    """Extras that choose no build: they are handed on to the installer, and nothing is known of them here."""
    for wish, _ in search.target.wishes:
        known = search.known.extras(wish.package) if wish.extras and not wish.shared else frozenset(wish.extras)
        if strange := [extra for extra in wish.extras if extra not in known]:
            yield f"{wish.package}[{','.join(strange)}] is asked for as it is: what the extra requires is not known"


def _jetpacks(search: Search, chosen: Sequence[Weighed]) -> Iterator[str]:
    """The JetPack releases that a plan for a Jetson needs: those that bring the CUDA of its builds.

    Where the target names no GPU, that it is such a board is a question to the person, since Arm servers are no rarer.
    Source: table ``jetpack`` of the matrix; up to JetPack 6 a board's CUDA is its JetPack's.
    """
    runtime = runtime_of(chosen)
    boards = [one.option.label for one in chosen if one.option.on_board]
    if any(weighed.option.on_board for weighed in chosen):
        rows = search.known.matrix.table("jetpack")
        releases = [row.jetpack for row in rows if f"cuda{row.cuda}" == runtime and not row.sbsa and not row.preview]
        names, cuda = ", ".join(dict.fromkeys(releases)), runtime.removeprefix("cuda")
        if not search.target.devices:
            yield f"is this a Jetson board? only such run {' and '.join(boards)}: for an Arm server name its GPU"
        yield f"the board runs JetPack {names}, whose CUDA is {cuda}"


def _no_code(search: Search, chosen: Sequence[Weighed]) -> Iterator[str]:
    """That a plan uses no GPU by itself, where a GPU may be there and no CPU build was asked for."""
    if not is_bare(search, chosen):
        return
    unread = [weighed for weighed in chosen if is_unread(weighed.option)]
    names = ", ".join(one.option.label for one in unread or chosen)
    if noted := [one.option for one in chosen if one.option.build.note and not unread]:
        told = "; ".join(f"{one.label}: {one.build.note}" for one in noted)
        yield f"nothing in this plan has GPU code of its own; {told}"
    elif not unread:
        through = "through a framework beside it or code compiled at run time; --cpu asks for the processor alone"
        yield f"nothing in this plan has GPU code of its own: {names} uses a GPU {through}"
    elif not search.target.devices:
        yield f"which GPU code {names} has is not known"


def _amd_driver(search: Search, chosen: Sequence[Weighed]) -> Iterator[str]:
    """The AMD driver that a plan's ROCm asks for, where the target does not say which it has or no range is known."""
    runtime = runtime_of(chosen)
    if not runtime.startswith("rocm"):
        return
    rocm = runtime.removeprefix("rocm")
    floor = amdgpu_floor(search.known.matrix, rocm)
    told = next((".".join(map(str, machine.amdgpu)) for machine in search.target.machines if machine.amdgpu), "")
    if floor and not told:
        yield f"the host has AMD driver {floor} or later, or a kernel with one of its own (no driver version is known)"
    elif told and not floor:
        yield f"whether ROCm {rocm} accepts AMD driver {told} is not known"


def _plugged(search: Search, chosen: Sequence[Weighed]) -> Iterator[str]:
    """CPU builds in a plan for devices that nobody asked for as such: a plug-in brings them the device."""
    vendors = search.target.vendors
    plugins = [one.option.label for one in chosen if one.option.vendor in vendors]
    asked = search.target.cpu or any(wish.cpu for wish, _ in search.target.wishes)
    for weighed in chosen if vendors and not asked else ():
        if weighed.option.vendor == "cpu":
            name = weighed.option.label
            yield f"{name} is a CPU build: {' and '.join(plugins)} brings the device to it"


def _inferred(search: Search, chosen: Sequence[Weighed]) -> Iterator[str]:
    """What is only inferred of the chosen builds: the row's own words where it has some, else what it goes by.

    All sources of a build stand beside it in the plan; here the first one says enough.
    """
    for weighed in chosen:
        build = weighed.option.build
        if build.how == "inferred":
            first, *others = search.known.matrix.cite(build).split("; ")
            basis = build.note or (f"{first}; and {len(others)} more" if others else first)
            yield f"{weighed.option.package} {weighed.option.full} is known by inference only: {basis}"
        elif weak := [words for name, words in _GUESSED.items() if name in build.inferred]:
            what = f"{weighed.option.package} {weighed.option.full}: {' and '.join(weak)} known by inference only"
            yield f"{what}; {build.note}" if build.note else what


def _newer_inferred(search: Search, found: Assignment) -> Iterator[str]:
    """A newer release that was passed over, and that the person may want: it fits and is only inferred, or may fit."""
    unsure = any(machine.amdgpu for machine in search.target.machines)  # whether that driver carries a ROCm build
    for variable, taken in zip(search.variables, found.chosen, strict=True):
        settled = taken.option.is_framework and taken.option.build.how != "inferred"
        if not settled and not (variable.wishes and taken.option.build.kernels):
            continue
        newer = (one for one in search.fitting(variable, found.place) if one.option.rank < taken.option.rank)
        for weighed in sorted(newer, key=lambda one: one.option.serial):
            option = weighed.option
            likely = settled and option.build.how == "inferred" and weighed.level <= taken.level
            unread = option.runtime and not option.build.kernels and option.vendor == taken.option.vendor
            if (
                (likely or unread)
                and not (unsure and option.kind == "rocm" and not amdgpu_floor(search.known.matrix, option.number))
                and (weighed.strain == FORWARD) <= (taken.strain == FORWARD)
                and _stands(search, found, taken, weighed)
            ):
                known, way = "known by inference only", "ask for it by version, or take --prefer newest"
                if not likely:
                    known, way = "the GPUs that it has code for are not known", "ask for it by version"
                yield f"{option.label} is newer and {known}: {way}"
                break


def _newer_forward(search: Search, found: Assignment) -> Iterator[str]:
    """A newer release that a newer user-space driver in the image opens: not taken unasked, but worth knowing.

    NVIDIA supports it on data-center GPUs (CUDA Compatibility, "Forward Compatibility").
    """
    first, taken = search.variables[0], found.chosen[0]
    is_newest = all(taken.option.rank <= search.known.anchor(wish) for wish, _ in first.wishes)
    if is_newest or not search.scale.may_forward or any(one.strain == FORWARD for one in found.chosen):
        return
    best = type(search)(search.target, search.known, "forward").best()
    newer = best.chosen[0] if best else taken
    if best and newer.option.rank < taken.option.rank and any(one.strain == FORWARD for one in best.chosen):
        package = forward_package(best.chosen)
        yield (
            f"{newer.option.package} {newer.option.full} runs on this driver too, with {package} in the image: "
            "ask for it by version"
        )


def _stands(search: Search, found: Assignment, taken: Weighed, other: Weighed) -> bool:
    """Whether a build could stand in a chosen one's place: beside the others, and on some image."""
    chosen = [other if one is taken else one for one in found.chosen]
    beside = (one.option for one in chosen if one is not other)
    bits = search.joints(found.place).shared(other.option, beside, search.python_bits)
    return bool(bits) and any(footing.violations == FITS for footing in search.footings(chosen, found.place, bits))


def _unread_pins(chosen: Sequence[Weighed]) -> Iterator[str]:
    """Builds that take CUDA from packages which nobody wrote down, beside others that pin theirs: not checked."""
    packaged = [weighed.option for weighed in chosen if weighed.option.build.cuda_from == "packages"]
    told = [option for option in packaged if any(name.startswith(("nvidia-", "cuda-toolkit")) for name in option.lines)]
    for option in packaged:
        if told and option not in told:
            names = ", ".join(one.label for one in told)
            yield (
                f"which NVIDIA packages {option.package} {option.full} pins is not known, "
                f"so whether they agree with those of {names} is not checked"
            )


def is_bare(search: Search, chosen: Sequence[Weighed]) -> bool:
    """Whether a plan has no GPU code although a GPU may be there and no CPU build was asked for."""
    target = search.target
    return not (target.cpu or target.nothing) and all(weighed.option.vendor == "" for weighed in chosen)
