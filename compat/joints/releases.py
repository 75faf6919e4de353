"""Two packages in one environment, of which a machine or a file tells the release and not the build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.joints import build as builds
from compat.joints import packages
from compat.joints.platform import is_at
from compat.joints.python import is_for
from compat.joints.verdict import FITS, Clash, Unknown, Verdict, all_of
from compat.lazy import dataclass
from compat.markers import Environment, holds
from compat.names import normalise
from compat.versions import admits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.joints.build import Part
    from compat.matrix import Matrix


@dataclass(frozen=True, slots=True)
class Release:
    """A release of a package, as a machine or a file names it.

    Attributes:
        name: any name of the package.
        version: ``2.7.0``, with a local tag where one is known.
        requires: its own Requires-Dist lines, where they were read; they count beside those of the rows.
        runtime: ``cuda12.6``, ``cuda12``, ``cuda`` or ``cpu``, as far as it is known; builds of other runtimes do not
            count then, and where nothing is known CPU builds do not.
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    runtime: str = ""


def of_runtime(matrix: Matrix, given: Release) -> tuple[Part, ...]:
    """The builds of a release for its runtime, as far as it is known and there are any.

    A build for Apple's GPU says of itself that it has no CUDA, as a CPU build does.
    """
    found, wanted = builds.release(matrix, given.name, given.version), given.runtime
    if not wanted:
        return found
    kinds = {wanted, "metal"} if wanted == "cpu" else {wanted}
    fits = tuple(one for one in found if f"{one.runtime}.".startswith(f"{wanted}.") or one.kind in kinds)
    return fits or tuple(one for one in found if not one.runtime) or found


def parts(matrix: Matrix, given: Release, world: Environment) -> tuple[Part, ...]:
    """The builds that a release may be: of its runtime, for the place and the Python, as far as those leave any.

    Where its runtime is not known and the place has GPU builds, it is one of these; not where each of them has a local
    tag that the version lacks, as those of torch for Windows have.
    """
    found = of_runtime(matrix, given)
    found = tuple(one for one in found if is_at(one.build, world.place)) or found
    if not given.runtime:
        coded = tuple(one for one in found if one.vendor != "cpu")
        found = coded if any("+" in given.version or not one.build.local for one in coded) else found
    return tuple(one for one in found if is_for(one.build, world.python)) or found


def is_published(matrix: Matrix, given: Release, world: Environment) -> bool:
    """Whether a release has a wheel for a place and a Python, as far as its rows tell."""
    rows = matrix.builds_of(given.name, given.version.partition("+")[0]) if given.version else ()
    return not rows or any(is_at(row, world.place) and is_for(row, world.python) for row in rows)


def tied(matrix: Matrix, left: Release, right: Release) -> bool:
    """Whether one of two releases names the other's package in what it requires."""
    return _names(matrix, left, right) or _names(matrix, right, left)


def _names(matrix: Matrix, asker: Release, other: Release) -> bool:
    row = matrix.package(other.name)
    name = row.name if row else normalise(other.name)
    stated = builds.lines_of(asker.requires)
    return any(
        name in lines for lines in (stated, *(one.lines for one in builds.release(matrix, asker.name, asker.version)))
    )


def _asking(
    matrix: Matrix, left: Release, right: Release, world: Environment, *, sole: bool
) -> tuple[tuple[Part, ...], str]:
    """The builds that the first release may be, by what they require of the second; and the extra that is supposed.

    A requirement of an extra alone does not bind where the release requires the same package without the extra. What
    nothing else requires (``sole``) was surely brought by the extra where only extras make the release compute on a
    GPU, else most likely if it has no rows: a library that nobody installs for itself.
    """
    ours, row = parts(matrix, left, world), matrix.package(right.name)
    name = row.name if row else normalise(right.name)
    naming = tuple(one for one in ours if name in one.lines)
    if not naming or not all(one.build.extras for one in naming):
        return ours, ""
    every = builds.release(matrix, left.name, left.version)
    plain = tuple(one for one in every if name in one.lines and not one.build.extras)
    plain = tuple(one for one in plain if is_at(one.build, world.place)) or plain
    plugin = all(one.vendor == "cpu" for one in every if not one.build.extras)
    if plain or not sole or (row and not plugin):
        return plain or ours, ""
    return naming, "" if plugin else naming[0].build.extras[0]


def verdict(
    matrix: Matrix, left: Release, right: Release, world: Environment, *, third: bool = True, sole: bool = False
) -> Verdict:
    """Whether two releases go together: some build of one with some build of the other.

    ``sole``: nothing but the first requires the second, of all that is installed.

    Returns:
        Fits if some pair of builds does; a clash if none does and no reason is only inferred; else not known.
    """
    (ours, extra), theirs = _asking(matrix, left, right, world, sole=sole), parts(matrix, right, world)
    if tied(matrix, left, right):  # what has no rows of its own still has the version that is required of it
        ours, theirs = (
            ours or (builds.without_rows(left.name, left.version),),
            theirs or (builds.without_rows(right.name, right.version),),
        )
    stated = [*_stated(left, right, theirs, world), *_stated(right, left, ours, world)]
    if not (ours and theirs):
        missing = " and ".join(f"{one.name} {one.version}" for one, rows in ((left, ours), (right, theirs)) if not rows)
        return all_of(stated) if stated else Unknown(f"the matrix has no {missing}")
    found = packages.nearest(matrix, ours, theirs, world, third=third)
    judged = all_of([*stated, *(one.verdict for one in found)])
    if extra and isinstance(judged, Clash):
        return Unknown(f"{judged.why}, if it was installed with its extra {extra}", judged.rows, judged)
    return judged


def _stated(asker: Release, other: Release, rows: Iterable[Part], world: Environment) -> Iterator[Verdict]:
    """What a release's own Requires-Dist lines say of another's."""
    names = {normalise(other.name), *(one.package for one in rows)}
    for line in (one for name in names for one in builds.lines_of(asker.requires).get(name, ())):
        admitted, counts = admits(line.spec, other.version), holds(line.marker, world)
        why = f"{asker.name} {asker.version}".strip() + f" requires {line.name}{line.spec}"
        if admitted or counts is False:
            yield FITS
        elif admitted is None or counts is None:
            yield Unknown(f"{why}, and whether {other.name} {other.version} is that is not known")
        else:
            yield Clash(why, (), line.spec)
