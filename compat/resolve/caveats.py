"""The small print of a plan: what was assumed, and what the person should know before relying on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.joints.driver import amdgpu_floor
from compat.resolve.alternatives import FITS
from compat.resolve.build_fit import FORWARD
from compat.resolve.driving import forward_package
from compat.resolve.options import is_unread
from compat.resolve.search import runtime_of
from compat.resolve.serving import is_bare

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.plan import DriverNeed, GpuVerdict
    from compat.resolve.build_fit import Weighed
    from compat.resolve.search import Assignment, Search


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
    yield from _jetpacks(search, chosen)
    yield from _no_code(search, chosen)
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
    for weighed in chosen:
        if weighed.option.build.compiled:
            name = f"{weighed.option.package} {weighed.option.full}"
            yield f"{name} is published as source: it is compiled at installation, with a toolkit's devel image"
    yield from _inferred(search, chosen)
    yield from _newer_inferred(search, found)
    yield from _newer_forward(search, found)
    image = found.footing.image
    if image is not None and image.python_from == "uv":
        lacks = f"{image.os} packages no final release of it"
        yield f"Python {found.footing.python} comes as a standalone build, since {lacks}"


def _strange_extras(search: Search) -> Iterator[str]:
    """Extras that choose no build: they are handed on to the installer, and nothing is known of them here."""
    for wish, _ in search.target.wishes:
        known = (
            search.known.packages.extras(wish.package) if wish.extras and not wish.shared else frozenset(wish.extras)
        )
        if strange := [extra for extra in wish.extras if extra not in known]:
            yield f"{wish.package}[{','.join(strange)}] is asked for as it is: what the extra requires is not known"


def _jetpacks(search: Search, chosen: Sequence[Weighed]) -> Iterator[str]:
    """The JetPack releases that a plan for a Jetson needs: those that bring the CUDA of its builds.

    Where the target names no GPU, that it is such a board is a question to the person, since Arm servers are no rarer.
    Source: table ``jetpack`` of the matrix; up to JetPack 6 a board's CUDA is its JetPack's.
    """
    runtime = runtime_of(chosen)
    boards = [f"{one.option.package} {one.option.full}" for one in chosen if one.option.on_board]
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
    names = ", ".join(f"{one.option.package} {one.option.full}" for one in unread or chosen)
    if not unread:
        through = "through a framework beside it, which was not asked for, or through code compiled at run time"
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
    plugins = [f"{one.option.package} {one.option.full}" for one in chosen if one.option.vendor in vendors]
    asked = search.target.cpu or any(wish.cpu for wish, _ in search.target.wishes)
    for weighed in chosen if vendors and not asked else ():
        if weighed.option.vendor == "cpu":
            name = f"{weighed.option.package} {weighed.option.full}"
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


def _newer_inferred(search: Search, found: Assignment) -> Iterator[str]:
    """A newer release of a framework that fits and is only inferred: passed over, but the person may want it."""
    for variable, taken in zip(search.variables, found.chosen, strict=True):
        if not taken.option.is_framework or taken.option.build.how == "inferred":
            continue
        newer = (one for one in search.fitting(variable, found.place) if one.option.rank < taken.option.rank)
        for weighed in sorted(newer, key=lambda one: one.option.serial):
            option = weighed.option
            if (
                option.build.how == "inferred"
                and not _is_undriven(search, weighed)
                and weighed.level <= taken.level
                and (weighed.strain == FORWARD) <= (taken.strain == FORWARD)
                and _stands(search, found, taken, weighed)
            ):
                name = f"{option.package} {option.full}"
                yield f"{name} is newer and known by inference only: ask for it by version, or take --prefer newest"
                break


def _is_undriven(search: Search, weighed: Weighed) -> bool:
    """Whether it is not known if the target's AMD driver carries a ROCm build: nothing to recommend."""
    option = weighed.option
    told = any(machine.amdgpu for machine in search.target.machines)
    return told and option.kind == "rocm" and not amdgpu_floor(search.known.matrix, option.number)


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
    joints, bits = search.joints(found.place), search.python_bits & other.option.pythons
    chosen = [other if one is taken else one for one in found.chosen]
    for one in chosen:
        bits &= one.option.pythons if one is other else joints.pythons(one.option, other.option)
    return bool(bits) and any(footing.violations == FITS for footing in search.footings(chosen, found.place, bits))


def _unread_pins(chosen: Sequence[Weighed]) -> Iterator[str]:
    """Builds that take CUDA from packages which nobody wrote down, beside others that pin theirs: not checked."""
    packaged = [weighed.option for weighed in chosen if weighed.option.build.cuda_from == "packages"]
    told = [option for option in packaged if any(name.startswith(("nvidia-", "cuda-toolkit")) for name in option.lines)]
    for option in packaged:
        if told and option not in told:
            names = ", ".join(f"{one.package} {one.full}" for one in told)
            yield (
                f"which NVIDIA packages {option.package} {option.full} pins is not known, "
                f"so whether they agree with those of {names} is not checked"
            )
