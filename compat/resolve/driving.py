"""The driver of a plan: the lowest it runs on, the one it is comfortable on, and the package that can stand in for it.

Forward compatibility puts a newer user-space driver (libcuda of a cuda-compat package) before the host's own on the
loader's path, on top of the host's older kernel driver. It is not free: the two must be a pair that NVIDIA made to go
together, so that a later update of the host's driver can break it, and the plan says from which one on.

Sources: CUDA Compatibility, "Minor Version Compatibility" and "Forward Compatibility"; the matrix for every number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.joints.driver import floor as cuda_floor
from compat.matrix.drivers import branch_number
from compat.plan import DriverNeed
from compat.resolve.build_fit import FORWARD, PTX
from compat.resolve.search import runtime_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.resolve.build_fit import Weighed
    from compat.resolve.search import Search
    from compat.resolve.situation import Machine

# What NVIDIA's base images have on the loader's path (Dockerfiles of nvidia/cuda); ours comes before it.
_IMAGE_PATH: Final = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"


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
    package = forward_package(chosen)
    machines = [machine for machine in search.target.machines if machine.number]
    spans = [
        scale_first for device in search.target.devices if (scale_first := search.scale.driver_span(device, place)[0])
    ]
    lowest = min((_first(search, machine) for machine in machines), key=versions.release)
    note = (
        f"driver {machines[0].driver} runs it by forward compatibility: {package}, which the base image holds, comes "
    )
    note += f"before the host's libcuda; it goes with drivers of {', '.join(row.branches)}"
    note += f" and is to be left out from {own} on" if own else ""
    return DriverNeed(
        minimum=max((lowest, *filter(None, spans)), key=versions.release),
        comfortable=own,
        note=note,
        source=f"forward {row.cuda} ({known.matrix.cite(row)})",
        package=package,
    )


def forward_package(chosen: Sequence[Weighed]) -> str:
    """The cuda-compat package of some builds' newest CUDA, ``cuda-compat-12-8``."""
    return f"cuda-compat-{versions.minor(runtime_of(chosen).removeprefix('cuda')).replace('.', '-')}"


def _first(search: Search, machine: Machine) -> str:
    """The first release of a machine's driver branch; the driver itself where the matrix does not know it."""
    branches = {row.branch: row.first for row in search.known.matrix.table("drivers")}
    return branches.get(f"R{machine.number[0]}") or machine.driver


def forward_env(driver: DriverNeed) -> dict[str, str]:
    """The loader's path of a plan that needs a cuda-compat package; nothing for any other.

    NVIDIA's package lands in the toolkit's folder and configures no path (CUDA Compatibility, "Installing").
    """
    if not driver.package:
        return {}
    cuda = driver.package.removeprefix("cuda-compat-").replace("-", ".")
    return {"LD_LIBRARY_PATH": f"/usr/local/cuda-{cuda}/compat:{_IMAGE_PATH}"}
