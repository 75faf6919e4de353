"""What is installed side by side: each pair of packages of which one requires the other, or both have GPU builds.

The joint of packages judges a pair, from the matrix's rows and from what the installed distributions require of each
other; no list says which packages belong together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from compat.joints import releases as joint
from compat.joints.build import Part, lines_of, release
from compat.joints.releases import Release
from compat.joints.verdict import Clash, Unknown, Verdict, clash_of
from compat.lazy import dataclass
from compat.markers import Environment
from compat.names import normalise
from compat.rules.lookups import cite
from compat.rules.rule import Found
from compat.rules.stack import cited_of, installed, packages_of, world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from compat.facts import Host
    from compat.findings import Confidence
    from compat.matrix import Matrix


@dataclass(frozen=True, slots=True)
class Pair:
    """Two installed packages: ``left`` requires ``right``, unless they are not ``tied`` and merely share a process."""

    left: Release
    right: Release
    verdict: Verdict
    tied: bool = True

    @property
    def clash(self) -> Clash | None:
        """Why they do not fit, for certain or likely; ``None`` where they do or nobody knows."""
        return clash_of(self.verdict)

    @property
    def confidence(self) -> Confidence:
        """How sure a clash is: ``likely`` where a row that it rests on is only inferred."""
        return "certain" if isinstance(self.verdict, Clash) else "likely"

    @property
    def open(self) -> str:
        """What is not known about them; empty where they are judged."""
        return self.verdict.why if isinstance(self.verdict, Unknown) else ""


@dataclass(frozen=True, slots=True)
class Here:
    """An installed release that the matrix knows.

    Attributes:
        release: what is installed.
        fact: the fact that gives its version.
        published: its builds for the runtime that it is known to have.
        parts: those of them for this system and Python, as far as there are any.
    """

    release: Release
    fact: str
    published: tuple[Part, ...]
    parts: tuple[Part, ...]

    @property
    def label(self) -> str:
        """``torch 2.7.0``."""
        return f"{self.release.name} {self.release.version}"


def here(host: Host, matrix: Matrix) -> tuple[Here, ...]:
    """Every installed release with rows; not what conda installed, whose builds are others than those of the rows."""
    facts, place = cited_of(host), world(host)
    place = place if place.place else Environment("linux_x86_64", place.python)  # the likeliest, where nothing is said
    foreign = {matrix.package(name) for name in host.conda_packages or {}} - {None}
    ours = (one for one in _releases(host, matrix) if matrix.package(one.name) not in foreign)
    known = ((one, published) for one in ours if (published := joint.of_runtime(matrix, one)))
    return tuple(Here(one, facts[one.name], published, joint.parts(matrix, one, place)) for one, published in known)


def clashing(
    items: Iterable[Here],
    judge: Callable[[Part], Verdict],
    matrix: Matrix,
    *,
    this: str,
    facts: tuple[str, ...],
    among: Callable[[Here], Iterable[Part]] = lambda item: item.parts,
) -> Found | None:
    """An installed release none of whose builds fits, as a finding; the first of those that are surest.

    ``this``: what the machine has, for the end of the sentence. ``among``: the builds of a release that are asked;
    those for this system and Python unless told otherwise.
    """
    likely: Found | None = None
    for item in items:
        verdicts = [judge(part) for part in among(item)]
        clashes = [clash for clash in map(clash_of, verdicts) if clash]
        if clashes and len(clashes) == len(verdicts):
            # what one build was seen to want is no guess for another of the release that wants the same
            seen = [one for one in verdicts if isinstance(one, Clash)]
            every = release(matrix, item.release.name, item.release.version.partition("+")[0])
            wanted = {one.wants for one in (*seen, *map(judge, every)) if isinstance(one, Clash) and one.wants}
            sure = len(seen) == len(clashes) or all(one.wants in wanted for one in clashes)
            first = next(iter(seen), clashes[0])
            found = Found(
                detail=f"{first.why}; {this}.",
                facts=(*facts, item.fact),
                sources=cite(matrix, *first.rows),
                confidence="certain" if sure else "likely",
            )
            if sure:
                return found
            likely = likely or found
    return likely


def pairs(host: Host, matrix: Matrix) -> tuple[Pair, ...]:
    """Every pair of installed packages that can be judged, those that require each other first."""
    all_, ours = [_of_wheels(one, matrix) for one in _releases(host, matrix)], world(host)
    known = [one for one in all_ if release(matrix, one.name, one.version)]
    tied = [(left, right) for left in all_ for right in _required(left, all_, matrix)]
    both = [each for each in combinations(known, 2) if not {each, each[::-1]} & {*tied}]
    apart = [(left, right) for left, right in both if matrix.package(left.name) is not matrix.package(right.name)]
    askers = Counter(right.name for _, right in tied)

    def judged(left: Release, right: Release) -> Verdict:
        """Third packages are left out: each is judged itself, by the version that is installed."""
        return joint.verdict(matrix, left, right, ours, third=False, sole=askers[right.name] == 1)

    return (
        *(Pair(left, right, judged(left, right)) for left, right in tied),
        *(Pair(left, right, judged(left, right), tied=False) for left, right in apart),
    )


def _releases(host: Host, matrix: Matrix) -> list[Release]:
    """What is installed, each with its version, its own requirements and the runtime of its build, as far as known."""
    stated = {normalise(name): lines for name, lines in (host.package_requires or {}).items()}
    runtimes = {item.name: item.runtime for item in installed(host, matrix) if item.runtime and not item.inferred}
    runtimes |= {normalise(name): build.runtime for name, build in (host.builds or {}).items() if build.runtime}
    versions = {**dict.fromkeys(stated, ""), **packages_of(host)}
    return [
        Release(name, version, tuple(stated.get(name, ())), runtimes.get(name, ""))
        for name, version in versions.items()
        if version or name in stated
    ]


def _of_wheels(one: Release, matrix: Matrix) -> Release:
    """A release without its runtime where every wheel for that has a local tag and this has none: conda's, or an own.

    What such a build goes with is not known from the runtimes of wheels.
    """
    rows = () if "+" in one.version or not one.runtime else release(matrix, one.name, one.version)
    made = [row for row in rows if f"{row.runtime}.".startswith(f"{one.runtime}.")]
    return replace(one, runtime="") if made and all(row.build.local for row in made) else one


def _required(left: Release, here: list[Release], matrix: Matrix) -> Iterator[Release]:
    """The installed packages that a release names in what it requires, by its rows or by its own metadata."""
    lines = (lines_of(left.requires), *(one.lines for one in release(matrix, left.name, left.version)))
    names = {name for each in lines for name in each}
    own = matrix.package(left.name)
    for right in (one for one in here if names and one.version and one is not left):
        row = matrix.package(right.name)
        required = right.name in names or (row and row.name in names)
        if required and not (row and row is own):
            yield right
