"""Questions that several rules put to the matrix: what a driver supports, how old a capability is, a card's product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.changes import Install, Package, Variable
from compat.joints import driver, toolkit
from compat.joints.verdict import Clash, Fits, Verdict
from compat.matrix.drivers import FORWARD_SEGMENTS, Platform, driver_cuda
from compat.matrix.products import find_gpu
from compat.matrix.rows import Jetpack

if TYPE_CHECKING:
    from compat.changes import Change
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix, rows
    from compat.rules.stack import Installed


def is_version(text: str | None) -> bool:
    """Whether a text starts with a dotted number that can be compared."""
    try:
        versions.release(text or "")
    except ValueError:
        return False
    return True


def driver_platform(platform: str | None) -> Platform:
    """Whose driver numbers count on a host: WSL2 reports those of Windows."""
    return "windows" if platform == "windows" else "wsl2" if platform == "wsl2" else "linux"


def cuda_of_driver(matrix: Matrix, driver: str | None, platform: str | None = None) -> str:
    """The CUDA version that a driver reports; empty if its branch is unknown."""
    return driver_cuda(matrix, driver or "", driver_platform(platform)) if is_version(driver) else ""


def too_old(matrix: Matrix, target: str) -> bool:
    """Whether a target belongs to a capability that current toolkits no longer compile for."""
    row = matrix.capability(target)
    return bool(row and row.last_cuda)


def recent(matrix: Matrix, target: str) -> bool:
    """Whether a target is of the generations that the last toolkit of CUDA 11 or a later one brought."""
    row = matrix.capability(target)
    return bool(row and is_version(row.first_cuda) and versions.release(row.first_cuda) >= (11, 8))


def knows(matrix: Matrix, cuda: str, target: str) -> str:
    """How a CUDA release stands to a device: ``known``, ``too new`` (the device is), ``too old``; empty if unknown."""
    found = toolkit.verdict(matrix, cuda, target)
    if isinstance(found, Clash):
        return "too new" if found.wants.startswith(">") else "too old"
    return "known" if isinstance(found, Fits) else ""


def of_board(matrix: Matrix, host: Host, item: Installed) -> Verdict | None:
    """Whether a build for Jetson boards was made with the CUDA of this one's JetPack; ``None`` for all else."""
    told = host.l4t and not host.container and "." in item.cuda and not item.inferred and bool(item.kernels)
    ours = told and matrix.families.integrated.issuperset(item.kernels)
    return driver.board(matrix, item.cuda, host.l4t or "") if ours else None


def is_older(clash: Clash, item: Installed) -> bool:
    """Whether the board's system, by whose rows :func:`of_board` judged, has an older CUDA than the build."""
    return not any(versions.at_least(row.cuda, item.cuda) for row in clash.rows if isinstance(row, Jetpack))


def cite(matrix: Matrix, *found: rows.Row | None) -> tuple[str, ...]:
    """The sources of matrix rows, written out, for a finding."""
    return tuple(dict.fromkeys(matrix.cite(row) for row in found if row is not None))


def consumer(gpu: Gpu, matrix: Matrix) -> bool:
    """Whether a GPU is of the consumer line, for which NVIDIA grants no forward compatibility."""
    return _lines(gpu, matrix) == {False} and any(row.brand in {"geforce", "titan"} for row in products_of(gpu, matrix))


def data_center(gpu: Gpu, matrix: Matrix) -> bool:
    """Whether a GPU is of the data-center line."""
    return _lines(gpu, matrix) == {True}


def _lines(gpu: Gpu, matrix: Matrix) -> set[bool]:
    """Whether the products of a GPU's name or id are of the data-center line; several answers where they differ."""
    return {row.segment in FORWARD_SEGMENTS for row in products_of(gpu, matrix)}


def products_of(gpu: Gpu, matrix: Matrix) -> tuple[rows.Product, ...]:
    """The products that a GPU may be by its name, else by its id."""
    return next((tuple(found) for text in (gpu.name, gpu.pci) if text and (found := find_gpu(matrix, text))), ())


def recompiled(matrix: Matrix, name: str, version: str = "") -> tuple[Change, ...]:
    """One package compiled here, in place of the copy that is there, and not fetched as its build script may."""
    row = matrix.package(name)
    forced = (Variable(row.force_build, "TRUE"),) if row and row.force_build else ()
    return (*forced, Install(packages=(Package(name=name, version=version),), again=True, compile=True))
