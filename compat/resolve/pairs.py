"""Pairs of builds: the verdicts of :mod:`compat.joints.packages` as sets of Pythons, each pair asked once.

A pair may go together on some Pythons only, because a marker confines a requirement to some. Runtimes settle most pairs
and are compared by *lane*, of which a package has a few dozen, rather than by build, of which it has hundreds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.joints import packages
from compat.joints.packages import Objection
from compat.resolve.options import ANY_PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.resolve.knowledge import Knowledge
    from compat.resolve.options import Option

# Pairs remembered per place; beyond that the memory is emptied, so that a long-lived process does not grow.
KEPT: Final = 200_000


class Pairs:
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
            for objection in packages.objections(left, right):
                bits &= ~self._bits(objection)
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
            goes = self._going[key] = packages.runtimes_go(self._known.matrix, left, right, kin=self._kin)
        return goes

    def objections(self, left: Option, right: Option) -> Iterator[Objection]:
        """Everything that stands between two builds on some Python, the cheapest questions first."""
        if not self.goes(left, right):
            yield Objection("runtime", "runtime", left.runtime, right.runtime)
        if not left.pythons & right.pythons:
            yield Objection("python", "python", _spoken(left, self._known), _spoken(right, self._known))
        yield from (one for one in packages.objections(left, right) if self._bits(one))

    def _bits(self, objection: Objection) -> int:
        """The Pythons on which all lines count that an objection rests on."""
        bits = ANY_PYTHON
        for part, line in objection.asked:
            bits &= self._known.pythons.applying(line, self._place, part.build.extras)
        return bits


def _spoken(option: Option, known: Knowledge) -> str:
    """A build's Pythons, oldest first, as messages list them."""
    return ", ".join(reversed(known.pythons.of(option.pythons)))
