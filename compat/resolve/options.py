"""Builds as the search sees them: parts of the joints, numbered, with the keys under which they are treated as one.

Three keys let builds be treated as one: *lane* for runtimes, *kit* for verdicts, equal *lines* as one object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.joints.build import Part, split_runtime
from compat.joints.platform import is_at
from compat.lazy import dataclass

if TYPE_CHECKING:
    from compat.matrix.rows import Build

# The bit set of all Pythons.
ANY_PYTHON: Final = -1

# Documented and measured rows are equally good; inferred ones come after both.
HOWS: Final = {"measured": 0, "documented": 0, "inferred": 1}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Option(Part):
    """One build as the search sees it: a part with its place among the others.

    Attributes:
        serial: its number within the package, in canonical order; equal matrices give equal numbers in any row order.
        pythons: bit set of Pythons with a wheel.
        rank: 0 for the newest release.
        uid: number within the index, for caches only.
        lane: number of the set of properties that decide whether its runtime goes with another build's: package,
            runtime, whether that comes from the system, whether its code is for boards, others, or unknown, and the
            index where it is one of wheels for boards.
        kit: number of the set of properties that decide whether a target runs it: builds alike in them are judged once.
        is_framework: whether its package is a framework rather than a companion.
    """

    serial: int
    pythons: int
    rank: int
    uid: int = 0
    lane: int = 0
    kit: int = 0
    is_framework: bool = False


def is_unread(option: Option) -> bool:
    """Whether it is not known if a build has GPU code: a compiled wheel of no runtime and no kernels written down."""
    return option.build.runtime == "" and not option.build.kernels and option.version != ""


def is_for(option: Option, place: str, cpu: bool) -> bool:
    """Whether a build is published for a place and is of the asked kind: a CPU build only where one was asked for.

    A wheel for Apple's GPUs serves both: macOS wheels hold the CPU's code too and no others are published.
    Source: PyTorch's "MPS backend" notes; the device is chosen at run time.
    """
    if not is_at(option.build, place):
        return False
    return option.vendor == "" or (option.vendor == "cpu") == cpu


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
