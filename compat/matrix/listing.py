"""Tables of the matrix for reading: ``envcheck matrix list`` in rows and columns, rendering left to others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compat import versions
from compat.errors import InputError
from compat.lazy import dataclass
from compat.tables import Line, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from compat.matrix import Matrix
    from compat.matrix.rows import Build, CudaRelease, Row


def table(matrix: Matrix, title: str, columns: Iterable[str], lines: Iterable[Line]) -> Table:
    """A table with the citations that its lines name."""
    found = tuple(lines)
    ids = sorted({key for line in found for key in line.source})
    return Table(title, tuple(columns), found, {key: matrix.citations.get(key, key) for key in ids})


def line(row: Row, *cells: str) -> Line:
    """A line about one row."""
    return Line(cells, row.how, row.source, row.origin, row.note, getattr(row, "proof", ""))


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that can be listed: its title, and what makes its table."""

    title: str
    make: Callable[[Matrix], Table]


def subjects() -> dict[str, str]:
    """What can be listed, with its title, in the order of the help."""
    return {name: subject.title for name, subject in _SUBJECTS.items()}


def list_table(matrix: Matrix, subject: str) -> Table:
    """The table of one subject, ``frameworks``, ``cuda``, ``gpus``, ...

    Raises:
        InputError: if there is no such subject, with those that there are.
    """
    if subject not in _SUBJECTS:
        raise InputError(f"{subject[:60]!r} is not a subject", expected=f"one of {', '.join(_SUBJECTS)}")
    return _SUBJECTS[subject].make(matrix)


def _of(name: str, title: str, columns: str, **made: Callable[[Any], str]) -> Subject:
    """A listing of one table; ``columns`` are fields, each with a heading where its own name would not do.

    ``made`` has what makes a cell of a row, for columns that show no field as it is.
    """
    pairs = [tuple(column.split(": ")) for column in columns.split(", ")]

    def shown(row: Row, field: str) -> str:
        return made[field](row) if field in made else cell(getattr(row, field))

    def make(matrix: Matrix) -> Table:
        lines = [line(row, *(shown(row, pair[-1]) for pair in pairs)) for row in matrix.table(name)]
        return table(matrix, title, (pair[0] for pair in pairs), lines)

    return Subject(title, make)


def cell(value: Any) -> str:
    """A value as a table shows it: words joined, numbers plain, nothing for what is not stated."""
    if isinstance(value, tuple):
        return " ".join(value)
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, (int, float)):
        return f"{value:g}" if value else ""
    return str(value)


def _packages(kind: str, title: str) -> Subject:
    """A listing of the packages of one kind."""

    def make(matrix: Matrix) -> Table:
        chosen = [package for package in matrix.packages.values() if package.kind == kind]
        lines = [line(package, package.name, *_summary(matrix.builds(package.name))) for package in chosen]
        return table(matrix, title, ("package", "releases", "oldest", "newest", "runtimes"), lines)

    return Subject(title, make)


def _summary(builds: Sequence[Build]) -> tuple[str, str, str, str]:
    """Number of releases, the oldest, the newest, and the runtimes that the newest comes in."""
    releases = by_release(builds)
    if not releases:
        return ("0", "", "", "")
    newest = list(releases)[-1]
    runtimes = dict.fromkeys(build.runtime for build in releases[newest] if build.runtime)
    return (str(len(releases)), next(iter(releases)), newest, " ".join(runtimes))


def by_release(builds: Iterable[Build]) -> dict[str, list[Build]]:
    """Builds by release, in PEP 440's order; releases that are not versions come first."""
    found: dict[str, list[Build]] = {}
    for build in builds:
        found.setdefault(build.version, []).append(build)
    return {version: found[version] for version in sorted(found, key=_order)}


def _order(version: str) -> tuple[bool, Any]:
    """A sorting key for releases; what PEP 440 cannot read comes first, by its text."""
    known = versions.public(version)
    return (known is not None, known or version)


def _cuda_release(row: CudaRelease) -> str:
    """A CUDA release, and whether it is one that can be installed."""
    return row.cuda + (" (driver value only)" if not row.toolkit else " (preview)" if row.preview else "")


def span(targets: Sequence[str]) -> str:
    """The plain targets of a list, shortened to the first and the last where there are many."""
    plain_ones = [target for target in targets if not target[-1:].isalpha() or target.startswith("gfx")]
    return " ".join(plain_ones) if len(plain_ones) <= 4 else f"{plain_ones[0]} ... {plain_ones[-1]}"


_SUBJECTS: Final[dict[str, Subject]] = {
    "frameworks": _packages("framework", "Frameworks"),
    "companions": _packages("companion", "Companions of frameworks"),
    "libraries": _packages("library", "Libraries"),
    "cuda": _of(
        "cuda",
        "CUDA releases",
        "cuda, date, driver (Linux): driver_linux, driver (Windows): driver_windows, "
        "runs from (Linux): family_linux, gcc, targets",
        cuda=_cuda_release,
        targets=lambda row: span(row.targets),
    ),
    "drivers": _of(
        "drivers",
        "NVIDIA driver branches",
        "branch, kind, CUDA: cuda, first, latest, Windows: windows, date, end of life: eol, drops",
    ),
    "forward": _of(
        "forward",
        "Older drivers on which cuda-compat runs",
        "cuda-compat: cuda, driver branches: branches",
    ),
    "capabilities": _of(
        "capabilities",
        "NVIDIA compute capabilities",
        "capability: cc, architecture, first CUDA: first_cuda, last CUDA: last_cuda, last driver: last_driver, "
        "integrated, features",
    ),
    "rocm": _of("rocm", "ROCm releases", "rocm, stream, date, drivers, targets, systems: os, kernels: linux"),
    "gfx": _of(
        "gfx",
        "AMD targets",
        "target: gfx, architecture, official from: first_rocm, until: last_rocm, generic, override, features",
    ),
    "intel": _of("intel", "Intel targets", "target: intel, architecture, runs code for: runs, features"),
    "gpus": _of("gpus", "GPU products", "name, target, GiB: memory_gib, GB/s: bandwidth_gbs, segment, year, PCI: pci"),
    "sharing": _of("sharing", "Ways to share a GPU", "way, memory, compute, faults, limits, from: first_cc"),
    "instances": _of("instances", "Instance types of clouds", "name, cloud, GPU: gpu, count, part of one: part, arch"),
    "formats": _of(
        "formats",
        "Number formats and the GPUs that packages use them on",
        "format, package, versions, capability from: first_cc, AMD: gfx, weights alone: weights, options",
    ),
    "caches": _of("caches", "What models keep of a sequence", "rule, models, per token: token, state, every"),
    "images": _of(
        "images",
        "Base and framework images",
        "image, flavours, runtime, cuDNN: cudnn, system: os, arch, status",
        image=lambda row: f"{row.repository}:{row.tag}",
    ),
    "systems": _of(
        "systems",
        "Operating systems",
        "system: os, glibc, GLIBCXX: libstdcxx, python3: python, packaged: pythons, manager, image, end of life: eol",
    ),
    "pythons": _of("pythons", "Pythons for images", "python, standalone build: standalone, early"),
    "commands": _of("commands", "Commands per distribution", "deed, system, commands"),
    "cudnn": _of("cudnn", "cuDNN releases", "version, CUDA: cuda, from: first_cc, driver: driver_linux, date"),
    "nccl": _of("nccl", "NCCL releases", "version, CUDA: cuda"),
    "tensorrt": _of("tensorrt", "TensorRT releases", "version, CUDA: cuda, from: first_cc, date"),
    "sonames": _of("sonames", "Libraries and the packages that bring them", "library: soname, package, versions"),
    "jetpack": _of(
        "jetpack",
        "JetPack releases",
        "jetpack, L4T: l4t, CUDA: cuda, cuDNN: cudnn, TensorRT: tensorrt, system: os, capabilities, plain images: sbsa",
    ),
    "accelerators": _of(
        "accelerators", "Other accelerators", "accelerator, package, versions, framework, stack, Python: python"
    ),
    "processors": _of("processors", "Accelerators without builds in the matrix", "maker, accelerator, names"),
    "applications": _of("applications", "Packages that bring a framework", "name, brings: pulls, with one of: extras"),
    "conda": _of("conda", "Conda packages with an end", "name, channels, last: newest"),
    "compiled": _of("compiled", "Packages whose build makes GPU code where it sees a GPU", "name, forced, versions"),
    "confined": _of("confined", "Names with wheels for one system alone", "name, system"),
    "misspelt": _of("misspelt", "Releases that today's pip passes over", "name, versions, requirement: line"),
    "scripts": _of("scripts", "Sources that only an older setuptools builds", "name, versions, first without: fixed"),
    "notices": _of("notices", "Names that hold a notice alone", "name, ask for: instead, versions"),
    "repositories": _of("repositories", "Packages that only their repository has", "name, from: address"),
    "turns": _of("turns", "First releases with something that decides", "turn, name, version"),
    "majors": _of("majors", "Releases that break older builds", "name, version, python, bounded by: bounded_by"),
    "indexes": _of("indexes", "Package indexes", "name, url"),
    "dates": _of("dates", "Days of releases", "package, releases: days"),
    "signals": _of("signals", "Messages of programs", "signal, program, meaning"),
}
