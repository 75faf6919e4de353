"""What is installed side by side: each pair of packages of which one requires the other, or both have GPU builds.

The joint of packages judges a pair, from the matrix's rows and from what the installed distributions require of each
other; no list says which packages belong together.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from compat.joints import packages as joint
from compat.joints.build import lines_of, release
from compat.joints.packages import Release
from compat.joints.verdict import Clash, Unknown
from compat.lazy import dataclass
from compat.names import normalise
from compat.rules.stack import installed, packages_of, world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.facts import Host
    from compat.findings import Confidence
    from compat.joints.verdict import Verdict
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
        return self.verdict if isinstance(self.verdict, Clash) else getattr(self.verdict, "clash", None)

    @property
    def confidence(self) -> Confidence:
        """How sure a clash is: ``likely`` where a row that it rests on is only inferred."""
        return "certain" if isinstance(self.verdict, Clash) else "likely"

    @property
    def open(self) -> str:
        """What is not known about them; empty where they are judged."""
        return self.verdict.why if isinstance(self.verdict, Unknown) else ""


def pairs(host: Host, matrix: Matrix) -> tuple[Pair, ...]:
    """Every pair of installed packages that can be judged, those that require each other first."""
    here = _releases(host, matrix)
    ours = world(host)
    known = [one for one in here if release(matrix, one.name, one.version)]
    tied = [(left, right) for left in here for right in _required(left, here, matrix)]
    both = [each for each in combinations(known, 2) if not {each, each[::-1]} & {*tied}]
    apart = [(left, right) for left, right in both if matrix.package(left.name) is not matrix.package(right.name)]
    return (
        *(Pair(left, right, joint.releases(matrix, left, right, ours)) for left, right in tied),
        *(Pair(left, right, joint.releases(matrix, left, right, ours), tied=False) for left, right in apart),
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


def _required(left: Release, here: list[Release], matrix: Matrix) -> Iterator[Release]:
    """The installed packages that a release names in what it requires, by its rows or by its own metadata."""
    lines = (lines_of(left.requires), *(one.lines for one in release(matrix, left.name, left.version)))
    names = {name for each in lines for name in each}
    own = matrix.package(left.name)
    for right in here if names else ():
        row = matrix.package(right.name)
        if (
            right.version
            and right is not left
            and (right.name in names or (row and row.name in names))
            and not (row and row is own)
        ):
            yield right
