"""Tables about the builds of one release: its variants, and what they require."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import compat.matrix.measured as measured
from compat import versions
from compat.joints import driver
from compat.joints.build import split_runtime
from compat.matrix.listing import cell, line, table
from compat.tables import Line, Table
from compat.versions import requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compat.matrix import Matrix
    from compat.matrix.rows import Build


def variants(matrix: Matrix, title: str, builds: Iterable[Build]) -> Table:
    """The variants of one release: all that decides, without the columns that no variant has anything in."""
    builds = list(builds)
    columns = {
        "runtime": [build.runtime or "-" for build in builds],
        "version": [build.full_version for build in builds],
        "index": [build.index or "default" for build in builds],
        **{name: [cell(getattr(build, field)) for build in builds] for name, field in _COLUMNS.items()},
    }
    drivers = [_drivers(matrix, build) for build in builds]
    # in the place of the rows' own floor
    columns |= {"driver": [low for low, _ in drivers], "driver for PTX": [own for _, own in drivers]}
    names = [name for name, cells in columns.items() if any(cells) or name in _ALWAYS]
    lines = [line(build, *(columns[name][number] for name in names)) for number, build in enumerate(builds)]
    return table(matrix, title, names, lines)


def _drivers(matrix: Matrix, build: Build) -> tuple[str, str]:
    """The lowest driver that runs a build, and the lowest that compiles its PTX; a Jetson's is part of its system."""
    kind, number = split_runtime(build.runtime)
    if kind == "rocm" and number and (release := matrix.rocm(number)):
        return " to ".join(release.drivers), ""
    on_windows = all(platform.startswith("win") for platform in build.platforms)
    least = driver.floor(matrix, number, on_windows) if kind == "cuda" else None
    if least is None or (build.kernels and matrix.families.integrated.issuperset(build.kernels)):
        return build.driver, ""
    low = max(filter(None, (least.family or least.exact, build.driver)), key=versions.release, default="")
    return low, least.exact if "." in number else ""  # of a major alone no release is known


# Column of a table of builds -> the field that it shows.
_COLUMNS: Final = {
    "Python": "python",
    "platforms": "platforms",
    "glibc": "glibc",
    "by its name": "tag",
    "macOS": "macos",
    "kernels": "kernels",
    "CUDA from": "cuda_from",
    "cuDNN": "cudnn",
    "NCCL": "nccl",
    "driver": "driver",
    "driver for PTX": "driver",
    "processor": "cpu",
    "extras": "extras",
    "or alone": "also",
    "compiled": "compiled",
    "C++ ABI": "abi",
    "installed as": "distribution",
    "date": "date",
    "yanked": "yanked",
    "inferred": "inferred",
}
_ALWAYS: Final = ("runtime", "version", "index", "Python", "platforms", "glibc", "kernels", "CUDA from")


def requirements(matrix: Matrix, builds: Iterable[Build]) -> Iterator[Table]:
    """What the variants of a release require and which of them does; apart, what no installer reads of their wheels."""
    kinds: dict[bool, dict[str, list[Build]]] = {False: {}, True: {}}
    for build in builds:
        seen = measured.release(build.install_name, build.published or build.version)
        lines = {_bare(text) for text in (seen.lines if seen else ())}
        for text in (*build.requires, *build.pins, *(f"from the system: {item}" for item in build.system)):
            wish = requirement(text)
            hidden = wish is not None and wish.name in build.undeclared and _bare(text) not in lines
            kinds[hidden].setdefault(text, []).append(build)
    for hidden, needs in kinds.items():
        title = "What they need and their metadata does not say" if hidden else "What they require"
        rows = [_need(text, users, hidden=hidden) for text, users in needs.items()]
        if rows:
            yield table(matrix, title, ("requirement", "of"), rows)


def _need(text: str, users: Sequence[Build], *, hidden: bool) -> Line:
    """A requirement with the runtimes of the builds that have it; no wheel says a hidden one."""
    of, how = " ".join(dict.fromkeys(build.runtime or "-" for build in users)), users[0].how
    if how == "measured":
        how = "inferred" if "requires" in users[0].inferred else "documented" if hidden else how
    return Line((text, of), how, users[0].source)


def besides(matrix: Matrix, builds: Iterable[Build]) -> Iterator[Table]:
    """What was measured in the wheels of a release and no row says: other requirements, and what their objects need."""
    builds = list(builds)
    told = {_bare(text) for build in builds for text in (*build.requires, *build.pins)}
    wheels = dict.fromkeys(
        (build.install_name, build.published or build.version) for build in builds if not build.index
    )
    found = [release for release in (measured.release(*wheel) for wheel in wheels) if release]
    lines = dict.fromkeys(text for release in found for text in release.lines if _bare(text) not in told)
    if lines:
        told_too = [Line((text,), "measured", (measured.SOURCE,)) for text in lines]
        yield table(matrix, "What their metadata says besides", ("requirement",), told_too)
    yield from _objects(matrix, found)


def _bare(requirement: str) -> str:
    """A requirement without its marker."""
    return requirement.partition(";")[0].strip()


def _objects(matrix: Matrix, found: Iterable[measured.Measured]) -> Iterator[Table]:
    """The wheels that were looked into, and the GPU libraries that their objects load."""
    lines = [Line(cells, "measured", ("gpu-code",)) for release in found for cells in release.objects()]
    if lines:
        columns = ("platform", "wheel", "glibc", "needs", "bundles", "few kernels for")
        yield table(matrix, "What was read in the wheels", columns, lines)


def measured_release(matrix: Matrix, name: str, version: str) -> Iterator[Table]:
    """A release that was measured and that no row is for."""
    seen = measured.release(name, version)
    if seen is None:
        return
    title = f"{seen.name} {seen.version} as measured, without rows to judge by"
    builds = seen.builds(matrix)
    if builds:
        yield variants(matrix, title, builds)
        yield from requirements(matrix, builds)
    else:
        cells = ("source archive alone", seen.facts.get("python", ""), seen.date)
        row = Line(cells, "measured", (measured.SOURCE,))
        yield table(matrix, title, ("files", "Requires-Python", "date"), [row])
    yield from _objects(matrix, [seen])


def measured_releases(matrix: Matrix, name: str) -> Iterator[Table]:
    """All releases of a distribution of which nothing else is known."""
    lines = [
        Line((version, facts.get("date", ""), facts.get("python", "")), "measured", (measured.SOURCE,))
        for version, facts in reversed(measured.releases(name).items())
    ]
    if lines:
        title = f"Releases of {name} as measured, newest first"
        yield table(matrix, title, ("release", "date", "Requires-Python"), lines)
