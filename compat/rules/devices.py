"""Device nodes and kernel modules: which driver holds the GPU, and may this user open it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.findings import Fix
from compat.matrix.drivers import serves
from compat.rules.knowledge import is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.targets import sm

if TYPE_CHECKING:
    from compat.facts import Gpu, Host, Library
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing

_OPEN_ONLY: Final = (10, 0)  # from Blackwell on only the open kernel modules serve a GPU (open-gpu-kernel-modules, README)
_OPEN_FROM: Final = (7, 5)  # the open modules need the GSP, which Turing brought (same)


class DriverNouveauBound(Rule):
    """The nouveau (or nova) driver holds the GPU.

    What:
        The kernel driver bound to an NVIDIA GPU is nouveau.
    Why:
        Only one kernel driver can own the device.
    Fix:
        Blacklist nouveau, rebuild the initial RAM disk and restart.
    Sources:
        - https://github.com/NVIDIA/open-gpu-kernel-modules/blob/HEAD/kernel-open/nvidia/nv.c
        - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """

    area = "kernel-module"
    vendors = ("nvidia",)
    asks = ("gpus", "modules")
    remedy = Fix(
        "Blacklist nouveau and restart.",
        ('printf "blacklist nouveau\\noptions nouveau modeset=0\\n" | sudo tee /etc/modprobe.d/blacklist-nouveau.conf', "sudo update-initramfs -u", "sudo reboot"),
    )

    def check(self, gpus: tuple[Gpu, ...], host: Host) -> Outcome:
        held = next((gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.driver in {"nouveau", "nova_core"}), None)
        if held is None or host["driver"]:
            return None
        return Found(detail=f"{held.name or held.pci or 'The GPU'} is held by {held.driver}.", facts=("gpus",))


class DriverVfioBound(Rule):
    """The GPU is reserved for passthrough (vfio-pci).

    What:
        A GPU is bound to vfio-pci.
    Why:
        The host hands the card to a virtual machine, so that its own driver never sees it.
    Fix:
        Unbind the device from vfio-pci, or use the virtual machine that owns it.
    Sources:
        - https://docs.kernel.org/driver-api/vfio.html
    """

    severity = "warning"
    area = "kernel-module"
    asks = ("gpus",)
    remedy = Fix("Unbind the device from vfio-pci, or use the virtual machine that owns it.")

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        held = next((gpu for gpu in gpus if gpu.driver == "vfio-pci"), None)
        return Found(detail=f"{held.name or held.pci or 'A GPU'} is reserved for a virtual machine.", facts=("gpus",)) if held else None


class DriverModuleNotLoaded(Rule):
    """The NVIDIA libraries are installed, but the kernel module is not loaded.

    What:
        libcuda can be loaded, an NVIDIA GPU is on the bus, and the module nvidia is not in the kernel.
    Why:
        A kernel update without a rebuilt module leaves the libraries in place and nothing behind them.
    Fix:
        Load the module; if it is missing for this kernel, install the kernel's headers and rebuild it.
    Sources:
        - https://docs.nvidia.com/deploy/nvml-api/
        - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """

    area = "kernel-module"
    vendors = ("nvidia",)
    platforms = ("linux",)
    requires = ("driver-nouveau-bound", "driver-secure-boot-unsigned", "container-no-gpu", "no-driver")
    asks = ("modules", "driver_library", "kernel")
    remedy = Fix("Load the module, or rebuild it for this kernel.", ("sudo modprobe nvidia", "sudo dkms autoinstall", "sudo reboot"))

    def check(self, driver_library: str, gpus: tuple[Gpu, ...], modules: tuple[str, ...], host: Host) -> Outcome:
        cards = [gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.driver != "vfio-pci"]
        if not cards or "nvidia" in modules or host["driver"] or host["container"]:
            return None
        return Found(detail=f"Libraries of driver {driver_library} are there, the kernel module is not.", facts=("driver_library", "modules"))


class DriverSecureBootUnsigned(Rule):
    """Secure Boot keeps the NVIDIA module out.

    What:
        Secure Boot is on, an NVIDIA driver is installed, and its module is not loaded.
    Why:
        The firmware lets the kernel load signed modules only; a module built here is signed with a key that must first be
        enrolled.
    Fix:
        Enrol the machine owner's key, use the distribution's signed modules, or switch Secure Boot off.
    Sources:
        - https://wiki.debian.org/SecureBoot
        - https://ubuntu.com/blog/how-to-sign-things-for-secure-boot
    """

    area = "kernel-module"
    vendors = ("nvidia",)
    platforms = ("linux",)
    asks = ("secure_boot", "modules")
    remedy = Fix("Enrol the key that signed the module, then restart.", ("sudo mokutil --import /var/lib/shim-signed/mok/MOK.der", "sudo reboot"))

    def check(self, secure_boot: bool, gpus: tuple[Gpu, ...], modules: tuple[str, ...], host: Host) -> Outcome:  # noqa: FBT001 - a fact
        installed = host["driver_packages"] or host["driver_library"]
        cards = [gpu for gpu in gpus if gpu.vendor == "nvidia"]
        if not secure_boot or not cards or "nvidia" in modules or "nouveau" in modules or not installed or host["container"]:
            return None
        return Found(detail="Secure Boot is on and the installed NVIDIA module is not loaded.", facts=("secure_boot", "modules"), confidence="likely")


class DriverOpenModuleRequired(Rule):
    """This GPU needs the open kernel modules.

    What:
        The GPU is of Blackwell or newer, and the proprietary flavour of the module is loaded.
    Why:
        Recent GPUs are handled by the open modules only; with the other flavour the driver loads but finds no device.
    Fix:
        Install the open flavour of the same branch and restart.
    Sources:
        - https://github.com/NVIDIA/open-gpu-kernel-modules
    """

    area = "kernel-module"
    vendors = ("nvidia",)
    platforms = ("linux",)
    asks = ("driver_branch", "gpus")
    remedy = Fix("Install the open flavour of the driver.", ("sudo apt install nvidia-open", "sudo reboot"))

    def check(self, driver_branch: str, gpus: tuple[Gpu, ...]) -> Outcome:
        new = next((gpu for gpu in gpus if (device := sm(gpu.target)) and (device.major, device.minor) >= _OPEN_ONLY), None)
        if new is None or driver_branch == "open":
            return None
        return Found(detail=f"{new.name or new.target} with the {driver_branch} modules.", facts=("driver_branch", "gpus"))


class DriverOpenModuleUnsupportedGpu(Rule):
    """The GPU is too old for the open kernel modules.

    What:
        The open flavour is loaded and the GPU is older than Turing.
    Why:
        The open modules depend on a co-processor of the GPU (GSP) that came with Turing.
    Fix:
        Install the proprietary flavour of a branch that still serves the card.
    Sources:
        - https://github.com/NVIDIA/open-gpu-kernel-modules
    """

    area = "kernel-module"
    vendors = ("nvidia",)
    platforms = ("linux",)
    asks = ("driver_branch", "gpus")
    remedy = Fix("Install the proprietary flavour of a branch that still serves the card.")

    def check(self, driver_branch: str, gpus: tuple[Gpu, ...]) -> Outcome:
        old = next((gpu for gpu in gpus if (device := sm(gpu.target)) and (device.major, device.minor) < _OPEN_FROM), None)
        if old is None or driver_branch != "open":
            return None
        return Found(detail=f"{old.name or old.target} with the open modules.", facts=("driver_branch", "gpus"))


class DriverGpuUnsupportedByBranch(Rule):
    """The installed driver branch does not serve this GPU.

    What:
        The branch has dropped the GPU's architecture, or is older than it.
    Why:
        Each driver release has a list of devices; legacy cards stay on their last branch.
    Fix:
        Move to a branch that lists the card: newer for new GPUs, the legacy branch for dropped ones.
    Sources:
        - https://www.nvidia.com/en-us/drivers/unix/legacy-gpu/
    """

    area = "driver"
    vendors = ("nvidia",)
    asks = ("driver", "gpus")
    remedy = Fix("Move to a driver branch that lists the card.")

    def check(self, driver: str, gpus: tuple[Gpu, ...], matrix: Matrix, signals: Hearing) -> Outcome:
        if not is_version(driver):
            return None
        dropped = next((gpu for gpu in gpus if serves(matrix, driver, gpu.target) is False), None)
        if dropped is None:
            return None
        row = matrix.capability(dropped.target)
        last = row.last_driver if row else ""
        mild = not signals.pointing("driver-gpu-unsupported-by-branch") and len(gpus) > 1
        detail = f"{dropped.name or dropped.target} was last served by {last}; the driver is {driver}."
        return Found(detail=detail, facts=("driver", "gpus"), severity="warning" if mild else None)


class DriverGspInitFailed(Rule):
    """The GPU's firmware (GSP) failed to start.

    What:
        The kernel log holds a failure to initialise the adapter.
    Why:
        The device is on the bus but never becomes usable, so every tool reports that there is none.
    Fix:
        Switch the machine off and on; enable Above-4G decoding in the firmware setup; try another branch.
    Sources:
        - https://github.com/NVIDIA/open-gpu-kernel-modules/issues
    """

    area = "kernel-module"
    vendors = ("nvidia",)
    requires = ("driver-open-module-required", "driver-gpu-unsupported-by-branch", "driver-open-module-unsupported-gpu")
    asks = ("gpus", "driver_branch")
    remedy = Fix("Switch the machine off and on; then try another driver branch.", ("sudo dmesg | grep -i nvrm",))

    def check(self, signals: Hearing) -> Outcome:
        heard = signals.get("gsp-failed")
        return Found(detail=heard.signal.meaning) if heard else None


class DriverDeviceCountMismatch(Rule):
    """The driver shows fewer GPUs than the PCI bus.

    What:
        A GPU on the bus has the NVIDIA driver bound, and NVML does not list it or reports it as lost.
    Why:
        A lost or half-initialised card disappears from the driver's list while the bus still shows it.
    Fix:
        Look for RmInitAdapter, Xid 79 or BAR errors of that bus id in the kernel log; reseat or reset the card.
    Sources:
        - https://docs.nvidia.com/deploy/xid-errors/
    """

    area = "driver"
    vendors = ("nvidia",)
    requires = ("gpu-xid-fatal", "driver-open-module-required", "driver-gsp-init-failed")
    asks = ("gpus", "xids")
    remedy = Fix("Look at the kernel log for that bus id; reset or reseat the card.", ("sudo dmesg | grep -iE 'nvrm|xid'",))

    def check(self, gpus: tuple[Gpu, ...], driver: str) -> Outcome:
        lost = [gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.lost]
        if lost:
            return Found(detail=f"{lost[0].name or 'A GPU'} at {lost[0].bus or 'the bus'} is lost to driver {driver}.", facts=("gpus", "driver"))
        return None


class UvmNotReady(Rule):
    """nvidia-uvm is not loaded, or its device node is missing.

    What:
        The control node of the driver exists, and /dev/nvidia-uvm or its module does not.
    Why:
        NVML needs the control node only, CUDA also needs unified memory: nvidia-smi looks healthy while CUDA fails with
        "unknown error". It is also seen after suspend and resume.
    Fix:
        Load the module; after suspend reload it; in containers pass the node through the toolkit.
    Sources:
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc.c
        - https://github.com/pytorch/pytorch/blob/HEAD/c10/cuda/CUDAFunctions.cpp
    """

    area = "kernel-module"
    vendors = ("nvidia",)
    platforms = ("linux",)
    requires = ("container-cgroup-lost", "driver-library-mismatch", "no-driver")
    asks = ("modules", "device_nodes")
    remedy = Fix("Load nvidia-uvm, or reload it after suspend.", ("sudo nvidia-modprobe -u -c=0", "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm"))

    def check(self, device_nodes: tuple[str, ...], host: Host, signals: Hearing) -> Outcome:
        if host["jetpack"] or host["l4t"] or "/dev/nvidiactl" not in device_nodes:
            return None
        if "/dev/nvidia-uvm" in device_nodes:
            return None if signals.get("unknown-999") else Fits("/dev/nvidia-uvm is there")
        return Found(detail="/dev/nvidiactl is there, /dev/nvidia-uvm is not.", facts=("device_nodes",))


class DevicePermission(Rule):
    """The user may not open the GPU's device nodes.

    What:
        A device node exists, and opening it is refused.
    Why:
        The nodes belong to a group (render, video); group ids inside an image rarely equal the host's, so that only the
        numeric id of the node's owner helps there.
    Fix:
        Join the group and log in again; in containers pass the numeric group with --group-add.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """

    area = "permissions"
    platforms = ("linux",)
    requires = ("container-cgroup-lost",)
    asks = ("device_nodes_denied", "groups", "device_groups")
    remedy = Fix(
        "Join the group that owns the device nodes and log in again.",
        ("sudo usermod -aG render,video $USER", "docker run --group-add $(getent group render | cut -d: -f3) --device /dev/kfd --device /dev/dri IMAGE"),
    )

    def check(self, device_nodes_denied: tuple[str, ...], host: Host) -> Outcome:
        denied = [node for node in device_nodes_denied if not re.search(r"/dev/dri/card", node)]
        if not denied:
            return Fits("the GPU device nodes may be opened") if host["device_nodes"] else None
        owner = (host["device_groups"] or {}).get(denied[0], "render")
        fix = Fix(f"Join the group {owner} and log in again.", (f"sudo usermod -aG {owner} $USER",))
        if host["container"]:
            fix = Fix("Pass the group of the node into the container.", (f"docker run --group-add $(stat -c %g {denied[0]}) {host['image'] or 'IMAGE'}",))
        return Found(detail=f"{', '.join(denied[:3])} may not be opened.", facts=("device_nodes_denied", "device_groups") if host["device_groups"] else ("device_nodes_denied",), fix=fix)


class WslNoGpuDevice(Rule):
    """WSL2 without a GPU.

    What:
        The system is WSL2, and /dev/dxg or the driver library of Windows is missing.
    Why:
        GPU access in WSL goes through the dxg device of a WSL2 kernel, and the driver comes from Windows.
    Fix:
        Update the Windows driver and WSL, then restart WSL.
    Sources:
        - https://docs.nvidia.com/cuda/wsl-user-guide/
    """

    area = "wsl"
    platforms = ("wsl2",)
    asks = ("device_nodes", "driver_library")
    remedy = Fix("Update the Windows driver and WSL, then restart WSL.", ("wsl --update", "wsl --shutdown"))

    def check(self, device_nodes: tuple[str, ...], host: Host, signals: Hearing) -> Outcome:
        if "/dev/dxg" in device_nodes:
            return Fits("WSL2 shows its GPU device")
        return Found(detail="There is no /dev/dxg.", facts=("device_nodes",), severity="error" if signals.harmful or host["gpus"] else "warning")


class Wsl1(Rule):
    """WSL version 1 has no GPU.

    What:
        The system is WSL of version 1.
    Why:
        WSL1 translates system calls and hands over no devices.
    Fix:
        Convert the distribution to version 2.
    Sources:
        - https://learn.microsoft.com/windows/wsl/compare-versions
    """

    area = "wsl"
    platforms = ("wsl1",)
    remedy = Fix("Convert the distribution to version 2.", ("wsl --set-version <distribution> 2",))

    def check(self, platform: str) -> Outcome:
        return Found(detail="This is WSL 1.", facts=("platform",)) if platform == "wsl1" else None


class WslLinuxDriverInstalled(Rule):
    """A Linux NVIDIA driver is installed inside WSL2.

    What:
        The system is WSL2, and driver packages of the distribution are installed or their libcuda is loaded first.
    Why:
        In WSL the driver comes from Windows through /usr/lib/wsl/lib; a second one hides it.
    Fix:
        Remove the driver packages; keep toolkit packages only.
    Sources:
        - https://docs.nvidia.com/cuda/wsl-user-guide/
    """

    area = "wsl"
    platforms = ("wsl2",)
    asks = ("driver_packages", "libraries")
    remedy = Fix("Remove the driver packages.", ('sudo apt purge "nvidia-driver*" "libnvidia-*" "cuda-drivers*"', "sudo ldconfig"))

    def check(self, platform: str, driver_packages: tuple[str, ...] = (), libraries: tuple[Library, ...] = ()) -> Outcome:
        packages = [name for name in driver_packages if name.startswith(("nvidia-driver", "libnvidia-compute", "cuda-drivers"))]
        first = next((item for item in libraries if item.name.startswith("libcuda.so") and item.loaded), None)
        if platform == "wsl2" and (packages or (first and first.path and "/wsl/" not in first.path)):
            shown = packages[0] if packages else first.path if first else ""
            return Found(detail=f"{shown} hides the driver of Windows.", facts=("driver_packages",) if packages else ("libraries",))
        return None


RULES = family(
    DriverVfioBound, DriverNouveauBound, Wsl1, WslNoGpuDevice, WslLinuxDriverInstalled, DriverSecureBootUnsigned, DriverOpenModuleRequired,
    DriverOpenModuleUnsupportedGpu, DriverGpuUnsupportedByBranch, DriverGspInitFailed, DriverModuleNotLoaded, DriverDeviceCountMismatch,
    UvmNotReady, DevicePermission,
)  # fmt: skip
