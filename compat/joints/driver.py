"""The GPU driver against what it must run: CUDA, PTX, the GPU itself, ROCm, the CUDA of a Jetson's system.

Sources: CUDA Compatibility, "Minor Version Compatibility" (within a major from CUDA 11 on; no PTX from a newer
toolkit) and "Forward Compatibility"; the CUDA release notes' table of driver floors, which are rows of the matrix;
NVIDIA, "CUDA on WSL" (WSL has the driver of Windows, and its numbers); the ROCm release notes' ranges of drivers.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.joints.build import is_unseen, split_runtime
from compat.joints.verdict import FITS, Clash, Fits, Unknown, Verdict
from compat.lazy import dataclass
from compat.matrix import Matrix, drivers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.matrix.drivers import Platform
    from compat.matrix.rows import Build, Capability, CudaRelease

# How a driver runs a CUDA release that is newer than itself.
MINOR: Final = Fits("by minor-version compatibility")
# The first driver of AMD's that is numbered by itself, with ROCm 7; older ones are numbered like ROCm.
_OWN_NUMBERS: Final = 30


@dataclass(frozen=True, slots=True)
class Floor:
    """Lowest drivers of a CUDA release: its own (``exact``) and that of its major (``family``); either may be empty."""

    exact: str
    family: str
    row: CudaRelease


def _system(windows: bool) -> Platform:
    return "windows" if windows else "linux"


@lru_cache(maxsize=4096)
def floor(matrix: Matrix, cuda: str, windows: bool = False) -> Floor | None:
    """The lowest drivers of a CUDA release; ``None`` if the matrix has no such release.

    ``windows``: whether the driver's numbers are those of Windows: there, and in WSL.
    """
    row = matrix.cuda(cuda) if versions.is_release(cuda) else None
    system = _system(windows)
    return Floor(getattr(row, f"driver_{system}"), getattr(row, f"family_{system}"), row) if row else None


def ptx_floor(matrix: Matrix, isa: str, windows: bool = False) -> Floor | None:
    """The floor of the first CUDA release whose PTX is at least of an ISA version (``7.8``: that of CUDA 11.8).

    Compiling PTX knows no minor-version compatibility: ``exact`` counts. ``None`` if no release has such PTX.
    """
    fitting = [row.cuda for row in matrix.table("cuda") if row.ptx and versions.at_least(row.ptx, isa)]
    return floor(matrix, min(fitting, key=versions.release), windows) if fitting else None


@lru_cache(maxsize=16384)
def compiles(matrix: Matrix, cuda: str, driver: str, windows: bool = False) -> bool:
    """Whether a driver compiles the PTX of a CUDA release: it must be as new; by branch where no floor is known."""
    least = floor(matrix, cuda, windows)
    if least is None:
        return False
    if least.exact:
        return versions.at_least(driver, least.exact)
    reported = drivers.driver_cuda(matrix, driver, _system(windows))
    return bool(reported) and versions.at_least(reported, versions.minor(cuda))


@lru_cache(maxsize=16384)
def verdict(matrix: Matrix, cuda: str, driver: str, windows: bool = False, own: str = "") -> Verdict:
    """Whether an NVIDIA driver runs programs of a CUDA release, without a cuda-compat package.

    Args:
        matrix: what is true.
        cuda: the release that a build was made with, ``12.8``.
        driver: version of the driver, ``535.104.05``.
        windows: whether the driver's numbers are those of Windows.
        own: a floor that the build's makers state beside CUDA's.
    """
    least = floor(matrix, cuda, windows)
    rows = (least.row,) if least else ()
    if own and not versions.at_least(driver, own):
        return Clash(f"driver {driver} is older than {own}, which the build asks for", rows, f">={own}")
    if compiles(matrix, cuda, driver, windows):
        return FITS
    if least is None:
        return Unknown(f"the matrix has no CUDA {cuda}")
    if least.family and versions.at_least(driver, least.family):
        return MINOR
    wanted = least.family or least.exact
    if not wanted:
        return Unknown(f"no driver floor of CUDA {least.row.cuda} is known", rows)
    return Clash(f"driver {driver} is too old for CUDA {cuda}, which needs {wanted} or later", rows, f">={wanted}")


def of_build(matrix: Matrix, build: Build, driver: str, windows: bool = False) -> Verdict:
    """Whether an NVIDIA driver runs a build: by the CUDA that it was made with, as far as seen, and its own floor."""
    kind, number = split_runtime(build.runtime)
    found = verdict(matrix, number, driver, windows, build.driver) if kind == "cuda" else FITS
    own = isinstance(found, Clash) and found.wants == f">={build.driver}"
    guessed = is_unseen(matrix, build, "driver" if own else "runtime")
    return Unknown(found.why, found.rows, found) if guessed and isinstance(found, Clash) else found


def by_cuda(matrix: Matrix, cuda: str, reported: str) -> Verdict:
    """Whether a driver runs programs of a CUDA release, by the CUDA that it reports, ``12.2``; PTX only where plain."""
    if versions.at_least(reported, versions.minor(cuda)):
        return FITS
    least = floor(matrix, cuda)
    if versions.major(reported) == versions.major(cuda) and (least is None or least.family):
        return MINOR
    return Clash(f"a driver of CUDA {reported} is too old for CUDA {cuda}", (least.row,) if least else ())


# --- the GPU itself ---


@lru_cache(maxsize=4096)
def span(matrix: Matrix, target: str, windows: bool = False) -> tuple[str, int]:
    """The first driver and the last driver branch (580) that serve a GPU; empty and 0 where unbounded."""
    row = _capability(matrix, target)
    if row is None or row.integrated:
        return "", 0
    least = floor(matrix, row.first_cuda, windows)
    return least.exact if least else "", int(row.last_driver.removeprefix("R") or 0)


@lru_cache(maxsize=8)
def customary(matrix: Matrix, windows: bool = False) -> str:
    """A driver that may be taken for granted where none is told: the first of the newest GPUs that many people have.

    Many: a twentieth of NVIDIA's products in the matrix, so that a board of its own kind does not count.
    """
    made = Counter(row.target for row in matrix.table("gpus") if row.target.startswith("sm_"))
    common = (target for target, count in made.items() if count * 20 >= made.total())
    known = filter(None, (span(matrix, target, windows)[0] for target in common))
    return max(known, key=versions.release, default="")


def past_branch(matrix: Matrix, target: str, driver: str, windows: bool = False) -> int:
    """The last driver branch that serves a GPU, where the driver is of a later one; else 0."""
    _, last = span(matrix, target, windows)
    return last if last and drivers.branch_number(matrix, driver, _system(windows)) > last else 0


def serves(matrix: Matrix, target: str, driver: str, windows: bool = False) -> Verdict:
    """Whether a driver knows an NVIDIA GPU: new enough for its first toolkit, not past its last branch."""
    row = _capability(matrix, target)
    if row is None:
        return Unknown(f"the matrix does not know {target}")
    first, _ = span(matrix, target, windows)
    if first and not versions.at_least(driver, first):
        return Clash(f"{target} is known to drivers from {first} on", (row,), f">={first}")
    if last := past_branch(matrix, target, driver, windows):
        return Clash(f"{target} is served by drivers up to branch R{last}", (row,), f"<{last + 1}")
    return FITS


def _capability(matrix: Matrix, target: str) -> Capability | None:
    return matrix.capability(target.partition(":")[0]) if target.startswith("sm_") else None


# --- newer user-space drivers, AMD, Jetson ---


def stands_in(compat: str, driver: str) -> Verdict:
    """Whether the libcuda of a cuda-compat package may take the place of a driver's own: it must be newer."""
    if versions.at_least(driver, compat):
        return Clash(f"libcuda {compat} is not newer than driver {driver}", (), f">{driver}")
    return FITS


@lru_cache(maxsize=4096)
def amdgpu_floor(matrix: Matrix, rocm: str) -> str:
    """The lowest amdgpu driver that a ROCm release accepts; empty if no range is known.

    From ROCm 7.0 on the driver has numbers of its own, above all earlier ones, so that one order holds throughout.
    """
    row = matrix.rocm(rocm) if versions.is_release(rocm) else None
    return row.drivers[0] if row is not None and len(row.drivers) == 2 else ""


def amdgpu(matrix: Matrix, rocm: str, driver: str) -> Verdict:
    """Whether AMD's kernel driver is inside the range of a ROCm release."""
    row, low = matrix.rocm(rocm), amdgpu_floor(matrix, rocm)
    if row is None or not low:
        return Unknown(f"which AMD drivers ROCm {rocm} accepts is not known", (row,) if row else ())
    high = row.drivers[1]
    if not versions.at_least(driver, low):
        return Clash(f"ROCm {rocm} accepts AMD drivers from {low} on", (row,), f">={low}")
    if (versions.major(driver) < _OWN_NUMBERS) != (versions.major(high) < _OWN_NUMBERS):
        return Unknown(f"AMD driver {driver} is numbered otherwise than the range {low} to {high}", (row,))
    if not versions.up_to(driver, high):
        return Unknown(f"AMD driver {driver} is newer than {high}, the last that ROCm {rocm} was made with", (row,))
    return FITS


def board_image(wanted: str, l4t: str) -> Verdict:
    """Whether a Jetson's system, which its driver belongs to, runs an image that was made for an L4T release."""
    if versions.major(wanted) <= versions.major(l4t):
        return FITS
    return Clash(f"it needs the driver of L4T {wanted}; this board has L4T {l4t}", (), f">={wanted}")


def board(matrix: Matrix, cuda: str, l4t: str) -> Verdict:
    """Whether a Jetson's system (L4T ``36.4.3``) brings the CUDA that a build was made with."""
    brought = drivers.board_cudas(matrix, l4t)
    if not brought:
        return Unknown(f"which CUDA the system of this board (L4T {l4t or 'unknown'}) brings is not known")
    rows = tuple(row for row in matrix.table("jetpack") if row.cuda in brought)
    names = " or ".join(sorted(brought, key=versions.release))
    return FITS if cuda in brought else Clash(f"L4T {l4t} brings CUDA {names}", rows, cuda)


def of_boards(matrix: Matrix, rows: Iterable[Build], l4t: str) -> list[Build]:
    """NVIDIA's builds for Jetson boards among others: those made with a CUDA that the system of this board brings."""
    own = (row for row in rows if row.index and row.kernels and matrix.families.integrated.issuperset(row.kernels))
    return [row for row in own if not isinstance(board(matrix, row.runtime.removeprefix("cuda"), l4t), Clash)]
