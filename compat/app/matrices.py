"""The matrix a command asks: the shipped one under the user's own rows; checks and comparisons of its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from compat import resources
from compat.errors import InputError, InputErrors
from compat.matrix import Matrix, overlays

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.findings import Stamp
    from compat.matrix.diff import Change


def load(files: Sequence[str] | None = None) -> Matrix:
    """The shipped matrix, the user's configuration folder over it, the files named over both.

    Raises:
        InputErrors: listing every fault of the files laid over it.
    """
    return overlays.load((Path(name) for name in files or ()), os.environ)


def stamp(matrix: Matrix, node: str = "") -> Stamp:
    """Who answers, from which matrix, and when."""
    from time import time

    from compat import __version__
    from compat.findings import Stamp

    return Stamp(version=__version__, matrix=matrix.digest, seconds=int(time()), node=node)


def check(files: Sequence[str]) -> tuple[Path, ...]:
    """Check matrix files, the shipped ones if none is named, and return what was checked.

    Raises:
        InputErrors: with every fault of every file.
    """
    from compat.matrix.check import check as faults_of

    paths = _paths(files)
    faults = faults_of(paths)
    if not faults:
        faults = list(_surer(overlays.load(paths if files else (), {})))
    if faults:
        raise InputErrors(faults)
    return tuple(paths)


def _surer(matrix: Matrix) -> Iterator[InputError]:
    """The builds of which a joint says more than their rows."""
    from compat.joints.sureness import breaches

    for build, field in breaches(matrix):
        what = f"a clash by {field} is told as certain, and the row is only inferred in it [never-surer]"
        yield InputError(what, where=f"builds.{build.package} {build.full_version} {build.runtime}".rstrip())


def mend(files: Sequence[str]) -> tuple[Path, ...]:
    """Rewrite files in the canonical spelling, and return those that changed.

    Raises:
        InputErrors: for a file that is no matrix.
    """
    from compat.matrix.check import fix

    return tuple(path for path in _paths(files) if fix(path))


def changes(old: str, new: str) -> tuple[Change, ...]:
    """What changed from one matrix (folder or file) to another; of folders also what was measured beside the tables.

    Raises:
        InputError: if one cannot be read.
    """
    from compat.matrix import observed
    from compat.matrix.diff import diff

    found = diff(_matrix_at(old), _matrix_at(new))
    before, after = Path(old, "observed"), Path(new, "observed")
    measured = observed.diff(before, after) if before.is_dir() and after.is_dir() else ()
    return (*found, *measured)


def _paths(files: Sequence[str]) -> list[Path]:
    """The files named, or the shipped ones."""
    paths = [Path(name) for name in files] or sorted(resources.matrix_dir().glob("*.toml"))
    missing = next((path for path in paths if not path.is_file()), None)
    if missing:
        what = "is a folder" if missing.is_dir() else "is no plain file" if missing.exists() else "no such file"
        raise InputError(what, where=str(missing), expected="a matrix file, *.toml")
    return paths


def _matrix_at(name: str) -> Matrix:
    """The matrix in a folder or file."""
    from compat.matrix import Matrix
    from compat.matrix.check import shape_faults
    from compat.matrix.store import Live

    path = Path(name)
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise InputError("holds no matrix", where=name, expected="a folder with *.toml, or one such file")
    if faults := shape_faults(files):
        raise InputErrors(faults)
    return Matrix(Live(files))
