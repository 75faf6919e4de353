"""The environments that a file may be installed in, and what a request needs of other packages there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.joints.build as builds
from compat import markers, versions
from compat.joints.packages import required

if TYPE_CHECKING:
    from compat.joints.build import Part
    from compat.markers import Environment
    from compat.matrix import Matrix
    from compat.matrix.rows import Build
    from compat.sources.values import Request

# A specifier with an end on both sides.
_RANGE: Final = re.compile(r"==[^,]*\*|~=|>.*<|<.*>")
# Pythons that anything in the matrix was ever built for.
_PYTHONS: Final = tuple(f"3.{minor}" for minor in range(6, 16))


def together(given: tuple[str, ...], worlds: tuple[Environment, ...]) -> bool:
    """Whether some environment makes all markers true at once; one that cannot be read counts as true."""
    asked = [marker for marker in given if marker]
    return not asked or any(all(markers.holds(marker, world) is not False for marker in asked) for world in worlds)


def worlds_of(platform: str, pythons: frozenset[str], wanted: str = "") -> tuple[Environment, ...]:
    """Environments of a platform: the Pythons known, else those that a project's ``requires-python`` admits."""
    found = sorted(pythons) or [python for python in _PYTHONS if versions.admits(wanted, f"{python}.9") is not False]
    return tuple(markers.Environment(platform, python) for python in found)


def needs(
    request: Request, build: Build | None, matrix: Matrix, worlds: tuple[Environment, ...]
) -> dict[str, set[str]]:
    """What a package requires of others, by name: the specifiers, one for each build that it may be.

    Of a release whose build is not known only what all of its builds require counts.
    """
    here = tuple(world for world in worlds if together((request.marker,), (world,)))
    return required(parts_of(request, build, matrix), here or worlds)


def none_fits(request: Request, other: Request, matrix: Matrix, worlds: tuple[Environment, ...]) -> bool:
    """Whether every release that a bounded request admits (``==0.20.*``) requires another release of a package."""
    package = matrix.package(request.name)
    if package is None or not other.spec or not _RANGE.search(request.spec):
        return False
    rows = (row for row in matrix.builds(package.name) if row.install_name == request.name)
    fitting = (row for row in rows if versions.admits(request.spec, row.version))
    found = [needs(request, row, matrix, worlds).get(other.name, set()) for row in fitting]
    return bool(found) and all(specs and all(versions.clashes(other.spec, one) for one in specs) for specs in found)


def parts_of(request: Request, build: Build | None, matrix: Matrix) -> tuple[Part, ...]:
    """The builds that a request may get: the one that is known, else those of its release; none without a version."""
    version = build.full_version if build else request.exact
    rows = builds.release(matrix, request.name, version) if version else ()
    if not rows:  # a variant of its own release number: PaddlePaddle's post releases
        package = matrix.package(request.name)
        every = matrix.builds(package.name) if package and version else ()
        rows = tuple(builds.part(matrix, one, one.package) for one in every if one.full_version == version)
    if version and not request.url and matrix.package(request.name) is None:
        rows = builds.measured(matrix, request.name, version)
    if build is None:
        return rows
    carried = builds.carried(matrix, build)
    known = tuple(one for one in rows if one.build in carried)
    return known or (builds.part(matrix, build, build.package),)
