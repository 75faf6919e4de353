"""The NVIDIA driver: is there one, is it whole, and is it new enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.findings import Fix
from compat.rules import remedies
from compat.rules.knowledge import cuda_of_driver, floor_of, is_version, supported
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import Installed, installed, packages_of

if TYPE_CHECKING:
    from compat.facts import Gpu, Host, Library
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing


class NoDriver(Rule):
    """There is an NVIDIA GPU but no usable NVIDIA driver.

    What:
        The PCI bus shows an NVIDIA GPU and no NVIDIA kernel driver answers.
    Why:
        CUDA error 35 and "Found no NVIDIA driver" are printed both when the driver is old and when it is absent, so
        the verdict comes from the driver's own version, not from the text. After a kernel update the module may be
        missing for the new kernel.
    Fix:
        Install the distribution's driver package (with DKMS, so that it survives kernel updates) and restart.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/c10/cuda/CUDAFunctions.cpp
        - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """

    area = "driver"
    vendors = ("nvidia",)
    requires = ("container-no-gpu", "wsl-no-gpu-device", "driver-nouveau-bound")
    asks = ("driver", "gpus", "container", "modules")
    remedy = Fix("Install the NVIDIA driver and restart.")

    def mend(self, host: Host) -> Fix:
        """Driver packages of this distribution."""
        return remedies.install_driver(host)

    def check(self, host: Host, gpus: tuple[Gpu, ...], signals: Hearing, driver: str | None = None) -> Outcome:
        cards = [gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.driver not in {"vfio-pci", "nouveau"}]
        if not cards or host["container"]:
            return None
        if "smi-failed" in signals:
            return Found(detail=f"{cards[0].name or 'The GPU'}: nvidia-smi cannot reach a driver.", facts=("gpus",))
        if driver:
            return Fits(f"NVIDIA driver {driver} is loaded")
        if host.absent("driver"):
            name = cards[0].name or f"an NVIDIA GPU ({cards[0].pci or cards[0].target or 'PCI'})"
            return Found(detail=f"{name} is there, but no NVIDIA driver is.", facts=("gpus", "driver"))
        return None if "found-no-driver" not in signals else Found(
            detail="CUDA finds a GPU machine without a driver.", facts=("gpus",), confidence="likely"
        )


class DriverLibraryMismatch(Rule):
    """The NVIDIA kernel module and the driver's libraries have different versions.

    What:
        The version of the loaded kernel module differs from that of libcuda and libnvidia-ml.
    Why:
        A package upgrade replaces the libraries at once, while the old module stays in memory until it is reloaded.
        The two speak a private protocol and refuse each other.
    Fix:
        Restart, or stop every user of the GPU and reload the modules; then hold the packages.
    Sources:
        - https://github.com/NVIDIA/open-gpu-kernel-modules/blob/HEAD/src/nvidia/arch/nvalloc/unix/src/osapi.c
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    area = "driver"
    vendors = ("nvidia",)
    requires = ("image-ships-driver", "wsl-linux-driver-installed")
    asks = ("driver", "driver_library")
    remedy = Fix(
        "Restart, or reload the kernel modules after stopping every user of the GPU; then hold the packages.",
        ("sudo reboot", 'sudo apt-mark hold "nvidia-*" "libnvidia-*"'),
    )

    def check(self, driver: str, driver_library: str, libraries: tuple[Library, ...] | None = None) -> Outcome:
        if any(item.origin == "compat" and item.loaded for item in libraries or ()):
            return None
        if not is_version(driver) or not is_version(driver_library):
            return None
        left, right = versions.release(driver), versions.release(driver_library)
        length = min(len(left), len(right))
        if left[:length] == right[:length]:
            return Fits(f"kernel module and libraries of the driver are both {driver}")
        detail = f"The kernel module is {driver}, the libraries are {driver_library}."
        return Found(detail=detail, facts=("driver", "driver_library"))


class DriverTooOldForRuntime(Rule):
    """The NVIDIA driver is older than the CUDA build needs.

    What:
        The driver is below the lowest version on which programs of that CUDA release start, or it must compile PTX
        that a newer toolkit wrote.
    Why:
        Within one CUDA major, precompiled code runs on any driver of that major (minor-version compatibility); a
        newer major needs a newer driver. PTX is compiled by the driver, which reads no PTX newer than itself.
    Fix:
        Upgrade the driver, or install the build for an older CUDA; on data-center GPUs cuda-compat may help.
    Sources:
        - https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
        - https://docs.nvidia.com/deploy/cuda-compatibility/frequently-asked-questions.html
    """

    area = "driver"
    vendors = ("nvidia",)
    asks = ("driver", "driver_cuda", "builds", "cuda_toolkit")
    remedy = Fix("Upgrade the NVIDIA driver, or install the build for an older CUDA.")

    def mend(self, host: Host) -> Fix:
        """Driver packages of this distribution."""
        return remedies.install_driver(host, "Upgrade the NVIDIA driver, or install the build for an older CUDA.")

    def check(
        self,
        host: Host,
        matrix: Matrix,
        signals: Hearing,
        driver: str | None = None,
        driver_cuda: str | None = None,
        cuda_toolkit: str | None = None,
    ) -> Outcome:
        if host.absent("driver") or host["platform"] == "darwin":
            return None
        builds = [item for item in installed(host, matrix) if item.cuda]
        found = next((verdict for item in builds if (verdict := self._build(item, driver, driver_cuda, host, matrix))), None)
        if found:
            return found
        jit = self._jit(signals, driver, driver_cuda or cuda_of_driver(matrix, driver or ""), cuda_toolkit, host)
        if jit:
            return jit
        if (driver or driver_cuda) and builds and "driver-too-old" not in signals:
            return Fits(f"driver {driver or f'with CUDA {driver_cuda}'} is new enough for {builds[0].label}")
        return self._unread(signals, driver, driver_cuda)

    def _build(self, item: Installed, driver: str | None, driver_cuda: str | None, host: Host, matrix: Matrix) -> Outcome:
        own = item.row.driver if item.row else ""
        floor = floor_of(matrix, item.cuda, host["platform"])
        if is_version(driver):
            below = is_version(own) and versions.release(driver or "") < versions.release(own)
            old = below or supported(matrix, item.cuda, driver or "", host["platform"]) == "none"
        else:
            old = is_version(driver_cuda) and _reports_less(driver_cuda or "", item.cuda)
        if not old:
            return None
        have = f"Driver {driver}" if driver else f"A driver that supports CUDA {driver_cuda}"
        need = own or floor.lowest
        return Found(
            detail=f"{have} is too old for {item.label}" + (f", which needs {need} or newer." if need else "."),
            facts=(*(name for name in ("driver", "driver_cuda") if host[name]), item.fact),
            sources=(floor.source,) if floor.source else (),
            confidence="likely" if item.inferred else "certain",
        )

    @staticmethod
    def _jit(signals: Hearing, driver: str | None, supports: str, toolkit: str | None, host: Host) -> Outcome:
        """PTX of a newer toolkit met this driver."""
        if not signals.get("ptx-toolchain", "ptx-version", "no-kernel-image"):
            return None
        if "ptx-version" in signals:
            have, need = signals.value("ptx_have"), signals.value("ptx_need")
            detail = f"The driver compiles PTX up to {have}; the code is PTX {need}, from a newer toolkit."
            return Found(detail=detail, facts=tuple(name for name in ("driver", "cuda_toolkit") if host[name]))
        jits = {"jax", "jaxlib", "numba", "cupy", "tensorflow"} & packages_of(host).keys()
        newer = is_version(toolkit) and is_version(supports) and versions.release(versions.minor(toolkit or "")) > versions.release(supports)
        if newer and (jits or "ptx-toolchain" in signals):
            detail = f"Driver {driver or ''} supports CUDA {supports}; toolkit {toolkit} writes code that it cannot load."
            return Found(detail=" ".join(detail.split()), facts=("cuda_toolkit", *(("driver",) if driver else ())), confidence="likely")
        return None

    @staticmethod
    def _unread(signals: Hearing, driver: str | None, driver_cuda: str | None) -> Outcome:
        """The message itself says that the driver is too old."""
        if not signals.get("driver-too-old", "ptx-version"):
            return None
        return Found(detail=f"CUDA itself says so: the driver supports CUDA {driver_cuda or 'of ' + (driver or 'an unknown version')}.")


def _reports_less(driver_cuda: str, cuda: str) -> bool:
    """Whether a driver that reports ``driver_cuda`` cannot start builds of ``cuda`` (minors count before CUDA 11)."""
    have, need = versions.release(driver_cuda), versions.release(cuda)
    return have[0] < need[0] if need[0] >= 11 else have < need  # minor-version compatibility began with CUDA 11


class DriverMinorVersionLimited(Rule):
    """The build is newer than the driver, inside the same CUDA major.

    What:
        The build's CUDA minor is above what the driver reports, and the driver reaches the floor of the major.
    Why:
        Precompiled code works; what the driver itself must compile (PTX, some new interfaces) does not.
    Fix:
        Usually nothing. Upgrade the driver when a JIT or a new feature fails.
    Sources:
        - https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    """

    severity = "info"
    area = "driver"
    vendors = ("nvidia",)
    requires = ("driver-too-old-for-runtime",)
    remedy = Fix("Nothing, unless a run-time compiler fails: then upgrade the driver.")

    def check(self, host: Host, matrix: Matrix, driver_cuda: str) -> Outcome:
        for item in installed(host, matrix):
            if not item.cuda or "." not in item.cuda or not is_version(driver_cuda) or not is_version(item.cuda):
                continue
            have, need = versions.release(driver_cuda), versions.release(item.cuda)
            if have[0] == need[0] and have[:2] < need[:2] and need[0] >= 11:
                detail = f"{item.label} on a driver of CUDA {driver_cuda}: precompiled code runs, PTX may not."
                return Found(detail=detail, facts=("driver_cuda", item.fact))
        return None


class PtxJitDisabled(Rule):
    """Compiling PTX is switched off, or its library is missing.

    What:
        CUDA_DISABLE_PTX_JIT is set, or libnvidia-ptxjitcompiler cannot be loaded.
    Why:
        A build without machine code for the GPU depends on the driver's PTX compiler. Containers get that library
        only with the compute capability of the driver.
    Fix:
        Unset the variable; in containers request the compute driver capability.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc_info.c
    """

    area = "driver"
    vendors = ("nvidia",)
    requires = ("container-driver-capabilities",)
    asks = ("env", "libraries")
    remedy = Fix("Unset CUDA_DISABLE_PTX_JIT; in containers set NVIDIA_DRIVER_CAPABILITIES=compute,utility.")
    _OFF: Final = ("CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT")

    def check(self, env: dict[str, str], signals: Hearing) -> Outcome:
        name = next((name for name in self._OFF if env.get(name) == "1"), "")
        if not name:
            return None
        severity = "error" if signals.pointing("ptx-jit-disabled") else "warning"
        return Found(
            detail=f"{name}=1 stops the driver from compiling PTX.",
            facts=(f"env.{name}",),
            fix=Fix(f"Unset {name}.", (f"unset {name}",)),
            severity="error" if severity == "error" else "warning",
        )


class DriverStubLoaded(Rule):
    """The CUDA stub library is loaded instead of the driver.

    What:
        libcuda.so.1 resolves to a file in a folder named stubs.
    Why:
        Toolkits ship an empty libcuda so that programs can be linked on machines without a driver.
    Fix:
        Take the stubs folder out of LD_LIBRARY_PATH and ld.so.conf.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """

    area = "driver"
    asks = ("libraries",)
    remedy = Fix("Take .../lib64/stubs out of LD_LIBRARY_PATH and ld.so.conf.", ("unset LD_LIBRARY_PATH", "sudo ldconfig"))

    def check(self, libraries: tuple[Library, ...]) -> Outcome:
        stub = next((item for item in libraries if item.name.startswith("libcuda.so") and item.origin == "stubs" and item.loaded), None)
        return Found(detail=f"{stub.path or stub.name} would be loaded as the driver.", facts=("libraries",)) if stub else None


class DriverDuplicateLibraries(Rule):
    """Several versions of the driver's libraries are on the loader's path.

    What:
        libcuda or libnvidia-ml of more than one driver version can be loaded.
    Why:
        The container runtime adds only files of the running driver; copies baked into an image may win by order.
    Fix:
        Remove stale driver packages or files; in images never install driver packages.
    Sources:
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc_info.c
    """

    area = "driver"
    requires = ("driver-library-mismatch", "wsl-linux-driver-installed")
    remedy = Fix("Remove the stale driver packages or files, then rebuild the loader's cache.", ("sudo ldconfig",))

    def check(self, libraries: tuple[Library, ...]) -> Outcome:
        parts = ("libcuda.so", "libnvidia-ml.so", "libnvidia-ptxjitcompiler.so")
        found = {item.version: item for item in libraries if item.name.startswith(parts) and item.version.count(".") and item.origin not in {"compat", "stubs"}}
        if len(found) < 2:
            return None
        return Found(detail=f"Driver libraries of {' and '.join(sorted(found))} can be loaded.", facts=("libraries",))


RULES = family(
    NoDriver,
    DriverStubLoaded,
    DriverLibraryMismatch,
    DriverDuplicateLibraries,
    DriverTooOldForRuntime,
    DriverMinorVersionLimited,
    PtxJitDisabled,
)
