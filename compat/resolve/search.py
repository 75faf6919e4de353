"""The search: the best assignment that violates nothing; where none does, :mod:`compat.resolve.corrections` goes on.

Variables are the packages asked for (and the frameworks that companions need), values their builds, and *absent*,
which violates the package's own wishes. Unary verdicts come weighed; pairs are asked of :mod:`compat.resolve.pairs`;
image and Python close an assignment. The search is depth-first, and its bound is the best key so far.

Two reductions keep the descent small. Of builds that are alike in everything another package or the image can feel,
only those are kept that no other one matches or beats in every measure; and a build is skipped as soon as its runtime
does not go with one already chosen, or some package still to come has no build at all that goes with it. Both leave
the optimum and the verdict untouched, which the tests check against brute force and against z3.
"""

from __future__ import annotations

from functools import cached_property
from operator import itemgetter, le
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.joints.build import from_system
from compat.joints.libraries import cudnn_built
from compat.lazy import dataclass
from compat.resolve.build_fit import FORWARD, Scale, Weighed
from compat.resolve.images import Footing, Images
from compat.resolve.knowledge import Need
from compat.resolve.options import ANY_PYTHON, Option
from compat.resolve.pairs import Pairs, agreed
from compat.resolve.preference import Key, Preference
from compat.resolve.request import Variable, variables
from compat.resolve.situation import FITS, Situation
from compat.versions import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from compat.resolve.knowledge import Knowledge


# A floor below every glibc that is met: it only keeps out systems that have none.
ANY_GLIBC: Final = "2.0"


@dataclass(frozen=True, slots=True)
class Assignment:
    """A choice of builds with its footing; ``key`` is what it is compared by."""

    place: str
    chosen: tuple[Weighed, ...]
    footing: Footing
    key: Key


@dataclass(frozen=True, slots=True)
class Domain:
    """A package's builds with their measures, best first, and the best of each measure."""

    ranked: list[tuple[Key, Weighed]]
    floor: Key


class Search:
    """One request on one target.

    ``kin`` binds companions to the runtime they were compiled with; ``certain`` counts frameworks' builds of
    unknown kernels as having none.
    """

    def __init__(
        self,
        target: Situation,
        known: Knowledge,
        prefer: str = "proven",
        anchors: Mapping[str, int] | None = None,
        *,
        kin: bool = False,
        certain: bool = False,
    ) -> None:
        self.target, self.known, self.prefer, self._kin = target, known, prefer, kin
        self.scale = Scale(target, known, anchors or {}, certain=certain)
        self.images = Images(target, known, self.scale)
        self.variables = variables(target, known)
        self._weighed: dict[tuple[str, str], tuple[Weighed, ...]] = {}
        self._joints: dict[str, Pairs] = {}

    # --- domains ---

    def domain(self, variable: Variable, place: str) -> tuple[Weighed, ...]:
        """Builds for a place, weighed; those that meet none of the wishes only where a companion may need them."""
        key = (variable.package, place)
        if key not in self._weighed:
            bare = (Weighed(self.known.bare(variable.package), FITS, 0, 0),) if variable.shared else ()
            self._weighed[key] = bare or tuple(self._weigh(variable, place))
        return self._weighed[key]

    def _weigh(self, variable: Variable, place: str) -> Iterator[Weighed]:
        """Builds with what they violate: of their own wishes too where a companion may need them."""
        meeting = [(bit, frozenset(self.known.meeting(wish, place, variable.cpu))) for wish, bit in variable.wishes]
        for option in self.known.published(variable.package, place, variable.cpu):
            missed = sum([bit for bit, fitting in meeting if option not in fitting])
            if missed and missed == variable.bits and not variable.followers:
                continue
            if not option.build.yanked or (meeting and missed != variable.bits):
                yield from self.scale.weigh(option, place, missed)

    def fitting(self, variable: Variable, place: str) -> Iterator[Weighed]:
        """Builds that meet every wish about the package and violate nothing of the target, in no particular order."""
        known = self.known
        if variable.shared:
            yield from self.domain(variable, place)
            return
        if variable.wishes:
            options, *others = [known.meeting(wish, place, variable.cpu) for wish, _ in variable.wishes]
        else:
            published = known.published(variable.package, place, variable.cpu)
            options, others = tuple(option for option in published if not option.build.yanked), []
        for group in known.in_kits(options):
            if served := self.scale.served(group[0], place):
                level, strain = served
                for option in group:
                    if not others or all(option in other for other in others):
                        yield Weighed(option, FITS, level, strain)

    def joints(self, place: str) -> Pairs:
        """Objections between builds at a place."""
        if place not in self._joints:
            self._joints[place] = Pairs(self.known, place, kin=self._kin)
        return self._joints[place]

    # --- the optimum ---

    def best(self) -> Assignment | None:
        """The preferred assignment that violates nothing; ``None`` if there is none.

        Each package's fitting builds are sorted by their own measures, so that the first complete choice is close to
        the best, and the bound cuts nearly all of the rest.
        """
        place = self.target.place
        preference = self.preference(place)
        domains = []
        for variable in self.variables:
            domains.append(self._ranked(variable, place, preference))
            if not domains[-1].ranked:
                return None
        descent = _Descent(self, preference, place, domains)
        descent.run()
        return descent.found

    def preference(self, place: str) -> Preference:
        """The order that builds at a place are compared by."""
        rows = self.known.matrix.packages
        led = any(one.package in rows and rows[one.package].kind == "framework" for one in self.variables)
        return Preference(self.prefer, self.scale, self.known, place, led=led, cpu=self.target.cpu)

    def _ranked(self, variable: Variable, place: str, preference: Preference) -> Domain:
        """A package's fitting builds, best first and without those that another one makes needless."""
        fitting = self.fitting(variable, place)
        ranked = sorted(((preference.own(weighed), weighed) for weighed in fitting), key=itemgetter(0))
        kept = self._undominated(ranked, variable)
        return Domain(kept, tuple(map(min, zip(*(own for own, _ in kept), strict=True))))

    def _undominated(self, ranked: list[tuple[Key, Weighed]], variable: Variable) -> list[tuple[Key, Weighed]]:
        """Builds without those that another one equals in every joint and beats, or equals, in every measure.

        The last measure is left out of the comparison: it breaks ties and would keep every build alive.
        """
        if len(self.variables) == 1:
            return ranked
        kept: dict[object, list[Key]] = {}
        found = []
        for own, weighed in ranked:
            rivals = kept.setdefault(self.joint_of(variable, weighed), [])
            if not any(all(map(le, rival[:-1], own)) for rival in rivals):
                rivals.append(own)
                found.append((own, weighed))
        return found

    def joint_of(self, variable: Variable, weighed: Weighed) -> int:
        """A number for all of a build that another package or the image can feel: equal numbers are interchangeable.

        Whether it needs a newer user-space driver in the image is no matter of the build, but of the target.
        """
        option, table = weighed.option, self._tables[variable.package]
        number = table.get(option.uid)
        if number is None:
            number = self.known.alike(self._feel(variable, option))
            if option.version:  # what stands for no build lives no longer than its request
                table[option.uid] = number
        return number * 2 + (weighed.strain == FORWARD)

    def _feel(self, variable: Variable, option: Option) -> object:
        """What others feel of a build: runtime, Pythons, C library, system libraries, requirements they share."""
        build, (names, is_named) = option.build, self._felt[variable.package]
        lines = [option.lines[name] for name in names if name in option.lines] if names else []
        told = (option.full, option.version) if is_named else ()
        extras = build.extras if lines else ()
        loaded = (build.system, cudnn_built([build]))
        return option.lane, option.pythons, build.glibc, loaded, extras, tuple(lines), told

    @cached_property
    def _tables(self) -> dict[str, dict[int, int]]:
        """The tables of numbers of :meth:`joint_of`, by package."""
        return {package: self.known.joints(package, felt) for package, felt in self._felt.items()}

    @cached_property
    def _felt(self) -> dict[str, tuple[tuple[str, ...], bool]]:
        """For each package the requirement names that others feel, and whether others require it by name."""
        if len(self.variables) == 1:
            return {self.variables[0].package: ((), False)}
        names = {
            one.package: frozenset({one.wishes[0][0].package}) if one.shared else self.known.line_names(one.package)
            for one in self.variables
        }
        felt = {}
        for package, own in names.items():
            others = [theirs for other, theirs in names.items() if other != package]
            around = frozenset().union(*others).union(other for other in names if other != package)
            felt[package] = (tuple(sorted(own & around)), any(package in theirs for theirs in others))
        return felt

    @cached_property
    def python_bits(self) -> int:
        """Pythons that the target allows; where it names none, those on which every wish counts by its marker."""
        if self.target.python:
            return self.known.pythons.bits((self.target.python,))
        bits = ANY_PYTHON
        for wish, _ in self.target.wishes:
            told = self.known.pythons.applying(Line("", "", wish.marker), self.target.place, wish.extras)
            bits = bits & told or bits  # markers that exclude each other leave the Python open
        return bits

    def footings(self, chosen: Sequence[Weighed], place: str, pythons: int) -> tuple[Footing, ...]:
        """Images on which chosen builds stand, with a Python on which all their shared dependencies agree."""
        return self.images.footings(need_of(chosen, place, agreed(chosen, pythons, place, self.known)))


class _Descent:
    """Depth-first branch and bound over the packages, in the order asked."""

    def __init__(self, search: Search, preference: Preference, place: str, domains: list[Domain]) -> None:
        self._search, self._preference, self._place = search, preference, place
        self._joints = search.joints(place)
        self._domains = [domain.ranked for domain in domains]
        self._floors = [domain.floor for domain in domains]
        self._owns: list[Key] = list(self._floors)
        self._chosen: list[Weighed] = []
        self._stands: dict[tuple[int, ...], Footing | None] = {}
        self.found: Assignment | None = None

    def run(self) -> None:
        """Find the best assignment."""
        self._go(0, self._search.python_bits)

    def _go(self, depth: int, pythons: int) -> None:
        """Choose a build for the next package, best first.

        Builds are compared by several measures of which some count the worst of a plan, so that a later build may still
        lead to a better plan: the bound skips builds one by one and never ends the loop.
        """
        if depth == len(self._domains):
            self._close(pythons)
            return
        last = depth + 1 == len(self._domains)
        going: dict[int, bool] = {}
        for own, weighed in self._domains[depth]:
            lane = weighed.option.lane
            goes = going.get(lane)
            if goes is None:
                goes = going[lane] = all(self._joints.goes(one.option, weighed.option) for one in self._chosen)
            if not goes:
                continue
            self._owns[depth] = own
            if self.found is not None and not self._preference.is_below(self._owns, self.found.key):
                continue
            bits = self._joints.shared(weighed.option, (other.option for other in self._chosen), pythons)
            if bits and (last or self._has_future(weighed, depth)):
                self._chosen.append(weighed)
                self._go(depth + 1, bits)
                self._chosen.pop()
        self._owns[depth] = self._floors[depth]

    def _has_future(self, weighed: Weighed, depth: int) -> bool:
        """Whether every package still to come has a build that goes with this one by itself."""
        option, joints = weighed.option, self._joints
        return all(
            any(joints.pythons(option, other.option) for _, other in domain) for domain in self._domains[depth + 1 :]
        )

    def _close(self, pythons: int) -> None:
        """A complete choice of builds: keep it if an image carries it without violating anything."""
        key = self._preference.joint(self._owns)
        if (footing := self._stand(pythons)) is not None:
            self.found = Assignment(self._place, tuple(self._chosen), footing, key)

    def _stand(self, pythons: int) -> Footing | None:
        """The image for the chosen builds, asked once for all choices that are alike to each other and to an image."""
        joints = map(self._search.joint_of, self._search.variables, self._chosen)
        key = (pythons, *joints)
        if key not in self._stands:
            found = self._search.footings(self._chosen, self._place, pythons)
            self._stands[key] = next((footing for footing in found if footing.violations == FITS), None)
        return self._stands[key]


def need_of(chosen: Sequence[Weighed], place: str, pythons: int) -> Need:
    """What chosen builds need of an image."""
    system = from_system(weighed.option.build for weighed in chosen)
    floors = [floor for weighed in chosen if (floor := glibc_of(weighed.option))]
    glibc = max(floors, key=versions.release) if floors and place.startswith("linux") else ""
    board = any(weighed.option.on_board for weighed in chosen)
    forward = any(weighed.strain == FORWARD for weighed in chosen)
    cudnn = cudnn_built(weighed.option.build for weighed in chosen)
    return Need(place, runtime_of(chosen), system, glibc, pythons, board, forward, cudnn)


def glibc_of(option: Option) -> str:
    """The lowest C library of a build; a compiled one whose floor nobody wrote down still needs some glibc.

    Source: PEP 600; the wheels of the matrix for ``linux_*`` are manylinux wheels, and none of them is for musl.
    """
    platforms = option.build.platforms
    return option.build.glibc or (ANY_GLIBC if platforms and "any" not in platforms else "")


def runtime_of(chosen: Sequence[Weighed]) -> str:
    """The runtime of a plan: that which a build takes from the system, else the newest GPU runtime, else ``cpu``."""
    builds = [weighed.option for weighed in chosen if weighed.option.vendor not in {"", "cpu"}]
    if not builds:
        return "cpu"
    fixed = [option for option in builds if option.build.cuda_from == "system"]
    return max(fixed or builds, key=lambda option: (option.kind, versions.release(option.number or "0"))).runtime


def forward_package(chosen: Sequence[Weighed]) -> str:
    """The cuda-compat package of some builds' newest CUDA, ``cuda-compat-12-8``."""
    return f"cuda-compat-{versions.minor(runtime_of(chosen).removeprefix('cuda')).replace('.', '-')}"
