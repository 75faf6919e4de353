"""The matrix as the search sees it: builds with their joints parsed, and every repeated question answered once.

Indexes are built lazily and kept per matrix, so that a second request on one matrix costs only its own search.

Two rules keep the answers independent of the order of rows: builds are sorted by release and spelling before they are
numbered, and sets of Pythons are bit sets whose numbering never decides anything by itself.

Memory is bounded. What depends on the matrix alone grows no further than the matrix; what depends on requests is kept
in tables that are emptied when they are full.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.matrix.rows import Build
from compat.resolve.hardware import Hardware
from compat.resolve.options import (
    ANY_PYTHON,
    VENDORS,
    Option,
    fixes_minor,
    is_at,
    is_for,
    line,
    series,
    spelling,
    split_runtime,
)
from compat.resolve.specs import holds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.matrix import Matrix
    from compat.matrix.rows import Image, System
    from compat.resolve.alternatives import Verdict
    from compat.resolve.needs import Need, Stand
    from compat.resolve.options import Line
    from compat.resolve.wishes import Wish

# Answers about requests that are kept; a long-lived process must not grow with what it is asked.
_KEPT: Final = 4096


# Targets whose verdicts are kept; a question and its remedies ask about a handful.
_TARGETS: Final = 256

# Kit of a build, place, whether with a newer user-space driver -> violations, level of kernels, strain on drivers.
Verdicts = dict[tuple[int, str, bool], "Verdict"]


@lru_cache(maxsize=8)
def knowledge(matrix: Matrix) -> Knowledge:
    """The index of a matrix, made once."""
    return Knowledge(matrix)


class Knowledge:
    """Answers about one matrix, each computed once."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.hardware = Hardware(matrix)
        self.standing: dict[Need, tuple[Stand, ...]] = {}
        self.ranks: dict[int, tuple[int, ...]] = {}
        self.pairs: dict[str, dict[tuple[int, int], int]] = {}
        self.going: dict[tuple[int, int], bool] = {}
        self._joints: dict[tuple[object, ...], dict[int, int]] = {}
        self._verdicts: dict[tuple[object, ...], Verdicts] = {}
        self._anchors: dict[tuple[str, str, str], int] = {}
        self._named: dict[tuple[object, ...], tuple[Option, ...]] = {}
        self._alike: dict[object, int] = {}
        self._numbers = count()
        self._in_kits: dict[tuple[Option, ...], tuple[tuple[Option, ...], ...]] = {}
        self._count = 0
        self._pythons: list[str] = []
        self._options: dict[str, tuple[Option, ...]] = {}
        self._published: dict[tuple[str, str, bool], tuple[Option, ...]] = {}
        self._meeting: dict[tuple[object, ...], tuple[Option, ...]] = {}
        self._has_code: dict[str, bool] = {}
        self._vendors_of: dict[str, frozenset[str]] = {}
        self._with_code: dict[str, frozenset[tuple[str, str]]] = {}
        self._extras: dict[str, frozenset[str]] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._shares: dict[tuple[str, str], bool] = {}
        self._interned: dict[tuple[Line, ...], tuple[Line, ...]] = {}
        self._kits: dict[tuple[object, ...], int] = {}
        self._lanes: dict[tuple[object, ...], int] = {}
        self._markers: dict[tuple[str, str, tuple[str, ...], int], int] = {}
        self._systems: dict[str, System | None] = {}
        self._images: dict[str, tuple[Image, ...]] = {}

    # --- packages ---

    def options(self, package: str) -> tuple[Option, ...]:
        """All builds of a package, newest release first, in an order that no shuffling of rows changes."""
        if package not in self._options:
            self._options[package] = self._make_options(package)
        return self._options[package]

    def published(self, package: str, place: str, cpu: bool) -> tuple[Option, ...]:
        """Builds for a place: GPU builds and those without GPU code, or with ``cpu`` CPU builds instead.

        A wheel for Apple's GPUs serves a CPU request where its release has no CPU build there: it holds the CPU's code
        too, and the program chooses the device. Source: PyTorch documentation, "MPS backend".
        """
        key = (package, place, cpu)
        if key not in self._published:
            found = [option for option in self.options(package) if is_for(option, place, cpu)]
            if cpu and self.is_for_gpus(package):
                found = []
            if cpu and place.startswith("macosx"):
                plain = {option.version for option in found if option.vendor == "cpu"}
                metal = (option for option in self.options(package) if option.kind == "metal" and not option.build.pins)
                found += [option for option in metal if is_at(option, place) and option.version not in plain]
            self._published[key] = tuple(sorted(found, key=lambda option: option.serial))
        return self._published[key]

    def meeting(self, wish: Wish, place: str, cpu: bool) -> tuple[Option, ...]:
        """Builds for a place that are what a wish names; a withdrawn release only if the wish names it exactly.

        Most requests pin a release, so that a handful of builds are weighed rather than all that exist.
        """
        key = (wish.package, wish.spec, wish.extras, wish.distribution, place, cpu)
        if key not in self._meeting:
            wanted = self.extras(wish.package).intersection(wish.extras)
            if len(self._meeting) > _KEPT:
                self._meeting.clear()
            self._meeting[key] = tuple(
                option
                for option in self.published(wish.package, place, cpu)
                if wanted.issubset((*option.build.extras, *option.build.also))
                and (not option.build.yanked or wish.spec.startswith("=="))
                and wish.names(option)
            )
        return self._meeting[key]

    def frameworks_of(self, wish: Wish, place: str) -> tuple[str, ...]:
        """The frameworks that the newest release a wish names for a place requires there, with the extras asked for."""
        newest = next((one for one in self.named(wish.package, (wish,)) if is_at(one, place)), None)
        lines = self._framework_lines(newest) if newest else ()
        return tuple(dict.fromkeys(one.name for one in lines if self.applies(one, place, wish.extras)))

    def _framework_lines(self, option: Option) -> tuple[Line, ...]:
        """What a build requires of frameworks."""
        rows = self.matrix.packages
        named = (found for name, found in option.lines.items() if name in rows and rows[name].kind == "framework")
        return tuple(one for found in named for one in found)

    def silent(self, option: Option) -> bool:
        """Whether a companion's build names no framework although the newest release of the package requires one.

        Old releases left it to an extra or to the person, so that nothing tells with which release they work.
        """
        if option.is_framework or not option.version:
            return False
        needed = {one.name for one in self._framework_lines(self.options(option.package)[0])}
        return not needed.issubset(option.lines)

    def lacks_code(self, option: Option) -> bool:
        """Whether a build without GPU code has a twin with some: the same release, published for the same place.

        Such a build is a stub (a distribution whose extras bring the code) or a smaller wheel for the CPU.
        """
        if option.vendor or not option.version:
            return False
        if option.package not in self._with_code:
            coded = (one for one in self.options(option.package) if one.vendor not in {"", "cpu"})
            self._with_code[option.package] = frozenset(
                (one.version, place) for one in coded for place in (*one.build.platforms, "any")
            )
        return any((option.version, place) in self._with_code[option.package] for place in option.build.platforms)

    def has_code(self, package: str) -> bool:
        """Whether some build of a package is for a GPU."""
        if package not in self._has_code:
            self._has_code[package] = any(option.vendor not in {"", "cpu"} for option in self.options(package))
        return self._has_code[package]

    def is_for_gpus(self, package: str) -> bool:
        """Whether a package is of no use without a GPU: some build has code for one, and none is for a CPU.

        What else it publishes (sources to be compiled with a GPU's toolkit, stubs whose extras bring the code) is no
        CPU build. A wheel for Apple's GPUs holds the CPU's code too.
        """
        return self.has_code(package) and not any(one.kind in {"cpu", "metal"} for one in self.options(package))

    def anchor(self, wish: Wish) -> int:
        """The rank of the newest release that a wish means; 0 if it means none."""
        key = (wish.package, wish.spec, wish.distribution)
        if key not in self._anchors:
            if len(self._anchors) > _KEPT:
                self._anchors.clear()
            self._anchors[key] = min((option.rank for option in self.named(wish.package, (wish,))), default=0)
        return self._anchors[key]

    def named(self, package: str, wishes: Iterable[Wish]) -> tuple[Option, ...]:
        """The builds of a package that each of some wishes names, for whatever place."""
        wishes = tuple(wishes)
        key = (package, *((wish.spec, wish.distribution) for wish in wishes))
        if key not in self._named:
            if len(self._named) > _KEPT:
                self._named.clear()
            fitting = [one for one in self.options(package) if all(wish.names(one) for wish in wishes)]
            self._named[key] = tuple(fitting)
        return self._named[key]

    def verdicts(self, judging: tuple[object, ...]) -> Verdicts:
        """The verdicts on builds for targets that are equal in all that judges them; filled by who weighs."""
        if judging not in self._verdicts:
            if len(self._verdicts) > _TARGETS:
                self._verdicts.clear()
            self._verdicts[judging] = {}
        return self._verdicts[judging]

    def joints(self, package: str, felt: tuple[object, ...]) -> dict[int, int]:
        """A table for what others feel of a package's builds: number of a build -> number of what is felt of it."""
        key = (package, felt)
        if key not in self._joints:
            if len(self._joints) > _TARGETS:
                self._joints.clear()
                self._alike.clear()  # numbers are never given twice, so that tables still in use stay right
            self._joints[key] = {}
        return self._joints[key]

    def alike(self, felt: object) -> int:
        """A number for a thing, the same for equal things: cheaper to compare and to hash than the thing."""
        number = self._alike.get(felt)
        if number is None:
            number = self._alike[felt] = next(self._numbers)
        return number

    def in_kits(self, options: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        """Builds in groups for which one verdict counts; in each group, newest first."""
        if options not in self._in_kits:
            if len(self._in_kits) > _KEPT:
                self._in_kits.clear()
            groups: dict[int, list[Option]] = {}
            for option in options:
                groups.setdefault(option.kit, []).append(option)
            self._in_kits[options] = tuple(map(tuple, groups.values()))
        return self._in_kits[options]

    def extras(self, package: str) -> frozenset[str]:
        """Extras that choose a variant of a package."""
        if package not in self._extras:
            found = {one for option in self.options(package) for one in (*option.build.extras, *option.build.also)}
            self._extras[package] = frozenset(found)
        return self._extras[package]

    def versions(self, package: str) -> tuple[str, ...]:
        """Releases of a package, newest first."""
        return tuple(dict.fromkeys(option.version for option in self.options(package)))

    def shares_index(self, package: str, other: str) -> bool:
        """Whether both packages come as variants of one index."""
        key = (package, other)
        if key not in self._shares:
            self._shares[key] = bool(self._indexes(package) & self._indexes(other))
        return self._shares[key]

    def _indexes(self, package: str) -> frozenset[str]:
        """Indexes in which a package has variants."""
        return frozenset(option.build.index for option in self.options(package) if option.build.variant)

    def line_names(self, package: str) -> frozenset[str]:
        """All names that some build of a package requires."""
        if package not in self._names:
            self._names[package] = frozenset(name for option in self.options(package) for name in option.lines)
        return self._names[package]

    def _make_options(self, package: str) -> tuple[Option, ...]:
        """Builds of a package in canonical order: newest release first, then by their spelling, never by row order."""
        from packaging.version import Version

        builds = self.matrix.builds(package)
        order = {text: Version(text) for text in {build.version for build in builds}}
        newest = sorted(order, key=order.__getitem__, reverse=True)
        rank = {text: place for place, text in enumerate(newest)}
        ranked = sorted(builds, key=lambda build: (rank[build.version], *spelling(build)))
        minors: dict[tuple[str, str, str], set[str]] = {}
        for build in ranked:
            minors.setdefault(series(build), set()).add(build.runtime)
        return tuple(
            self._option(build, package, serial, rank[build.version], len(minors[series(build)]) > 1)
            for serial, build in enumerate(ranked)
        )

    def _makers(self, build: Build) -> frozenset[str]:
        """The vendors whose GPUs the package of a build has code for, where the build itself does not say for which.

        That is a build of unknown code, and of a package that is for GPUs alone one without a runtime: a stub, or a
        wheel that links its CUDA in. Sources whose targets are known may be compiled for more than those.
        """
        if build.runtime or (build.compiled and build.kernels):
            return frozenset()
        vendors = self._vendors(build.package)
        is_plain = build.kernels != () and not vendors.isdisjoint({"cpu", "apple"})
        return frozenset() if is_plain else vendors - {"", "cpu"}

    def _vendors(self, package: str) -> frozenset[str]:
        """The vendors of all runtimes that a package has builds for."""
        if package not in self._vendors_of:
            kinds = {split_runtime(runtime)[0] for runtime in {one.runtime for one in self.matrix.builds(package)}}
            self._vendors_of[package] = frozenset(VENDORS.get(kind, "") for kind in kinds)
        return self._vendors_of[package]

    def _option(self, build: Build, package: str, serial: int, rank: int, has_minors: bool) -> Option:
        """A build with everything parsed that a search asks of it, so that no search parses anything."""
        kind, number = split_runtime(build.runtime)
        lines: dict[str, tuple[Line, ...]] = {}
        for one in map(line, (*build.requires, *build.pins)):
            lines[one.name] = (*lines.get(one.name, ()), one)
        self._count += 1
        row = self.matrix.packages.get(package)
        makers = self._makers(build)
        kit = (build.runtime, build.kernels, build.driver, build.cudnn, build.glibc, build.cpu, makers)
        boards = self.matrix.families.integrated
        on_board = bool(build.kernels) and boards.issuperset(build.kernels)
        off_board = build.kernels not in {(), ("-",)} and boards.isdisjoint(build.kernels)
        index = build.index if on_board or build.index in self._board_indexes else ""
        lane = (package, build.runtime, fixes_minor(build), has_minors, index, on_board, off_board)
        return Option(
            build=build,
            package=package,
            serial=serial,
            version=build.version,
            full=build.full_version,
            kind=kind,
            number=number,
            vendor=VENDORS.get(kind, kind),
            pythons=self.python_bits(build.python) if build.python else ANY_PYTHON,
            rank=rank,
            lines={name: self._interned.setdefault(found, found) for name, found in lines.items()},
            uid=self._count,
            lane=self._lanes.setdefault(lane, len(self._lanes)),
            kit=self._kits.setdefault(kit, len(self._kits)),
            has_minors=has_minors,
            makers=makers,
            is_framework=row is not None and row.kind == "framework",
            on_board=on_board,
            off_board=off_board,
        )

    @cached_property
    def _board_indexes(self) -> frozenset[str]:
        """Indexes of wheels for Jetson boards, which alone have to come from one index."""
        return frozenset(row.name for row in self.matrix.table("indexes") if row.boards)

    @cached_property
    def shared_names(self) -> frozenset[str]:
        """Names that some build of some package requires: what may be asked for beside packages of the matrix."""
        return frozenset().union(*map(self.line_names, self.matrix.packages))

    def bare(self, text: str) -> Option:
        """A value that stands for no build and only carries the requirement ``text`` on a shared dependency."""
        build = Build(versions=("",), runtime="", requires=(text,), source=(), how="measured")
        return self._option(build, text, 0, 0, has_minors=False)

    # --- Pythons ---

    def python_bits(self, minors: tuple[str, ...]) -> int:
        """The bit set of some minor versions."""
        bits = 0
        for minor in minors:
            if minor not in self._pythons:
                self._pythons.append(minor)
            bits |= 1 << self._pythons.index(minor)
        return bits

    def pythons(self, bits: int) -> tuple[str, ...]:
        """The minor versions in a bit set, newest first; free-threaded ones last, since nobody means them unasked."""
        found = [minor for place, minor in enumerate(self._pythons) if bits >> place & 1]
        return tuple(sorted(found, key=lambda text: (text.endswith("t"), *(-part for part in versions.release(text)))))

    def applies(self, line: Line, place: str, extras: tuple[str, ...]) -> int:
        """The Pythons for which a line counts on ``place`` (``linux_x86_64``), with these extras asked for."""
        if not line.marker:
            return ANY_PYTHON
        key = (line.marker, place, extras, len(self._pythons))
        if key not in self._markers:
            found = tuple(python for python in self._pythons if holds(line.marker, place, python, extras))
            self._markers[key] = self.python_bits(found)
        return self._markers[key]

    # --- images ---

    def system(self, os: str) -> System | None:
        """Facts about an operating-system release."""
        if os not in self._systems:
            self._systems[os] = self.matrix.system(os)
        return self._systems[os]

    @cached_property
    def images(self) -> tuple[Image, ...]:
        """Image rows that a plan may start from."""
        return tuple(row for row in self.matrix.table("images") if row.status != "gone")

    def images_of(self, prefix: str) -> tuple[Image, ...]:
        """Images whose repository starts with ``prefix``."""
        if prefix not in self._images:
            self._images[prefix] = tuple(row for row in self.images if row.repository.startswith(prefix))
        return self._images[prefix]
