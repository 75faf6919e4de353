"""Builds as the search sees them: parts of the joints, numbered, with the keys under which they are treated as one.

Three keys let builds be treated as one: *lane* for runtimes, *kit* for verdicts, equal *lines* as one object. Sets of
Python minor versions are bit sets; a minor is numbered when it is met first, and its number decides nothing by itself.
Each question is answered once, and a long-lived process does not grow with what it is asked.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from compat import versions
from compat.joints.build import Part, split_runtime
from compat.joints.platform import is_at
from compat.lazy import dataclass
from compat.markers import Environment, holds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compat.matrix.rows import Build
    from compat.versions import Line


S = TypeVar("S")
P = ParamSpec("P")
V = TypeVar("V")

# Answers to one kind of question that are kept: more than any matrix asks for.
_MOST: Final = 1 << 14


def answered(make: Callable[Concatenate[S, P], V]) -> Callable[Concatenate[S, P], V]:
    """A method that answers each question once; what its object keeps is emptied where it grows beyond a matrix."""
    name = f"{make.__name__} answered"

    @wraps(make)
    def answer(self: S, /, *asked: P.args, **more: P.kwargs) -> V:
        kept: dict[object, V] = vars(self).setdefault(name, {})
        question = (asked, *more.items())
        if question not in kept:
            if len(kept) > _MOST:
                kept.clear()
            kept[question] = make(self, *asked, **more)
        return kept[question]

    return answer


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
            runtime, whether that comes from the system or is linked into it, whether its code is for boards, others, or
            unknown, and the index where it is one of wheels for boards.
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
    """Whether a build is published for a place and is of the asked kind: a CPU build only where one was asked for."""
    if not is_at(option.build, place):
        return False
    return option.vendor == "" or (option.vendor == "cpu") == cpu


def spelling(build: Build) -> tuple[object, ...]:
    """An order of the builds of one release that does not depend on where their rows stand.

    The default index comes before others and the shortest set of extras before longer ones: of two builds that are
    equal in every measure, the plainest to install is taken. Of the wheels of one release, one for all platforms comes
    last, as it does for an installer (PEP 425, order of tags).
    """
    kind, number = split_runtime(build.runtime)
    asked = (build.variant, build.index, build.local, build.extras, build.distribution, build.published)
    has = ("any" in build.platforms, build.platforms, build.python, build.pins, build.requires, build.kernels)
    return (kind, tuple(-part for part in versions.release(number or "0")), *asked, *has)


class Pythons:
    """The minor versions that one matrix and its questions speak of (``3.12``, ``3.13t``)."""

    def __init__(self) -> None:
        self._minors: list[str] = []
        self._sets: dict[tuple[str, ...], int] = {}
        self._markers: dict[tuple[str, str, tuple[str, ...], int], int] = {}

    def bits(self, minors: Iterable[str]) -> int:
        """The bit set of some minor versions."""
        minors = tuple(minors)
        if minors not in self._sets:
            self._sets[minors] = self._bits(minors)
        return self._sets[minors]

    def _bits(self, minors: tuple[str, ...]) -> int:
        bits = 0
        for minor in minors:
            if minor not in self._minors:
                self._minors.append(minor)
            bits |= 1 << self._minors.index(minor)
        return bits

    def of(self, bits: int) -> tuple[str, ...]:
        """The minor versions in a bit set, newest first; free-threaded ones last, since nobody means them unasked."""
        found = [minor for place, minor in enumerate(self._minors) if bits >> place & 1]
        return tuple(sorted(found, key=lambda text: (text.endswith("t"), *(-part for part in versions.release(text)))))

    def applying(self, line: Line, place: str, extras: tuple[str, ...]) -> int:
        """The Pythons for which a line counts on ``place`` (``linux_x86_64``), with these extras asked for."""
        if not line.marker:
            return ANY_PYTHON
        key = (line.marker, place, extras, len(self._minors))
        if key not in self._markers:
            worlds = [(one, Environment(place, one, extras)) for one in self._minors]
            self._markers[key] = self.bits([one for one, world in worlds if holds(line.marker, world) is not False])
        return self._markers[key]
