"""The NVIDIA driver: does it answer, is there one, is it whole; and a libcuda from a cuda-compat package beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import compat.joints.driver as joint
import compat.rules.deeds as deeds
from compat import versions
from compat.changes import REBOOT, Command, Example, System, Variable
from compat.findings import Fix
from compat.joints.verdict import Clash
from compat.matrix.drivers import forward_package
from compat.rules.lookups import consumer, cuda_of_driver, data_center, is_version
from compat.rules.rule import Fits, Found, NvidiaRule, Outcome, Rule, told
from compat.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu, Host, Library
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed


class DriverLibraryFaulty(Rule):
    """A library of the GPU driver ends every program that loads it.

    Why: A damaged file, a half-finished upgrade, a stand-in or a library of another machine that comes first on the
        loader's path: each framework loads it too and dies, or takes the machine for one without a GPU. What such a
        library would have told is not known.
    Fix: Take the library's folder off the loader's path if it came from there, else install the driver again.
    Sources:
        - https://man7.org/linux/man-pages/man8/ld.so.8.html
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    area = "driver"
    changes = (Command("ldconfig -p | grep -E 'libcuda|libnvidia-ml'", "linux"),)

    def check(self, driver_faults: Mapping[str, str]) -> Outcome:
        """NVML or libcuda crashed, or ended the process that asked it."""
        told = "; ".join(f"{path} {what}" for path, what in driver_faults.items())
        return Found(detail=f"{told}.") if told else None


class DriverHangs(Rule):
    """The NVIDIA driver does not answer.

    Why: A call into the driver that never returns hangs every program that makes it, nvidia-smi included. A GPU that
        fell off the bus or firmware that stopped does this; so, for some seconds, does a driver without persistence
        mode that has many GPUs to wake.
    Fix: Ask again with more time, then look at the kernel log. If it still hangs, look there for Xids and restart the
        machine: processes inside such a call cannot be killed.
    Sources:
        - https://docs.nvidia.com/deploy/xid-errors/
        - https://docs.nvidia.com/deploy/driver-persistence/
    """

    area = "health"
    requires = ("gpu-xid-fatal", "gpu-reset-required", "fabric-manager-down")
    asks = ("xids",)
    changes = (Command("envcheck doctor --timeout 60"), Command("sudo dmesg | grep -i nvrm", "linux"))
    _ASKED = ("nvml", "cuda_init")

    def check(self, hung: Mapping[str, str]) -> Outcome:
        """NVML or libcuda was asked and gave no answer within the deadline."""
        why = next((hung[name] for name in self._ASKED if name in hung), "")
        return Found(detail=f"{why[:1].upper()}{why[1:]}.", confidence="likely") if why else None


class NoDriver(NvidiaRule):
    """There is an NVIDIA GPU but no usable NVIDIA driver.

    Why: CUDA error 35 and "Found no NVIDIA driver" are printed both when the driver is old and when it is absent, so
        the verdict comes from the driver's own version, not from the text. After a kernel update the module may be
        missing for the new kernel.
    Fix: Install the NVIDIA driver and restart. The distribution's package with DKMS survives kernel updates.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/c10/cuda/CUDAFunctions.cpp
        - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """

    area = "driver"
    requires = (
        "container-no-gpu", "wsl1", "wsl-no-gpu-device", "driver-nouveau-bound", "driver-secure-boot-unsigned",
        "driver-gpu-unsupported-by-branch",
    )  # fmt: skip
    asks = ("driver", "gpus", "container", "modules")

    def mend(self, host: Host, matrix: Matrix) -> Fix:
        """Driver packages of this distribution."""
        return deeds.install_driver(host, matrix)

    def check(self, host: Host, signals: Hearing, installed: tuple[Installed, ...]) -> Outcome:
        """The PCI bus shows an NVIDIA GPU and no NVIDIA kernel driver answers; or a CUDA build and nvidia-smi do not.

        A container whose host has a driver lacks something else, whatever its GPUs are.
        """
        cards = [gpu for gpu in host.gpus or () if gpu.vendor == "nvidia" and gpu.driver not in {"vfio-pci", "nouveau"}]
        if host.l4t and "smi-not-found" in signals:
            return Fits("a Jetson need not have nvidia-smi")
        named = host.driver_cuda and (host.gpus is None or signals.get("found-no-driver", "insufficient-35"))
        answers = host.driver and (cards or named) and not host.l4t and "smi-failed" not in signals
        if answers or signals.saying("driver-there"):
            is_ours = host.driver and not host.container
            return Fits(Sentence("NVIDIA driver {version} is loaded", version=host.driver) if is_ours else "")
        if not cards or host.container or host.l4t:
            return Fits("") if host.container and host.driver else self._silent(host, signals, installed)
        if "smi-failed" in signals:
            return Found(detail=f"{cards[0].name or 'The GPU'}: nvidia-smi cannot reach a driver.", facts=("gpus",))
        if host.absent("driver"):
            name = cards[0].name or f"an NVIDIA GPU ({cards[0].pci or cards[0].target or 'PCI'})"
            return Found(detail=f"{name} is there, but no NVIDIA driver is.", facts=("gpus", "driver"))
        blind = Found(detail="CUDA finds a GPU machine without a driver.", facts=("gpus",), confidence="likely")
        return blind if "found-no-driver" in signals else None

    @staticmethod
    def _silent(host: Host, signals: Hearing, installed: tuple[Installed, ...]) -> Outcome:
        """A CUDA build that sees no GPU, where nvidia-smi did not answer collect_env either."""
        item = next((one for one in installed if one.cuda), None)
        asked, blind = signals.saying("no-gpu-vague"), (host.nvml, host.cuda_init) == ("no answer", None)
        if host.container or host.l4t or host.driver or not blind or not item or (signals.harmful and not asked):
            return None
        detail = f"{item.label} sees no GPU, and nvidia-smi did not answer collect_env."
        found = Found(detail=detail, facts=(item.fact, "nvml"), confidence="possible", severity="warning")
        return found if asked else replace(found, severity="info")  # it may be meant to have no GPU


class DriverStubLoaded(Rule):
    """The CUDA stub library is loaded instead of the driver.

    Why: Toolkits ship an empty libcuda so that programs can be linked on machines without a driver.
    Fix: Take .../lib64/stubs out of LD_LIBRARY_PATH and ld.so.conf.
    Sources: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """

    area = "driver"
    platforms = ("linux", "wsl2")
    changes = (Variable("LD_LIBRARY_PATH"), Command("sudo ldconfig", "linux"))

    def check(self, libraries: tuple[Library, ...]) -> Outcome:
        """libcuda.so.1 resolves to a file in a folder named stubs."""
        for item in libraries:
            if item.name.startswith("libcuda.so") and item.origin == "stubs" and item.loaded:
                return Found(detail=f"{item.path or item.name} would be loaded as the driver.")
        return None


class DriverLibraryMismatch(NvidiaRule):
    """The NVIDIA kernel module and the driver's libraries have different versions.

    Why: A package upgrade replaces the libraries at once, while the old module stays in memory until it is reloaded.
        The two speak a private protocol and refuse each other.
    Fix: Stop what uses the GPU and reload the kernel modules, or else restart; then keep the driver's packages from
        being upgraded.
    Sources:
        - https://github.com/NVIDIA/open-gpu-kernel-modules/blob/HEAD/src/nvidia/arch/nvalloc/unix/src/osapi.c
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    area = "driver"
    requires = ("image-ships-driver", "wsl-linux-driver-installed")
    changes = (deeds.RELOAD, System("driver-hold"))

    def mend(self, host: Host, matrix: Matrix) -> Fix:  # noqa: ARG002
        """WSL's libraries are those of the Windows side, which it takes anew when it starts."""
        return self.remedy(REBOOT) if host.platform == "wsl2" else self.remedy()

    def check(self, host: Host, driver: str, driver_library: str) -> Outcome:
        """The version of the loaded kernel module differs from that of libcuda and libnvidia-ml."""
        if any(item.origin == "compat" and item.loaded for item in host.libraries or ()):
            return None
        if not is_version(driver) or not is_version(driver_library):
            return None
        left, right = versions.release(driver), versions.release(driver_library)
        length = min(len(left), len(right))
        if left[:length] == right[:length]:
            return Fits(Sentence("kernel module and libraries of the driver are both {version}", version=driver))
        return Found(detail=f"The kernel module is {driver}, the libraries are {driver_library}.")


class DriverDuplicateLibraries(Rule):
    """Several versions of the driver's libraries are on the loader's path.

    Why: The container runtime adds only files of the running driver; copies baked into an image may win by order.
    Fix: Remove the stale driver packages or files, then rebuild the loader's cache. In images never install driver
        packages.
    Sources: https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc_info.c
    """

    area = "driver"
    requires = ("driver-library-mismatch", "wsl-linux-driver-installed")
    changes = (Command("ldconfig -p | grep -E 'libcuda|libnvidia-ml'", "linux"), Command("sudo ldconfig", "linux"))

    def check(self, libraries: tuple[Library, ...]) -> Outcome:
        """Libcuda or libnvidia-ml of more than one driver version can be loaded."""
        parts = ("libcuda.so", "libnvidia-ml.so", "libnvidia-ptxjitcompiler.so")
        own = (item for item in libraries if item.name.startswith(parts) and item.origin not in {"compat", "stubs"})
        found = sorted({item.version for item in own if "." in item.version})
        return Found(detail=f"Driver libraries of {' and '.join(found)} can be loaded.") if len(found) > 1 else None


class ForwardCompatConflict(NvidiaRule):
    """A cuda-compat libcuda is active where it does not apply.

    Why: Forward compatibility is limited to data-center GPUs, some workstation cards and Jetson. Errors 803 and 804
        mean that two driver generations met in one process.
    Fix: Take the compat folder off the loader's path, or upgrade the host's driver. It may stand in LD_LIBRARY_PATH and
        in ld.so.conf.d.
    Sources:
        - https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
        - https://github.com/NVIDIA/nvidia-container-toolkit/blob/HEAD/cmd/nvidia-cdi-hook/cudacompat/cudacompat.go
    """

    area = "driver"
    asks = ("libraries", "gpus", "driver", "env", "image")
    changes = (
        Variable("LD_LIBRARY_PATH"),
        Command("sudo rm -f /etc/ld.so.conf.d/*compat*.conf && sudo ldconfig", "linux"),
    )

    def check(self, host: Host, matrix: Matrix, signals: Hearing, distributions: Mapping[str, str]) -> Outcome:
        """The loader picks libcuda from a compat folder, where it may not.

        The GPU is of the consumer line, or the host's driver is newer than that libcuda.
        """
        active = next((item for item in host.libraries or () if item.origin == "compat" and item.loaded), None)
        geforce = next((gpu for gpu in host.gpus or () if consumer(gpu, matrix)), None)
        known = active and is_version(active.version) and is_version(host.driver)
        stale = active and known and isinstance(joint.stands_in(active.version, host.driver or ""), Clash)
        if active and (geforce or stale):
            where = geforce.name if geforce else f"driver {host.driver}"
            return Found(detail=f"{active.path or active.name} is loaded as the driver, but {where} may not use it.")
        heard = signals.get("compat-804", "combination-803")
        if not heard:
            return None
        compat = next((name for name in distributions if name.startswith("cuda-compat")), "")
        path = (host.env or {}).get("LD_LIBRARY_PATH", "")
        if compat or "compat" in path or heard.signal.signal == "compat-804":
            facts = (*((f"packages.{compat}",) if compat else ()), *told(gpus=host.gpus, image=host.image))
            return Found(detail=f"{heard.signal.meaning} {compat}".strip(), facts=facts)
        if not host.image and not host.container:
            return None
        detail = "The program runs in an image, whose libcuda differs from the driver of the host."
        return Found(detail=detail, facts=("image",) if host.image else ("container",), confidence="likely")


class ForwardCompatAvailable(NvidiaRule):
    """A cuda-compat package could make this build run.

    Why: There, a newer CUDA user space may run on an older kernel driver without touching the host.
    Fix: Add the package cuda-compat-<major>-<minor> to the image. The container toolkit enables it.
    Sources: https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
    """

    severity = "info"
    area = "driver"
    requires = ("driver-too-old-for-runtime",)
    changes = (Example("apt-get install -y cuda-compat-<major>-<minor>"),)

    def check(
        self, host: Host, matrix: Matrix, driver: str, gpus: tuple[Gpu, ...], installed: tuple[Installed, ...]
    ) -> Outcome:
        """The driver is of an older CUDA major than the build, and the GPU is a data-center part."""
        have = cuda_of_driver(matrix, driver, host.platform)
        if not have or not gpus or not all(data_center(gpu, matrix) for gpu in gpus):
            return None
        for item in installed:
            ahead = is_version(item.cuda) and isinstance(joint.by_cuda(matrix, item.cuda, have), Clash)
            if ahead and (name := forward_package(matrix, item.cuda, driver)):
                fix = Fix(f"Add {name} to the image.", changes=(Command(f"apt-get install -y {name}", "linux"),))
                detail = f"{gpus[0].name} may run {item.label} with {name}."
                return Found(detail=detail, facts=("driver", "gpus", item.fact), fix=fix)
        return None
