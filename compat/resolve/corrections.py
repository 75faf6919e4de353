"""All smallest sets of constraints to drop, and from them all minimal conflicts.

The two are each other's minimal hitting sets (Reiter's duality): a conflict meets every correction, a correction
meets every conflict. Enumerating assignments by what they violate finds all corrections in one descent; their
minimal hitting sets are all the minimal conflicts, so none is missed and none holds a member it does not need.

Example: ``torch==2.6.0`` on an RTX 5090 has two assignments worth naming. Without torch the wish is violated, with
it the GPU; the corrections are {wish} and {GPU}, and their only minimal hitting set is the conflict {wish, GPU}.

The enumeration is complete because every assignment is either visited or cut where what it violates already contains
a known correction, below which no smaller one can lie. Builds that violate the same constraints and are alike in all
joints are interchangeable here, so one of them stands for all (preference plays no part in what is possible).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.resolve.options import ANY_PYTHON
from compat.resolve.situation import either

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compat.resolve.build_fit import Weighed
    from compat.resolve.request import Variable
    from compat.resolve.search import Search


def corrections(search: Search) -> tuple[int, ...]:
    """The smallest sets of soft constraints without which a plan exists."""
    found: tuple[int, ...] = ()
    for place, cost in search.target.places:
        for python in sorted({0, search.target.python_bit}):
            enumeration = _Enumeration(search, place, cost | python, found)
            enumeration.run(ANY_PYTHON if python else search.python_bits)
            found = enumeration.found
    return found


def conflicts(sets: Sequence[int]) -> tuple[int, ...]:
    """The minimal hitting sets of ``sets`` (Berge's multiplication), smallest first."""
    hitting: tuple[int, ...] = (0,)
    for bits in sets:
        grown: list[int] = []
        for one in hitting:
            grown.extend([one] if one & bits else (one | single for single in singles(bits)))
        hitting = either(grown)
    return hitting


def singles(bits: int) -> Iterable[int]:
    """The bits of a set, one by one."""
    while bits:
        low = bits & -bits
        yield low
        bits ^= low


class _Enumeration:
    """Assignments at one place, cheapest first, cut where a known correction is already contained."""

    def __init__(self, search: Search, place: str, cost: int, found: tuple[int, ...]) -> None:
        self._search, self._place, self._cost = search, place, cost
        self._joints = search.joints(place)
        self._variables = sorted(search.variables, key=lambda variable: not variable.followers)
        self._leaders = [
            frozenset(one.package for one in search.variables if variable.package in one.followers)
            for variable in self._variables
        ]
        self._domains = [self._grouped(variable) for variable in self._variables]
        self._chosen: list[Weighed] = []
        self._present: set[str] = set()
        self._going: dict[tuple[int, ...], list[tuple[int, list[Weighed]]]] = {}
        self.found = found

    def _grouped(self, variable: Variable) -> list[tuple[int, list[Weighed]]]:
        """A package's builds by what they violate and by runtime, cheapest first; of builds alike in all joints one."""
        groups: dict[tuple[int, int], dict[object, Weighed]] = {}
        for weighed in self._search.domain(variable, self._place):
            for bits in weighed.violations:
                group = groups.setdefault((bits, weighed.option.lane), {})
                group.setdefault(self._search.joint_of(variable, weighed), weighed)
        ranked = sorted(groups.items(), key=lambda pair: (pair[0][0].bit_count(), pair[0]))
        return [(bits, list(group.values())) for (bits, _), group in ranked]

    def run(self, pythons: int) -> None:
        """Add every smallest set that the assignments at this place show."""
        self._go(0, self._cost, pythons)

    def _is_known(self, bits: int) -> bool:
        """Whether a set already contains a correction, so that nothing below it can be a smallest one."""
        for small in self.found:  # noqa: SIM110 - asked more often than anything else here, and any() costs thrice
            if small & bits == small:
                return True
        return False

    def _go(self, depth: int, bits: int, pythons: int) -> None:
        """Try a package's absence, then its builds, group by group.

        A companion is only tried where all that it brings is present, which the order of the variables has decided
        before.
        """
        if self._is_known(bits):
            return
        if depth == len(self._variables):
            self._close(bits, pythons)
            return
        variable = self._variables[depth]
        self._go(depth + 1, bits | variable.bits, pythons)
        if not self._leaders[depth] <= self._present:
            return
        self._present.add(variable.package)
        for violated, group in self._groups(depth):
            self._try(group, depth, bits | violated, pythons)
        self._present.discard(variable.package)

    def _groups(self, depth: int) -> list[tuple[int, list[Weighed]]]:
        """The groups whose runtime goes with those of the builds chosen so far."""
        key = (depth, *(weighed.option.lane for weighed in self._chosen))
        if key not in self._going:
            goes, chosen = self._joints.goes, self._chosen
            self._going[key] = [
                (bits, group)
                for bits, group in self._domains[depth]
                if all(goes(weighed.option, group[0].option) for weighed in chosen)
            ]
        return self._going[key]

    def _try(self, group: list[Weighed], depth: int, bits: int, pythons: int) -> None:
        """Builds of one group, until what they violate is known to be enough."""
        for weighed in group:
            if self._is_known(bits):
                return
            if common := self._joints.shared(weighed.option, (other.option for other in self._chosen), pythons):
                self._chosen.append(weighed)
                self._go(depth + 1, bits, common)
                self._chosen.pop()

    def _close(self, bits: int, pythons: int) -> None:
        """A complete assignment: add what it violates, with what its best images violate.

        One without any build stands on no image; it violates the wishes that it leaves out.
        """
        if not any(weighed.option.version for weighed in self._chosen):
            self.found = either(self.found, (bits,))
            return
        for footing in self._search.footings(self._chosen, self._place, pythons):
            self.found = either(self.found, tuple(bits | more for more in footing.violations))
