"""Compares the matrix with what was measured in the published wheels, and with what second sources claim.

Builds on the default index are laid beside ``matrix/observed``, rows of every table beside ``matrix/claims``
(:mod:`claims`). Each disagreement is printed with the side that is followed and why, from
``matrix/disagreements.json``; one that nobody has settled makes the run fail. So does a settlement that no longer
settles anything.

    python scripts/crosscheck.py            # all
    python scripts/crosscheck.py torch cuda
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import wheel_runtime  # noqa: E402 - found through the line above
from claims import Claim, Comparison, bare  # noqa: E402
from claims import load as claims  # noqa: E402
from gpu_code import targets_of  # noqa: E402
from library_check import LIBRARIES, libraries, pins  # noqa: E402
from settlements import Difference, load, settle, tell  # noqa: E402

from compat.matrix import Matrix, matrix  # noqa: E402 - found through the line above
from compat.matrix.measured import floor_of  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.matrix.rows import Build

OBSERVED = ROOT / "matrix" / "observed"

ENVIRONMENTS = {
    "linux_x86_64": {
        "platform_system": "Linux",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "os_name": "posix",
    },
    "linux_aarch64": {
        "platform_system": "Linux",
        "sys_platform": "linux",
        "platform_machine": "aarch64",
        "os_name": "posix",
    },
    "linux_i686": {
        "platform_system": "Linux",
        "sys_platform": "linux",
        "platform_machine": "i686",
        "os_name": "posix",
    },
    "win32": {"platform_system": "Windows", "sys_platform": "win32", "platform_machine": "x86", "os_name": "nt"},
    "win_arm64": {"platform_system": "Windows", "sys_platform": "win32", "platform_machine": "ARM64", "os_name": "nt"},
    "win_amd64": {"platform_system": "Windows", "sys_platform": "win32", "platform_machine": "AMD64", "os_name": "nt"},
    "macosx_arm64": {
        "platform_system": "Darwin",
        "sys_platform": "darwin",
        "platform_machine": "arm64",
        "os_name": "posix",
    },
    "macosx_x86_64": {
        "platform_system": "Darwin",
        "sys_platform": "darwin",
        "platform_machine": "x86_64",
        "os_name": "posix",
    },
}
"""Platform -> what markers see there (PEP 508)."""

JOINED = {"jax": ("jax", "jaxlib"), "mlx": ("mlx", "mlx-cuda", "mlx-cuda-12", "mlx-cuda-13")}
"""Packages whose rows join several distributions: their requirements may come from any of these."""


def main(argv: list[str] | None = None) -> int:
    """Print all disagreements; exit 1 if one is not settled or a settlement is stale."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="tables and packages (cuda, gpus, torch); all without any")
    parser.add_argument("--quiet", action="store_true", help="only what is not settled, and the totals")
    parser.add_argument("--each", action="store_true", help="every settled disagreement, not one of each kind")
    options = parser.parse_args(argv)
    settlements = load()
    beside = Comparison(matrix())
    found = [*differences(matrix(), options.packages), *beside.differences(claimed(options.packages))]
    open_ones = [item for item in found if not settle(item, settlements)]
    lines = [] if options.quiet else [*tell(found, settlements, each=options.each), *reach(beside)]
    lines += [f"NOT SETTLED  {item}" for item in open_ones]
    stale = [item for item in settlements if not item.used and not options.packages]
    lines += [f"SETTLES NOTHING  {old.package} {old.version} {old.field}: {old.why}" for old in stale]
    print(
        "\n".join([*lines, f"{len(found)} disagreements, {len(open_ones)} not settled, {len(stale)} stale settlements"])
    )
    return 1 if open_ones or stale else 0


def claimed(names: list[str]) -> list[Claim]:
    """Claims about the tables named, or all."""
    found = claims()
    return [claim for claim in found if not names or claim.table.removeprefix("builds.") in names]


def reach(beside: Comparison) -> list[str]:
    """How far the second sources reach, table by table."""
    return [
        f"{table}: {len(compared.rows)} of {compared.total} rows have a second source"
        for table, compared in sorted(beside.reach.items())
    ]


def differences(table: Matrix, packages: Iterable[str] = ()) -> Iterator[Difference]:
    """All disagreements between the recorded measurements and the builds on the default index, or libraries."""
    names = [name.removeprefix("builds.") for name in table.names() if name.startswith("builds.")]
    for package in [name for name in names if not packages or name in packages]:
        builds = [build for build in table.builds(package) if not build.index]
        for build in builds:
            yield from _of_build(build)
            yield from pins(build, _releases)
        yield from _missing(package, table.table(f"builds.{package}"), names)
        yield from _variants(builds)
        yield from _contradictions(table.builds(package))
    for name in [name for name in LIBRARIES if name in table.names() and (not packages or name in packages)]:
        yield from libraries(table, name, _releases)


def _of_build(build: Build) -> Iterator[Difference]:
    name, version = build.install_name, build.published or build.version
    release = _releases(name).get(version)

    def differs(field: str, ours: str, theirs: str) -> Iterator[Difference]:
        if ours != theirs:
            yield Difference(name, version, field, ours, theirs)

    if release is None:
        yield from differs("release", "there", "")
        return
    yield from differs("yanked", str(build.yanked), str(bool(release.get("yanked"))))
    if build.date and release["date"]:
        yield from differs("date", build.date, release["date"])
    for platform in build.platforms:
        groups = _groups(release, platform)
        if build.package not in JOINED:
            yield from _wheels(build, release, platform, groups, differs)
        yield from _joined(build, platform, differs)
        yield from _requirements(build, platform, groups, differs)
        carried = release.get("carried", {}).get(platform, {})
        targets = targets_of(carried, build.runtime)
        other = set(targets.split()) != set(build.kernels)
        if targets and other and build.kernels and build.package not in JOINED and build.runtime != "cpu":
            yield from differs("kernels", " ".join(build.kernels), targets)
        yield from _runtime(build, carried, differs)


def _runtime(build: Build, carried: dict[str, Any], differs: Any) -> Iterator[Difference]:
    """A runtime that the wheel's libraries or PTX contradict, inferred ones included."""
    if build.package in JOINED or not carried:
        return
    exact, major = wheel_runtime.minors(carried), wheel_runtime.major(carried)
    kind = build.runtime.rstrip(".0123456789")
    if kind in {"cuda", "rocm"}:
        of_kind = {runtime for runtime in exact if runtime.startswith(kind)}
        if of_kind and build.runtime not in of_kind and "." in build.runtime:
            yield from differs("runtime", build.runtime, " ".join(sorted(of_kind)))
        elif not of_kind and major.startswith(kind) and build.runtime.partition(".")[0] != major:
            yield from differs("runtime", build.runtime, major)
        elif wheel_runtime.without_gpu(carried):
            yield from differs("runtime", build.runtime, "cpu")
    elif kind == "cpu" and carried.get("targets", "-") != "-":
        yield from differs("runtime", build.runtime, major or "GPU code")


def _wheels(build: Build, release: Any, platform: str, groups: list[Any], differs: Any) -> Iterator[Difference]:
    pythons = {python for _, listed, _ in groups for python in expand(listed, release["python"])}
    if not groups and not release.get("source"):
        yield from differs("platform", platform, "")
    elif groups:
        extra = [python for python in build.python if python not in pythons]
        yield from differs("python", " ".join(extra), "")
        yield from _floors(build, release, platform, groups, differs)


def _floors(build: Build, release: Any, platform: str, groups: list[Any], differs: Any) -> Iterator[Difference]:
    """The lowest system: that of one of the wheels for the row's Pythons."""
    wanted, carried = set(build.python), release.get("carried", {}).get(platform, {})
    tags = {floor for floor, listed, _ in groups if wanted & expand(listed, release["python"])}
    floors = {floor: tag for tag in tags if (floor := floor_of(tag, carried, build.runtime))}
    field = {"linux": "glibc", "macosx": "macos"}.get(platform.partition("_")[0], "")
    if floors and field and getattr(build, field) not in floors:
        yield from differs(field, getattr(build, field), " ".join(sorted(floors, key=Version)))
    elif field == "glibc" and build.glibc in floors:
        yield from differs("tag", build.tag or build.glibc, floors[build.glibc] or build.glibc)


def _joined(build: Build, platform: str, differs: Any) -> Iterator[Difference]:
    """The glibc of a row that joins distributions: no lower than that of one of its release, on a Python of the row."""
    for part in JOINED.get(build.package, ())[1:] if platform.startswith("linux") else ():
        release = _releases(part).get(build.version, {})
        carried = release.get("carried", {}).get(platform, {})
        tags = {tag for tag, listed, _ in _groups(release, platform) if {*build.python} & {*listed}} if release else ()
        floors = {floor for tag in tags if (floor := floor_of(tag, carried, build.runtime))}
        if floors and not any(Version(floor) <= Version(build.glibc or "0") for floor in floors):
            yield from differs("glibc", build.glibc, " ".join(sorted(floors, key=Version)))


def _requirements(build: Build, platform: str, groups: list[Any], differs: Any) -> Iterator[Difference]:
    lines = {line for _, _, requires in groups for line in requires}
    for part in JOINED.get(build.package, ())[1:]:
        lines |= {
            line for release in _releases(part).values() for group in release["wheels"] for line in group["requires"]
        }
    known = {bare(line) for line in lines if _holds(line, platform, build.extras)}
    for line in build.requires:
        if known and bare(line) not in known and not _is_part(build, line):
            yield from differs("requires", bare(line), "")
    ours = {bare(line) for line in (*build.requires, *build.pins)}
    for line in _deciding(groups, build) if build.runtime in {"", "cpu"} else ():
        if _holds(line, platform, ()) and bare(line) not in ours:
            yield from differs("requires", "", bare(line))


def _deciding(groups: list[Any], build: Build) -> list[str]:
    """Bounds on a framework that each wheel for the row's Pythons has, and of which no marker names a Python."""
    own = [set(requires) for _, listed, requires in groups if {*build.python} & expand(listed, "")]
    frameworks = {name for name, row in matrix().packages.items() if row.kind == "framework"}
    asked = map(Requirement, sorted(set.intersection(*own))) if own else ()
    bounds = (one for one in asked if one.specifier and canonicalize_name(one.name) in frameworks)
    return [str(one) for one in bounds if not any(word in str(one.marker) for word in ("extra", "python_"))]


def _is_part(build: Build, line: str) -> bool:
    """Whether a joined row's requirement comes from a plugin, which is checked as a package of its own."""
    return build.package in JOINED and Requirement(line).name.startswith(("nvidia-", "jax-", "jaxlib"))


def _missing(package: str, builds: Iterable[Build], tables: list[str]) -> Iterator[Difference]:
    """Releases that are measured and have no row, and platforms of a release without one.

    Nothing is said of previews, and of releases below the first row of a distribution: there the table has not begun. A
    distribution that has a table of its own is looked at there.
    """
    ours: dict[str, dict[str, set[str]]] = {}
    for build in builds:
        releases = ours.setdefault(build.install_name, {})
        releases.setdefault(build.published or build.version, set()).update(build.platforms)
    for name, known in ours.items() if builds else ():
        if name != package and name in tables:
            continue
        first = min(map(Version, known))
        for version, release in _releases(name).items():
            if version in known:
                yield from _without_row(name, version, release, known[version])
            elif Version(version) > first and not release.get("yanked") and not Version(version).is_prerelease:
                yield Difference(name, version, "release", "", "there")


def _without_row(name: str, version: str, release: dict[str, Any], known: set[str]) -> Iterator[Difference]:
    """Platforms of a release that no row is for."""
    there = {key.partition(" ")[0] for group in release["wheels"] for key in group["for"]}
    for platform in sorted(there & ENVIRONMENTS.keys() - known) if "any" not in known else ():
        yield Difference(name, version, "platform", "", platform)


def _variants(builds: list[Build]) -> Iterator[Difference]:
    """Runtimes for which a wheel has a library of its own, and the matrix no row."""
    ours: dict[tuple[str, str, str], set[str]] = {}
    for build in builds:
        for platform in build.platforms:
            key = (build.install_name, build.published or build.version, platform)
            ours.setdefault(key, set()).add(build.runtime)
    for (name, version, platform), runtimes in ours.items():
        carried = _releases(name).get(version, {}).get("carried", {}).get(platform, {})
        for runtime in carried.get("variants", {}).keys() - runtimes:
            yield Difference(name, version, "runtime", "", f"{runtime} on {platform}")


_ONE = ("kernels", "glibc", "macos", "cudnn", "nccl")
"""What a wheel has one of, so that two rows of it cannot say two."""


def _contradictions(builds: Iterable[Build]) -> Iterator[Difference]:
    """Rows of one wheel (release, index, local tag, runtime, platform, Python) that say different things of it."""
    said: dict[tuple[Any, ...], Build] = {}
    for build in builds:
        for platform, python in ((platform, python) for platform in build.platforms for python in build.python):
            wheel = (build.install_name, build.full_version, build.index, build.runtime, build.extras, platform, python)
            first = said.setdefault(wheel, build)
            for field in _ONE:
                ours, theirs = getattr(first, field), getattr(build, field)
                if ours and theirs and ours != theirs:
                    where = f"{ours} and {theirs} for Python {python} on {platform}"
                    yield Difference(build.install_name, build.full_version, f"{field} twice", where, "one of them")


def expand(listed: Iterable[str], requires_python: str) -> set[str]:
    """Pythons of a group with ``3.8+`` and ``3`` (stable ABI, pure) written out, as far as Requires-Python goes."""
    allowed = SpecifierSet(requires_python)
    found: set[str] = set()
    for python in listed:
        if not python.endswith("+") and "." in python:
            found.add(python)
            continue
        floor = Version(python.rstrip("+"))
        span = [f"{floor.major}.{minor}" for minor in range(40)]
        found |= {
            name for name in span if Version(name) >= floor and (f"{name}.99" in allowed or f"{name}.0" in allowed)
        }
    return found


@lru_cache
def _releases(package: str) -> dict[str, Any]:
    path = OBSERVED / f"{canonicalize_name(package)}.json"
    releases: dict[str, Any] = json.loads(path.read_text("utf-8"))["releases"] if path.is_file() else {}
    return releases


def _groups(release: Any, platform: str) -> list[tuple[str, list[str], list[str]]]:
    """(floor, Pythons, requirements) of each group of wheels that installs on a platform."""
    names = {
        "macosx_arm64": {"macosx_arm64", "macosx_universal2"},
        "macosx_x86_64": {"macosx_x86_64", "macosx_intel", "macosx_universal2"},
    }
    wanted = names.get(platform, {platform})
    found = []
    for group in release["wheels"]:
        for key, pythons in group["for"].items():
            name, _, floor = key.partition(" ")
            if name in {*wanted, "any"}:
                found.append((floor, pythons.split(), group["requires"]))
    return found


@lru_cache(maxsize=65536)
def _holds(line: str, platform: str, extras: tuple[str, ...]) -> bool:
    """Whether a requirement holds on the platform (on one, of a wheel for any) with the extras, on some Python."""
    marker = Requirement(line).marker
    if marker is None:
        return True
    python = {"platform_python_implementation": "CPython", "implementation_name": "cpython"}
    places = [ENVIRONMENTS[platform]] if platform in ENVIRONMENTS else ENVIRONMENTS.values()  # "any" is each of them
    return any(
        marker.evaluate(
            place | python | {"extra": extra, "python_version": f"3.{minor}", "python_full_version": f"3.{minor}.0"}
        )
        for place in places
        for extra in (*extras, "")
        for minor in range(5, 17)
    ) or "python_version" in str(marker)


if __name__ == "__main__":
    sys.exit(main())
