"""Two packages in one environment: build x build. Releases, which may be several builds, are in ``releases``.

What is compared, cheapest first: the runtimes, the Pythons, libraries that both take from the system, what one requires
of the other by name, and what both require of third packages. Which packages are tied comes from the rows'
``requires`` (and from Requires-Dist lines that a machine states), never from a list.

Sources: CUDA's libraries keep binary compatibility within a major (CUDA Toolkit documentation, "CUDA compatibility");
one process loads one copy of a shared library, and an image has one copy in its library path.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product
from typing import TYPE_CHECKING, Final, Literal

from compat import versions
from compat.joints import build as builds
from compat.joints.build import Part, fixes_minor
from compat.joints.platform import is_at
from compat.joints.verdict import FITS, Clash, Fits, Unknown, Verdict, clash_of, is_inferred, sure
from compat.lazy import dataclass
from compat.markers import Environment, holds
from compat.versions import Line, admits, clashes, meets, tightened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compat.matrix import Matrix

Kind = Literal["runtime", "requires", "shared", "files", "system", "python"]

# Kind of a dispute about third packages -> the field of the rows that decides.
_FIELD: Final = {"shared": "requires", "files": "requires"}


@dataclass(frozen=True, slots=True)
class Objection:
    """What stands between two builds, wherever its lines count.

    Attributes:
        kind: what is disputed.
        name: the package, library or file that they dispute.
        left: what the first has or asks, ``right`` what the second does.
        right: see ``left``.
        asked: the requirement lines that it rests on, each with the build that has it; it stands only in an environment
            where the markers of all of them hold.
        asker: of two packages of which one names the other, the label of the one that asks.
    """

    kind: Kind
    name: str
    left: str
    right: str
    asked: tuple[tuple[Part, Line], ...] = ()
    asker: str = ""


def objections(matrix: Matrix, left: Part, right: Part) -> Iterator[Objection]:
    """What two builds require of each other and of third packages, and the libraries both take from the system."""
    yield from _systems(left, right)
    yield from _direct(left, right)
    yield from _direct(right, left)
    names = {(name, name): name for name in left.lines.keys() & right.lines.keys()}
    if not (left.version and right.version):  # two builds for CUDA of two majors are apart by their runtimes
        names |= {pair: _rivals(matrix)[pair] for pair in _rivals(matrix).keys() & product(left.lines, right.lines)}
    for (ours, theirs), name in sorted(names.items()):  # a set has another order in each process
        kind: Kind = "shared" if ours == theirs else "files"
        for mine, other in product(left.lines[ours], right.lines[theirs]):
            if kind == "files" or clashes(mine.spec, other.spec):
                yield Objection(kind, name, mine.spec, other.spec, ((left, mine), (right, other)))


@lru_cache(maxsize=8)
def _rivals(matrix: Matrix) -> dict[tuple[str, str], str]:
    """Two packages whose wheels bring one file, for CUDA of two majors -> that file; the one installed last has it."""
    owners: dict[str, set[str]] = {}
    for row in sorted(matrix.table("sonames"), key=lambda row: (".so" in row.soname, -len(row.soname))):
        owners.setdefault(f"{row.folder}/{row.soname}", set()).add(row.package)
    return {pair: file for file, names in owners.items() for pair in permutations(sorted(names), 2)}


def _systems(left: Part, right: Part) -> Iterator[Objection]:
    """Libraries that both take from the system must be the same ones: an image holds one cuDNN."""
    theirs = {_stem(item): item for item in right.build.system}
    for item in left.build.system:
        other = theirs.get(_stem(item), item)
        if not (f"{item}.".startswith(f"{other}.") or f"{other}.".startswith(f"{item}.")):  # cuda11 is any cuda11.8
            yield Objection("system", _stem(item), item, other)


def _stem(item: str) -> str:
    """The library of a system requirement without its version: ``cudnn8`` -> ``cudnn``."""
    return item.rstrip("0123456789.")


def _direct(left: Part, right: Part) -> Iterator[Objection]:
    """What one build requires of the other's package; what stands for no build (``numpy``) has no version."""
    for line in left.lines.get(right.package, ()) if right.version else ():
        if not meets(line.spec, right.full):
            yield Objection("requires", right.package, line.spec, right.full, ((left, line),), left.label)


def fits_runtime(left: Part, right: Part, twins: bool) -> bool:
    """Whether two builds may live in one process, as far as their GPU runtimes go.

    A twin has its framework's runtime exactly. Other builds share a major, in which the CUDA libraries keep their
    binary interface; where one takes a certain minor from the system, that copy has to serve both. What has them linked
    into it loads none (NVCC documentation, option "--cudart").
    """
    if not left.vendor or not right.vendor or left.runtime == right.runtime:
        return True
    if twins:
        return False
    if "cpu" in {left.vendor, right.vendor} or (left.kind == right.kind and (left.static or right.static)):
        return True
    if left.kind != right.kind or versions.major(left.number or "0") != versions.major(right.number or "0"):
        return False
    return _serves(left, right) and _serves(right, left)


def _serves(one: Part, other: Part) -> bool:
    """Whether what one build takes from the system serves the other: what brings its own CUDA finds no older one first.

    A build that names no library of the system decides nothing about the system: it finds what the other one asks for.
    Source: CUDA Compatibility, "Binary compatibility": a newer minor has all functions of an older one.
    """
    if not fixes_minor(one.build) or not one.build.system or versions.same_series(one.number, other.number):
        return True
    if other.build.cuda_from == "system" and (other.build.system or not fixes_minor(other.build)):
        return not fixes_minor(other.build)
    return one.kind == "cuda" and versions.at_least(one.number, other.number)


def runtimes_go(matrix: Matrix, left: Part, right: Part, *, kin: bool = False) -> bool:
    """Whether the runtimes of two builds go together.

    A twin of a build for Jetson boards comes from the same index: elsewhere the same CUDA means a server's, and a
    build whose code is for other GPUs alone goes with no board. With ``kin`` every companion is its framework's twin.
    """
    twins = is_twin(matrix, left, right, kin=kin) or is_twin(matrix, right, left, kin=kin)
    if (left.on_board or right.on_board) and left.build.index != right.build.index:
        return not (twins or left.off_board or right.off_board) and fits_runtime(left, right, twins=False)
    return fits_runtime(left, right, twins)


def is_twin(matrix: Matrix, companion: Part, leader: Part, *, kin: bool = False) -> bool:
    """Whether a companion is built once per build of its framework, so that the two must be of one runtime.

    It is where both come as variants of one index (torchvision), or where a release has builds for several minors of
    one major (bitsandbytes); a companion with one build per major runs beside any minor of it, as do some others.
    """
    row = matrix.packages.get(companion.package)
    if row is None or row.follows != leader.package:
        return False
    if row.any_minor and companion.kind == "cuda" and not (kin or apart(companion.runtime, leader.runtime)):
        return False
    return kin or companion.has_minors or _shares_index(matrix, companion.package, leader.package)


def one_variant(matrix: Matrix, companion: str, leader: str, runtime: str, theirs: str) -> Verdict:
    """Whether two packages are of one variant, where both come as variants of one index; others need not be.

    ``companion``: a package that is compiled against another one, ``torchvision``. ``runtime``: what the companion is
    built for, ``cuda12.6``; ``theirs`` what the leader is.
    """
    row = matrix.packages.get(companion)
    if row is None or row.follows != leader or runtime == theirs or not _shares_index(matrix, companion, leader):
        return FITS
    return Clash(f"{companion} is built for {runtime} and {leader} for {theirs}", (), theirs)


def loads(compiled: str, there: str) -> Verdict:
    """Whether an extension compiled against one release of a framework loads with another.

    ``compiled``: the release that it was compiled against, ``2.4``; ``there`` that which is installed, ``2.4.1+cu121``.

    Source: PyTorch changes its C++ interface between minors, so that makers of extensions publish a wheel for each
    (names of flash-attn's and PyTorch Geometric's wheels); patches keep it. One that says its major alone bounds that.
    """
    built = compiled.partition("+")[0]
    if versions.same_series(built, there.partition("+")[0]) or built == there.partition(".")[0]:
        return FITS
    wants = versions.minor(built)
    return Clash(f"it is compiled against {compiled}, and {there} is there", (), f"=={wants}.*")


@lru_cache(maxsize=1024)
def _shares_index(matrix: Matrix, package: str, other: str) -> bool:
    """Whether both packages come as variants of one index."""
    return not _indexes(matrix, package).isdisjoint(_indexes(matrix, other))


@lru_cache(maxsize=1024)
def _indexes(matrix: Matrix, package: str) -> frozenset[str]:
    """Indexes in which a package has variants."""
    return frozenset(build.index for build in matrix.builds(package) if build.variant)


@lru_cache(maxsize=1024)
def has_unread(matrix: Matrix, index: str, package: str) -> bool:
    """Whether an index lists files of a package of which the matrix has none."""
    listed = any(row.name == index and package in row.beside for row in matrix.table("indexes"))
    return listed and index not in _indexes(matrix, package)


# --- sentences ---


def apart(left: str, right: str) -> int:
    """How far two runtimes are apart: 0 in one major, 1 in one kind, 2 otherwise."""
    (kind, number), (other, theirs) = builds.split_runtime(left), builds.split_runtime(right)
    return 2 if kind != other else int(number.partition(".")[0] != theirs.partition(".")[0])


def told(objection: Objection, left: Part, right: Part) -> str:
    """An objection between two builds as a sentence without a full stop."""
    match objection.kind:
        case "runtime":
            return _runtimes(left, right)
        case "system":
            takes = f"{left.label} takes {objection.left} from the system and {right.label} {objection.right}"
            return f"{takes}: an image holds one"
        case "requires":
            return f"{objection.asker} requires {_what(objection.asked[0][1])}"
        case "python":
            return f"{left.label} has wheels for Python {objection.left}, {right.label} for {objection.right}"
        case _:
            both = ", ".join(_bound(part, line) for part, line in objection.asked)
            return both if objection.kind == "shared" else f"{both}: both bring {objection.name}"


def _bound(part: Part, line: Line) -> str:
    """Who bounds a shared dependency: a build that requires it, or the person."""
    return f"{part.label} requires {_what(line)}" if part.version else f"{part.label} is asked for"


def _what(line: Line) -> str:
    """A requirement, with that which brings it where it is not one's own."""
    return f"{line.via}, which requires {line.name}{line.spec}" if line.via else f"{line.name}{line.spec}"


def _runtimes(left: Part, right: Part) -> str:
    """Why two runtimes do not go together: other majors, a minor that the image holds once, or one built per other."""
    kinds = f"{left.label} is built for {left.runtime} and {right.label} for {right.runtime}"
    if apart(left.runtime, right.runtime):
        return f"{kinds}, which do not share an environment"
    fixed = next((one for one, other in ((left, right), (right, left)) if not _serves(one, other)), None)
    if fixed is not None:
        return f"{kinds}, and {fixed.label} takes its own from the system, of which there is one for both"
    return f"{kinds}, and there is a build of one for each build of the other"


def is_proven(matrix: Matrix, objection: Objection, left: Part, right: Part) -> bool:
    """Whether somebody saw what decides of each row that an objection between two builds rests on.

    A requirement counts as seen where another build of the release was seen to have it.
    """
    if objection.asked:
        return all(_is_stated(matrix, part, line) for part, line in objection.asked)
    field = _FIELD.get(objection.kind, objection.kind)
    if field == "system" and objection.name == left.kind:
        field = "runtime"  # the CUDA that is taken from the system is that which a build was made with
    far = field == "runtime" and apart(left.runtime, right.runtime) > 0
    named = (part for part in (left, right) if not (far and builds.is_tagged(part.build, kind=True)))
    return not any(builds.is_unseen(matrix, part.build, field) for part in named)


def _is_stated(matrix: Matrix, part: Part, line: Line) -> bool:
    """Whether a requirement line of a build was seen, of it or of another build of its release."""
    if not is_inferred(part.build, "requires"):
        return True
    seen = (one for one in builds.release(matrix, part.package, part.version) if not is_inferred(one.build, "requires"))
    return any(line in one.lines.get(line.name, ()) for one in seen)


# --- one environment ---


@dataclass(frozen=True, slots=True)
class Dispute:
    """An objection with the two builds that it stands between, and the verdict on it in one environment."""

    objection: Objection
    left: Part
    right: Part
    verdict: Verdict

    @property
    def both(self) -> tuple[Part, Part]:
        """The two builds."""
        return self.left, self.right

    @property
    def clash(self) -> Clash | None:
        """Why the two do not fit, for certain or likely; ``None`` where nobody knows."""
        return clash_of(self.verdict)


def disputes(matrix: Matrix, left: Part, right: Part, world: Environment, *, third: bool = True) -> Iterator[Dispute]:
    """What stands between two builds where they would be installed: the objections that are none there are left out.

    ``world``: place and Python, as far as known; extras count for both.
    """
    found = [one for one in objections(matrix, left, right) if third or one.kind not in _FIELD]
    if not runtimes_go(matrix, left, right):
        found.insert(0, Objection("runtime", "runtime", left.runtime, right.runtime))
    for one in found:
        elsewhere = [part for part in (left, right) if world.place and not is_at(part.build, world.place)]
        judged = _judged(one, left, right, world)
        if one.kind == "runtime" and elsewhere:
            judged = Unknown(f"the matrix has no {elsewhere[0].label} for {world.place}", (elsewhere[0].build,))
        if not isinstance(judged, Fits):
            yield Dispute(one, left, right, judged)


def nearest(
    matrix: Matrix, ours: Sequence[Part], theirs: Sequence[Part], world: Environment, *, third: bool = True
) -> tuple[Dispute, ...]:
    """What stands between two releases: the disputes of the two builds, one of each, that come nearest to a fit.

    ``ours``: the builds that one release may be.
    """
    pairs = list(product(ours, theirs))
    near = [(one, other) for one, other in pairs if runtimes_go(matrix, one, other)]
    near = near or sorted(pairs, key=lambda pair: apart(pair[0].runtime, pair[1].runtime))[:1]
    best: tuple[Dispute, ...] = ()
    for number, (one, other) in enumerate(near):
        found = tuple(disputes(matrix, one, other, world, third=third))
        if not found:
            return ()
        if not number or _is_open(found) > _is_open(best):
            best = found
    return best


def _is_open(found: Iterable[Dispute]) -> bool:
    """Whether nothing that two builds dispute is sure."""
    return not any(isinstance(one.verdict, Clash) for one in found)


def required(parts: Iterable[Part], worlds: Iterable[Environment]) -> dict[str, set[str]]:
    """What all builds that a release may be require of others: by name the specifiers, one for each build and place.

    ``worlds``: environments that it may be installed in; a line counts whose marker may hold in one of them. Lines that
    no environment reads together (``numba==0.60.0; python_version == "3.9"``) are specifiers of their own.
    """
    found = [_required(part, tuple(worlds)) for part in parts]
    names = set(found[0]).intersection(*found[1:]) if found else set()
    return {name: {spec for each in found for spec in each[name]} for name in sorted(names)}


def _required(part: Part, worlds: tuple[Environment, ...]) -> dict[str, set[str]]:
    """What one build requires: by name the specifiers, each of all lines that count in one environment."""
    python = part.build.python
    here = tuple(world for world in worlds if not python or not world.python or world.python in python) or worlds
    found: dict[str, set[str]] = {}
    for name, lines in part.lines.items():
        for world in here if any(line.marker for line in lines) else here[:1]:
            if counting := [one for one in lines if holds(one.marker, world) is not False]:
                found.setdefault(name, set()).add(tightened(tuple(one.spec for one in counting)))
    return found


def _judged(objection: Objection, left: Part, right: Part, world: Environment) -> Verdict:
    """An objection in one environment: none where a marker does not hold, not known where that is not known."""
    counts = [
        holds(line.marker, Environment(world.place, world.python, (*world.extras, *part.build.extras)))
        for part, line in objection.asked
    ]
    if False in counts:
        return FITS
    why, rows = told(objection, left, right), tuple(part.build for part, _ in objection.asked)
    if objection.kind == "requires" and (admitted := admits(objection.left, objection.right)) is not False:
        return FITS if admitted else Unknown(f"{why}, and how {objection.right} stands to that is not known", rows)
    rows = rows or (left.build, right.build)
    if None in counts:
        return Unknown(f"{why} in some environments, and this one is not known well enough", rows)
    wants = objection.left if objection.kind == "requires" else ""
    return sure(Clash(why, rows, wants), _FIELD.get(objection.kind, objection.kind))
