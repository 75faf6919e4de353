"""The matrix as the search sees it: builds with their joints parsed, and every repeated question answered once.

Indexes are built lazily and kept per matrix, so that a second request on one matrix costs only its own search.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.matrix import normalise
from compat.matrix.rows import Build
from compat.targets import kernels_for, sm

if TYPE_CHECKING:
    from packaging.ranges import VersionRange
    from packaging.specifiers import SpecifierSet

    from compat.matrix import Matrix
    from compat.matrix.rows import CudaRelease, Image, LibraryRelease, Product, System
    from compat.resolve.images import Need, Stand
    from compat.resolve.request import Wish
    from compat.targets import Kernels

ANY_PYTHON: Final = -1
"""The bit set of all Pythons."""

VENDORS: Final = {
    "cuda": "nvidia",
    "rocm": "amd",
    "xpu": "intel",
    "metal": "apple",
    "tpu": "google",
    "cann": "huawei",
    "cpu": "cpu",
    "": "",
}
"""Kind of runtime -> vendor of the device that it drives; ``cpu`` and no GPU code have none."""

HOWS: Final = {"measured": 0, "documented": 0, "inferred": 1}
"""Documented and measured rows are equally good; inferred ones come after both."""

_KEPT: Final = 4096
"""Answers about names from outside that are kept; a long-lived process must not grow with what it is asked."""

_LINE = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;()]*)\)?\s*(?:;(.*))?", re.DOTALL)
_RUNTIME = re.compile(r"([a-z]*)([\d.]*)")


@dataclass(frozen=True, slots=True)
class Line:
    """One requirement of a build: normalised ``name``, ``spec`` and ``marker``."""

    name: str
    spec: str
    marker: str = ""
    text: str = ""


Lane = tuple[str, str, bool, bool]


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """One build as the search sees it.

    Attributes:
        serial: its number within the package, in canonical order; equal matrices give equal numbers in any row order.
        kind: ``cuda``, ``rocm``, ...; ``number`` its version, ``12.8``.
        pythons: bit set of Pythons with a wheel.
        rank: 0 for the newest release.
        lines: requirement lines by name; equal lines are one object.
        uid: number within the index, for caches only.
        lane: what decides whether its runtime goes with another build's: kind, number, whether it comes from the
            system, and whether the release has builds for several minors.
        kit: number of the set of properties that decide whether a target runs it: builds alike in them are judged once.
        is_framework: whether its package is a framework rather than a companion.
    """

    build: Build
    package: str
    serial: int
    version: str
    full: str
    kind: str
    number: str
    vendor: str
    pythons: int
    rank: int
    lines: dict[str, tuple[Line, ...]]
    uid: int = 0
    lane: Lane = ("", "", False, False)
    kit: int = 0
    is_framework: bool = False

    @property
    def runtime(self) -> str:
        """``cuda12.8``, ``cpu``; empty without GPU code."""
        return self.build.runtime


@dataclass(frozen=True, slots=True)
class Floor:
    """Drivers of a CUDA release: ``exact`` and ``family`` floors as versions; either may be empty."""

    exact: str
    family: str
    row: CudaRelease


@lru_cache(maxsize=8)
def knowledge(matrix: Matrix) -> Knowledge:
    """The index of a matrix, made once."""
    return Knowledge(matrix)


class Knowledge:
    """Answers about one matrix, each computed once."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self._pythons: list[str] = []
        self._options: dict[str, tuple[Option, ...]] = {}
        self._published: dict[tuple[str, str, bool], tuple[Option, ...]] = {}
        self._extras: dict[str, frozenset[str]] = {}
        self._systems: dict[str, System | None] = {}
        self._products: dict[tuple[str, str, str], Product | None] = {}
        self.standing: dict[Need, tuple[Stand, ...]] = {}
        self._shares: dict[tuple[str, str], bool] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._interned: dict[tuple[Line, ...], tuple[Line, ...]] = {}
        self._count = 0
        self._kits: dict[tuple[object, ...], int] = {}
        self._meeting: dict[tuple[object, ...], tuple[Option, ...]] = {}
        self.ranks: dict[int, tuple[int, ...]] = {}
        self.pairs: dict[str, dict[tuple[int, int], int]] = {}
        self.lanes: dict[tuple[str, Lane, str, Lane], bool] = {}
        self._lines: dict[str, Line] = {}
        self._specifiers: dict[str, SpecifierSet] = {}
        self._meets: dict[tuple[str, str], bool] = {}
        self._void: dict[tuple[str, ...], bool] = {}
        self._clash: dict[tuple[str, str], bool] = {}
        self._markers: dict[tuple[str, str, tuple[str, ...], int], int] = {}
        self._kernels: dict[tuple[str, tuple[str, ...]], Kernels] = {}
        self._images: dict[str, tuple[Image, ...]] = {}
        self._admits: dict[tuple[str, str, str, str], bool] = {}
        self._rocm_targets: dict[str, tuple[str, ...]] = {}
        self._first_cuda: dict[str, str] = {}
        self._ceilings: dict[tuple[str, str], tuple[int, ...]] = {}
        self._floors: dict[tuple[str, str], Floor | None] = {}

    # --- packages ---

    def options(self, package: str) -> tuple[Option, ...]:
        """All builds of a package, newest release first, in an order that no shuffling of rows changes."""
        if package not in self._options:
            self._options[package] = self._make_options(package)
        return self._options[package]

    def published(self, package: str, place: str, cpu: bool) -> tuple[Option, ...]:
        """Builds for a place and of a kind: GPU builds and those without GPU code, or with ``cpu`` CPU builds instead."""
        key = (package, place, cpu)
        if key not in self._published:
            self._published[key] = tuple(option for option in self.options(package) if _is_for(option, place, cpu))
        return self._published[key]

    def meeting(self, wish: Wish, place: str, cpu: bool) -> tuple[Option, ...]:
        """Builds for a place that are what a wish names; a withdrawn release is only where the wish names it exactly."""
        key = (wish.package, wish.spec, wish.extras, wish.distribution, place, cpu)
        if key not in self._meeting:
            wanted = self.extras(wish.package).intersection(wish.extras)
            if len(self._meeting) > _KEPT:
                self._meeting.clear()
            self._meeting[key] = tuple(
                option
                for option in self.published(wish.package, place, cpu)
                if wanted.issubset(option.build.extras)
                and (not option.build.yanked or wish.spec.startswith("=="))
                and wish.names(option, self)
            )
        return self._meeting[key]

    def extras(self, package: str) -> frozenset[str]:
        """Extras that choose a variant of a package."""
        if package not in self._extras:
            found = {extra for option in self.options(package) for extra in option.build.extras}
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
        return frozenset(option.build.index for option in self.options(package) if option.build.variant)

    def line_names(self, package: str) -> frozenset[str]:
        """All names that some build of a package requires."""
        if package not in self._names:
            self._names[package] = frozenset(name for option in self.options(package) for name in option.lines)
        return self._names[package]

    def _make_options(self, package: str) -> tuple[Option, ...]:
        from packaging.version import Version

        builds = self.matrix.builds(package)
        order = {text: Version(text) for text in {build.version for build in builds}}
        newest = sorted(order, key=order.__getitem__, reverse=True)
        rank = {text: place for place, text in enumerate(newest)}
        ranked = sorted(builds, key=lambda build: (rank[build.version], *_spelling(build)))
        minors: dict[tuple[str, str, str], set[str]] = {}
        for build in ranked:
            minors.setdefault(_series(build), set()).add(build.runtime)
        return tuple(
            self._option(build, package, serial, rank[build.version], len(minors[_series(build)]) > 1)
            for serial, build in enumerate(ranked)
        )

    def _option(self, build: Build, package: str, serial: int, rank: int, has_minors: bool) -> Option:
        kind, number = split_runtime(build.runtime)
        lines: dict[str, tuple[Line, ...]] = {}
        for line in map(self.line, (*build.requires, *build.pins)):
            lines[line.name] = (*lines.get(line.name, ()), line)
        self._count += 1
        row = self.matrix.packages.get(package)
        kit = (build.runtime, build.kernels, build.driver, build.cudnn, build.glibc, build.cpu)
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
            lane=(kind, number, build.cuda_from == "system", has_minors),
            kit=self._kits.setdefault(kit, len(self._kits)),
            is_framework=row is not None and row.kind == "framework",
        )

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

    # --- requirement lines ---

    def line(self, text: str) -> Line:
        """A Requires-Dist line of the matrix, split; the loader's laws vouch for its grammar."""
        if text not in self._lines:
            found = _LINE.match(text)
            name, spec, marker = found.groups() if found else (text, "", None)
            self._lines[text] = Line(normalise(name), _tidy(spec), (marker or "").strip(), text)
        return self._lines[text]

    def specifier(self, spec: str) -> SpecifierSet:
        """A specifier set, parsed once."""
        if spec not in self._specifiers:
            from packaging.specifiers import SpecifierSet

            self._specifiers[spec] = SpecifierSet(spec)
        return self._specifiers[spec]

    def meets(self, spec: str, version: str) -> bool:
        """Whether a version satisfies a specifier; pre-releases only where it names one."""
        if not spec:
            return True
        public = version if "+" in spec else version.partition("+")[0]
        key = (spec, public)
        if key not in self._meets:
            self._meets[key] = self.specifier(spec).contains(public)
        return self._meets[key]

    def range(self, specs: tuple[str, ...]) -> VersionRange:
        """The versions that all of ``specs`` accept."""
        return self.specifier(",".join(sorted({spec for spec in specs if spec}))).to_range()

    def is_void(self, specs: tuple[str, ...]) -> bool:
        """Whether no version satisfies all of ``specs``."""
        if specs not in self._void:
            self._void[specs] = self.range(specs).is_empty
        return self._void[specs]

    def clashes(self, left: str, right: str) -> bool:
        """Whether no version satisfies both specifiers."""
        if not left or not right or left == right:
            return False
        key = (left, right) if left < right else (right, left)
        if key not in self._clash:
            self._clash[key] = self.range(key).is_empty
        return self._clash[key]

    def applies(self, line: Line, place: str, extras: tuple[str, ...]) -> int:
        """The Pythons for which a line counts on ``place`` (``linux_x86_64``), with these extras asked for."""
        if not line.marker:
            return ANY_PYTHON
        key = (line.marker, place, extras, len(self._pythons))
        if key not in self._markers:
            self._markers[key] = self._evaluate(line.marker, place, extras)
        return self._markers[key]

    def _evaluate(self, marker: str, place: str, extras: tuple[str, ...]) -> int:
        from packaging.markers import InvalidMarker, Marker

        try:
            parsed = Marker(marker)
        except InvalidMarker:
            return ANY_PYTHON
        bits = 0
        for minor in self._pythons:
            plain = minor.removesuffix("t")
            worlds = ({**environment(place, plain), "extra": extra} for extra in ("", *extras))
            if any(parsed.evaluate(world) for world in worlds):
                bits |= self.python_bits((minor,))
        return bits

    # --- devices and drivers ---

    def kernels(self, device: str, code: tuple[str, ...]) -> Kernels:
        """How a device runs code of these targets."""
        key = (device, code)
        if key not in self._kernels:
            self._kernels[key] = kernels_for(device, code, self.matrix.families)
        return self._kernels[key]

    def cudnn_ceiling(self, cudnn: str, cuda: str) -> tuple[int, ...]:
        """The highest compute capability that a cuDNN major has code for: as documented, else as its CUDA can target.

        Where the cuDNN is not known, any that is made for that CUDA counts. Empty if nothing is known.
        """
        key = (cudnn.partition(".")[0], cuda)
        if key not in self._ceilings:
            rows = [row for row in self.matrix.table("cudnn") if _is_cudnn(row, *key)]
            told = [versions.release(row.last_cc) for row in rows if row.last_cc]
            release = self.matrix.cuda(cuda) if cuda and not told else None
            told += [(one.major, one.minor) for one in map(sm, release.targets if release else ()) if one]
            self._ceilings[key] = max(told, default=())
        return self._ceilings[key]

    def first_cuda(self, target: str) -> str:
        """The first CUDA release that can make machine code which a device runs: the device's own or an older kin's.

        Empty if the device is not in the matrix.
        """
        if target not in self._first_cuda:
            wanted = sm(target)
            kin = [
                row.first_cuda
                for row in self.matrix.table("capabilities")
                if wanted
                and versions.release(f"{row.cc}.1")[0] == wanted.major
                and int(row.cc.partition(".")[2]) <= wanted.minor
            ]
            self._first_cuda[target] = min(kin, key=versions.release, default="")
        return self._first_cuda[target]

    def rocm_targets(self, rocm: str) -> tuple[str, ...]:
        """Targets that a ROCm release's libraries are built for; of a release without a list, those of the one before it."""
        if rocm not in self._rocm_targets:
            number = versions.release(rocm)
            told = [
                row
                for row in self.matrix.table("rocm")
                if row.targets and versions.release(row.rocm)[: len(number)] <= number
            ]
            newest = max(told, key=lambda row: versions.release(row.rocm), default=None)
            self._rocm_targets[rocm] = newest.targets if newest else ()
        return self._rocm_targets[rocm]

    def floor(self, cuda: str, windows: bool = False) -> Floor | None:
        """Driver floors of a CUDA release; ``None`` if the matrix has no such release."""
        key = (cuda, "windows" if windows else "linux")
        if key not in self._floors:
            row = self.matrix.cuda(cuda) if cuda else None
            exact, family = f"driver_{key[1]}", f"family_{key[1]}"
            self._floors[key] = row and Floor(getattr(row, exact), getattr(row, family), row)
        return self._floors[key]

    def product(self, pci: str, name: str, target: str) -> Product | None:
        """The product of a GPU, by PCI id first and by name then; of several the one whose target is the GPU's own.

        A name that fits products of several targets decides nothing: guessing one of them would decide the plan.
        """
        key = (pci, name, target)
        if key not in self._products:
            if len(self._products) > _KEPT:
                self._products.clear()
            self._products[key] = self._find_product(*key)
        return self._products[key]

    def _find_product(self, pci: str, name: str, target: str) -> Product | None:
        from compat.matrix.products import find_gpu

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

    def admits(self, require: str, driver: str, brand: str, target: str) -> bool:
        """Whether an image's NVIDIA_REQUIRE_CUDA lets it start on a host; what is not known speaks for it, as in the toolkit."""
        from compat.matrix.require import satisfies_require

        key = (require, driver, brand, target)
        if key not in self._admits:
            arch = f"{target[3:-1]}.{target[-1]}" if target.startswith("sm_") else ""
            check = satisfies_require(
                require, driver=driver, driver_cuda=self.driver_cuda(driver), brand=brand, arch=arch
            )
            self._admits[key] = check.satisfied is not False
        return self._admits[key]

    def driver_cuda(self, driver: str, windows: bool = False) -> str:
        """The CUDA version that a driver reports; empty if not known."""
        from compat.matrix.drivers import driver_cuda

        return driver_cuda(self.matrix, driver, "windows" if windows else "linux") if driver else ""


def _is_cudnn(row: LibraryRelease, major: str, cuda: str) -> bool:
    """Whether a cuDNN release is of a major, or where none is given made for a CUDA release."""
    if major:
        return row.version.partition(".")[0] == major
    return bool({cuda, cuda.partition(".")[0]}.intersection(row.cuda))


def _is_for(option: Option, place: str, cpu: bool) -> bool:
    """Whether a build is published for a place and is of the asked kind: a CPU build only where one was asked for."""
    platforms = option.build.platforms
    if platforms and place not in platforms and "any" not in platforms:
        return False
    return option.vendor == "" or (option.vendor == "cpu") == cpu


def split_runtime(runtime: str) -> tuple[str, str]:
    """Kind and number: ``cuda12.8`` -> ``("cuda", "12.8")``, ``cpu`` -> ``("cpu", "")``."""
    found = _RUNTIME.match(runtime)
    assert found is not None  # the pattern matches the empty text
    return found[1], found[2]


def environment(place: str, python: str) -> dict[str, str]:
    """The marker environment (PEP 508) of a place and a Python; the interpreter is CPython."""
    system, _, machine = place.partition("_")
    names = {
        "linux": ("linux", "Linux", "posix"),
        "win": ("win32", "Windows", "nt"),
        "macosx": ("darwin", "Darwin", "posix"),
    }
    sys_platform, platform_system, os_name = names.get(system, names["linux"])
    return {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": sys_platform,
        "platform_system": platform_system,
        "os_name": os_name,
        "platform_machine": {"amd64": "AMD64"}.get(machine, machine),
        "platform_release": "",
        "platform_version": "",
        "implementation_name": "cpython",
        "implementation_version": f"{python}.9",
        "platform_python_implementation": "CPython",
    }


def _tidy(spec: str) -> str:
    return ",".join(sorted(part.strip() for part in spec.split(",") if part.strip()))


def _series(build: Build) -> tuple[str, str, str]:
    """A release and the major of its runtime, which several minors may share."""
    kind, number = split_runtime(build.runtime)
    return build.version, kind, number.partition(".")[0]


def _spelling(build: Build) -> tuple[object, ...]:
    """An order of the builds of one release that does not depend on where their rows stand."""
    kind, number = split_runtime(build.runtime)
    fields = (
        build.variant,
        build.index,
        build.local,
        build.extras,
        build.distribution,
        build.published,
        build.platforms,
        build.python,
        build.pins,
        build.requires,
        build.kernels,
    )
    return (kind, tuple(-part for part in versions.release(number or "0")), *fields)
