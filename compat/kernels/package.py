"""Installed distributions: the binaries of a package in any interpreter's site-packages.

The interpreter is not asked: what pip wrote down on installing is enough, so another machine's environment that is
mounted somewhere reads as well.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

import compat.kernels.names as names
import compat.kernels.places as places
from compat.errors import InputError
from compat.kernels.kpack import PLACEHOLDER
from compat.kernels.values import FEW, Code, Inspection
from compat.lazy import dataclass
from compat.names import normalise

_LARGEST_RECORD: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Kernels:
    """GPU targets of an installed package and the file that says so.

    Attributes:
        targets: as ``compat.facts.Build.kernels`` has them; empty if the package carries no GPU code.
        path: the file that most images were read from; the package's folder if there are none.
        complete: whether everything could be read; only then is an absent target a fact.
    """

    targets: tuple[str, ...]
    path: str
    complete: bool = True


def inspect_package(name: str, site_packages: Path | str) -> Inspection:
    """Inspect the files that an installed distribution owns, by its RECORD; else the import package of that name.

    ``site_packages``: the interpreter's folder of packages; it need not be this interpreter's.

    Raises:
        InputError: if no such distribution or package is there.
    """
    root = Path(site_packages)
    record = _record(root, name)
    if record is not None:
        owned = dict.fromkeys(_owned(root, record))
        found = [code for file in owned for code in places.read_path(root / file, file)]
        packs = (file for code in found for file in _packs(root, code) if file not in owned)
        found += [code for file in dict.fromkeys(packs) for code in places.read_path(root / file, file)]
        return places.gather(str(root / name), found)
    folder = root / name.replace("-", "_")
    if folder.is_dir():
        return places.inspect(folder)
    raise InputError(
        f"{name} is not installed there", where=str(root), expected="a distribution's name as pip lists it"
    )


def build_kernels(site_packages: Path | str, package: str) -> Kernels:
    """What ``package`` carries, for the doctor's facts; never raises: what is not there carries nothing.

    Targets are those of the library with most images (``libtorch_cuda.so``), which serves nearly every call; a side
    library that covers less or more is told by :func:`inspect_package`.
    """
    try:
        found = inspect_package(package, site_packages)
    except InputError:
        return Kernels((), str(Path(site_packages) / package), complete=False)
    main = max(found.objects, key=lambda code: sum(code.images.values()), default=None)
    if main is None or not main.images:
        return Kernels((), found.path, found.complete)
    return Kernels(_usual(main), str(Path(site_packages) / main.path), not main.unread)


def _usual(code: Code) -> tuple[str, ...]:
    """Targets without those of single kernels, where the library has a core to tell them from."""
    return tuple(target for target in code.targets if not code.has_core or code.shares[target] >= FEW)


def _packs(root: Path, code: Code) -> Iterator[str]:
    """Kernel packs that a library names; other distributions, one per GPU target, lay them beside it."""
    for pattern in code.packs:
        folder = os.path.normpath(PurePosixPath(code.path).parent / PurePosixPath(pattern).parent)
        if not folder.startswith(("..", "/")):
            found = (root / folder).glob(PurePosixPath(pattern).name.replace(PLACEHOLDER, "*"))
            yield from (path.relative_to(root).as_posix() for path in sorted(found))


def _record(root: Path, name: str) -> Path | None:
    """The RECORD of a distribution; names compare as PEP 503 says."""
    wanted = normalise(name)
    for folder in sorted(root.glob("*.dist-info")):
        if normalise(folder.name.partition("-")[0]) == wanted and (folder / "RECORD").is_file():
            return folder / "RECORD"
    return None


def _owned(root: Path, record: Path) -> Iterator[str]:
    """Files of a RECORD (PEP 376: CSV of path, hash, size) that are worth opening and lie within ``root``."""
    with record.open(encoding="utf-8", errors="replace", newline="") as file:
        text = file.read(_LARGEST_RECORD)
    for row in csv.reader(text.splitlines()):
        if not row or not (names.is_binary(row[0]) or names.target(row[0].rpartition("/")[2])):
            continue
        path = PurePosixPath(row[0])
        if not path.is_absolute() and ".." not in path.parts and (root / path).is_file():
            yield path.as_posix()
