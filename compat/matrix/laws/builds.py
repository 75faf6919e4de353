"""Laws of frameworks and their companions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from compat import targets, versions
from compat.lazy import pattern
from compat.matrix.laws.view import Breach, Placed, View
from compat.names import normalise

_PIN: Final = pattern(
    r"([A-Za-z0-9][A-Za-z0-9._-]{0,60})(?:\[[^\]]{0,80}\])?\s{0,2}==\s{0,2}([0-9][0-9A-Za-z.!+]{0,40})"
)

_READ: Final = "gpu-code"  # id of the source of what was read in the objects of a wheel
_MAY_CARRY: Final = ("cuda", "rocm", "xpu")


def kernels_are_possible(view: View) -> Iterator[Breach]:
    """A build carries only code that a toolkit of its runtime can produce."""
    for items in view.builds().values():
        for item in items:
            runtime = item.row.runtime
            for name in item.row.kernels:
                if name != "-" and not _possible(view, runtime, name):
                    what = f"has {name} in a {runtime} build"
                    yield Breach(item, "kernels", what, f"what {runtime} can target")


def empty_wheels_were_read(view: View) -> Iterator[Breach]:
    """A measured row that says "no kernels" of a wheel that may have some cites the reading of the wheel's objects."""
    for items in view.builds().values():
        for item in items:
            row = item.row
            told = row.kernels == ("-",) and row.how == "measured" and "kernels" not in row.inferred
            compiled = bool(row.platforms) and "any" not in row.platforms
            if (
                told
                and compiled
                and (not row.runtime or row.runtime.startswith(_MAY_CARRY))
                and _READ not in row.source
            ):
                expected = f"the source {_READ}, or kernels among what is inferred"
                yield Breach(item, "kernels", "is - although no object was read", expected)


def _possible(view: View, runtime: str, name: str) -> bool:
    """Whether a toolkit of the runtime can produce this code; CPU builds carry none."""
    if runtime.startswith("cuda"):
        found, accepted = targets.sm(name), _accepted(view, runtime.removeprefix("cuda"))
        return found is not None and (not accepted or f"sm_{found.major}{found.minor}{found.suffix}" in accepted)
    if runtime.startswith(("rocm", "dtk")):
        return targets.is_gfx(name) and (not view.gfx or name.partition(":")[0] in view.gfx)
    if runtime == "xpu":
        return targets.is_intel(name)
    # an sdist is compiled with whatever toolkit is there, other vendors' code is not ours to judge
    return runtime != "cpu"


def _accepted(view: View, version: str) -> set[str]:
    """Targets of that minor's toolkits; of all minors of a major (``12``); nothing if the table begins later."""
    if "." in version:
        return view.toolkits.get(version, set())
    series = [accepted for minor, accepted in view.toolkits.items() if minor.startswith(f"{version}.")]
    return set().union(*series)


def sums_are_of_one_file(view: View) -> Iterator[Breach]:
    """A sum is of a file that the row has: of one of its Pythons, once, and the row is of one platform."""
    for items in view.builds().values():
        for item in items:
            row = item.row
            pythons = [one.partition("=")[0] for one in row.sums]
            if pythons and (len(row.platforms) != 1 or sorted({*pythons} & {*row.python}) != sorted(pythons)):
                what, expected = f"are for {', '.join(pythons)}", "one for a Python, of a row of one platform"
                yield Breach(item, "sums", what, expected)


def dropped_python_stays_dropped(view: View) -> Iterator[Breach]:
    """A Python that a minor series no longer has does not come back in a later one."""
    for items in view.builds().values():
        series: dict[tuple[int, ...], list[Placed]] = {}
        for version, builds in _releases(items):
            series.setdefault(version.release[:2], []).extend(builds)
        yield from _returning(series)


def _releases(items: list[Placed]) -> list[tuple[Any, list[Placed]]]:
    """Final releases in PEP 440's order, each with its builds."""
    found: dict[Any, list[Placed]] = {}
    for item in items:
        version = versions.public(item.row.version)
        if version is not None and not version.is_prerelease:
            found.setdefault(version, []).append(item)
    return sorted(found.items())


def _returning(series: dict[tuple[int, ...], list[Placed]]) -> Iterator[Breach]:
    """A series drops a Python that is older than all it has, where an earlier one had it."""
    dropped: dict[str, str] = {}
    seen: set[str] = set()
    for number, builds in series.items():
        pythons = {python for item in builds for python in item.row.python}
        for python in sorted(pythons & dropped.keys()):
            at = next(item for item in builds if python in item.row.python)
            yield Breach(at, "python", f"{python} is back", f"none, as {dropped.pop(python)} dropped it")
        if pythons:
            oldest = min(map(_python, pythons))
            gone = {python for python in seen if _python(python) < oldest}
            dropped |= dict.fromkeys(gone - dropped.keys(), ".".join(map(str, number)))
            seen |= pythons


def _python(minor: str) -> tuple[int, ...]:
    """A Python minor as numbers; the free-threaded one counts as its plain twin."""
    return versions.release(minor.removesuffix("t"))


def companions_exist(view: View) -> Iterator[Breach]:
    """A release that a build pins, of a package that the matrix knows, exists there."""
    builds = view.builds()
    known = {name: _known(items) for name, items in builds.items()}
    for items in builds.values():
        for item in items:
            for key in ("requires", "pins"):
                for name, version in _pins(getattr(item.row, key)):
                    if name in known and not _is_known(version.partition("+")[0], known[name]):
                        yield Breach(item, key, f"pins {name}=={version}", f"a release in builds.{name}")


def _known(items: list[Placed]) -> set[str]:
    """Releases of a package by every version they are asked for."""
    return {version for item in items for version in (item.row.version, item.row.published) if version}


def _is_known(version: str, known: set[str]) -> bool:
    """Whether a pin names one of the releases, as PEP 440 compares them, or one before the first."""
    if version in known:
        return True
    wanted, releases = versions.public(version), [versions.public(release) for release in known]
    told = [release for release in releases if release is not None]
    return wanted is not None and len(told) == len(releases) and (wanted in told or wanted < min(told))


def _pins(lines: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Exact pins among requirement lines: ``torch==2.0.1`` but neither ``==2.0.*`` nor a range."""
    for line in lines:
        found = _PIN.match(line)
        rest = line[found.end() :].lstrip() if found else ""
        if found and (not rest or rest[0] == ";"):
            yield normalise(found[1]), found[2]


def followed_builds_exist(view: View) -> Iterator[Breach]:
    """A companion that follows a framework comes in no runtime that the pinned framework release lacks."""
    builds = view.builds()
    follows = {item.row.name: item.row.follows for item in view.of("packages") if item.row.follows}
    for name, framework in follows.items():
        runtimes: dict[str, set[str]] = {}
        for item in builds.get(framework, ()):
            runtimes.setdefault(item.row.version, set()).add(item.row.runtime)
        for item in builds.get(name, ()):
            yield from _unfollowed(item, framework, runtimes)


def _unfollowed(item: Placed, framework: str, runtimes: dict[str, set[str]]) -> Iterator[Breach]:
    """Whether a companion's runtime is missing from the framework release that it pins."""
    if not item.row.runtime.startswith(("cuda", "rocm")):
        return
    for name, version in _pins(item.row.requires):
        have = runtimes.get(version.partition("+")[0], set())
        if name == framework and have and item.row.runtime not in have:
            expected = f"one of {framework} {version}: {' '.join(sorted(have))}"
            yield Breach(item, "runtime", f"is {item.row.runtime}", expected)


def companions_are_paired(view: View) -> Iterator[Breach]:
    """An index that has a companion for a framework release, for the CPU too, has it for every runtime of it there.

    A companion that has no CPU build, such as xformers, is another publisher's, who chooses the runtimes.
    """
    builds = view.builds()
    for item in view.of("packages"):
        framework = item.row.follows
        have = _paired(builds.get(item.row.name, ()), framework) if framework else {}
        for build in builds.get(framework, ()):
            runtimes = have.get((build.row.version, build.row.index))
            if runtimes and "cpu" in runtimes and build.row.runtime not in runtimes:
                what = f"is {build.row.runtime}, for which {build.row.index} has no {item.row.name}"
                yield Breach(
                    build, "runtime", what, f"one of {' '.join(sorted(runtimes))}, or a build of {item.row.name}"
                )


def _paired(builds: Iterable[Placed], framework: str) -> dict[tuple[str, str], set[str]]:
    """Framework release and index, other than the default one -> runtimes in which a companion pinned to it comes."""
    found: dict[tuple[str, str], set[str]] = {}
    for item in builds:
        for name, version in _pins(item.row.requires) if item.row.index else ():
            if name == framework:
                found.setdefault((version.partition("+")[0], item.row.index), set()).add(item.row.runtime)
    return found


def build_dates_rise(view: View) -> Iterator[Breach]:
    """Within one minor series of a package, a later release is not dated before an earlier one."""
    for items in view.builds().values():
        latest: dict[tuple[int, ...], tuple[str, Any]] = {}
        for version, builds in _releases(items):
            dated = [item for item in builds if item.row.date]
            if not dated:
                continue
            first = min(dated, key=lambda item: item.row.date)
            day, earlier = latest.get(version.release[:2], ("", None))
            if first.row.date < day[: len(first.row.date)]:
                yield Breach(first, "date", f"is {first.row.date}", f"not before {day} of {earlier}")
            latest[version.release[:2]] = max((day, earlier), (first.row.date, version), key=lambda pair: pair[0])
