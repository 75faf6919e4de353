"""Laws of CUDA, drivers, capabilities, ROCm and gfx targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from compat import targets, versions
from compat.matrix.laws.view import Breach, Placed, View


def driver_floors_rise(view: View) -> Iterator[Breach]:
    """Within an operating system, the driver floor never falls as the CUDA release rises."""
    for key in ("driver_linux", "driver_windows"):
        yield from _rising(_by_release(view.of("cuda"), "cuda"), key, versions.release)


def one_family_floor_per_major(view: View) -> Iterator[Breach]:
    """All releases of one CUDA major share one floor of minor-version compatibility per operating system."""
    for key in ("family_linux", "family_windows"):
        first: dict[int, Placed] = {}
        for item in _by_release(view.of("cuda"), "cuda"):
            if not getattr(item.row, key):
                continue
            other = first.setdefault(versions.major(item.row.cuda), item)
            if getattr(item.row, key) != getattr(other.row, key):
                expected = f"{getattr(other.row, key)} as CUDA {other.row.cuda}"
                yield Breach(item, key, f"is {getattr(item.row, key)}", expected)


def floors_lie_in_their_branch(view: View) -> Iterator[Breach]:
    """A release's Linux floor lies in its driver branch, and that branch reports the release's CUDA version."""
    branches = {item.row.branch: item.row for item in view.of("drivers")}
    for item in view.of("cuda"):
        branch = branches.get(item.row.branch)
        if branch is None:
            if item.row.branch:
                yield Breach(item, "branch", f"{item.row.branch} is not in drivers", "a branch of drivers")
            continue
        if versions.minor(item.row.cuda) != branch.cuda:
            what = f"{item.row.branch} reports CUDA {branch.cuda}"
            yield Breach(item, "branch", what, f"a branch for {item.row.cuda}")
        if item.row.driver_linux and f"R{versions.major(item.row.driver_linux)}" != item.row.branch:
            yield Breach(item, "driver_linux", f"is {item.row.driver_linux}", f"a version of {item.row.branch}")


def branches_are_in_order(view: View) -> Iterator[Breach]:
    """Driver branches rise in number, date and reported CUDA; each begins within itself and ends after it began."""
    items = sorted(view.of("drivers"), key=lambda item: _number(item.row.branch))
    yield from _rising(items, "cuda", versions.release)
    yield from _rising(items, "date", _day)
    for item in items:
        row = item.row
        if row.first and versions.major(row.first) != _number(row.branch):
            yield Breach(item, "first", f"is {row.first}", f"a version of {row.branch}")
        if row.first and row.latest and not versions.at_least(row.latest, row.first):
            yield Breach(item, "latest", f"is {row.latest}", f"{row.first} or later")
        if row.date and row.eol and _day(row.eol) < _day(row.date)[: len(_day(row.eol))]:
            yield Breach(item, "eol", f"is {row.eol}", f"a day after {row.date}")


def forward_branches_are_older(view: View) -> Iterator[Breach]:
    """A cuda-compat package is of a toolkit that exists, and runs on branches that report an older CUDA."""
    branches = {item.row.branch: item.row for item in view.of("drivers")}
    toolkits = {versions.minor(item.row.cuda) for item in view.of("cuda") if item.row.toolkit}
    for item in view.of("forward"):
        if item.row.cuda not in toolkits:
            yield Breach(item, "cuda", f"is {item.row.cuda}", "a release of cuda")
        for name in item.row.branches:
            branch = branches.get(name)
            if branch is None:
                yield Breach(item, "branches", f"{name} is not in drivers", "a branch of drivers")
            elif versions.release(branch.cuda) >= versions.release(item.row.cuda):
                yield Breach(item, "branches", f"{name} reports CUDA {branch.cuda}", f"one below {item.row.cuda}")


def capabilities_agree_with_toolkits(view: View) -> Iterator[Breach]:
    """A toolkit targets exactly the capabilities whose bounds take it in, and variants only of what it targets."""
    for item in view.of("cuda"):
        have = set(item.row.targets)
        if not have:
            continue
        for capability in view.of("capabilities"):
            row, name = capability.row, f"sm_{capability.row.cc.replace('.', '')}"
            minor = versions.minor(item.row.cuda)
            ended = row.last_cuda and not versions.at_least(row.last_cuda, minor)
            inside = versions.at_least(minor, row.first_cuda) and not ended
            if inside != (name in have):
                what = f"{'has' if name in have else 'lacks'} {name}"
                yield Breach(item, "targets", what, f"{row.first_cuda} to {row.last_cuda or 'now'} as in capabilities")
        for name in sorted(have - view.capabilities):
            if _plain(name) not in have - {name}:
                yield Breach(item, "targets", f"has {name}", "a capability's target, or a variant of one listed here")


def branches_drop_what_ended(view: View) -> Iterator[Breach]:
    """A driver branch drops an architecture exactly from the branch after the last that serves its capabilities."""
    last: dict[str, int] = {}
    for item in view.of("capabilities"):
        if item.row.last_driver:
            last[item.row.architecture] = max(last.get(item.row.architecture, 0), _number(item.row.last_driver))
    for item in view.of("drivers"):
        for architecture, number in last.items():
            dropped = architecture in item.row.drops
            if dropped != (_number(item.row.branch) > number):
                does = "names" if dropped else "lacks"
                yield Breach(item, "drops", f"{does} {architecture}", f"R{number} as the last that serves it")


def rocm_targets_are_official(view: View) -> Iterator[Breach]:
    """A ROCm release lists known targets, each within the releases that gfx calls official (previews aside)."""
    gfx = {item.row.gfx: item.row for item in view.of("gfx")}
    for item in view.of("rocm"):
        for name in item.row.targets:
            row = gfx.get(name)
            if row is None:
                yield Breach(item, "targets", f"{name} is not in gfx", "a target of gfx")
            elif item.row.stream != "preview" and not _official(item.row.rocm, row.first_rocm, row.last_rocm):
                bounds = f"{row.first_rocm} to {row.last_rocm or 'now'}" if row.first_rocm else "never official"
                yield Breach(item, "targets", f"lists {name}", f"{bounds} as in gfx")


def rocm_drivers_are_in_order(view: View) -> Iterator[Breach]:
    """The lowest driver that a ROCm release accepts is not above the highest."""
    for item in view.of("rocm"):
        drivers = item.row.drivers
        if len(drivers) > 2 or (drivers and not versions.up_to(drivers[0], drivers[-1])):
            yield Breach(item, "drivers", f"is {' '.join(drivers)}", "the lowest, then the highest")


def overrides_name_their_sibling(view: View) -> Iterator[Breach]:
    """HSA_OVERRIDE_GFX_VERSION is the number of the target whose code it borrows, and that target exists."""
    for item in view.of("gfx"):
        row = item.row
        if bool(row.override) != bool(row.borrows):
            yield Breach(item, "borrows", f"is {row.borrows!r} with override {row.override!r}", "both or neither")
        elif row.borrows and row.borrows not in view.gfx:
            yield Breach(item, "borrows", f"{row.borrows} is not in gfx", "a target of gfx")
        elif row.override and row.override != _gfx_number(row.borrows):
            expected = f"{_gfx_number(row.borrows)}, the number of {row.borrows}"
            yield Breach(item, "override", f"is {row.override}", expected)


def toolkit_dates_rise(view: View) -> Iterator[Breach]:
    """Releases of one minor appear in the order of their numbers, and so do the first releases of the minors."""
    for table, key in (("cuda", "cuda"), ("rocm", "rocm")):
        series: dict[str, list[Placed]] = {}
        for item in _by_release(view.of(table), key):
            series.setdefault(versions.minor(getattr(item.row, key)), []).append(item)
        for items in series.values():
            yield from _rising(items, "date", _day)
        for stream in sorted({getattr(item.row, "stream", "") for item in view.of(table)}):
            firsts = [items[0] for items in series.values() if getattr(items[0].row, "stream", "") == stream]
            yield from _rising(firsts, "date", _day)


def _by_release(items: Iterable[Placed], key: str) -> list[Placed]:
    """Rows in the order of their version."""
    return sorted(items, key=lambda item: versions.release(getattr(item.row, key)))


def _rising(items: Iterable[Placed], key: str, order: Callable[[str], tuple[int, ...]]) -> Iterator[Breach]:
    """Breaches of a field that must not fall from one item to the next; items that do not state it are passed over."""
    highest: Placed | None = None
    for item in items:
        value = getattr(item.row, key)
        if not value:
            continue
        if highest is not None and _before(order(value), order(getattr(highest.row, key))):
            expected = f"not below {getattr(highest.row, key)}, stated by an earlier release"
            yield Breach(item, key, f"is {value}", expected)
        else:
            highest = item


def _before(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """Whether one comes before the other as far as both are stated (``2026-09`` is not before ``2026-09-16``)."""
    common = min(len(left), len(right))
    return left[:common] < right[:common]


def _day(text: str) -> tuple[int, ...]:
    """A date as numbers, as far as it is stated."""
    return tuple(int(part) for part in text.split("-"))


def _number(branch: str) -> int:
    """The number of a branch: ``R535`` -> 535."""
    return int(branch.removeprefix("R"))


def _official(version: str, first: str, last: str) -> bool:
    """Whether a ROCm release lies within the official life of a target."""
    return bool(first) and versions.at_least(version, first) and (not last or versions.up_to(version, last))


def _plain(target: str) -> str:
    """The target without its suffix: ``sm_90a`` -> ``sm_90``."""
    found = targets.sm(target)
    return f"sm_{found.major}{found.minor}" if found else target


def _gfx_number(target: str) -> str:
    """The number behind a target's name: the last two characters are hexadecimal minor and stepping."""
    digits = target.removeprefix("gfx")
    return f"{int(digits[:-2])}.{int(digits[-2], 16)}.{int(digits[-1], 16)}"
