"""The matrix judged for its pages: every build of a framework on every GPU with every branch of the NVIDIA driver.

The joints judge; what is judged alike is judged once. As in the resolver a GPU is served if it runs the build's code,
the driver runs the build's CUDA, compiles its PTX where that is what runs, and knows the GPU.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from compat import versions
from compat.joints import driver as drivers
from compat.joints import kernels
from compat.joints.build import split_runtime, vendor_of
from compat.joints.verdict import Clash, Fits, Verdict
from compat.matrix.listing import by_release
from compat.render.browser import Atlas, Build, Cell, Device, Release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.matrix import Matrix
    from compat.matrix.rows import Build as Row


def atlas(matrix: Matrix) -> Atlas:
    """All that the pages say of a matrix."""
    from compat import __version__

    frameworks = [package for package in matrix.packages.values() if package.kind == "framework"]
    judge = _Judge(matrix)
    releases = tuple(release for package in frameworks for release in _releases(matrix, package.name, judge))
    return Atlas(
        titles={package.name: package.title for package in frameworks},
        releases=releases,
        devices=judge.devices,
        drivers=judge.drivers,
        cells=tuple(judge.cells),
        rows=tuple(judge.rows),
        kinds=tuple(judge.kinds),
        citations=matrix.citations,
        made=f"envcheck {__version__}, matrix {matrix.digest.removeprefix('sha256:')[:12]}",
    )


def write(folder: str, matrix: Matrix) -> int:
    """Write the pages into a folder of their own, and return how many they are.

    Raises:
        InputError: if something stands there that is not ours, or it cannot be written.
    """
    from compat.app.files import replace_folder
    from compat.render.browser import MARK, pages

    files = dict(pages(atlas(matrix)))
    replace_folder(folder, files, "index.html", MARK)
    return len(files)


def _releases(matrix: Matrix, package: str, judge: _Judge) -> Iterator[Release]:
    """The releases of a package, newest first."""
    for version, builds in reversed(by_release(matrix.builds(package)).items()):
        yield Release(package, version, builds[0].date, tuple(_build(matrix, row, judge) for row in builds))


def _build(matrix: Matrix, row: Row, judge: _Judge) -> Build:
    """A build with its place among the kinds."""
    kind, number = split_runtime(row.runtime)
    floor = drivers.floor(matrix, number) if kind == "cuda" else None
    option = {"cuda": f" --cuda {number}", "rocm": f" --rocm {number}", "cpu": " --cpu"}.get(kind, "")
    return Build(
        name=f"{row.package} {row.full_version}",
        runtime=row.runtime,
        vendor=vendor_of(row.runtime),
        words=f"{row.package}=={row.full_version}{option}",
        python=row.python,
        platforms=row.platforms,
        kernels=row.kernels,
        driver=row.driver or (floor.family or floor.exact if floor else ""),
        how=row.how,
        sources=row.source,
        kind=judge.kind(row),
    )


class _Judge:
    """Judges each kind of build on each device with each driver, and keeps every answer once."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self.devices = _devices(matrix)
        branches = {row.latest or row.first for row in matrix.table("drivers")} - {""}
        self.drivers = tuple(sorted(branches, key=versions.release, reverse=True))
        self.cells: dict[Cell, int] = {}
        self.rows: dict[tuple[int, ...], int] = {}
        self.kinds: dict[tuple[int, ...], int] = {}
        self._known: dict[tuple[Any, ...], int] = {}

    def kind(self, row: Row) -> int:
        """The place of a build's kind: all that decides how devices run it."""
        key = (row.package, row.runtime, row.kernels, row.cudnn, row.driver, row.compiled)
        if key not in self._known:
            places = tuple(self._row(row, device) for device in self.devices)
            self._known[key] = self.kinds.setdefault(places, len(self.kinds))
        return self._known[key]

    def _row(self, row: Row, device: Device) -> int:
        """The place of the judgements on a device: without a driver, then with each, where drivers matter."""
        cells = [self._cell(row, device, "")]
        board = device.target in self._matrix.families.integrated  # its system brings the driver
        if device.vendor == vendor_of(row.runtime) == "nvidia" and not board:
            cells += [self._cell(row, device, version) for version in self.drivers]
        key = tuple(self.cells.setdefault(cell, len(self.cells)) for cell in cells)
        return self.rows.setdefault(key, len(self.rows))

    def _cell(self, row: Row, device: Device, version: str) -> Cell:
        """The judgement, its reason with blanks for the build, the GPU and the driver."""
        code = kernels.verdict(self._matrix, device.vendor, device.target, row)
        against = [one for one in self._each(code, row, device, version) if not isinstance(one, Fits)]
        if not against:
            idle = vendor_of(row.runtime) in {"", "cpu"}
            state = "cpu" if idle else "ptx" if code == kernels.PTX else "native"
            return Cell(state, self._note(row, version))
        worst = next((one for one in against if isinstance(one, Clash)), against[0])
        more = tuple(dict.fromkeys(key for one in worst.rows if one != row for key in one.source))
        return Cell("none" if isinstance(worst, Clash) else "unknown", _blanked(worst.why, row, device, version), more)

    def _note(self, row: Row, version: str) -> str:
        """How a driver runs a build that it runs, where it is not plainly so."""
        found = (
            drivers.verdict(self._matrix, split_runtime(row.runtime)[1], version, own=row.driver) if version else None
        )
        return found.note if isinstance(found, Fits) else ""

    def _each(self, code: Verdict, row: Row, device: Device, version: str) -> Iterator[Verdict]:
        """The verdicts of the joints."""
        yield code
        if version:
            number = split_runtime(row.runtime)[1]
            yield drivers.serves(self._matrix, device.target, version)
            yield drivers.verdict(self._matrix, number, version, own=row.driver)
            if code == kernels.PTX and not drivers.compiles(self._matrix, number, version):
                yield Clash(f"driver {version} is too old to compile the PTX of CUDA {number}")


def _devices(matrix: Matrix) -> tuple[Device, ...]:
    """The targets of all products, those of a vendor together."""
    products: dict[tuple[str, str], list[str]] = {}
    for row in matrix.table("gpus"):
        products.setdefault((row.vendor, row.target), []).append(row.name)
    return tuple(Device(vendor, target, tuple(names)) for (vendor, target), names in products.items())


def _blanked(why: str, row: Row, device: Device, version: str) -> str:
    """A reason that holds for other builds, GPUs and drivers too."""
    why = why.replace(f"{row.package} {row.full_version} ({row.runtime})", "{build}")
    why = why.replace(f"{row.package} {row.full_version}", "{build}")
    why = re.sub(rf"(?<![\w.]){re.escape(device.target)}(?![\w.:])", "{gpu}", why)
    return re.sub(rf"(?<![\w.]){re.escape(version)}(?![\w.])", "{driver}", why) if version else why
