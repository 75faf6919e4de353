"""AMD GPUs: kernel driver, device nodes, user space, and code for the gfx target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.findings import Fix
from compat.rules.knowledge import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import installed
from compat.targets import kernels_for

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.findings import Severity
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing

_CODE: Final = ("no-kernel-image", "invalid-device-function", "hip-no-binary", "hip-invalid-function", "hip-no-kernel-image", "tensile-missing", "tensile-host", "hsa-invalid-isa")
"""Messages that say "no code for this GPU"."""


def _amd(gpus: tuple[Gpu, ...]) -> list[Gpu]:
    return [gpu for gpu in gpus if gpu.vendor == "amd" or gpu.target.startswith("gfx")]


class RocmNoDriver(Rule):
    """There is an AMD GPU, but amdgpu is not live.

    What:
        The PCI bus shows an AMD GPU and the amdgpu kernel driver is not loaded.
    Why:
        The compute driver inside amdgpu is what ROCm talks to.
    Fix:
        Install amdgpu-dkms, or use a kernel with the driver, and load it.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/
    """

    area = "rocm"
    vendors = ("amd",)
    platforms = ("linux",)
    requires = ("rocm-container-flags", "driver-vfio-bound")
    asks = ("modules", "gpus", "device_nodes")
    remedy = Fix("Load amdgpu, or install amdgpu-dkms and restart.", ("sudo modprobe amdgpu", "sudo apt install amdgpu-dkms"))

    def check(self, gpus: tuple[Gpu, ...], modules: tuple[str, ...], host: Host) -> Outcome:
        cards = [gpu for gpu in _amd(gpus) if gpu.driver != "vfio-pci"]
        if not cards or host["container"]:
            return None
        if "amdgpu" in modules:
            return Fits("the amdgpu kernel driver is loaded")
        return Found(detail=f"{cards[0].name or cards[0].pci or 'An AMD GPU'} is there, amdgpu is not loaded.", facts=("gpus", "modules"), severity=_wanted(host))


def _wanted(host: Host) -> Severity | None:
    """An integrated GPU that nobody computes on is no error."""
    return None if any(gpu.integrated is not True for gpu in _amd(host["gpus"] or ())) else "warning"


class RocmKfdMissing(Rule):
    """amdgpu is loaded, but /dev/kfd is absent.

    What:
        The compute node of the AMD driver does not exist.
    Why:
        Graphics works through /dev/dri alone, compute does not. The kernel may be built without HSA_AMD.
    Fix:
        Use a kernel with CONFIG_HSA_AMD; in containers add --device /dev/kfd.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/
    """

    area = "rocm"
    vendors = ("amd",)
    platforms = ("linux",)
    requires = ("rocm-no-driver", "rocm-container-flags")
    asks = ("device_nodes", "modules")
    remedy = Fix("Use a kernel with CONFIG_HSA_AMD; in containers add --device /dev/kfd.")

    def check(self, gpus: tuple[Gpu, ...], device_nodes: tuple[str, ...], modules: tuple[str, ...], host: Host) -> Outcome:
        if not _amd(gpus) or "/dev/kfd" in device_nodes or "amdgpu" not in modules or host["container"]:
            return None
        return Found(detail="amdgpu is loaded and /dev/kfd does not exist.", facts=("device_nodes", "modules"))


class RocmContainerFlags(Rule):
    """A ROCm container was started without the devices it needs.

    What:
        Inside a container an AMD GPU is known, but /dev/kfd or every /dev/dri/renderD* is missing.
    Why:
        AMD containers need plain device nodes; NVIDIA's flags such as --gpus do nothing here.
    Fix:
        Start with --device /dev/kfd --device /dev/dri and the numeric id of the render group.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
    """

    area = "rocm"
    vendors = ("amd",)
    requires = ("container-no-gpu",)
    asks = ("container", "device_nodes")
    remedy = Fix(
        "Start the container with AMD's device nodes.",
        ("docker run --device /dev/kfd --device /dev/dri --group-add $(getent group render | cut -d: -f3) --security-opt seccomp=unconfined IMAGE",),
    )

    def check(self, container: str, gpus: tuple[Gpu, ...], device_nodes: tuple[str, ...]) -> Outcome:
        if not _amd(gpus):
            return None
        missing = [name for name, sign in (("/dev/kfd", "/dev/kfd"), ("/dev/dri/renderD*", "/dev/dri/renderD")) if not any(node.startswith(sign) for node in device_nodes)]
        return Found(detail=f"{' and '.join(missing)} is missing in this {container} container.", facts=("container", "device_nodes")) if missing else None


class RocmGfxUnsupported(Rule):
    """The build has no code objects for this AMD GPU.

    What:
        The device's gfx target is not among the build's, and no generic target covers it.
    Why:
        ROCm builds carry code for listed targets only, and there is no intermediate form to compile from.
    Fix:
        Use a build that lists the target; as a stopgap for a near sibling set HSA_OVERRIDE_GFX_VERSION.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
        - https://llvm.org/docs/AMDGPUUsage.html
    """

    area = "rocm"
    vendors = ("amd",)
    requires = ("wrong-vendor-build", "rocm-gfx-override")
    asks = ("gpus", "builds", "rocm")
    remedy = Fix("Use a build that lists the GPU's target, or hide GPUs that no build serves.", ("export HIP_VISIBLE_DEVICES=0",))

    def check(self, host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        cards = [gpu for gpu in _amd(gpus) if gpu.target]
        for item in installed(host, matrix):
            for gpu in cards:
                if item.rocm and item.kernels and not self._runs(gpu, item.kernels, host, matrix):
                    mild = "warning" if gpu.integrated and len(cards) > 1 and not signals.harmful else None
                    detail = f"{gpu.name or 'The GPU'} is {gpu.target}; {item.label} carries {' '.join(item.kernels[:12])}."
                    return Found(detail=detail, facts=("gpus", item.fact), fix=self._fix(gpu, matrix), sources=cite(matrix, item.row), severity="warning" if mild else None)
        return self._by_message(cards, host, matrix, signals)

    @staticmethod
    def _runs(gpu: Gpu, kernels: tuple[str, ...], host: Host, matrix: Matrix) -> bool:
        """Whether the build serves the device, an override in force counted."""
        override = (host["env"] or {}).get("HSA_OVERRIDE_GFX_VERSION", "")
        as_if = overridden(override) or gpu.target
        plain = tuple(kernel for kernel in kernels if kernel.startswith("gfx"))
        return kernels_for(as_if, plain, matrix.families) == "native"

    @staticmethod
    def _fix(gpu: Gpu, matrix: Matrix) -> Fix | None:
        row = matrix.gfx(gpu.target)
        if row and row.override:
            return Fix(f"As a stopgap, run it as {row.borrows}.", (f"export HSA_OVERRIDE_GFX_VERSION={row.override}",))
        return None

    def _by_message(self, cards: list[Gpu], host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        heard = signals.get(*_CODE)
        if not heard or not cards:
            return None
        target = signals.value("gfx") or signals.value("gfx2") or cards[0].target
        row = matrix.gfx(target)
        official = " It is officially supported by ROCm." if row and row.first_rocm and not row.last_rocm else ""
        gpu = next((card for card in cards if card.target == target), cards[0])
        return Found(detail=f"{heard.signal.meaning} The GPU is {target}.{official}", facts=("gpus",), fix=self._fix(gpu, matrix), sources=cite(matrix, row))


def overridden(version: str) -> str:
    """The target that an override value names: ``10.3.0`` -> ``gfx1030``; empty if it is not of the form a.b.c."""
    found = re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{1,2})", version)
    return f"gfx{int(found[1])}{int(found[2]):x}{int(found[3]):x}" if found else ""


class RocmGfxOverride(Rule):
    """HSA_OVERRIDE_GFX_VERSION is set.

    What:
        The runtime is told that the GPU is another target than it is.
    Why:
        A near sibling works; another generation crashes the queue. Where the build serves the real target, the override
        only hides it.
    Fix:
        Unset it where the build supports the real target; otherwise keep it inside one family.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
    """

    severity = "warning"
    area = "rocm"
    vendors = ("amd",)
    asks = ("env", "gpus")
    remedy = Fix("Unset HSA_OVERRIDE_GFX_VERSION where the build serves the real target.", ("unset HSA_OVERRIDE_GFX_VERSION",))

    def check(self, env: dict[str, str], gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        value = env.get("HSA_OVERRIDE_GFX_VERSION", "")
        if not value:
            return None
        as_if = overridden(value)
        real = next((gpu.target for gpu in _amd(gpus) if gpu.target), "")
        if not as_if:
            return Found(detail=f"{value!r} is not of the form a.b.c.", facts=("env.HSA_OVERRIDE_GFX_VERSION",), severity="error")
        if real and real[:-2] != as_if[:-2]:
            detail = f"{real} is presented as {as_if}, which is of another generation."
            return Found(detail=detail, facts=("env.HSA_OVERRIDE_GFX_VERSION", "gpus"), severity="error" if signals.harmful else "warning")
        return Found(detail=f"{real or 'The GPU'} is presented as {as_if}.", facts=("env.HSA_OVERRIDE_GFX_VERSION",), severity="info")


class RocmVersionMismatch(Rule):
    """ROCm user space and kernel driver, or two ROCm copies, are too far apart.

    What:
        The ROCm of the framework and that of the system are of different majors, or the kernel driver is outside the
        range that the release accepts.
    Why:
        AMD tests each kernel driver with a few releases before and after; HIP and HSA must come from one release.
    Fix:
        Upgrade amdgpu, or choose a build of a ROCm release inside the range.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/user-kernel-space-compat-matrix.html
    """

    area = "rocm"
    vendors = ("amd",)
    requires = ("rocm-libs-mixed",)
    asks = ("rocm", "amdgpu", "builds")
    remedy = Fix("Use the ROCm release that the build was made for, or a build for the installed one.")

    def check(self, host: Host, matrix: Matrix, signals: Hearing, rocm: str | None = None, amdgpu: str | None = None) -> Outcome:
        item = next((item for item in installed(host, matrix) if item.rocm), None)
        heard = signals.pointing("rocm-version-mismatch")
        if item and is_version(rocm) and is_version(item.rocm):
            apart = versions.major(rocm or "") != versions.major(item.rocm)
            if heard and (apart or rocm != item.rocm) and heard.signal.signal != "hsa-out-of-resources":
                return Found(detail=f"{item.label} brings ROCm {item.rocm}; ROCm {rocm} is on the system.", facts=("rocm", item.fact), confidence="certain" if apart else "likely")
        return self._driver(rocm or (item.rocm if item else ""), amdgpu, matrix)

    @staticmethod
    def _driver(rocm: str, amdgpu: str | None, matrix: Matrix) -> Outcome:
        row = matrix.rocm(rocm) if is_version(rocm) else None
        if row is None or len(row.drivers) < 2 or not is_version(amdgpu):
            return None
        low, high = row.drivers[0], row.drivers[-1]
        if not (is_version(low) and is_version(high)):
            return None
        inside = versions.release(low) <= versions.release(amdgpu or "") <= versions.release(high)
        if inside:
            return Fits(f"amdgpu {amdgpu} is inside the range of ROCm {rocm}")
        return Found(detail=f"amdgpu is {amdgpu}; ROCm {rocm} accepts {low} to {high}.", facts=("amdgpu", "rocm"), sources=cite(matrix, row), severity="warning")


class RocmLibsMixed(Rule):
    """System ROCm libraries shadow the ones in the wheel.

    What:
        LD_LIBRARY_PATH names /opt/rocm and the installed wheel brings its own ROCm.
    Why:
        HIP and HSA must come from one release; the path decides which copy is loaded.
    Fix:
        Take /opt/rocm out of LD_LIBRARY_PATH for environments made of wheels.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/pytorch-install.html
    """

    severity = "warning"
    area = "rocm"
    vendors = ("amd",)
    asks = ("env", "builds")
    remedy = Fix("Take /opt/rocm out of LD_LIBRARY_PATH.", ("unset LD_LIBRARY_PATH",))

    def check(self, env: dict[str, str], host: Host, matrix: Matrix) -> Outcome:
        item = next((item for item in installed(host, matrix) if item.rocm and item.name == "torch"), None)
        path = env.get("LD_LIBRARY_PATH", "")
        if item is None or "/rocm" not in path:
            return None
        return Found(detail=f"LD_LIBRARY_PATH puts the system's ROCm before that of {item.label}.", facts=("env.LD_LIBRARY_PATH", item.fact))


class RocmIgpuInterferes(Rule):
    """An integrated AMD GPU is visible next to the discrete one.

    What:
        More than one AMD GPU is visible, and one of them is integrated.
    Why:
        Some libraries need code for every visible device: the message says "all current devices".
    Fix:
        Show the discrete GPU alone, or switch the integrated one off in the firmware setup.
    Sources:
        - https://rocm.docs.amd.com/projects/radeon/en/latest/docs/prerequisites.html
    """

    severity = "warning"
    area = "rocm"
    vendors = ("amd",)
    requires = ("rocm-gfx-unsupported",)
    asks = ("gpus", "env")
    remedy = Fix("Show the discrete GPU alone.", ("export HIP_VISIBLE_DEVICES=0",))

    def check(self, gpus: tuple[Gpu, ...], host: Host) -> Outcome:
        cards = _amd(gpus)
        small = next((gpu for gpu in cards if gpu.integrated), None)
        hidden = any((host["env"] or {}).get(name) for name in ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"))
        if small is None or len(cards) < 2 or hidden:
            return None
        return Found(detail=f"{small.name or small.target or 'An integrated GPU'} is visible beside {len(cards) - 1} other.", facts=("gpus",))


class RcclShmSmall(Rule):
    """Several AMD GPUs with a small /dev/shm.

    What:
        More than one AMD GPU, and shared memory of the engine's default size.
    Why:
        RCCL, like NCCL, keeps its rings in shared memory.
    Fix:
        Start with --shm-size=16g or --ipc=host.
    Sources:
        - https://rocm.docs.amd.com/projects/rccl/en/latest/how-to/troubleshooting-rccl.html
    """

    severity = "warning"
    area = "rocm"
    vendors = ("amd",)
    requires = ("shm-too-small",)
    asks = ("shm_mib",)
    remedy = Fix("Start with more shared memory.", ("docker run --shm-size=16g IMAGE",))

    def check(self, gpus: tuple[Gpu, ...], shm_mib: int) -> Outcome:
        if len(_amd(gpus)) < 2 or shm_mib > 64:  # the engine's default, in MiB
            return None
        return Found(detail=f"{len(_amd(gpus))} GPUs share {shm_mib} MiB of /dev/shm.", facts=("gpus", "shm_mib"))


RULES = family(
    RocmNoDriver, RocmContainerFlags, RocmKfdMissing, RocmGfxOverride, RocmLibsMixed, RocmGfxUnsupported, RocmVersionMismatch,
    RocmIgpuInterferes, RcclShmSmall,
)  # fmt: skip
