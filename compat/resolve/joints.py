"""Two builds in one environment: which Pythons they can share, and what stands against the rest.

An objection holds for a set of Pythons, because a marker may confine a requirement to some of them.

What is compared, cheapest first: the runtimes, the Pythons, libraries that both take from the system, what one
requires of the other by name, and what both require of third packages. Runtimes settle most pairs and are compared by
*lane*, of which a package has a few dozen, rather than by build, of which it has hundreds.

Sources of the rules: CUDA's libraries keep binary compatibility within a major (CUDA Toolkit documentation, "CUDA
compatibility"); one process loads one copy of a shared library, and an image has one copy in its library path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from compat import versions
from compat.lazy import dataclass
from compat.resolve.options import ANY_PYTHON, fixes_minor
from compat.versions import clashes, meets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.resolve.knowledge import Knowledge
    from compat.resolve.options import Option
    from compat.versions import Line


@dataclass(frozen=True, slots=True)
class Objection:
    """Why two builds do not share an environment on the Pythons of ``bits``.

    ``name`` is what they dispute, ``left`` and ``right`` what each has or asks; where one asks it of the other
    (``requires``), ``asker`` says which.
    """

    kind: Literal["runtime", "requires", "shared", "system", "python"]
    name: str
    left: str
    right: str
    bits: int = ANY_PYTHON
    asker: str = ""


# Pairs remembered per place; beyond that the memory is emptied, so that a long-lived process does not grow.
KEPT: Final = 200_000


class Joints:
    """Objections between builds at one place, each pair asked once per matrix.

    With ``kin`` a companion goes with builds of its framework for its own runtime only: the one it was compiled with.
    """

    def __init__(self, known: Knowledge, place: str, *, kin: bool = False) -> None:
        self._known, self._place, self._kin = known, place, kin
        self._pairs = {} if kin else known.pairs.setdefault(place, {})
        self._going = {} if kin else known.going

    def pythons(self, left: Option, right: Option) -> int:
        """The Pythons that two builds can share; 0 if none.

        The answer is a bit set rather than a verdict because a marker may confine an objection to some Pythons, and
        three builds may leave fewer in common than any two.
        """
        if not self.goes(left, right):
            return 0
        key = (left.uid, right.uid)
        bits = self._pairs.get(key)
        if bits is None:
            bits = left.pythons & right.pythons
            for objection in self.objections(left, right):
                bits &= ~objection.bits
                if not bits:
                    break
            if len(self._pairs) > KEPT:
                self._pairs.clear()
            self._pairs[key] = bits
        return bits

    def goes(self, left: Option, right: Option) -> bool:
        """Whether the runtimes of two builds go together: the question that settles most pairs."""
        key = (left.lane, right.lane)
        goes = self._going.get(key)
        if goes is None:
            goes = self._going[key] = self._fits(left, right)
        return goes

    def _fits(self, left: Option, right: Option) -> bool:
        """Whether two runtimes go together, of builds that stand for all of their lanes.

        A twin of a build for Jetson boards comes from the same index: elsewhere the same CUDA means a server's, and a
        build whose code is for other GPUs alone goes with no board.
        """
        twins = self._is_twin(left, right) or self._is_twin(right, left)
        if (left.on_board or right.on_board) and left.build.index != right.build.index:
            return not (twins or left.off_board or right.off_board) and fits_runtime(left, right, twins=False)
        return fits_runtime(left, right, twins)

    def objections(self, left: Option, right: Option) -> Iterator[Objection]:
        """Everything that stands between two builds, the cheapest questions first."""
        if not self.goes(left, right):
            yield Objection("runtime", "runtime", left.runtime, right.runtime)
        if not left.pythons & right.pythons:
            yield Objection("python", "python", _spoken(left, self._known), _spoken(right, self._known))
        yield from self._systems(left, right)
        yield from self._direct(left, right)
        yield from self._direct(right, left)
        yield from self._shared(left, right)

    def _is_twin(self, companion: Option, leader: Option) -> bool:
        """Whether a companion is built once per build of its framework, so that the two must be of one runtime.

        It is where both come as variants of one index (torchvision), or where a release has builds for several minors
        of one major (bitsandbytes); a companion with one build per major runs beside any minor of it.
        """
        row = self._known.matrix.packages.get(companion.package)
        if row is None or row.follows != leader.package:
            return False
        return self._kin or self._known.packages.shares_index(companion.package, leader.package) or companion.has_minors

    @staticmethod
    def _systems(left: Option, right: Option) -> Iterator[Objection]:
        """Libraries that both take from the system must be the same ones: an image holds one cuDNN."""
        theirs = {_stem(item): item for item in right.build.system}
        for item in left.build.system:
            other = theirs.get(_stem(item), item)
            if other != item:
                yield Objection("system", _stem(item), item, other)

    def _direct(self, left: Option, right: Option) -> Iterator[Objection]:
        """What one build requires of the other's package; a bare wish (``numpy``) is no package of that name."""
        for line in left.lines.get(right.package, ()) if right.version else ():
            if not meets(line.spec, right.full):
                asker = f"{left.package} {left.full}"
                yield Objection("requires", right.package, line.spec, right.full, self._bits(left, line), asker)

    def _shared(self, left: Option, right: Option) -> Iterator[Objection]:
        """Dependencies of which no version suits both."""
        for name in sorted(left.lines.keys() & right.lines.keys()):  # a set has another order in each process
            for ours in left.lines[name]:
                for theirs in right.lines[name]:
                    if clashes(ours.spec, theirs.spec) and (bits := self._bits(left, ours) & self._bits(right, theirs)):
                        yield Objection("shared", name, ours.spec, theirs.spec, bits)

    def _bits(self, option: Option, line: Line) -> int:
        """The Pythons on which a build's line counts."""
        return self._known.pythons.applying(line, self._place, option.build.extras)


def fits_runtime(left: Option, right: Option, twins: bool) -> bool:
    """Whether two builds may live in one process, as far as their GPU runtimes go.

    A twin has its framework's runtime exactly. Other builds share a major, in which the CUDA libraries keep their
    binary interface; where one takes a certain minor from the system there is one copy for both, hence that minor.
    """
    if not left.vendor or not right.vendor or left.runtime == right.runtime:
        return True
    if twins:
        return False
    if "cpu" in {left.vendor, right.vendor}:
        return True
    if left.kind != right.kind or versions.major(left.number or "0") != versions.major(right.number or "0"):
        return False
    fixed = fixes_minor(left.build) or fixes_minor(right.build)
    return not fixed or versions.same_series(left.number, right.number)


def _stem(item: str) -> str:
    """The library of a system requirement without its version: ``cudnn8`` -> ``cudnn``."""
    return item.rstrip("0123456789.")


def _spoken(option: Option, known: Knowledge) -> str:
    """A build's Pythons, oldest first, as messages list them."""
    return ", ".join(reversed(known.pythons.of(option.pythons)))
