"""Kernel modules and device nodes: which driver holds the GPU, is it loaded, and may this user open it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import compat.reading.commands as commanded
import compat.rules.deeds as deeds
from compat.changes import REBOOT, Command, Container, Example, System
from compat.findings import Fix
from compat.rules.families.rocm import amd_cards
from compat.rules.rule import Fits, Found, NvidiaRule, Outcome, Rule, told
from compat.rules.stack import named

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.reading.messages import Hearing
    from compat.rules.case import Case


class DriverVfioBound(Rule):
    """The GPU is reserved for passthrough (vfio-pci).

    Why: The host hands the card to a virtual machine, so that its own driver never sees it.
    Fix: Unbind the device from vfio-pci, or use the virtual machine that owns it.
    Sources: https://docs.kernel.org/driver-api/vfio.html
    """

    severity = "warning"
    area = "kernel-module"
    changes = (
        Command("lspci -nnk | grep -B2 vfio-pci"),
        Example("echo <address> | sudo tee /sys/bus/pci/drivers/vfio-pci/unbind"),
    )

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """A GPU is bound to vfio-pci."""
        passed = (gpu for gpu in gpus if gpu.driver == "vfio-pci")
        held = next((gpu for gpu in passed if gpu.vendor in {"nvidia", "amd", "intel"}), None)
        return Found(detail=f"{held.name or held.pci or 'A GPU'} is reserved for a virtual machine.") if held else None


class DriverNouveauBound(NvidiaRule):
    """The nouveau (or nova) driver holds the GPU.

    Why: Only one kernel driver can own the device.
    Fix: Blacklist nouveau and restart. Rebuild the initial RAM disk in between; where no NVIDIA driver is installed,
        install it, which does the same.
    Sources:
        - https://github.com/NVIDIA/open-gpu-kernel-modules/blob/HEAD/kernel-open/nvidia/nv.c
        - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """

    area = "kernel-module"
    asks = ("modules",)
    changes = (
        Command('echo "blacklist nouveau" | sudo tee /etc/modprobe.d/blacklist-nouveau.conf', "linux"),
        System("boot-image"),
        REBOOT,
    )

    def check(self, host: Host, gpus: tuple[Gpu, ...]) -> Outcome:
        """The kernel driver bound to an NVIDIA GPU is nouveau."""
        held = next((gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.driver in {"nouveau", "nova_core"}), None)
        if held is None or host.driver:
            return None
        alone = host.absent("driver_library") and not host.driver_packages  # without nouveau nothing would drive it
        why = "Install the NVIDIA driver, whose package blacklists nouveau."
        detail = f"{held.name or held.pci or 'The GPU'} is held by {held.driver}."
        return Found(detail=detail, fix=partial(deeds.install_driver, why=why) if alone else None)


class DriverSecureBootUnsigned(NvidiaRule):
    """Secure Boot keeps the NVIDIA module out.

    Why: The firmware lets the kernel load signed modules only; a module built here is signed with a key that must first
        be enrolled.
    Fix: Enrol the key that signed the module, then restart. Or use the distribution's signed modules, or switch Secure
        Boot off.
    Sources:
        - https://wiki.debian.org/SecureBoot
        - https://ubuntu.com/blog/how-to-sign-things-for-secure-boot
    """

    area = "kernel-module"
    platforms = ("linux",)
    changes = (System("module-sign"),)

    def check(self, host: Host, secure_boot: bool, gpus: tuple[Gpu, ...], modules: tuple[str, ...]) -> Outcome:
        """Secure Boot is on, an NVIDIA driver is installed, and its module is not loaded."""
        installed = host.driver_packages or host.driver_library
        cards = [gpu for gpu in gpus if gpu.vendor == "nvidia"]
        if not secure_boot or not cards or not installed or {"nvidia", "nouveau"} & {*modules}:
            return None
        if host.container or host.absent("module_file"):  # what was never built cannot be refused
            return None
        return Found(
            detail="Secure Boot is on and the installed NVIDIA module is not loaded.",
            facts=("secure_boot", "modules", "module_file"),
            confidence="certain" if host.module_file else "likely",
        )


class DriverModuleNotLoaded(NvidiaRule):
    """The NVIDIA libraries are installed, but the kernel module is not loaded.

    Why: A kernel update without a rebuilt module leaves the libraries in place and nothing behind them.
    Fix: Load the module; if it is missing for this kernel, build it. That takes the kernel's headers.
    Sources:
        - https://docs.nvidia.com/deploy/nvml-api/
        - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """

    area = "kernel-module"
    platforms = ("linux",)
    requires = ("driver-nouveau-bound", "driver-secure-boot-unsigned", "container-no-gpu", "no-driver")
    asks = ("kernel",)
    changes = (Command("sudo modprobe nvidia", "host"), System("module-rebuild"))
    # A module that was built needs loading only; one that was not must be built first.
    _LOAD: Final = Fix(
        "Load the module; the kernel log tells why it is not loaded at start.",
        changes=(Command("sudo modprobe nvidia", "host"), Command("sudo dmesg | grep -iE 'nvidia|nvrm'", "linux")),
    )
    _BUILD: Final = Fix(
        "Install the headers of this kernel and build the module for it.", changes=(System("module-rebuild"),)
    )

    def check(self, host: Host, driver_library: str, gpus: tuple[Gpu, ...], modules: tuple[str, ...]) -> Outcome:
        """Libcuda can be loaded, an NVIDIA GPU is on the bus, and the module nvidia is not in the kernel."""
        cards = [gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.driver != "vfio-pci"]
        if not cards or "nvidia" in modules or host.driver or host.container or host.l4t:
            return None
        built = ", and it was not built for this kernel" if host.absent("module_file") else ""
        return Found(
            detail=f"Libraries of driver {driver_library} are there, the kernel module is not loaded{built}.",
            facts=("driver_library", "modules", "module_file"),
            fix=self._LOAD if host.module_file else self._BUILD if host.absent("module_file") else None,
        )


class DriverGspInitFailed(NvidiaRule):
    """The GPU's firmware (GSP) failed to start.

    Why: The device is on the bus but never becomes usable, so every tool reports that there is none.
    Fix: Switch the machine off and on; then try another driver branch. Above-4G decoding in the firmware setup must be
        on.
    Sources: https://github.com/NVIDIA/open-gpu-kernel-modules/issues
    """

    area = "kernel-module"
    requires = ("driver-open-module-required", "driver-gpu-unsupported-by-branch", "driver-open-module-unsupported-gpu")
    asks = ("gpus", "driver_branch")
    changes = (Command("sudo dmesg | grep -i nvrm", "linux"),)

    def check(self, signals: Hearing) -> Outcome:
        """The kernel log holds a failure to initialise the adapter."""
        heard = signals.get("gsp-failed")
        return Found(detail=heard.signal.meaning) if heard else None


class UvmNotReady(NvidiaRule):
    """nvidia-uvm is not loaded, or its device node is missing.

    Why: NVML needs the control node only, CUDA also needs unified memory: nvidia-smi looks healthy while CUDA fails
        with "unknown error". It is also seen after suspend and resume.
    Fix: Load nvidia-uvm, or reload it after suspend. In containers pass the node through the toolkit.
    Sources:
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc.c
        - https://github.com/pytorch/pytorch/blob/HEAD/c10/cuda/CUDAFunctions.cpp
    """

    area = "kernel-module"
    platforms = ("linux",)
    requires = ("container-cgroup-lost", "driver-library-mismatch", "no-driver")
    asks = ("modules",)
    changes = (
        Command("sudo nvidia-modprobe -u -c=0", "host"),
        Command("sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm", "host"),
    )

    def check(self, host: Host, device_nodes: tuple[str, ...], signals: Hearing) -> Outcome:
        """The control node of the driver exists, and /dev/nvidia-uvm or its module does not."""
        if host.jetpack or host.l4t or "/dev/nvidiactl" not in device_nodes:
            return None
        if "/dev/nvidia-uvm" in device_nodes:
            return None if signals.get("unknown-999") else Fits("/dev/nvidia-uvm is there")
        return Found(detail="/dev/nvidiactl is there, /dev/nvidia-uvm is not.")


class DevicePermission(Rule):
    """The user may not open the GPU's device nodes.

    Why: The nodes belong to a group (render, video); group ids inside an image rarely equal the host's, so that only
        the numeric id of the node's owner helps there.
    Fix: Join the group that owns the device nodes and log in again. In containers pass the numeric group with
        --group-add.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """

    area = "permissions"
    platforms = ("linux",)
    requires = ("container-cgroup-lost",)
    asks = ("device_nodes_denied", "groups", "device_groups")
    changes = (Command("sudo usermod -aG render,video $USER", "host"), deeds.WITH_AMD)

    def check(self, case: Case, host: Host) -> Outcome:
        """A device node exists, and opening it is refused."""
        if host.device_nodes_denied is None:
            return self._without_group(case) or self._suspected(case)
        denied = [node for node in host.device_nodes_denied if not re.search(r"/dev/dri/card", node)]
        if host.container and host.selinux == "enforcing" and host.user_id == 0:
            return None  # no group helps root: it is SELinux that says no
        if not denied:
            return Fits("the GPU device nodes may be opened") if host.device_nodes else None
        owner = (host.device_groups or {}).get(denied[0], "render")
        join = Command(f"sudo usermod -aG {owner} $USER", "host")
        fix = Fix(f"Join the group {owner} and log in again.", changes=(join,))
        if host.container:
            group = Container(where="linux", group=f"$(stat -c %g {denied[0]})")
            fix = Fix("Pass the group of the node into the container.", changes=(group,))
        detail = f"{', '.join(denied[:3])} may not be opened."
        return Found(detail=detail, facts=told(device_nodes_denied=True, device_groups=host.device_groups), fix=fix)

    @staticmethod
    def _without_group(case: Case) -> Outcome:
        """A container with AMD's nodes and without their group, in which a program sees no GPU or root runs none."""
        said = case.signals.saying("no-access")
        unprivileged = commanded.by_user(case.commands) or case.signals.said.get("user")
        if not (said or unprivileged) or not commanded.lacks_group(case.commands):
            return None
        nodes = replace(deeds.WITH_AMD, group="$(stat -c %g /dev/kfd)")
        return Found(
            detail="The container gets AMD's device nodes, but not the group render that owns them.",
            confidence="likely" if said else "possible",
            severity="warning",
            fix=Fix("Pass the numeric id of the nodes' group into the container.", changes=(nodes,)),
        )

    @staticmethod
    def _suspected(case: Case) -> Outcome:
        """ROCm sees no GPU on its own kernel, and no program says why: mostly the user is in no group of the nodes."""
        torch, host = named(case.installed, "torch"), case.host
        apart = bool(host.container) or "render" in (host.groups or ())
        rocm = torch.rocm if torch else host.rocm
        if apart or not rocm or not amd_cards(host.gpus or ()):
            return None
        if "torch-no-gpu-generic" not in case.signals:
            return None
        who = torch.label if torch else "A framework"
        return Found(
            detail=f"{who} sees no GPU; mostly the user is not in the groups render and video.",
            facts=("gpus", torch.fact if torch else "rocm"),
            confidence="possible",
            severity="warning" if torch else "info",  # of a build that nobody names it is one cause among others
        )
