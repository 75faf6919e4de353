"""Which of several plans that fit is taken; this file is the one place that says so.

An order is a list of measures, most important first; smaller is better. A measure marked *worst* counts the worst of
a plan's builds, one marked *each* compares build by build in the order asked. The exact requirement comes before
all measures: a build that does not meet it is no candidate.

=============== ====================================================================================================
proven          the host's own driver rather than a newer one in the image (forward compatibility); native
                kernels on all GPUs; documented or measured over inferred; wheels over sources to be
                compiled; companions that name their framework; newest framework in the order asked; comfortable
                driver; newest runtime; CUDA from wheels rather than the base image
newest          as proven, but the newest framework before documented over inferred
smallest        as proven, but CUDA from wheels (a base image without CUDA libraries) before the release
oldest-driver   as proven, but the lowest driver floor before the release
stable          as proven, but comfortable driver, and releases that had a bug-fix release, before the newest
nearest         a driver that may be taken for granted where none is told, then the release nearest to the one asked
                for, then as proven: what remedies are found by
forward         as proven, but the newest framework before the host's own driver: what a newer driver in the image opens
=============== ====================================================================================================

Base image and Python come last, in :mod:`compat.resolve.images`. A final measure, the canonical order of the builds,
leaves no tie, so that equal questions get equal answers whatever the order of the rows.

``proven`` is the usual one. In it, how a row is known stands before the release because a plan that nobody has seen
work is worth less than one release more; it counts for frameworks only, since a companion's release is bound to its
framework's anyway.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final, Literal

from compat import versions
from compat.errors import InputError
from compat.lazy import dataclass
from compat.resolve.build_fit import FORWARD, UNKNOWN, Scale, Weighed
from compat.resolve.options import HOWS, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.resolve.knowledge import Knowledge

Key = tuple[int, ...]

# Where the target names no GPU: the vendor that most builds are made for first; a CPU build never unasked.
_VENDOR_ORDER: Final = ("", "nvidia", "amd", "intel", "apple", "google", "huawei", "cpu")

# Where the CUDA libraries come from -> whether the base image must hold a copy.
_CUDA_WEIGHT: Final = {"": 0, "wheel": 0, "packages": 0, "system": 1}


@dataclass(frozen=True, slots=True)
class Measure:
    """One number per build, and how the numbers of a plan's builds are compared."""

    over: Literal["worst", "each"]
    why: str


MEASURES: Final[dict[str, Measure]] = {
    "vendor": Measure("worst", "builds for the likelier vendor first, where the target names no GPU"),
    "forward": Measure("worst", "the host's own driver over a newer one that the image brings"),
    "kernels": Measure("worst", "native kernels on all GPUs before PTX"),
    "how": Measure("worst", "measured or documented over inferred"),
    "compiled": Measure("worst", "wheels over sources that are compiled at installation"),
    "silent": Measure("worst", "companions that say which framework they need"),
    "companions": Measure("worst", "measured or documented companions over inferred ones"),
    "release": Measure("each", "the newest release, in the order asked"),
    "strain": Measure("worst", "a runtime the driver was released for, over minor-version compatibility"),
    "read": Measure("worst", "GPU code that was read or documented over code that is only inferred"),
    "runtime": Measure("each", "the newest runtime"),
    "weight": Measure("worst", "no CUDA libraries in the base image"),
    "driver": Measure("worst", "the lowest driver"),
    "settled": Measure("each", "a release that had a bug-fix release"),
    "assumed": Measure("worst", "a driver that may be taken for granted where none is told"),
    "distance": Measure("each", "the release nearest to the one asked for"),
    "order": Measure("each", "the canonical order of the matrix"),
}

_FIRST: Final = ("vendor", "forward", "kernels", "how", "compiled", "silent")
# The measures, first in every order, by which a plan is told to be as well founded as another one.
SURE: Final = len(_FIRST)

_LAST: Final = ("read", "runtime", "weight", "order")


def _without(name: str) -> tuple[str, ...]:
    """The first measures without one of them."""
    return tuple(one for one in _FIRST if one != name)


ORDERS: Final[dict[str, tuple[str, ...]]] = {
    "proven": (*_FIRST, "release", "companions", "strain", *_LAST),
    "newest": (*_without("how"), "release", "how", "companions", "strain", *_LAST),
    "smallest": (*_FIRST, "weight", "release", "companions", "strain", "read", "runtime", "order"),
    "oldest-driver": (*_FIRST, "driver", "release", "companions", "strain", *_LAST),
    "stable": (*_FIRST, "strain", "settled", "release", "companions", *_LAST),
    "nearest": (
        *("vendor", "forward", "assumed", "kernels", "compiled", "silent", "distance", "how"),
        *("release", "companions", "strain", *_LAST),
    ),
    "forward": (*_without("forward"), "release", "forward", "companions", "strain", *_LAST),
}

# Measures that depend on the build alone; they are taken once per matrix.
_FIXED: Final = (
    *("vendor", "how", "compiled", "silent", "companions"),
    *("release", "read", "runtime", "weight", "settled", "order"),
)

# Measures that depend on the target too.
_JUDGED: Final = ("forward", "kernels", "strain", "distance", "driver", "assumed")


def _vendor(option: Option, known: Knowledge) -> int:
    """The place of a build's vendor.

    No GPU code is no merit where other builds of the package have some, and a fault where one of the same release has.
    Builds for Jetson boards come last: who does not name a board has none.
    """
    if option.on_board:
        return len(_VENDOR_ORDER)
    if known.lacks_code(option):
        return _VENDOR_ORDER.index("cpu")
    if option.vendor == "" and option.version and known.coded(option.package):
        return _VENDOR_ORDER.index("nvidia")
    return _VENDOR_ORDER.index(option.vendor) if option.vendor in _VENDOR_ORDER else len(_VENDOR_ORDER)


def _fixed(option: Option, known: Knowledge) -> Key:
    """The numbers of :data:`_FIXED`, in that order.

    How a row is known counts for frameworks before their release; a companion's release follows from its framework's,
    and an old one is no better known, so there it counts after.
    """
    number = versions.release(option.number or "0")
    how = HOWS[option.build.how]
    parts = option.version.split(".")
    return (
        _vendor(option, known),
        how if option.is_framework else 0,
        int(option.build.compiled),
        int(known.silent(option)),
        0 if option.is_framework else how,
        option.rank,
        int("kernels" in option.build.inferred),
        -(number[0] * 1000 + (number[1] if len(number) > 1 else 0)),  # no part of a release has four digits
        _CUDA_WEIGHT[option.build.cuda_from],
        int(len(parts) < 3 or parts[2] == "0"),  # 2.9.0 and 2.9 open a series, 2.9.1 mends it
        option.serial,
    )


class Preference:
    """One order, applied to the builds of one search.

    ``led`` is whether a framework is among its packages, and ``cpu`` whether CPU builds are asked for: then no vendor
    is likelier than another one.
    """

    def __init__(
        self, name: str, scale: Scale, known: Knowledge, place: str, *, led: bool = True, cpu: bool = False
    ) -> None:
        self.names = order(name)
        self._worst = [MEASURES[measure].over == "worst" for measure in self.names]
        self._pick = itemgetter(*((*_FIXED, *_JUDGED).index(measure) for measure in self.names))
        self._scale, self._place, self._known, self._ranks = scale, place, known, known.ranks
        self._asks_driver, self._assumes = "driver" in self.names, "assumed" in self.names
        self._led, self._cpu = led, cpu

    def own(self, weighed: Weighed) -> Key:
        """The measures of one build.

        What depends on the build alone is taken from a table that is filled once per matrix; the rest is added here.
        """
        option = weighed.option
        fixed = self._ranks.get(option.uid)
        if fixed is None:
            fixed = self._ranks[option.uid] = _fixed(option, self._known)
        if self._cpu:
            fixed = (0, *fixed[1:])
        level = weighed.level
        if not self._led and option.vendor == "" and option.version and self._known.coded(option.package):
            level = UNKNOWN  # no GPU code, or none known, is no merit where other builds have some
        elif self._led and level == UNKNOWN and not option.is_framework:
            level = 0  # a companion whose kernels nobody wrote down goes with its framework; the plan says so
        anchor = self._scale.anchors.get(option.package, option.rank)
        driver = self._floor(option) if self._asks_driver else 0
        forward, distance = int(weighed.strain == FORWARD), abs(option.rank - anchor)
        assumed = int(self._assumes and self._scale.is_beyond_custom(option, self._place))
        key: Key = self._pick((*fixed, forward, level, weighed.strain, distance, driver, assumed))
        return key

    def _floor(self, option: Option) -> int:
        """The lowest driver a build runs on, as one number that compares like the version does."""
        floor = self._scale.floor(option, self._place)
        text = option.build.driver or (floor and (floor.family or floor.exact)) or "0"
        number = (*versions.release(text), 0, 0)[:3]
        return number[0] * 1_000_000 + number[1] * 1000 + number[2]

    def is_below(self, owns: Sequence[Key], key: Key) -> bool:
        """Whether :meth:`joint` of some measures is less than ``key``: most are decided by one of the first."""
        place = 0
        for is_worst, column in zip(self._worst, zip(*owns, strict=True), strict=True):
            for value in (max(column),) if is_worst else column:
                if value != key[place]:
                    return bool(value < key[place])
                place += 1
        return False

    def joint(self, owns: Sequence[Key]) -> Key:
        """The measures of a plan from those of its builds."""
        key: list[int] = []
        for is_worst, column in zip(self._worst, zip(*owns, strict=True), strict=True):
            if is_worst:
                key.append(max(column))
            else:
                key += column
        return tuple(key)


def order(name: str) -> tuple[str, ...]:
    """The measures of an order, most important first.

    Raises:
        InputError: if there is no such order.
    """
    if name not in ORDERS:
        raise InputError(f"unknown preference {name!r}", where="--prefer", expected=" or ".join(list(ORDERS)[:5]))
    return ORDERS[name]
