"""The matrix as the search sees it: builds with their joints parsed, and every repeated question answered once.

Indexes are built lazily and kept per matrix, so that a second request on one matrix costs only its own search. What
depends on the matrix alone (:attr:`Knowledge.packages`, images) grows no further than the
matrix; what depends on requests is kept in tables that are emptied when they are full.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Final

from compat.joints.platform import is_at
from compat.resolve.options import Answers, Pythons, Table, is_for
from compat.resolve.packages import Packages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.matrix import Matrix
    from compat.matrix.rows import Image, Product, System
    from compat.resolve.images import Need, Stand
    from compat.resolve.options import Option
    from compat.resolve.request import Wish
    from compat.resolve.situation import Felt

# Answers about wishes that are kept.
_KEPT: Final = 4096

# Targets whose verdicts are kept; a question and its remedies ask about a handful.
_TARGETS: Final = 256

# Kit of a build, place, whether with a newer user-space driver -> violations, level of kernels, strain on drivers.
Verdicts = dict[tuple[int, str, bool], "Felt"]


@lru_cache(maxsize=8)
def knowledge(matrix: Matrix) -> Knowledge:
    """The index of a matrix, made once."""
    return Knowledge(matrix)


class Knowledge:
    """Answers about one matrix, each computed once.

    Attributes:
        packages: what is known of packages and their builds; ``pythons``: sets of minor versions.
        standing, ranks, pairs, going: tables that are filled by who asks: :mod:`compat.resolve.images`,
            :mod:`compat.resolve.preference`, :mod:`compat.resolve.pairs`.
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self._products = Answers(self._find_product, _KEPT)
        self.pythons = Pythons()
        self.packages = Packages(matrix, self.pythons)
        self.standing: dict[Need, tuple[Stand, ...]] = {}
        self.ranks: dict[int, tuple[int, ...]] = {}
        self.pairs: dict[str, dict[tuple[int, int], int]] = {}
        self.going: dict[tuple[int, int], bool] = {}
        self._published = Answers(self._find_published)
        self._systems = Answers(matrix.system)
        self._images = Answers(self._find_images)
        self._meeting: Table[tuple[object, ...], tuple[Option, ...]] = Table(_KEPT)
        self._named: Table[tuple[object, ...], tuple[Option, ...]] = Table(_KEPT)
        self._anchors: Table[tuple[str, str, str], int] = Table(_KEPT)
        self._in_kits: Table[tuple[Option, ...], tuple[tuple[Option, ...], ...]] = Table(_KEPT)
        self._verdicts: Table[tuple[object, ...], Verdicts] = Table(_TARGETS)
        self._joints: dict[tuple[object, ...], dict[int, int]] = {}
        self._alike: dict[object, int] = {}
        self._numbers = count()

    # --- builds that are asked for ---

    def published(self, package: str, place: str, cpu: bool) -> tuple[Option, ...]:
        """Builds for a place: GPU builds and those without GPU code, or with ``cpu`` CPU builds instead.

        A wheel for Apple's GPUs serves a CPU request where its release has no CPU build there: it holds the CPU's code
        too, and the program chooses the device. Source: PyTorch documentation, "MPS backend".
        """
        return self._published[package, place, cpu]

    def _find_published(self, asked: tuple[str, str, bool]) -> tuple[Option, ...]:
        package, place, cpu = asked
        options = self.packages.options(package)
        found = [option for option in options if is_for(option, place, cpu)]
        if cpu and self.packages.is_for_gpus(package):
            found = []
        if cpu and place.startswith("macosx"):
            plain = {option.version for option in found if option.vendor == "cpu"}
            metal = (option for option in options if option.kind == "metal" and not option.build.pins)
            found += [option for option in metal if is_at(option.build, place) and option.version not in plain]
        return tuple(sorted(found, key=lambda option: option.serial))

    def meeting(self, wish: Wish, place: str, cpu: bool) -> tuple[Option, ...]:
        """Builds for a place that are what a wish names; a withdrawn release only if the wish names it exactly.

        Most requests pin a release, so that a handful of builds are weighed rather than all that exist.
        """
        key = (wish.package, wish.spec, wish.extras, wish.distribution, place, cpu)
        found = self._meeting.get(key)
        if found is None:
            wanted = self.packages.extras(wish.package).intersection(wish.extras)
            fitting = [
                option
                for option in self.published(wish.package, place, cpu)
                if wanted.issubset((*option.build.extras, *option.build.also))
                and (not option.build.yanked or wish.spec.startswith("=="))
                and wish.names(option)
            ]
            found = self._meeting.keep(key, tuple(fitting))
        return found

    def named(self, package: str, wishes: Iterable[Wish]) -> tuple[Option, ...]:
        """The builds of a package that each of some wishes names, for whatever place."""
        wishes = tuple(wishes)
        key = (package, *((wish.spec, wish.distribution) for wish in wishes))
        found = self._named.get(key)
        if found is None:
            fitting = [one for one in self.packages.options(package) if all(wish.names(one) for wish in wishes)]
            found = self._named.keep(key, tuple(fitting))
        return found

    def anchor(self, wish: Wish) -> int:
        """The rank of the newest release that a wish means; 0 if it means none."""
        key = (wish.package, wish.spec, wish.distribution)
        found = self._anchors.get(key)
        if found is None:
            ranks = (option.rank for option in self.named(wish.package, (wish,)))
            found = self._anchors.keep(key, min(ranks, default=0))
        return found

    def frameworks_of(self, wish: Wish, place: str) -> tuple[str, ...]:
        """The frameworks that the newest release a wish names for a place requires there, with the extras asked for."""
        newest = next((one for one in self.named(wish.package, (wish,)) if is_at(one.build, place)), None)
        lines = self.packages.framework_lines(newest) if newest else ()
        return tuple(dict.fromkeys(one.name for one in lines if self.pythons.applying(one, place, wish.extras)))

    def in_kits(self, options: tuple[Option, ...]) -> tuple[tuple[Option, ...], ...]:
        """Builds in groups for which one verdict counts; in each group, newest first."""
        found = self._in_kits.get(options)
        if found is None:
            groups: dict[int, list[Option]] = {}
            for option in options:
                groups.setdefault(option.kit, []).append(option)
            found = self._in_kits.keep(options, tuple(map(tuple, groups.values())))
        return found

    # --- what is felt of builds ---

    def verdicts(self, judging: tuple[object, ...]) -> Verdicts:
        """The verdicts on builds for targets that are equal in all that judges them; filled by who weighs."""
        found = self._verdicts.get(judging)
        return self._verdicts.keep(judging, {}) if found is None else found

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

    # --- devices ---

    def product(self, pci: str, name: str, target: str) -> Product | None:
        """The product of a GPU, by PCI id first and by name then; of several the one whose target is the GPU's own.

        A name that fits products of several targets decides nothing: guessing one of them would decide the plan.
        """
        return self._products[pci, name, target]

    def _find_product(self, asked: tuple[str, str, str]) -> Product | None:
        """The product that a PCI id, else a name, means; ``None`` if it means several targets or none."""
        from compat.matrix.products import find_gpu

        pci, name, target = asked
        for text in (pci, name):
            rows = find_gpu(self.matrix, text) if text else ()
            if target:
                rows = tuple(row for row in rows if row.target == target.partition(":")[0])
            if len({row.target for row in rows}) == 1:
                return rows[0]
        return None

    # --- images ---

    def system(self, os: str) -> System | None:
        """Facts about an operating-system release."""
        return self._systems[os]

    def images_of(self, prefix: str, runtime: str = "") -> tuple[Image, ...]:
        """Images that a plan may start from: of the repositories that start with ``prefix``, for one runtime or any."""
        return self._images[prefix, runtime]

    def _find_images(self, asked: tuple[str, str]) -> tuple[Image, ...]:
        prefix, runtime = asked

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
