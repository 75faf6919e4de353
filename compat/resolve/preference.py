"""Which of several plans that fit is taken; this file is the one place that says so.

An order is a list of measures, most important first; smaller is better. A measure marked *worst* counts the worst of
a plan's builds, one marked *each* compares build by build in the order asked. The exact requirement comes before
all measures: a build that does not meet it is no candidate.

=============== ====================================================================================================
newest          native kernels on all GPUs; documented or measured over inferred; newest framework in the order
                asked; comfortable driver; newest runtime; CUDA from wheels rather than the base image
smallest        as newest, but CUDA from wheels (a base image without CUDA libraries) before the release
oldest-driver   as newest, but the lowest driver floor before the release
stable          as newest, but comfortable driver, and releases that had a bug-fix release, before the newest
nearest         as newest, but the release nearest to the one asked for: what remedies are found by
=============== ====================================================================================================

Base image and Python come last, in :mod:`compat.resolve.images`. A final measure, the canonical order of the builds,
leaves no tie, so that equal questions get equal answers whatever the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from compat import versions
from compat.errors import InputError
from compat.resolve.knowledge import HOWS
from compat.resolve.weighing import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compat.resolve.weighing import Scale, Weighed

Key = tuple[int, ...]

_VENDOR_ORDER: Final = ("", "nvidia", "amd", "intel", "apple", "google", "huawei", "cpu")
"""Where the target names no GPU: the vendor that most builds are made for first; a CPU build never unasked."""

_CUDA_WEIGHT: Final = {"": 0, "wheel": 0, "packages": 0, "system": 1}
"""Where the CUDA libraries come from -> whether the base image must hold a copy."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One number per build, and how the numbers of a plan's builds are compared."""

    of: Callable[[Weighed, Scale, str], int]
    over: Literal["worst", "each"]
    why: str


def _vendor(weighed: Weighed, scale: Scale, place: str) -> int:
    vendor = weighed.option.vendor
    return _VENDOR_ORDER.index(vendor) if vendor in _VENDOR_ORDER else len(_VENDOR_ORDER)


def _runtime(weighed: Weighed, scale: Scale, place: str) -> int:
    """Newer is smaller; three digits per part leave room for every release there is."""
    number = versions.release(weighed.option.number or "0")
    return -(number[0] * 1000 + (number[1] if len(number) > 1 else 0))


def _floor(weighed: Weighed, scale: Scale, place: str) -> int:
    floor = scale.floor(weighed.option, place)
    text = weighed.option.build.driver or (floor and (floor.family or floor.exact)) or "0"
    number = (*versions.release(text), 0, 0)[:3]
    return number[0] * 1_000_000 + number[1] * 1000 + number[2]


def _unsettled(weighed: Weighed, scale: Scale, place: str) -> int:
    """Whether a release is the first of its series: ``2.9.0`` and ``2.9`` are, ``2.9.1`` is not."""
    number = weighed.option.version.split(".")
    return int(len(number) < 3 or number[2] == "0")


def _distance(weighed: Weighed, scale: Scale, place: str) -> int:
    """Releases between a build and the one that was asked for; 0 where none was."""
    anchor = scale.anchors.get(weighed.option.package)
    return 0 if anchor is None else abs(weighed.option.rank - anchor)


def _kernels(weighed: Weighed, scale: Scale, place: str) -> int:
    """A companion whose kernels nobody wrote down is taken to go with its framework; the plan says that it is not known."""
    unknown = weighed.level == LEVELS["unknown"] and not scale.is_framework(weighed.option.package)
    return 0 if unknown else weighed.level


def _how(weighed: Weighed, scale: Scale, place: str) -> int:
    """Counts for frameworks: a companion's release follows from its framework's, and an old one is no better known."""
    return HOWS[weighed.option.build.how] if scale.is_framework(weighed.option.package) else 0


def _companion_how(weighed: Weighed, scale: Scale, place: str) -> int:
    return 0 if scale.is_framework(weighed.option.package) else HOWS[weighed.option.build.how]


MEASURES: Final[dict[str, Measure]] = {
    "vendor": Measure(_vendor, "worst", "builds for the likelier vendor first, where the target names no GPU"),
    "kernels": Measure(_kernels, "worst", "native kernels on all GPUs before PTX"),
    "how": Measure(_how, "worst", "measured or documented over inferred"),
    "companions": Measure(_companion_how, "worst", "measured or documented companions over inferred ones"),
    "release": Measure(
        lambda weighed, scale, place: weighed.option.rank, "each", "the newest release, in the order asked"
    ),
    "strain": Measure(
        lambda weighed, scale, place: weighed.strain,
        "worst",
        "a runtime the driver was released for, over minor-version compatibility",
    ),
    "runtime": Measure(_runtime, "each", "the newest runtime"),
    "weight": Measure(
        lambda weighed, scale, place: _CUDA_WEIGHT[weighed.option.build.cuda_from],
        "worst",
        "no CUDA libraries in the base image",
    ),
    "driver": Measure(_floor, "worst", "the lowest driver"),
    "settled": Measure(_unsettled, "each", "a release that had a bug-fix release"),
    "distance": Measure(_distance, "each", "the release nearest to the one asked for"),
    "order": Measure(lambda weighed, scale, place: weighed.option.serial, "each", "the canonical order of the matrix"),
}

ORDERS: Final[dict[str, tuple[str, ...]]] = {
    "newest": ("vendor", "kernels", "how", "release", "companions", "strain", "runtime", "weight", "order"),
    "smallest": ("vendor", "kernels", "how", "weight", "release", "companions", "strain", "runtime", "order"),
    "oldest-driver": (
        "vendor",
        "kernels",
        "how",
        "driver",
        "release",
        "companions",
        "strain",
        "runtime",
        "weight",
        "order",
    ),
    "stable": ("vendor", "kernels", "how", "strain", "settled", "release", "companions", "runtime", "weight", "order"),
    "nearest": (
        "vendor",
        "kernels",
        "how",
        "distance",
        "release",
        "companions",
        "strain",
        "runtime",
        "weight",
        "order",
    ),
}


class Preference:
    """One order, applied to the builds of one search."""

    def __init__(self, name: str, scale: Scale, place: str) -> None:
        self.names = order(name)
        self._measures = [MEASURES[measure] for measure in self.names]
        self._worst = [measure.over == "worst" for measure in self._measures]
        self._scale, self._place = scale, place

    def own(self, weighed: Weighed) -> Key:
        """The measures of one build."""
        return tuple([measure.of(weighed, self._scale, self._place) for measure in self._measures])

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
        raise InputError(f"unknown preference {name!r}", where="--prefer", expected=" or ".join(list(ORDERS)[:4]))
    return ORDERS[name]
