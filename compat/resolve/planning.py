"""A plan from an assignment: its builds, how each GPU runs them, the driver it needs, its image and environment.

Forward compatibility puts a newer user-space driver (libcuda of a cuda-compat package) before the host's own on the
loader's path, on top of the host's older kernel driver. The two must be a pair that NVIDIA made to go together: a later
update of the host's driver can break it, and the plan says from which one on.

Sources: CUDA Compatibility, "Minor Version Compatibility" and "Forward Compatibility"; the matrix for every number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from compat import versions
from compat.joints.build import from_system
from compat.joints.driver import floor as cuda_floor
from compat.joints.verdict import Fits
from compat.matrix.drivers import branch_number
from compat.plan import NO_CODE, BaseImage, DriverNeed, GpuVerdict, Plan, PlannedBuild
from compat.resolve.build_fit import FORWARD, PTX, UNKNOWN, Weighed, level_of
from compat.resolve.conditions import conditions, is_bare, preload
from compat.resolve.options import is_unread
from compat.resolve.pairs import asked, constraints
from compat.resolve.search import Assignment, Search, forward_package, runtime_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.resolve.request import Variable
    from compat.resolve.situation import Device


Kernels = Literal["native", "ptx", "none", "unknown"]

_LEVEL_NAMES: Final[dict[int, Kernels]] = {0: "native", 1: "ptx", 2: "unknown", 3: "none"}


def verdicts(search: Search, chosen: Sequence[Weighed]) -> Iterator[GpuVerdict]:
    """How each GPU of the target runs the plan; the weakest build decides, unknown companions leave it to others.

    A companion whose kernels are not known leaves the verdict to the builds whose kernels are, and is named beside it;
    a framework whose kernels are not known makes the verdict unknown.
    """
    target = search.target
    if runtime_of(chosen) == "cpu":
        kernels, why = _without_code(chosen)
        told = {
            one.bit: GpuVerdict(name=one.name, target=one.target, kernels=kernels, why=why) for one in target.devices
        }
        idle: tuple[Device, ...] = ()
    else:
        told = {one.bit: _verdict(search, chosen, one) for one in target.devices}
        idle = target.idle
    yield from (told[bit] for bit in target.fleet if bit in told)
    for device in idle:
        yield GpuVerdict(name=device.name, target=device.target, kernels="none", why=device.idle)


def _verdict(search: Search, chosen: Sequence[Weighed], device: Device) -> GpuVerdict:
    """How a GPU runs builds of which at least one is for GPUs."""
    levels = [(_level(search, weighed, device), weighed) for weighed in chosen]
    open_ones = [weighed for level, weighed in levels if level == UNKNOWN]
    telling = [pair for pair in levels if pair[0] != UNKNOWN or pair[1].option.is_framework]
    level, weakest = max(telling, key=lambda pair: pair[0], default=(UNKNOWN, chosen[0]))
    reasons = [_weakness(weakest, device, level)] if level else []
    reasons += [_weakness(weighed, device, UNKNOWN) for weighed in open_ones if weighed is not weakest or not level]
    verdicts = (search.scale.runs(one.option, device) for one in chosen if not one.option.vendor)
    reasons += [one.note for one in verdicts if isinstance(one, Fits)]
    reasons += [device.part] if device.part else []
    why = "; ".join(dict.fromkeys(filter(None, reasons)))
    return GpuVerdict(name=device.name, target=device.target, kernels=_LEVEL_NAMES[level], why=why)


def _level(search: Search, weighed: Weighed, device: Device) -> int:
    """How a device runs one build; code that is not GPU code runs everywhere."""
    if is_unread(weighed.option):
        return UNKNOWN
    return 0 if weighed.option.vendor in {"", "cpu"} else level_of(search.scale.runs(weighed.option, device))


def _weakness(weighed: Weighed, device: Device, level: int) -> str:
    """Why a verdict is not native."""
    name = weighed.option.label
    if level == UNKNOWN:
        return f"which kernels {name} carries is not known"
    code = "PTX" if device.vendor == "nvidia" else "SPIR-V"
    return f"{name} carries no machine code for {device.target}: the driver compiles its {code} at first use"


def _without_code(chosen: Sequence[Weighed]) -> tuple[Kernels, str]:
    """The verdict where no build has GPU code: as asked, or not known, as what computes may lie outside of the plan."""
    if asked := [one.option.label for one in chosen if one.option.vendor == "cpu"]:
        return "none", f"no GPU code in {', '.join(asked)}, as asked: the GPU stays idle"
    if unread := [one.option.label for one in chosen if not one.option.vendor and is_unread(one.option)]:
        return "unknown", f"which GPU code {', '.join(unread)} has is not known"
    return "unknown", ""  # the plan's conditions tell it once for all GPUs


def driver_need(search: Search, chosen: Sequence[Weighed], place: str) -> DriverNeed:
    """The lowest driver that carries every build on every device, and the one they are comfortable on.

    Only CUDA builds ask for NVIDIA drivers. A build's own stated floor counts beside the toolkit's, and so does the
    driver that first knew a device: no floor of a runtime helps a driver that cannot see the card.
    """
    if any(weighed.strain == FORWARD for weighed in chosen):
        return _forward_need(search, chosen, place)
    known, scale = search.known, search.scale
    lowest, comfortable, sources, notes, ends = ["0"], ["0"], [], [], []
    for weighed in chosen:
        floor = scale.floor(weighed.option, place)
        if floor is None:
            continue
        least = floor.exact if weighed.level == PTX else floor.family or floor.exact
        lowest += [text for text in (least, weighed.option.build.driver) if text]
        comfortable += [text for text in (floor.exact,) if text]
        sources.append(f"cuda {floor.row.cuda} ({known.matrix.cite(floor.row)})")
    for device in search.target.devices:
        first, last = scale.driver_span(device, place)
        lowest += [first] if first else []
        notes += [f"{device.label} is served up to branch R{last}"] if last else []
        ends += [last] if last else []
    minimum = max(lowest, key=versions.release)
    if minimum == "0" or runtime_of(chosen) == "cpu" or any(weighed.option.on_board for weighed in chosen):
        return DriverNeed()  # a Jetson's driver is part of its JetPack and has numbers of its own
    best = max((minimum, *comfortable), key=versions.release)
    if versions.release(minimum) < versions.release(best):
        notes.insert(0, _minor_note(search, best))
    settled = _within(search, best, min(ends, default=0), place) or minimum
    return DriverNeed(
        minimum=minimum, comfortable=settled, note="; ".join(notes), source="; ".join(dict.fromkeys(sources))
    )


def _within(search: Search, driver: str, last: int, place: str) -> str:
    """A driver; or the newest of the last branch that serves a device, where the driver is of a later one."""
    is_windows = search.scale.is_windows(place)
    if not last or branch_number(search.known.matrix, driver, "windows" if is_windows else "linux") <= last:
        return driver
    row = next((row for row in search.known.matrix.table("drivers") if row.branch == f"R{last}"), None)
    return (row.windows if is_windows else row.latest) if row else ""


def _minor_note(search: Search, comfortable: str) -> str:
    """What minor-version compatibility means here: stated as used where the driver is known to be older."""
    number = versions.release(comfortable)
    older = [machine for machine in search.target.machines if machine.number and machine.number < number]
    if older:
        name = f"driver {older[0].driver}"
        return f"{name} runs it by minor-version compatibility: PTX of this CUDA cannot be compiled below {comfortable}"
    return f"below {comfortable} it runs by minor-version compatibility, without compiling PTX"


def _forward_need(search: Search, chosen: Sequence[Weighed], place: str) -> DriverNeed:
    """The need of a plan that runs by forward compatibility: the host's branch, and the package beside it."""
    known, cuda = search.known, runtime_of(chosen).removeprefix("cuda")
    row = next(row for row in known.matrix.table("forward") if row.cuda == versions.minor(cuda))
    floor = cuda_floor(known.matrix, cuda)
    own = floor.exact if floor else ""
    sources = [f"forward {row.cuda} ({known.matrix.cite(row)})"]
    sources += [f"cuda {floor.row.cuda} ({known.matrix.cite(floor.row)})"] if floor else []
    package = forward_package(chosen)
    machines = [machine for machine in search.target.machines if machine.number]
    spans = [search.scale.driver_span(device, place)[0] for device in search.target.devices]
    firsts = {row.branch: row.first for row in known.matrix.table("drivers")}
    lowest = min((firsts.get(f"R{one.number[0]}") or one.driver for one in machines), key=versions.release)
    note = (
        f"driver {machines[0].driver} runs it by forward compatibility: {package}, which the base image holds, comes "
    )
    note += f"before the host's libcuda; it goes with drivers of {', '.join(row.branches)}"
    note += f" and is to be left out from {own} on" if own else ""
    return DriverNeed(
        minimum=max((lowest, *filter(None, spans)), key=versions.release),
        comfortable=own,
        note=note,
        source="; ".join(sources),
        package=package,
    )


# What NVIDIA's base images have on the loader's path (Dockerfiles of nvidia/cuda); ours comes before it.
_IMAGE_PATH: Final = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"

# What NVIDIA's own images set so that the container runtime hands the GPU in; a plain system must set it itself.
_NVIDIA_ENV: Final = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "NVIDIA_VISIBLE_DEVICES": "all"}


def plan_of(search: Search, found: Assignment) -> Plan:
    """The complete plan of an assignment, its choices left to :mod:`compat.resolve.conditions`.

    The builds are those of the assignment; wishes about shared dependencies end as constraints.
    """
    chosen = [weighed for weighed in found.chosen if weighed.option.version]
    runtime = NO_CODE if is_bare(search, chosen) else "cpu" if search.target.cpu else runtime_of(chosen)
    driver = driver_need(search, chosen, found.place)
    gpus = tuple(verdicts(search, chosen))
    kept = constraints(found.chosen, found.footing.python, found.place, search.known)
    return Plan(
        runtime=runtime,
        python=found.footing.python,
        arch=found.place.partition("_")[2].replace("amd64", "x86_64"),
        base_image=found.footing.image,
        builds=tuple(_in_order(search, chosen, found.footing.python)),
        system=from_system(weighed.option.build for weighed in chosen),
        constraints=tuple(kept.values()),
        asked=tuple(kept[name] for name in asked(found.chosen) if name in kept),
        unjudged=tuple(_unjudged(search)),
        driver=driver,
        gpus=gpus,
        serves=() if search.target.devices else _serves(chosen),
        env=_env(runtime, found.footing.image, driver) or None,
        conditions=tuple(conditions(search, found, chosen, driver, gpus)),
        matrix=search.known.matrix.digest,
    )


def _unjudged(search: Search) -> Iterator[str]:
    """Requirements of packages without rows; of one that its repository alone has, the newest state of that."""
    for wish in (wish for wish, _ in search.target.wishes if wish.unjudged):
        address = search.known.matrix.repository(wish.package)
        yield f"{wish.package} @ {address}" if address else wish.requirement


def _serves(chosen: Sequence[Weighed]) -> tuple[str, ...]:
    """The GPU targets that every build carries code for, as far as its code is known."""
    builds = [weighed.option for weighed in chosen if weighed.option.vendor not in {"", "cpu"}]
    lists = [option.build.kernels for option in builds if option.build.kernels not in {(), ("-",)}]
    return tuple(target for target in lists[0] if all(target in each for each in lists)) if lists else ()


def _in_order(search: Search, chosen: Sequence[Weighed], python: str) -> Iterator[PlannedBuild]:
    """Builds in the order asked; a framework that a companion brought in goes before its companions."""
    by_name = {weighed.option.package: weighed for weighed in chosen}
    told = [variable for variable in search.variables if variable.package in by_name]
    for variable in sorted(told, key=lambda variable: bool(variable.wishes)):
        yield planned(search, variable, by_name[variable.package], python)


def planned(search: Search, variable: Variable, weighed: Weighed, python: str) -> PlannedBuild:
    """One build as the plan tells it, for one Python."""
    option, build, matrix = weighed.option, weighed.option.build, search.known.matrix
    address = matrix.address(build, python)
    row = matrix.packages[option.package]
    extra = {extra for wish, _ in variable.wishes for extra in wish.extras}
    return PlannedBuild(
        name=build.install_name or row.name,
        version=(build.published or build.version) if address else option.full,
        runtime=option.runtime,
        index="" if address else matrix.index_url(build),
        address=address,
        links=not address and matrix.is_page(build),
        extras=tuple(sorted({*build.extras, *extra}.difference(build.also))),
        pins=build.pins,
        cuda_from=build.cuda_from,
        module=row.module,
        preload=preload(search, weighed),
        asked=bool(variable.wishes),
        source=f"builds.{option.package} {option.full} {option.runtime}".strip() + f" ({matrix.cite(build)})",
        how=build.how,
        compile=build.compiled,
        evidence=build.proof,
        kernels=build.kernels,
    )


def _env(runtime: str, image: BaseImage | None, driver: DriverNeed) -> dict[str, str]:
    """Environment that the plan needs beyond what its image sets.

    A cuda-compat package lands in the toolkit's folder and configures no path (CUDA Compatibility, "Installing").
    """
    plain = runtime.startswith("cuda") and image is not None and not image.image.startswith("nv")
    env = dict(_NVIDIA_ENV) if plain else {}
    if driver.package:
        cuda = driver.package.removeprefix("cuda-compat-").replace("-", ".")
        env["LD_LIBRARY_PATH"] = f"/usr/local/cuda-{cuda}/compat:{_IMAGE_PATH}"
    return env
