"""What the matrix knows of devices, drivers and the code they run, each question answered once.

Answers come from the tables of toolkits, capabilities, drivers, libraries and products. An empty answer means that
the matrix does not say; callers must then not conclude anything against a build, since the absence of a row is no fact
about the world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.lazy import dataclass
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
        self._kernels: dict[tuple[str, tuple[str, ...]], Kernels] = {}
        self._ceilings: dict[tuple[str, str], tuple[int, ...]] = {}
        self._first_cuda: dict[str, str] = {}
        self._rocm_targets: dict[str, tuple[str, ...]] = {}
        self._floors: dict[tuple[str, str], Floor | None] = {}
        self._products: dict[tuple[str, str, str], Product | None] = {}
        self._forward: dict[tuple[str, str], str] = {}
        self._admits: dict[tuple[str, str, str, str, bool], bool] = {}

    def kernels(self, device: str, code: tuple[str, ...]) -> Kernels:
        """How a device runs code of these targets."""
        key = (device, code)
        if key not in self._kernels:
            self._kernels[key] = kernels_for(device, code, self._matrix.families)
        return self._kernels[key]

    def cudnn_ceiling(self, cudnn: str, cuda: str) -> tuple[int, ...]:
        """The highest compute capability that a cuDNN major has code for: as documented, else as its CUDA can target.

        Where the cuDNN is not known, any that is made for that CUDA counts. Empty if nothing is known.
        """
        key = (cudnn.partition(".")[0], cuda)
        if key not in self._ceilings:
            rows = [row for row in self._matrix.table("cudnn") if _is_cudnn(row, *key)]
            told = [(*versions.release(row.last_cc), 0)[:2] for row in rows if row.last_cc]  # 9.0 is read as (9,)
            release = self._matrix.cuda(cuda) if cuda and not told else None
            told += [(one.major, one.minor) for one in map(sm, release.targets if release else ()) if one]
            self._ceilings[key] = max(told, default=())
        return self._ceilings[key]

    def first_cuda(self, target: str) -> str:
        """The first CUDA release that can make machine code which a device runs: the device's own or an older kin's.

        Empty if the device is not in the matrix.
        """
        if target not in self._first_cuda:
            wanted = sm(target)
            kin = [
                row.first_cuda
                for row in self._matrix.table("capabilities")
                if wanted
                and versions.release(f"{row.cc}.1")[0] == wanted.major
                and int(row.cc.partition(".")[2]) <= wanted.minor
            ]
            self._first_cuda[target] = min(kin, key=versions.release, default="")
        return self._first_cuda[target]

    def rocm_targets(self, rocm: str) -> tuple[str, ...]:
        """Targets that a ROCm release's libraries are built for; where it has no list, those of the release before.

        Releases of ROCm whose lists nobody wrote down are few and recent, and support is rarely taken back between two
        neighbours; the answer only ever excludes targets, for builds whose own kernels are not known.
        """
        if rocm not in self._rocm_targets:
            told = [row for row in self._matrix.table("rocm") if row.targets and versions.up_to(row.rocm, rocm)]
            newest = max(told, key=lambda row: versions.release(row.rocm), default=None)
            self._rocm_targets[rocm] = newest.targets if newest else ()
        return self._rocm_targets[rocm]

    def amdgpu_floor(self, rocm: str) -> str:
        """The lowest amdgpu driver that a ROCm release's user space accepts; empty if no range is known.

        From ROCm 7.0 on the driver has numbers of its own, above all earlier ones, so that one order holds throughout.
        """
        row = self._matrix.rocm(rocm) if rocm else None
        return row.drivers[0] if row is not None and len(row.drivers) == 2 else ""

    def floor(self, cuda: str, windows: bool = False) -> Floor | None:
        """Driver floors of a CUDA release; ``None`` if the matrix has no such release."""
        key = (cuda, "windows" if windows else "linux")
        if key not in self._floors:
            row = self._matrix.cuda(cuda) if cuda else None
            exact, family = f"driver_{key[1]}", f"family_{key[1]}"
            self._floors[key] = Floor(getattr(row, exact), getattr(row, family), row) if row else None
        return self._floors[key]

    def product(self, pci: str, name: str, target: str) -> Product | None:
        """The product of a GPU, by PCI id first and by name then; of several the one whose target is the GPU's own.

        A name that fits products of several targets decides nothing: guessing one of them would decide the plan.
        """
        key = (pci, name, target)
        if key not in self._products:
            if len(self._products) > _KEPT:
                self._products.clear()
            self._products[key] = self._find_product(*key)
        return self._products[key]

    def _find_product(self, pci: str, name: str, target: str) -> Product | None:
        """The product that a PCI id, else a name, means; ``None`` if it means several targets or none."""
        from compat.matrix.products import find_gpu

        for text in (pci, name):
            rows = find_gpu(self._matrix, text) if text else ()
            if target:
                rows = tuple(row for row in rows if row.target == target.partition(":")[0])
            if len({row.target for row in rows}) == 1:
                return rows[0]
        return None

    def admits(self, require: str, driver: str, brand: str, target: str, windows: bool = False) -> bool:
        """Whether an image's NVIDIA_REQUIRE_CUDA lets it start on a host; what is not known counts as satisfied.

        The toolkit asks NVML for the brand and the driver's CUDA version; here both come from the matrix, by product
        and by driver branch; ``windows`` is whether the driver's number is one of Windows.
        """
        from compat.matrix.require import satisfies_require

        key = (require, driver, brand, target, windows)
        if key not in self._admits:
            arch = f"{target[3:-1]}.{target[-1]}" if target.startswith("sm_") else ""
            check = satisfies_require(
                require, driver=driver, driver_cuda=self.driver_cuda(driver, windows), brand=brand, arch=arch
            )
            self._admits[key] = check.satisfied is not False
        return self._admits[key]

    def board_cudas(self, l4t: str) -> frozenset[str]:
        """The CUDA releases that a Jetson's system brings; empty if not known."""
        from compat.matrix.drivers import board_cudas

        return board_cudas(self._matrix, l4t)

    def forward_package(self, cuda: str, driver: str) -> str:
        """The cuda-compat package that runs a CUDA release on an older Linux driver; empty if there is none."""
        from compat.matrix.drivers import forward_package

        key = (cuda, driver)
        if key not in self._forward:
            if len(self._forward) > _KEPT:
                self._forward.clear()
            self._forward[key] = forward_package(self._matrix, cuda, driver)
        return self._forward[key]

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
