"""From an assignment to a plan: what to install from where, on which image, and what the host must bring.

Everything a later step needs is written into the plan: whoever writes the Dockerfile, the lock or the CI grid reads
neither the matrix nor the target. Two numbers tell of drivers. The *minimum* is the lowest on which every build runs on
every GPU of the target: the family floor of minor-version compatibility where the code is native, the toolkit's own
driver where PTX has to be compiled, the first driver that knows the device in any case. The *comfortable* one is the
driver that was released for the runtime, with which nothing is restricted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from compat.plan import NO_CODE, BaseImage, GpuVerdict, Plan, PlannedBuild
from compat.resolve.alternatives import FITS
from compat.resolve.driving import driver_need, forward_env, forward_package
from compat.resolve.options import is_unread
from compat.resolve.pins import asked, constraints
from compat.resolve.search import runtime_of
from compat.resolve.weighing import FORWARD, LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.plan import CudaFrom, DriverNeed
    from compat.resolve.devices import Device
    from compat.resolve.search import Assignment, Search
    from compat.resolve.variables import Variable
    from compat.resolve.weighing import Weighed

_LEVEL_NAMES: Final[dict[int, Literal["native", "ptx", "none", "unknown"]]] = {
    0: "native",
    1: "ptx",
    2: "unknown",
    3: "none",
}
# What NVIDIA's own images set so that the container runtime hands the GPU in; a plain system must set it itself.
_NVIDIA_ENV: Final = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "NVIDIA_VISIBLE_DEVICES": "all"}


def plan_of(search: Search, found: Assignment) -> Plan:
    """The complete plan of an assignment, its choices left to :mod:`compat.resolve.choices`.

    The builds are those of the assignment; wishes about shared dependencies end as constraints.
    """
    chosen = [weighed for weighed in found.chosen if weighed.option.version]
    runtime = _told_runtime(search, chosen)
    driver = driver_need(search, chosen, found.place)
    kept = constraints(found.chosen, found.footing.python, found.place, search.known)
    return Plan(
        runtime=runtime,
        python=found.footing.python,
        arch=found.place.partition("_")[2].replace("amd64", "x86_64"),
        base_image=found.footing.image,
        builds=tuple(_in_order(search, chosen)),
        system=tuple(sorted({item for weighed in chosen for item in weighed.option.build.system})),
        constraints=tuple(kept.values()),
        asked=tuple(kept[name] for name in asked(found.chosen) if name in kept),
        driver=driver,
        gpus=tuple(verdicts(search, chosen)),
        env={**_env(runtime, found.footing.image), **forward_env(driver)} or None,
        conditions=tuple(_conditions(search, found, chosen, driver)),
        matrix=search.known.matrix.digest,
    )


def _told_runtime(search: Search, chosen: Sequence[Weighed]) -> str:
    """The plan's runtime; :data:`NO_CODE` where no build has GPU code although nobody asked for the CPU.

    With the CPU asked for, a wheel that drives Apple's GPU too counts as what it is wanted for.
    """
    if search.target.cpu:
        return "cpu"
    return NO_CODE if _is_bare(search, chosen) else runtime_of(chosen)


def _is_bare(search: Search, chosen: Sequence[Weighed]) -> bool:
    """Whether a plan has no GPU code although a GPU may be there and no CPU build was asked for."""
    target = search.target
    return not (target.cpu or target.nothing) and all(weighed.option.vendor == "" for weighed in chosen)


def _in_order(search: Search, chosen: Sequence[Weighed]) -> Iterator[PlannedBuild]:
    """Builds in the order asked; a framework that a companion brought in goes before its companions."""
    by_name = {weighed.option.package: weighed for weighed in chosen}
    told = [variable for variable in search.variables if variable.package in by_name]
    for variable in sorted(told, key=lambda variable: bool(variable.wishes)):
        yield planned(search, variable, by_name[variable.package])


def planned(search: Search, variable: Variable, weighed: Weighed) -> PlannedBuild:
    """One build as the plan tells it."""
    option, build, matrix = weighed.option, weighed.option.build, search.known.matrix
    row = matrix.packages[option.package]
    indexes = {index.name: index for index in matrix.table("indexes")}
    extra = {extra for wish, _ in variable.wishes for extra in wish.extras}
    return PlannedBuild(
        name=build.install_name or row.name,
        version=option.full,
        runtime=option.runtime,
        index=matrix.index_url(build),
        links=bool(build.index) and indexes[build.index].links,
        extras=tuple(sorted({*build.extras, *extra}.difference(build.also))),
        pins=build.pins,
        cuda_from=_cuda_from(weighed),
        module=row.module,
        asked=bool(variable.wishes),
        source=f"builds.{option.package} {option.full} {option.runtime}".strip() + f" ({matrix.cite(build)})",
        how=build.how,
        compile=build.compiled,
    )


def _cuda_from(weighed: Weighed) -> CudaFrom:
    """Where the build's CUDA libraries come from."""
    return weighed.option.build.cuda_from


def verdicts(search: Search, chosen: Sequence[Weighed]) -> Iterator[GpuVerdict]:
    """How each GPU of the target runs the plan; the weakest build decides, unknown companions leave it to others.

    A companion whose kernels are not known leaves the verdict to the builds whose kernels are, and is named beside it;
    a framework whose kernels are not known makes the verdict unknown.
    """
    if runtime_of(chosen) == "cpu":
        yield from _without_code(search, chosen)
        return
    for device in search.target.devices:
        levels = [(_level(search, weighed, device), weighed) for weighed in chosen]
        silent = LEVELS["unknown"]
        open_ones = [weighed for level, weighed in levels if level == silent]
        telling = [pair for pair in levels if pair[0] != silent or pair[1].option.is_framework]
        level, weakest = max(telling, key=lambda pair: pair[0], default=(silent, chosen[0]))
        reasons = [_weakness(weakest, device, level)] if level else []
        reasons += [_weakness(weighed, device, silent) for weighed in open_ones if weighed is not weakest or not level]
        why = "; ".join(dict.fromkeys(reasons))
        yield GpuVerdict(name=device.name, target=device.target, kernels=_LEVEL_NAMES[level], why=why)
    for device in search.target.idle:
        yield GpuVerdict(name=device.name, target=device.target, kernels="none", why=device.idle)


def _without_code(search: Search, chosen: Sequence[Weighed]) -> Iterator[GpuVerdict]:
    """The verdicts where no build has GPU code: as asked, by its nature, or because nobody wrote down what it has."""
    open_ones = [one.option for one in chosen if not one.option.vendor and is_unread(one.option)]
    kernels: Literal["none", "unknown"] = "none"
    if names := _cpu_names(chosen):
        why = f"no GPU code in {names}, as asked: the GPU stays idle"
    elif open_ones:
        names = ", ".join(f"{option.package} {option.full}" for option in open_ones)
        kernels, why = "unknown", f"which GPU code {names} has is not known"
    else:
        why = "nothing in the plan has GPU code of its own"
    for device in search.target.devices:
        yield GpuVerdict(name=device.name, target=device.target, kernels=kernels, why=why)


def _strange_extras(search: Search) -> Iterator[str]:
    """Extras that choose no build: they are handed on to the installer, and nothing is known of them here."""
    for wish, _ in search.target.wishes:
        known = (
            search.known.packages.extras(wish.package) if wish.extras and not wish.shared else frozenset(wish.extras)
        )
        if strange := [extra for extra in wish.extras if extra not in known]:
            yield f"{wish.package}[{','.join(strange)}] is asked for as it is: what the extra requires is not known"


def _amd_driver(search: Search, chosen: Sequence[Weighed]) -> Iterator[str]:
    """The AMD driver that a plan's ROCm asks for, where the target does not say which it has or no range is known."""
    runtime = runtime_of(chosen)
    if not runtime.startswith("rocm"):
        return
    rocm = runtime.removeprefix("rocm")
    floor = search.known.hardware.amdgpu_floor(rocm)
    told = next((".".join(map(str, machine.amdgpu)) for machine in search.target.machines if machine.amdgpu), "")
    if floor and not told:
        yield f"the host has AMD driver {floor} or later, or a kernel with one of its own (no driver version is known)"
    elif told and not floor:
        yield f"whether ROCm {rocm} accepts AMD driver {told} is not known"


def _no_code(search: Search, chosen: Sequence[Weighed]) -> Iterator[str]:
    """That a plan uses no GPU by itself, where a GPU may be there and no CPU build was asked for."""
    if not _is_bare(search, chosen):
        return
    unread = [weighed for weighed in chosen if is_unread(weighed.option)]
    names = ", ".join(f"{one.option.package} {one.option.full}" for one in unread or chosen)
    if not unread:
        through = "through a framework beside it, which was not asked for, or through code compiled at run time"
        yield f"nothing in this plan has GPU code of its own: {names} uses a GPU {through}"
    elif not search.target.devices:
        yield f"which GPU code {names} has is not known"


def _cpu_names(chosen: Sequence[Weighed]) -> str:
    """The CPU builds of a plan, as messages name them; empty if there are none."""
    return ", ".join(f"{one.option.package} {one.option.full}" for one in chosen if one.option.vendor == "cpu")


def _level(search: Search, weighed: Weighed, device: Device) -> int:
    """How a device runs one build; code that is not GPU code runs everywhere."""
    if is_unread(weighed.option):
        return LEVELS["unknown"]
    return 0 if weighed.option.vendor in {"", "cpu"} else LEVELS[search.scale.how(weighed.option, device)]


def _weakness(weighed: Weighed, device: Device, level: int) -> str:
    """Why a verdict is not native."""
    name = f"{weighed.option.package} {weighed.option.full}"
    if level == LEVELS["unknown"]:
        return f"which kernels {name} carries is not known"
    code = "PTX" if device.vendor == "nvidia" else "SPIR-V"
    return f"{name} carries no machine code for {device.target}: the driver compiles its {code} at first use"


def _env(runtime: str, image: BaseImage | None) -> dict[str, str]:
    """Environment that the plan needs beyond what its image sets."""
    if runtime.startswith("cuda") and image is not None and not image.image.startswith("nv"):
        return dict(_NVIDIA_ENV)
    return {}


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


def _conditions(search: Search, found: Assignment, chosen: Sequence[Weighed], driver: DriverNeed) -> Iterator[str]:
    """What was assumed, and what the person should know before relying on the plan.

    They are the plan's small print, in the order: assumptions about the target, limits of the driver, weak verdicts,
    checks that could not be made, rows that are only inferred, and what the image does not bring by itself.
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
    for verdict in verdicts(search, chosen):
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
    return told and option.kind == "rocm" and not search.known.hardware.amdgpu_floor(option.number)


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
