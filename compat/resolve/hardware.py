"""What the matrix knows of devices, drivers and the code they run, each question answered once.

Answers come from the tables of toolkits, capabilities, drivers, libraries and products. An empty answer means that
the matrix does not say; callers must then not conclude anything against a build, since the absence of a row is no fact
about the world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.lazy import dataclass
from compat.resolve.tables import Answers
from compat.targets import kernels_for, sm

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.matrix.rows import CudaRelease, LibraryRelease, Product
    from compat.targets import Kernels

# Answers about names from outside that are kept; a long-lived process must not grow with what it is asked.
_KEPT: Final = 4096


@dataclass(frozen=True, slots=True)
class Floor:
    """Drivers of a CUDA release: ``exact`` and ``family`` floors as versions; either may be empty."""

    exact: str
    family: str
    row: CudaRelease


class Hardware:
    """Devices and drivers of one matrix."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._kernels = Answers(self._find_kernels)
        self._ceilings = Answers(self._find_ceiling)
        self._first_cuda = Answers(self._find_first_cuda, _KEPT)
        self._rocm_targets = Answers(self._find_rocm_targets)
        self._floors = Answers(self._find_floor)
        self._products = Answers(self._find_product, _KEPT)
        self._forward = Answers(self._find_forward, _KEPT)
        self._admits = Answers(self._find_admission)

    # --- devices ---

    def kernels(self, device: str, code: tuple[str, ...]) -> Kernels:
        """How a device runs code of these targets."""
        return self._kernels[device, code]

    def _find_kernels(self, asked: tuple[str, tuple[str, ...]]) -> Kernels:
        return kernels_for(*asked, self._matrix.families)

    def cudnn_ceiling(self, cudnn: str, cuda: str) -> tuple[int, ...]:
        """The highest compute capability that a cuDNN major has code for: as documented, else as its CUDA can target.

        Where the cuDNN is not known, any that is made for that CUDA counts. Empty if nothing is known.
        """
        return self._ceilings[cudnn.partition(".")[0], cuda]

    def _find_ceiling(self, asked: tuple[str, str]) -> tuple[int, ...]:
        major, cuda = asked
        rows = [row for row in self._matrix.table("cudnn") if _is_cudnn(row, major, cuda)]
        told = [(*versions.release(row.last_cc), 0)[:2] for row in rows if row.last_cc]  # 9.0 is read as (9,)
        release = self._matrix.cuda(cuda) if cuda and not told else None
        told += [(one.major, one.minor) for one in map(sm, release.targets if release else ()) if one]
        return max(told, default=())

    def first_cuda(self, target: str) -> str:
        """The first CUDA release that can make machine code which a device runs: the device's own or an older kin's.

        Empty if the device is not in the matrix.
        """
        return self._first_cuda[target]

    def _find_first_cuda(self, target: str) -> str:
        wanted = sm(target)
        kin = [
            row.first_cuda
            for row in self._matrix.table("capabilities")
            if wanted
            and versions.release(f"{row.cc}.1")[0] == wanted.major
            and int(row.cc.partition(".")[2]) <= wanted.minor
        ]
        return min(kin, key=versions.release, default="")

    def rocm_targets(self, rocm: str) -> tuple[str, ...]:
        """Targets that a ROCm release's libraries are built for; where it has no list, those of the release before.

        Releases of ROCm whose lists nobody wrote down are few and recent, and support is rarely taken back between two
        neighbours; the answer only ever excludes targets, for builds whose own kernels are not known.
        """
        return self._rocm_targets[rocm]

    def _find_rocm_targets(self, rocm: str) -> tuple[str, ...]:
        told = [row for row in self._matrix.table("rocm") if row.targets and versions.up_to(row.rocm, rocm)]
        newest = max(told, key=lambda row: versions.release(row.rocm), default=None)
        return newest.targets if newest else ()

    def product(self, pci: str, name: str, target: str) -> Product | None:
        """The product of a GPU, by PCI id first and by name then; of several the one whose target is the GPU's own.

        A name that fits products of several targets decides nothing: guessing one of them would decide the plan.
        """
        return self._products[pci, name, target]

    def _find_product(self, asked: tuple[str, str, str]) -> Product | None:
        """The product that a PCI id, else a name, means; ``None`` if it means several targets or none."""
        from compat.matrix.products import find_gpu

        pci, name, target = asked
        for text in (pci, name):
            rows = find_gpu(self._matrix, text) if text else ()
            if target:
                rows = tuple(row for row in rows if row.target == target.partition(":")[0])
            if len({row.target for row in rows}) == 1:
                return rows[0]
        return None

    # --- drivers ---

    def amdgpu_floor(self, rocm: str) -> str:
        """The lowest amdgpu driver that a ROCm release's user space accepts; empty if no range is known.

        From ROCm 7.0 on the driver has numbers of its own, above all earlier ones, so that one order holds throughout.
        """
        row = self._matrix.rocm(rocm) if rocm else None
        return row.drivers[0] if row is not None and len(row.drivers) == 2 else ""

    def floor(self, cuda: str, windows: bool = False) -> Floor | None:
        """Driver floors of a CUDA release; ``None`` if the matrix has no such release."""
        return self._floors[cuda, "windows" if windows else "linux"]

    def _find_floor(self, asked: tuple[str, str]) -> Floor | None:
        cuda, system = asked
        row = self._matrix.cuda(cuda) if cuda else None
        return Floor(getattr(row, f"driver_{system}"), getattr(row, f"family_{system}"), row) if row else None

    def admits(self, require: str, driver: str, brand: str, target: str, windows: bool = False) -> bool:
        """Whether an image's NVIDIA_REQUIRE_CUDA lets it start on a host; what is not known counts as satisfied.

        The toolkit asks NVML for the brand and the driver's CUDA version; here both come from the matrix, by product
        and by driver branch; ``windows`` is whether the driver's number is one of Windows.
        """
        return self._admits[require, driver, brand, target, windows]

    def _find_admission(self, asked: tuple[str, str, str, str, bool]) -> bool:
        from compat.matrix.require import satisfies_require

        require, driver, brand, target, windows = asked
        arch = f"{target[3:-1]}.{target[-1]}" if target.startswith("sm_") else ""
        cuda = self.driver_cuda(driver, windows)
        return (
            satisfies_require(require, driver=driver, driver_cuda=cuda, brand=brand, arch=arch).satisfied is not False
        )

    def board_cudas(self, l4t: str) -> frozenset[str]:
        """The CUDA releases that a Jetson's system brings; empty if not known."""
        from compat.matrix.drivers import board_cudas

        return board_cudas(self._matrix, l4t)

    def forward_package(self, cuda: str, driver: str) -> str:
        """The cuda-compat package that runs a CUDA release on an older Linux driver; empty if there is none."""
        return self._forward[cuda, driver]

    def _find_forward(self, asked: tuple[str, str]) -> str:
        from compat.matrix.drivers import forward_package

        return forward_package(self._matrix, *asked)

    def branch_number(self, driver: str, windows: bool = False) -> int:
        """The number of a driver's branch, 580 for 580.65.06 on Linux and for 582.28 on Windows."""
        from compat.matrix.drivers import branch_number

        return branch_number(self._matrix, driver, "windows" if windows else "linux")

    def driver_cuda(self, driver: str, windows: bool = False) -> str:
        """The CUDA version that a driver reports; empty if not known."""
        from compat.matrix.drivers import driver_cuda

        return driver_cuda(self._matrix, driver, "windows" if windows else "linux") if driver else ""


def _is_cudnn(row: LibraryRelease, major: str, cuda: str) -> bool:
    """Whether a cuDNN release is of a major, or where none is given made for a CUDA release."""
    if major:
        return row.version.partition(".")[0] == major
    return bool({cuda, cuda.partition(".")[0]}.intersection(row.cuda))
