"""What NVIDIA drivers run: floors per CUDA release, the branch of a version, and the devices a branch serves.

Sources of the rules: "CUDA Compatibility" (docs.nvidia.com/deploy/cuda-compatibility), minor-version compatibility
within a major release from CUDA 11 on; the CUDA release notes' tables for the floors themselves, which are rows
of the matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from compat import versions
from compat.lazy import dataclass

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.matrix.rows import DriverBranch

# Whose driver numbers count; WSL2 reports the Windows driver's.
Platform = Literal["linux", "windows", "wsl2"]

# Kinds of product for which NVIDIA supports forward compatibility (CUDA Compatibility, "Forward Compatibility").
#
# It names "select" workstation cards and Jetson boards too; which those are is not written down, so they do not count.
FORWARD_SEGMENTS: Final = frozenset({"datacenter"})

# ``full``: the release's own floor is reached. ``minor``: runs by minor-version compatibility, without PTX of that
# toolkit. ``none``: too old. ``unknown``: the matrix does not say.
Support = Literal["full", "minor", "none", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """Lowest drivers of a CUDA release.

    Attributes:
        cuda: the release asked for.
        exact: floor of NVIDIA's table for that release; empty if it has none (``why`` says so).
        family: floor of minor-version compatibility for its major; empty before CUDA 11.
        branch: driver branch that goes with the release, ``R570``.
        source: citation of the row.
        how: how the row is known; empty if there is no row.
        why: why a floor is missing.
    """

    cuda: str
    exact: str = ""
    family: str = ""
    branch: str = ""
    source: str = ""
    how: str = ""
    why: str = ""

    @property
    def lowest(self) -> str:
        """The lowest driver that runs programs of this release at all; empty if not known."""
        return min((text for text in (self.exact, self.family) if text), key=versions.release, default="")


def driver_floor(matrix: Matrix, cuda: str, platform: Platform = "linux") -> Floor:
    """Floors of a CUDA release (``12.8`` means the first 12.8); empty with a reason where the matrix has none."""
    row = matrix.cuda(cuda) if versions.is_release(cuda) else None
    if row is None:
        return Floor(cuda=cuda, why=f"the matrix has no CUDA {cuda}")
    linux = platform == "linux"
    exact, family = (row.driver_linux, row.family_linux) if linux else (row.driver_windows, row.family_windows)
    why = "" if exact else f"NVIDIA's table gives no {'Linux' if linux else 'Windows'} driver for CUDA {row.cuda}"
    return Floor(
        cuda=cuda, exact=exact, family=family, branch=row.branch, source=matrix.cite(row), how=row.how, why=why
    )


def ptx_floor(matrix: Matrix, isa: str, platform: Platform = "linux") -> Floor:
    """Floor of the first CUDA release whose PTX is at least of an ISA version (``7.8`` -> that of CUDA 11.8).

    Compiling PTX knows no minor version compatibility: ``exact`` counts, never ``family``.
    """
    fitting = [row for row in matrix.table("cuda") if row.ptx and versions.at_least(row.ptx, isa)]
    if not fitting:
        return Floor(cuda="", why=f"the matrix has no CUDA release with PTX {isa}")
    return driver_floor(matrix, min((row.cuda for row in fitting), key=versions.release), platform)


def support(matrix: Matrix, cuda: str, driver: str, platform: Platform = "linux") -> Support:
    """How a driver runs programs built with a CUDA release, forward compatibility left aside."""
    floor = driver_floor(matrix, cuda, platform)
    if floor.exact and versions.at_least(driver, floor.exact):
        return "full"
    own = driver_cuda(matrix, driver, platform)
    if not floor.exact and floor.branch and own and versions.at_least(own, versions.minor(cuda)):
        return "full"  # a release without a floor of its own: the CUDA version that the driver reports decides
    if floor.family:
        return "minor" if versions.at_least(driver, floor.family) else "none"
    return "none" if floor.exact else "unknown"


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


def serves(matrix: Matrix, driver: str, target: str, platform: Platform = "linux") -> bool | None:
    """Whether a driver still serves a device (``sm_70`` ended with R580); ``None`` if the matrix cannot say."""
    row = matrix.capability(target) if target.startswith("sm_") else None
    if row is None:
        return None
    return not row.last_driver or branch_number(matrix, driver, platform) <= int(row.last_driver.removeprefix("R"))


def board_cudas(matrix: Matrix, l4t: str) -> frozenset[str]:
    """The CUDA releases that a Jetson's system brings (``36.4.3`` -> ``{"12.6"}``); empty if not known.

    A release that the matrix lacks is read as its nearest kin: 36.4.9 has what the others of 36.4 have, 36 what any
    36 has. From JetPack 7 on (``sbsa``) a board is an ordinary machine, whose driver counts instead.
    """
    rows = [row for row in matrix.table("jetpack") if not row.sbsa]
    parts = l4t.split(".") if l4t else []
    for length in range(len(parts), 0, -1):
        if found := frozenset(row.cuda for row in rows if row.l4t.split(".")[:length] == parts[:length]):
            return found
    return frozenset()
