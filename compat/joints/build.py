"""A build of the matrix with what joins it to other builds and to a machine, parsed once.

A row is what its file says. A part adds what every joint asks of it again: the vendor and number of its runtime, its
requirement lines by name, whether its code is for Jetson boards.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from compat.joints import reach
from compat.joints.verdict import is_inferred
from compat.lazy import dataclass, pattern
from compat.matrix import measured as wheels
from compat.matrix.rows import Build
from compat.versions import Line, requirement, same_release

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compat.matrix import Matrix

# Kind of runtime -> vendor of the device that it drives; ``cpu`` and no GPU code have none.
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

_RUNTIME: Final = pattern(r"([a-z]*)([\d.]*)")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Part:
    """One build as the joints see it.

    Attributes:
        build: its row.
        package: name of the package, ``torch``.
        version: release, ``2.7.0``; ``full`` with the local tag, ``2.7.0+cu126``.
        kind: ``cuda``, ``rocm``, ...; ``number`` its version, ``12.8``.
        vendor: maker of the GPUs that it is for; ``cpu`` of a CPU build, empty without GPU code.
        requires: its requirement lines, those of its pins too; ``lines`` has them by name.
        has_minors: whether the release has builds for several minors of its runtime's major.
        on_board: whether its code is for Jetson boards only, whose driver and CUDA libraries come from their JetPack.
        off_board: whether it carries code, and none for a Jetson board.
        static: whether CUDA's libraries are linked into it, so that it loads none of them.
        matrix: that its row is of; what its requirements bring is read there.
    """

    build: Build
    package: str
    version: str
    full: str
    kind: str
    number: str
    vendor: str
    requires: tuple[str, ...] = ()
    has_minors: bool = False
    on_board: bool = False
    off_board: bool = False
    static: bool = False
    matrix: Matrix | None = None

    @property
    def runtime(self) -> str:
        """``cuda12.8``, ``cpu``; empty without GPU code."""
        return self.build.runtime

    @property
    def lines(self) -> Mapping[str, tuple[Line, ...]]:
        """Requirement lines by name, with what they bring: most of a package's builds are never asked."""
        build, own = self.build, lines_of(self.requires)
        if self.matrix is None or not own:
            return own
        release = (build.install_name, "" if build.index else build.published or build.version)
        return _lines(self.matrix, *release, build.platforms, build.extras, self.requires)

    @property
    def label(self) -> str:
        """How messages name it: ``torch 2.7.0+cu126``."""
        return f"{self.package} {self.full}".strip()


@lru_cache(maxsize=4096)
def split_runtime(runtime: str) -> tuple[str, str]:
    """Kind and number: ``cuda12.8`` -> ``("cuda", "12.8")``, ``cpu`` -> ``("cpu", "")``."""
    found = _RUNTIME.match(runtime)
    assert found is not None  # the pattern matches the empty text
    return found[1], found[2]


def vendor_of(runtime: str) -> str:
    """The maker of the GPUs that a runtime is for; ``cpu`` for the CPU, empty where there is no GPU code."""
    kind, _ = split_runtime(runtime)
    return VENDORS.get(kind, kind)


def line(text: str) -> Line:
    """A Requires-Dist line of a row; the laws of the matrix vouch for its grammar."""
    return requirement(text) or Line(text, text=text)


@lru_cache(maxsize=16384)
def lines_of(texts: tuple[str, ...]) -> Mapping[str, tuple[Line, ...]]:
    """Requirement lines by the name of what they require; read once for the dozens of builds that share them."""
    found: dict[str, tuple[Line, ...]] = {}
    for one in map(line, texts):
        found[one.name] = (*found.get(one.name, ()), one)
    return found


@lru_cache(maxsize=16384)
def _lines(
    matrix: Matrix, name: str, version: str, places: tuple[str, ...], extras: tuple[str, ...], texts: tuple[str, ...]
) -> Mapping[str, tuple[Line, ...]]:
    """Requirement lines of a release by name, and what they bring in turn."""
    own = lines_of(texts)
    stated, found = frozenset(one for lines in own.values() for one in lines), dict(own)
    for one in reach.brought(matrix, name, version, places, extras, stated):
        found[one.name] = (*found.get(one.name, ()), one)
    return found


def series(build: Build) -> tuple[str, str, str]:
    """A release and the major of its runtime, which several minors may share."""
    kind, number = split_runtime(build.runtime)
    return build.version, kind, number.partition(".")[0]


def fixes_minor(build: Build) -> bool:
    """Whether a build takes one CUDA minor from the system.

    Where its row asks for a major alone, any minor serves; and so where it names no library of the system and the
    minor that it was made with is only inferred (cuda-python, which loads what CUDA it finds).
    """
    kind, number = split_runtime(build.runtime)
    if build.cuda_from != "system" or f"{kind}{number.partition('.')[0]}" in build.system:
        return False
    return bool(build.system) or not is_inferred(build, "runtime")


def part(matrix: Matrix, build: Build, package: str, *, has_minors: bool = False) -> Part:
    """A row as a part."""
    return Part(**traits(matrix, build, package), has_minors=has_minors)


def traits(matrix: Matrix, build: Build, package: str) -> dict[str, Any]:
    """What a row alone says of a part, by the names of its attributes."""
    return {
        "build": build,
        "package": package,
        "version": build.version,
        "full": build.full_version,
        "matrix": matrix,
        "requires": build.requires + build.pins + _own_release(matrix, build, package),
        "static": _is_static(matrix, build, package),
        **_aim(matrix, build.runtime, build.kernels),
    }


def _is_static(matrix: Matrix, build: Build, package: str) -> bool:
    """Whether the objects of a library's wheels were read and, with GPU code, load and bring no library of CUDA's."""
    row = matrix.packages.get(package)
    framework = row is None or row.kind == "framework" or row.follows
    if framework or build.index or build.cuda_from not in {"", "wheel"} or not build.runtime.startswith("cuda"):
        return False
    seen = wheels.release(build.install_name, build.published or build.version)
    return seen is not None and all(map(seen.is_static, build.platforms))


def _own_release(matrix: Matrix, build: Build, package: str) -> tuple[str, ...]:
    """What must be of a build's own release, as a requirement line: ``jaxlib==0.6.0``."""
    row = matrix.packages.get(package)
    return (f"{row.same}=={build.version}",) if row and row.same else ()


@lru_cache(maxsize=4096)
def _aim(matrix: Matrix, runtime: str, kernels: tuple[str, ...]) -> dict[str, Any]:
    """What a runtime and kernels, which hundreds of builds share, say of a part."""
    kind, number = split_runtime(runtime)
    boards = matrix.families.integrated
    return {
        "kind": kind,
        "number": number,
        "vendor": VENDORS.get(kind, kind),
        "on_board": bool(kernels) and boards.issuperset(kernels),
        "off_board": kernels not in {(), ("-",)} and boards.isdisjoint(kernels),
    }


@lru_cache(maxsize=4096)
def carried(matrix: Matrix, build: Build) -> tuple[Build, ...]:
    """The builds that come with one wheel: bitsandbytes has the code of several runtimes in one."""
    rows = matrix.builds(build.package)
    alike = (row for row in rows if _wheel(row) == _wheel(build) and {*row.platforms} & {*build.platforms})
    return tuple(row for row in alike if {*row.python} & {*build.python} or row.python == build.python) or (build,)


def _wheel(build: Build) -> tuple[object, ...]:
    """What tells wheels for one place and one Python apart."""
    return build.full_version, build.index, build.extras, build.distribution


def without_rows(name: str, version: str, spec: str = "") -> Part:
    """What the matrix has no build of, or of which none is chosen: a name and a version, or what bounds its version."""
    row = Build(source=(), how="measured", versions=(version,), runtime="", package=name)
    lines = (f"{name}{spec}",) if spec and not version else ()
    return Part(build=row, package=name, version=version, full=version, kind="", number="", vendor="", requires=lines)


@lru_cache(maxsize=8192)  # a list may pin thousands
def release(matrix: Matrix, name: str, version: str) -> tuple[Part, ...]:
    """The builds of a release, by any name of its package; those of the local tag where the version has one.

    A distribution with builds of its own (``tensorflow-cpu``) means those alone.
    """
    row = matrix.package(name)
    if row is None:
        return ()
    plain, _, local = version.partition("+")
    builds = [one for one in matrix.builds_of(row.name, plain) if same_release(one.version, plain)]
    runtimes: dict[tuple[str, str, str], set[str]] = {}
    for one in builds:
        runtimes.setdefault(series(one), set()).add(one.runtime)
    if any(one.install_name == name for one in matrix.builds(row.name)):
        builds = [one for one in builds if one.install_name == name]
    builds = [one for one in builds if local and one.local == local] or builds
    return tuple(part(matrix, one, row.name, has_minors=len(runtimes[series(one)]) > 1) for one in builds)


@lru_cache(maxsize=4096)
def measured(matrix: Matrix, name: str, version: str) -> tuple[Part, ...]:
    """The wheels of a release of a package without rows, as far as they were measured."""
    seen = wheels.release(name, version)
    return tuple(part(matrix, one, name) for one in seen.builds(matrix)) if seen else ()


def from_system(builds: Iterable[Build]) -> tuple[str, ...]:
    """What builds take from the system, sorted; a major goes with a minor that another build asks for."""
    items = {item for build in builds for item in build.system}
    return tuple(sorted(item for item in items if not any(other.startswith(f"{item}.") for other in items)))


def is_tagged(build: Build, *, kind: bool = False) -> bool:
    """Whether a build's local tag names its runtime: ``cu118`` does, ``cuda11.cudnn805`` its kind and major alone."""
    name, number = split_runtime(build.runtime)
    short, number = name.replace("cuda", "cu"), number.partition(".")[0] if kind else number
    said = {f"{name}{number}", f"{short}{number}", f"{short}{number.replace('.', '')}"}
    return bool(build.runtime) and any(one in build.local for one in said)


@lru_cache(maxsize=16384)
def is_unseen(matrix: Matrix, build: Build, *fields: str) -> bool:
    """Whether nobody saw what some fields of a build say: neither of it nor, the same, of another build of its release.

    Variants of one release are made from one source, so that what one of them was seen to say of Pythons, the C
    library or the processor is no guess for the others that say so too. A local tag may say the runtime.
    """
    asked = tuple(one for one in fields if one != "runtime" or not is_tagged(build))
    if not asked or not is_inferred(build, *asked):
        return False
    seen = (one for one in matrix.builds(build.package) if one.version == build.version)
    seen = (one for one in seen if not is_inferred(one, *asked))
    return not any(all(getattr(one, name) == getattr(build, name) for name in fields) for one in seen)


def is_maker_unseen(matrix: Matrix, build: Build) -> bool:
    """Whether nobody saw for whose GPUs a build is: its local tag, its code and its runtime may each tell."""
    if is_tagged(build, kind=True) or not is_unseen(matrix, build, "runtime"):
        return False
    return build.kernels in {(), ("-",)} or is_unseen(matrix, build, "kernels")
