"""What the matrix says of NVIDIA drivers: the branch of a version, and what it brings; joints judge by it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from compat import versions

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.matrix.rows import DriverBranch

# Whose driver numbers count; WSL2 reports the Windows driver's.
Platform = Literal["linux", "windows", "wsl2"]

# Kinds of product for which NVIDIA supports forward compatibility (CUDA Compatibility, "Forward Compatibility").
#
# It names "select" workstation cards and Jetson boards too; which those are is not written down, so they do not count.
FORWARD_SEGMENTS: Final = frozenset({"datacenter"})
# Segments of GPUs that are a part of the processor.
INTEGRATED: Final = frozenset({"apu", "integrated", "igpu"})


def driver_branch(matrix: Matrix, driver: str, platform: Platform = "linux") -> DriverBranch | None:
    """The branch of a driver version: ``535.104.05`` -> R535.

    Linux versions begin with their branch's number; on Windows a branch spans several numbers (537.13 is R535),
    so the highest branch at or below counts.

    Raises:
        ValueError: if ``driver`` is not a dotted number.
    """
    table: tuple[DriverBranch, ...] = matrix.table("drivers")
    number = versions.major(driver)
    by_number = {int(row.branch.removeprefix("R")): row for row in table}
    if number in by_number or platform == "linux":
        return by_number.get(number)
    below = [key for key in by_number if key < number < max(by_number)]
    return by_number[max(below)] if below else None


def branch_number(matrix: Matrix, driver: str, platform: Platform = "linux") -> int:
    """The number of a driver's branch: its own first one, and on Windows (582.28 is R580) that of the branch it is of.

    Raises:
        ValueError: if ``driver`` is not a dotted number.
    """
    branch = driver_branch(matrix, driver, platform)
    return int(branch.branch.removeprefix("R")) if branch else versions.major(driver)


def driver_cuda(matrix: Matrix, driver: str, platform: Platform = "linux") -> str:
    """The CUDA version that a driver reports by itself (``570.124.06`` -> ``12.8``); empty if not known."""
    branch = driver_branch(matrix, driver, platform)
    return branch.cuda if branch else ""


@lru_cache(maxsize=4096)
def forward_package(matrix: Matrix, cuda: str, driver: str) -> str:
    """The package that runs a CUDA release on an older Linux driver, ``cuda-compat-12-8``; empty if there is none.

    Whether the GPU and the platform allow it is another question: see :data:`FORWARD_SEGMENTS`.

    Raises:
        ValueError: if ``driver`` is not a dotted number.
    """
    minor, branch = versions.minor(cuda) if cuda else "", driver_branch(matrix, driver)
    row = next((row for row in matrix.table("forward") if row.cuda == minor), None)
    if row is None or branch is None or branch.branch not in row.branches:
        return ""
    return f"cuda-compat-{minor.replace('.', '-')}"


def board_cudas(matrix: Matrix, l4t: str) -> frozenset[str]:
    """The CUDA releases that a Jetson's system brings (``36.4.3`` -> ``{"12.6"}``); empty if not known.

    A release that the matrix lacks is read as its nearest kin: 36.4.9 has what the others of 36.4 have, 36 what any
    36 has.
    """
    rows = matrix.table("jetpack")
    parts = l4t.split(".") if l4t else []
    for length in range(len(parts), 0, -1):
        if found := frozenset(row.cuda for row in rows if row.l4t.split(".")[:length] == parts[:length]):
            return found
    return frozenset()
