"""The packages of a matrix: their builds as options, and what all builds of a package tell together.

All of it depends on the matrix alone, and is answered at the first question: a request asks about a few packages.

Two rules keep the answers independent of the order of rows: builds are sorted by release and spelling before they are
numbered, and sets of Pythons are bit sets whose numbering never decides anything by itself.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from compat.joints import libc
from compat.joints.build import fixes_minor, series
from compat.joints.build import traits as traits_of
from compat.joints.kernels import made_for
from compat.matrix.rows import Build
from compat.resolve.options import ANY_PYTHON, Answers, Option, spelling
from compat.versions import newest_first

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.resolve.options import Pythons
    from compat.versions import Line


class Packages:
    """The packages of one matrix."""

    def __init__(self, matrix: Matrix, pythons: Pythons) -> None:
        self._matrix, self._pythons = matrix, pythons
        self._options = Answers(self._make_options)
        self._has_code = Answers(self._find_code)
        self._coded = Answers(self._find_coded)
        self._extras = Answers(self._find_extras)
        self._names = Answers(self._find_names)
        self._kits: dict[tuple[object, ...], int] = {}
        self._lanes: dict[tuple[object, ...], int] = {}
        self._count = 0

    # --- builds ---

    def options(self, package: str) -> tuple[Option, ...]:
        """All builds of a package, newest release first, in an order that no shuffling of rows changes."""
        return self._options[package]

    def bare(self, text: str) -> Option:
        """A value that stands for no build and only carries the requirement ``text`` on a shared dependency."""
        build = Build(versions=("",), runtime="", requires=(text,), source=(), how="measured")
        return self._option(build, text, 0, 0, has_minors=False)

    def _make_options(self, package: str) -> tuple[Option, ...]:
        """Builds of a package in canonical order: newest release first, then by their spelling, never by row order."""
        builds = self._matrix.builds(package)
        newest = newest_first(build.version for build in builds)
        rank = {text: place for place, text in enumerate(newest)}
        ranked = sorted(builds, key=lambda build: (rank[build.version], *spelling(build)))
        minors: dict[tuple[str, str, str], set[str]] = {}
        for build in ranked:
            minors.setdefault(series(build), set()).add(build.runtime)
        return tuple(
            self._option(build, package, serial, rank[build.version], len(minors[series(build)]) > 1)
            for serial, build in enumerate(ranked)
        )

    def _option(self, build: Build, package: str, serial: int, rank: int, has_minors: bool) -> Option:
        """A build with its place among the others."""
        traits = traits_of(self._matrix, build, package)
        self._count += 1
        row = self._matrix.packages.get(package)
        makers = made_for(self._matrix, build)
        loaded = (build.glibc, libc.is_compiled(build))
        kit = (build.runtime, build.kernels, build.driver, build.cudnn, loaded, build.cpu, makers)
        index = build.index if traits["on_board"] or build.index in self._board_indexes else ""
        boards = (index, traits["on_board"], traits["off_board"])
        system = (build.cuda_from == "system", fixes_minor(build))
        lane = (package, build.runtime, *system, has_minors, *boards)
        return Option(
            **traits,
            serial=serial,
            pythons=self._pythons.bits(build.python) if build.python else ANY_PYTHON,
            rank=rank,
            uid=self._count,
            lane=self._lanes.setdefault(lane, len(self._lanes)),
            kit=self._kits.setdefault(kit, len(self._kits)),
            has_minors=has_minors,
            is_framework=row is not None and row.kind == "framework",
        )

    @cached_property
    def _board_indexes(self) -> frozenset[str]:
        """Indexes of wheels for Jetson boards, which alone have to come from one index."""
        return frozenset(row.name for row in self._matrix.table("indexes") if row.boards)

    # --- what they are for ---

    def has_code(self, package: str) -> bool:
        """Whether some build of a package is for a GPU."""
        return self._has_code[package]

    def _find_code(self, package: str) -> bool:
        return any(option.vendor not in {"", "cpu"} for option in self.options(package))

    def is_for_gpus(self, package: str) -> bool:
        """Whether a package is of no use without a GPU: some build has code for one, and none is for a CPU.

        What else it publishes (sources to be compiled with a GPU's toolkit, stubs whose extras bring the code) is no
        CPU build. A wheel for Apple's GPUs holds the CPU's code too.
        """
        return self.has_code(package) and not any(one.kind in {"cpu", "metal"} for one in self.options(package))

    def lacks_code(self, option: Option) -> bool:
        """Whether a build without GPU code has a twin with some: the same release, published for the same place.

        Such a build is a stub (a distribution whose extras bring the code) or a smaller wheel for the CPU.
        """
        if option.vendor or not option.version:
            return False
        coded = self._coded[option.package]
        return any((option.version, place) in coded for place in option.build.platforms)

    def _find_coded(self, package: str) -> frozenset[tuple[str, str]]:
        """Releases with GPU code, each with a place that it is published for."""
        coded = (one for one in self.options(package) if one.vendor not in {"", "cpu"})
        return frozenset((one.version, place) for one in coded for place in (*one.build.platforms, "any"))

    # --- what they need ---

    def framework_lines(self, option: Option) -> tuple[Line, ...]:
        """What a build requires of frameworks."""
        rows = self._matrix.packages
        named = (found for name, found in option.lines.items() if name in rows and rows[name].kind == "framework")
        return tuple(one for found in named for one in found)

    def silent(self, option: Option) -> bool:
        """Whether a companion's build names no framework although the newest release of the package requires one.

        Old releases left it to an extra or to the person, so that nothing tells with which release they work.
        """
        if option.is_framework or not option.version:
            return False
        needed = {one.name for one in self.framework_lines(self.options(option.package)[0])}
        return not needed.issubset(option.lines)

    def line_names(self, package: str) -> frozenset[str]:
        """All names that some build of a package requires."""
        return self._names[package]

    def _find_names(self, package: str) -> frozenset[str]:
        return frozenset(name for option in self.options(package) for name in option.lines)

    @cached_property
    def shared_names(self) -> frozenset[str]:
        """Names that some build of some package requires: what may be asked for beside packages of the matrix."""
        return frozenset().union(*map(self.line_names, self._matrix.packages))

    # --- how they are asked for ---

    def versions(self, package: str) -> tuple[str, ...]:
        """Releases of a package, newest first."""
        return tuple(dict.fromkeys(option.version for option in self.options(package)))

    def extras(self, package: str) -> frozenset[str]:
        """Extras that choose a variant of a package."""
        return self._extras[package]

    def _find_extras(self, package: str) -> frozenset[str]:
        return frozenset(one for option in self.options(package) for one in (*option.build.extras, *option.build.also))
