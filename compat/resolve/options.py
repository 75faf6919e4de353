"""Builds as the search sees them: what of a row joins it to other builds and to a target, parsed once.

A row of the matrix is what its file says; an option adds what a search asks of it again and again: the vendor and
number of its runtime, its requirement lines split, its rank among the releases, and three keys under which builds can
be treated as one (*lane* for runtimes, *kit* for verdicts, equal *lines* as one object).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.lazy import dataclass, pattern
from compat.versions import Line, requirement

if TYPE_CHECKING:
    from compat.matrix.rows import Build

# The bit set of all Pythons.
ANY_PYTHON: Final = -1

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

# Documented and measured rows are equally good; inferred ones come after both.
HOWS: Final = {"measured": 0, "documented": 0, "inferred": 1}

_RUNTIME = pattern(r"([a-z]*)([\d.]*)")


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
        lane: number of the set of properties that decide whether its runtime goes with another build's: package,
            runtime, whether that comes from the system, whether its code is for boards, others, or unknown, and the
            index where it is one of wheels for boards.
        kit: number of the set of properties that decide whether a target runs it: builds alike in them are judged once.
        has_minors: whether the release has builds for several minors of its runtime's major.
        is_framework: whether its package is a framework rather than a companion.
        makers: of a build that does not say what code it has, the vendors whose GPUs its package's others are for.
        on_board: whether its code is for Jetson boards only, whose driver and CUDA libraries come from their JetPack.
        off_board: whether it carries code, and none for a Jetson board.
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
    lane: int = 0
    kit: int = 0
    has_minors: bool = False
    is_framework: bool = False
    on_board: bool = False
    off_board: bool = False
    makers: frozenset[str] = frozenset()

    @property
    def runtime(self) -> str:
        """``cuda12.8``, ``cpu``; empty without GPU code."""
        return self.build.runtime


def split_runtime(runtime: str) -> tuple[str, str]:
    """Kind and number: ``cuda12.8`` -> ``("cuda", "12.8")``, ``cpu`` -> ``("cpu", "")``."""
    found = _RUNTIME.match(runtime)
    assert found is not None  # the pattern matches the empty text
    return found[1], found[2]


def line(text: str) -> Line:
    """A Requires-Dist line of a row; the laws of the matrix vouch for its grammar."""
    return requirement(text) or Line(text, text=text)


def is_at(option: Option, place: str) -> bool:
    """Whether a build is published for a place, ``linux_x86_64``."""
    platforms = option.build.platforms
    return not platforms or place in platforms or "any" in platforms


def fixes_minor(build: Build) -> bool:
    """Whether a build takes one CUDA minor from the system; where its row asks for a major alone, any minor serves."""
    kind, number = split_runtime(build.runtime)
    return build.cuda_from == "system" and f"{kind}{number.partition('.')[0]}" not in build.system


def is_unread(option: Option) -> bool:
    """Whether it is not known if a build has GPU code: a compiled wheel of no runtime and no kernels written down."""
    return option.build.runtime == "" and not option.build.kernels and option.version != ""


def is_for(option: Option, place: str, cpu: bool) -> bool:
    """Whether a build is published for a place and is of the asked kind: a CPU build only where one was asked for.

    A wheel for Apple's GPUs serves both: macOS wheels hold the CPU's code too and no others are published.
    Source: PyTorch's "MPS backend" notes; the device is chosen at run time.
    """
    if not is_at(option, place):
        return False
    return option.vendor == "" or (option.vendor == "cpu") == cpu


def series(build: Build) -> tuple[str, str, str]:
    """A release and the major of its runtime, which several minors may share."""
    kind, number = split_runtime(build.runtime)
    return build.version, kind, number.partition(".")[0]


def spelling(build: Build) -> tuple[object, ...]:
    """An order of the builds of one release that does not depend on where their rows stand.

    The default index comes before others and the shortest set of extras before longer ones: of two builds that are
    equal in every measure, the plainest to install is taken.
    """
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
