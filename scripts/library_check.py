"""Compares what was measured of CUDA's own wheels with the matrix: releases of cuDNN and NCCL, and all pins of builds.

A library's wheels are one package per CUDA major (``nvidia-cudnn-cu12``). A build that pins a release which the index
does not have cannot be installed from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.version import Version
from settlements import Difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compat.matrix import Matrix
    from compat.matrix.rows import Build

    Releases = Callable[[str], dict[str, Any]]

LIBRARIES = {"cudnn": "nvidia-cudnn-cu", "nccl": "nvidia-nccl-cu"}
"""Table -> beginning of the names of its packages; the CUDA major follows."""


def libraries(matrix: Matrix, table: str, releases: Releases) -> Iterator[Difference]:
    """Releases of a library that have a wheel but no row, or a row that knows another CUDA or day."""
    prefix = LIBRARIES[table]
    rows = {row.version: row for row in matrix.table(table)}
    majors = {major: found for major in ("11", "12", "13", "14") if (found := releases(prefix + major))}
    for version in sorted({version for found in majors.values() for version in found}, key=Version):
        wheels = {major: found[version] for major, found in majors.items() if version in found}
        if Version(version).is_prerelease or all(release.get("yanked") for release in wheels.values()):
            continue
        if version not in rows:
            yield Difference(table, version, "release", "", f"CUDA {' '.join(wheels)}")
            continue
        ours = {cuda.partition(".")[0] for cuda in rows[version].cuda}
        if missing := sorted(wheels.keys() - ours):
            yield Difference(table, version, "cuda", " ".join(rows[version].cuda), " ".join(missing))


def pins(build: Build, releases: Releases) -> Iterator[Difference]:
    """Exact pins of a build on packages that were measured, of releases that the index does not have.

    A pin with a local version (``torch==2.9.1+cpu``) is of another index, since the default one has none. A row that
    says itself that it cannot be installed is right.
    """
    if build.fails:
        return
    for line in build.requires:
        requirement = Requirement(line)
        found = releases(requirement.name)
        versions = [Version(version) for version in found]
        for item in requirement.specifier:
            exact = item.operator == "==" and "+" not in item.version and not item.prereleases
            if found and exact and not any(item.contains(one, prereleases=True) for one in versions):
                yield Difference(build.install_name, build.version, "pin", f"{requirement.name}{item}", "")
