"""The matrix as the search sees it: builds with their joints parsed, and every repeated question answered once.

All of it is built lazily and kept per matrix, so that a second request on one matrix costs only its own search: a
request asks about a few packages. What depends on requests is kept in tables that are emptied when they are full.

Two rules keep the answers independent of the order of rows: builds are sorted by release and spelling before they are
numbered, and sets of Pythons are bit sets whose numbering never decides anything by itself.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Final

from compat.joints import libc
from compat.joints.build import fixes_minor, lines_of, series
from compat.joints.build import traits as traits_of
from compat.joints.kernels import is_spared, made_for
from compat.joints.platform import is_at
from compat.lazy import dataclass
from compat.matrix.rows import Build, Image, Product, System
from compat.resolve.options import ANY_PYTHON, Option, Pythons, answered, is_for, spelling
from compat.versions import Line, meets, newest_first

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.plan import BaseImage
    from compat.resolve.situation import Felt
    from compat.resolve.wish import Wish

# Targets whose verdicts are kept; a question and its remedies ask about a handful.
_TARGETS: Final = 256

# Kit of a build, place, whether with a newer user-space driver -> violations, level of kernels, strain on drivers.
Verdicts = dict[tuple[int, str, bool], "Felt"]


@dataclass(frozen=True, slots=True)
class Need:
    """What builds need of an image.

    Attributes:
        place: ``linux_x86_64``.
        runtime: runtime of the plan, ``cuda11.8``.
        system: what must come from the image (``cuda11.8 cudnn8``); empty if wheels bring everything.
        glibc: lowest C library.
        pythons: bit set of Pythons that suit all builds.
        board: whether the devices are Jetson boards, whose driver and CUDA libraries come from their JetPack.
        forward: whether the image must hold the cuda-compat package of the runtime.
        cudnn: newest cuDNN that a build which takes one from the image was made with; empty if not known.
    """

    place: str
    runtime: str
    system: tuple[str, ...]
    glibc: str
    pythons: int
    board: bool = False
    forward: bool = False
    cudnn: str = ""


@dataclass(frozen=True, slots=True)
class Stand:
    """An image that meets a need, its Python, its row and its rank; whether it suits the target is another question."""

    python: str
    image: BaseImage
    row: Image
    rank: tuple[object, ...] = ()


@lru_cache(maxsize=8)
def knowledge(matrix: Matrix) -> Knowledge:
    """The index of a matrix, made once."""
    return Knowledge(matrix)


class Knowledge:
    """Answers about one matrix, each computed once.

    Attributes:
        pythons: sets of minor versions.
        standing, ranks, pairs, going: tables that are filled by who asks: :mod:`compat.resolve.images`,
            :mod:`compat.resolve.preference`, :mod:`compat.resolve.pairs`.
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.pythons = Pythons()
        self.standing: dict[Need, tuple[Stand, ...]] = {}
        self.ranks: dict[int, tuple[int, ...]] = {}
        self.pairs: dict[str, dict[tuple[int, int], int]] = {}
        self.going: dict[tuple[int, int], bool] = {}
        self._kits: dict[tuple[object, ...], int] = {}
        self._lanes: dict[tuple[object, ...], int] = {}
        self._uids = count(1)
        self._verdicts: dict[tuple[object, ...], Verdicts] = {}
        self._joints: dict[tuple[object, ...], dict[int, int]] = {}
        self._alike: dict[object, int] = {}
        self._numbers = count()

    # --- builds ---

    @answered
    def options(self, package: str) -> tuple[Option, ...]:
        """All builds of a package, newest release first, then by their spelling, never in the order of rows."""
        builds = (*self.matrix.builds(package), *self._on_processor(package))
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

    def _on_processor(self, package: str) -> tuple[Build, ...]:
        """What wheels for GPUs are to a processor, where they hold its code too, as those for Apple's GPUs do.

        A package with no builds but those brings the GPU to another one. Source: PyTorch documentation, "MPS backend".
        """
        row, builds = self.matrix.packages.get(package), self.matrix.builds(package)
        releases = row.on_cpu if row else ""
        apples = any(one.runtime != "metal" for one in builds)
        found = {}
        for one in builds:
            is_both = apples if one.runtime == "metal" else one.runtime not in {"", "cpu"} and releases
            if is_both and (not releases or meets(releases, one.version)) and not (one.extras or one.pins):
                plain = replace(one, runtime="cpu", cuda_from="", cudnn="", nccl="", driver="", kernels=(), system=())
                found[plain.version, spelling(plain)] = plain
        return tuple(found.values())

    def bare(self, text: str) -> Option:
        """A value that stands for no build and only carries the requirement ``text`` on a shared dependency."""
        build = Build(versions=("",), runtime="", requires=(text,), source=(), how="measured")
        return self._option(build, text, 0, 0, has_minors=False)

    def _option(self, build: Build, package: str, serial: int, rank: int, has_minors: bool) -> Option:
        """A build with its place among the others."""
        traits = traits_of(self.matrix, build, package)
        row = self.matrix.packages.get(package)
        makers = made_for(self.matrix, build)
        loaded = (build.glibc, libc.is_compiled(build), is_spared(self.matrix, build))
        kit = (build.runtime, build.kernels, build.driver, build.cudnn, loaded, build.cpu, makers)
        index = build.index if traits["on_board"] or build.index in self._board_indexes else ""
        boards = (index, traits["on_board"], traits["off_board"])
        system = (build.cuda_from == "system", fixes_minor(build), traits["static"])
        lane = (package, build.runtime, *system, has_minors, *boards)
        return Option(
            **traits,
            serial=serial,
            pythons=self.pythons.bits(build.python) if build.python else ANY_PYTHON,
            rank=rank,
            uid=next(self._uids),
            lane=self._lanes.setdefault(lane, len(self._lanes)),
            kit=self._kits.setdefault(kit, len(self._kits)),
            has_minors=has_minors,
            is_framework=row is not None and row.kind == "framework",
        )

    @cached_property
    def _board_indexes(self) -> frozenset[str]:
        """Indexes of wheels for Jetson boards, which alone have to come from one index."""
        return frozenset(row.name for row in self.matrix.table("indexes") if row.boards)

    # --- packages ---

    def is_for_gpus(self, package: str) -> bool:
        """Whether a package is of no use without a GPU: some build has code for one, and none is for a CPU.

        What else it publishes (sources to be compiled with a GPU's toolkit, stubs whose extras bring the code) is no
        CPU build.
        """
        return bool(self.coded(package)) and not any(one.kind == "cpu" for one in self.options(package))

    def lacks_code(self, option: Option) -> bool:
        """Whether a build without GPU code has a twin with some: the same release, published for the same place.

        Such a build is a stub (a distribution whose extras bring the code) or a smaller wheel for the CPU. Sources of
        an extension are neither: they are compiled for the GPUs of its framework; nor is what computes through one.
        """
        row = self.matrix.packages.get(option.package)
        if option.vendor or not option.version or (option.build.compiled and row and row.follows):
            return False
        if self.computes_through(option):
            return False
        coded = self.coded(option.package)
        return any((option.version, place) in coded for place in option.build.platforms)

    @answered
    def coded(self, package: str) -> frozenset[tuple[str, str]]:
        """Releases with GPU code, each with a place that it is published for."""
        coded = (one for one in self.options(package) if one.vendor not in {"", "cpu"})
        return frozenset((one.version, place) for one in coded for place in (*one.build.platforms, "any"))

    def framework_lines(self, option: Option) -> tuple[Line, ...]:
        """What a build requires of frameworks."""
        rows = self.matrix.packages
        named = (found for name, found in option.lines.items() if name in rows and rows[name].kind == "framework")
        return tuple(one for found in named for one in found)

    def computes_through(self, option: Option) -> bool:
        """Whether a build has no code for a device and requires a framework that does."""
        if option.vendor or option.is_framework:
            return False
        rows = map(self.matrix.packages.get, lines_of(option.requires))
        return any(row and row.kind == "framework" for row in rows)

    def silent(self, option: Option) -> bool:
        """Whether a companion's build names no framework although the newest release of the package requires one.

        Old releases left it to an extra or to the person, so that nothing tells with which release they work.
        """
        if option.is_framework or not option.version:
            return False
        needed = {one.name for one in self.framework_lines(self.options(option.package)[0])}
        return not needed.issubset(lines_of(option.requires))

    @answered
    def line_names(self, package: str) -> frozenset[str]:
        """All names that some build of a package requires."""
        return frozenset(name for option in self.options(package) for name in lines_of(option.requires))

    @cached_property
    def shared_names(self) -> frozenset[str]:
        """Names that some build of some package requires: what may be asked for beside packages of the matrix."""
        return frozenset().union(*map(self.line_names, self.matrix.packages))

    def versions(self, package: str) -> tuple[str, ...]:
        """Releases of a package, newest first."""
        return tuple(dict.fromkeys(option.version for option in self.options(package)))

    @answered
    def extras(self, package: str, version: str = "") -> frozenset[str]:
        """Extras that choose a variant of a package: any, or of one release and those that bring a device's code."""
        counting = (one for one in self.options(package) if not version or one.runtime or one.version == version)
        return frozenset(name for option in counting for name in (*option.build.extras, *option.build.also))

    def is_of(self, option: Option, wish: Wish) -> bool:
        """Whether a build is of the extras that are asked for; an installer passes over one that a release lacks."""
        wanted = self.extras(option.package, option.version).intersection(wish.extras)
        return wanted.issubset((*option.build.extras, *option.build.also))

    def is_beside(self, option: Option, wish: Wish) -> bool:
        """Whether a build is of extras, none of which is asked for."""
        return bool(option.build.extras) and {*option.build.extras, *option.build.also}.isdisjoint(wish.extras)

    # --- builds that are asked for ---

    @answered
    def published(self, package: str, place: str, cpu: bool) -> tuple[Option, ...]:
        """Builds for a place: GPU builds and those without GPU code, or with ``cpu`` CPU builds instead."""
        if cpu and self.is_for_gpus(package):
            return ()
        return tuple(option for option in self.options(package) if is_for(option, place, cpu))

    @answered
    def meeting(self, wish: Wish, place: str, cpu: bool) -> tuple[Option, ...]:
        """Builds for a place that are what a wish names; a withdrawn release only if the wish names it exactly.

        Most requests pin a release, so that a handful of builds are weighed rather than all that exist. An extra adds
        packages that only a person can want, where it chooses no device's code or a framework brings that anyway.
        """
        published = self.published(wish.package, place, cpu)
        plain = tuple(option for option in published if not option.build.extras)
        bare = {option.version for option in plain}
        through = {option.version for option in plain if self.computes_through(option)}
        return tuple(
            option
            for option in published
            if self.is_of(option, wish)
            and not (self.is_beside(option, wish) and option.version in (through if option.runtime else bare))
            and (not option.build.yanked or wish.spec.startswith("=="))
            and wish.names(option)
        )

    @answered
    def named(self, package: str, wishes: tuple[Wish, ...]) -> tuple[Option, ...]:
        """The builds of a package that each of some wishes names, for whatever place."""
        return tuple(one for one in self.options(package) if all(wish.names(one) for wish in wishes))

    def anchor(self, wish: Wish) -> int:
        """The rank of the newest release that a wish means; 0 if it means none."""
        return min((option.rank for option in self.named(wish.package, (wish,))), default=0)

    def frameworks_of(self, wish: Wish, place: str) -> tuple[str, ...]:
        """The frameworks that the newest release a wish names for a place requires there, with the extras asked for."""
        meant = (one for one in self.named(wish.package, (wish,)) if self.is_of(one, wish))
        newest = next((one for one in meant if is_at(one.build, place)), None)
        lines = self.framework_lines(newest) if newest else ()
        return tuple(dict.fromkeys(one.name for one in lines if self.pythons.applying(one, place, wish.extras)))

    @answered
    def in_kits(self, options: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        """Builds in groups for which one verdict counts; in each group, newest first."""
        groups: dict[int, list[Option]] = {}
        for option in options:
            groups.setdefault(option.kit, []).append(option)
        return tuple(map(tuple, groups.values()))

    # --- what is felt of builds ---

    def verdicts(self, judging: tuple[object, ...]) -> Verdicts:
        """The verdicts on builds for targets that are equal in all that judges them; filled by who weighs."""
        if judging not in self._verdicts and len(self._verdicts) > _TARGETS:
            self._verdicts.clear()
        return self._verdicts.setdefault(judging, {})

    def joints(self, package: str, felt: tuple[object, ...]) -> dict[int, int]:
        """A table for what others feel of a package's builds: number of a build -> number of what is felt of it."""
        key = (package, felt)
        if key not in self._joints and len(self._joints) > _TARGETS:
            self._joints.clear()
            self._alike.clear()  # numbers are never given twice, so that tables still in use stay right
        return self._joints.setdefault(key, {})

    def alike(self, felt: object) -> int:
        """A number for a thing, the same for equal things: cheaper to compare and to hash than the thing."""
        number = self._alike.get(felt)
        if number is None:
            number = self._alike[felt] = next(self._numbers)
        return number

    # --- devices ---

    @answered
    def product(self, pci: str, name: str, target: str) -> Product | None:
        """The product of a GPU, by PCI id first and by name then; of several the one whose target is the GPU's own.

        A name that fits products of several targets decides nothing: guessing one of them would decide the plan.
        """
        from compat.matrix.products import find_gpu

        for text in (pci, name):
            rows = find_gpu(self.matrix, text) if text else ()
            if target:
                rows = tuple(row for row in rows if row.target == target.partition(":")[0])
            if len({row.target for row in rows}) == 1:
                return rows[0]
        return None

    # --- images ---

    @answered
    def system(self, os: str) -> System | None:
        """Facts about an operating-system release."""
        return self.matrix.system(os)

    @answered
    def images_of(self, prefix: str, runtime: str = "") -> tuple[Image, ...]:
        """Images that a plan may start from: of the repositories that start with ``prefix``, for one runtime or any."""

        def fits(repository: str, own: str) -> bool:
            return repository.startswith(prefix) and runtime in {"", own}

        rows = self.matrix.likely("images", lambda raw: fits(raw["repository"], raw.get("runtime", "")))
        return tuple(row for row in rows if row.status != "gone" and fits(row.repository, row.runtime))

    @cached_property
    def plain_images(self) -> tuple[Image, ...]:
        """Images of systems and of Python that a plan may start from, without GPU software or a framework inside."""
        rows = self.matrix.likely("images", lambda raw: "/" not in raw["repository"])
        plain = (row for row in rows if row.status != "gone" and "/" not in row.repository)
        return tuple(row for row in plain if row.runtime in {"cpu", ""} and not row.framework)
