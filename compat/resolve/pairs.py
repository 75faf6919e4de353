"""Builds together: which pairs go together on which Pythons, and what all builds leave of shared dependencies.

A pair may go together on some Pythons only, because a marker confines a requirement to some. Runtimes settle most pairs
and are compared by *lane*, of which a package has a few dozen, rather than by build, of which it has hundreds. What is
asked comes from :mod:`compat.joints.packages`; each pair is asked once.

A wheel's requirements bind the person who installs it: two frameworks fit one environment only if some version of each
shared dependency suits both. Only ranges are compared; whether a version exists in a range is known when it is locked.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from compat.installation import by_installation
from compat.joints import packages
from compat.joints.packages import Objection
from compat.joints.python import in_order
from compat.resolve.options import ANY_PYTHON, Option
from compat.versions import is_void, tightened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from compat.resolve.build_fit import Weighed
    from compat.resolve.knowledge import Knowledge


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

    def shared(self, option: Option, chosen: Iterable[Option], pythons: int) -> int:
        """Those of ``pythons`` that a build shares with all that are chosen so far."""
        bits = pythons & option.pythons
        for other in chosen:
            if not bits:
                break
            bits &= self.pythons(other, option)
        return bits

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
            for objection in packages.objections(self._known.matrix, left, right):
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
            ours, theirs = (", ".join(in_order(self._known.pythons.of(one.pythons))) for one in (left, right))
            yield Objection("python", "python", ours, theirs)
        yield from (one for one in packages.objections(self._known.matrix, left, right) if self._bits(one))

    def _bits(self, objection: Objection) -> int:
        """The Pythons on which all lines count that an objection rests on."""
        bits = ANY_PYTHON
        for part, line in objection.asked:
            bits &= self._known.pythons.applying(line, self._place, part.build.extras)
        return bits


def demands(
    chosen: Sequence[Weighed], names: AbstractSet[str], python: str, place: str, known: Knowledge
) -> dict[str, dict[str, str]]:
    """What is required of each of some shared dependencies on one Python: name -> who asks -> specifier."""
    bit = known.pythons.bits((python,))
    found: dict[str, dict[str, str]] = {}
    for weighed in chosen:
        option = weighed.option
        for name in option.lines.keys() & names:
            specs = [
                line.spec
                for line in option.lines[name]
                if known.pythons.applying(line, place, option.build.extras) & bit
            ]
            if specs:
                found.setdefault(name, {})[option.label] = ",".join(filter(None, specs))
    return found


def agreed(chosen: Sequence[Weighed], pythons: int, place: str, known: Knowledge) -> int:
    """The Pythons on which every shared dependency has a version for all; two builds have been asked as a pair."""
    names = _disputed(chosen, 3)
    if not names:
        return pythons
    bits = 0
    for python in known.pythons.of(pythons):
        sets = demands(chosen, names, python, place, known).values()
        if all(len(specs) < 3 or not is_void(tuple(specs.values())) for specs in sets):
            bits |= known.pythons.bits((python,))
    return bits


def _disputed(chosen: Sequence[Weighed], least: int) -> AbstractSet[str]:
    """Names that at least so many builds require.

    Requirements on packages that are themselves chosen are left out: the pairs have settled those.
    """
    if len(chosen) < least:
        return frozenset()
    askers = Counter(name for weighed in chosen for name in weighed.option.lines)
    inside = {weighed.option.package for weighed in chosen if weighed.option.version}
    return {name for name, count in askers.items() if count >= least} - inside


def asked(chosen: Sequence[Weighed]) -> tuple[str, ...]:
    """The shared dependencies that were asked for by name, in order: the names of what stands for no build."""
    return tuple(
        dict.fromkeys(name for weighed in chosen if not weighed.option.version for name in weighed.option.lines)
    )


def constraints(chosen: Sequence[Weighed], python: str, place: str, known: Knowledge) -> dict[str, str]:
    """Requirements that hold shared dependencies within what every build accepts: name -> requirement.

    What was asked for by name is always listed. An installer reads what the wheels of its own command declare, hence
    of the rest two kinds are: bounds that a wheel does not declare, and what an earlier command installed and a later
    one could move out of range, where two builds ask for it or one bounds it from above. What one build alone pins, or
    asks of NVIDIA's packages, follows from that build.
    """
    listed, wanted = {}, asked(chosen)
    pages = {index.name for index in known.matrix.table("indexes") if index.links}
    published = [one.option for one in chosen if one.option.version]
    commands = by_installation(published, lambda one: (one.build.index, one.build.index in pages, one.build.compiled))
    exposed = {name for own in list(commands.values())[:-1] for option in own for name in option.lines}
    exposed.update(name for option in published for name in option.build.undeclared)
    for name, specs in sorted(demands(chosen, _disputed(chosen, 1), python, place, known).items()):
        told = [spec for spec in specs.values() if spec]
        own = name.startswith("nvidia-") or name in known.matrix.packages
        bounded = not own and any("<" in spec or "~=" in spec for spec in told)
        if name in wanted or (told and name in exposed and (len(told) > 1 or bounded)):
            listed[name] = f"{name}{tightened(tuple(told))}"
    return listed
