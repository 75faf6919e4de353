"""Inside a container: was a GPU handed over, and does the image fit the host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.errors import InputError
from compat.findings import Fix
from compat.rules import commands as told
from compat.rules import remedies
from compat.rules.knowledge import cuda_of_driver
from compat.rules.rule import Fits, Found, Outcome, Rule, Unsure, family

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing

_ENGINE: Final = ("select-driver", "unknown-runtime", "runtime-hook-missing", "cli-nvml-library", "legacy-image-manifest", "hook-unsupported")
"""Messages of the engine itself, which refuses to start a container with a GPU."""

_BLIND: Final = (
    "found-no-driver", "smi-not-found", "libcuda-missing", "no-device-100", "no-cuda-gpus", "insufficient-35", "nvml-library", "smi-failed",
    "image-banner-no-driver", "tf-no-drivers", "tf-proc-missing", "torch-no-gpu-generic",
)  # fmt: skip
"""Messages of a program that sees no GPU."""


class ContainerNoGpu(Rule):
    """A container has no GPU, or the engine cannot give it one.

    What:
        The program runs in a container without GPU device nodes or driver, or the engine refused the GPU request.
    Why:
        An image is blind unless the engine injects the devices and the driver's libraries, for which it needs the
        vendor's container toolkit. Image builds get no GPU at all, and Docker from snap does not see the toolkit.
    Fix:
        Install the container toolkit, configure the engine, and start with ``--gpus all`` (AMD: ``--device /dev/kfd
        --device /dev/dri``); in Kubernetes request nvidia.com/gpu.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc.c
    """

    area = "docker"
    requires = ("container-visible-devices",)
    asks = ("container", "device_nodes", "gpu_runtime", "engine_flavour")
    remedy = Fix(
        "Install and configure the container toolkit, then start the container with the GPU.",
        ("sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl restart docker", "docker run --gpus all IMAGE"),
    )

    def check(
        self,
        host: Host,
        signals: Hearing,
        commands: tuple[str, ...],
        container: str | None = None,
        device_nodes: tuple[str, ...] | None = None,
        gpus: tuple[Gpu, ...] = (),
    ) -> Outcome:
        engine = signals.get(*_ENGINE)
        if engine:
            return self._engine(engine.signal.meaning, host)
        if host.absent("container"):
            return None
        blind = signals.get(*_BLIND)
        if not container:
            return None
        if told.builds_image(commands) and blind:
            return Found(detail="A step of an image build gets no GPU.", facts=("container",), fix=self._build_fix())
        nodes = [node for node in device_nodes or () if re.search(r"nvidia\d|kfd|dxg", node)]
        if device_nodes is not None and not nodes and (gpus or blind):
            return Found(detail=f"No GPU device node is in this {container} container.", facts=("container", "device_nodes"), fix=self._run_fix(host))
        if blind and not nodes and device_nodes is None and not host["driver"]:
            return Found(detail="The program in the container sees no GPU.", facts=("container",), confidence="likely", fix=self._run_fix(host))
        return Fits("the container has GPU device nodes") if nodes else None

    @staticmethod
    def _engine(meaning: str, host: Host) -> Outcome:
        snap = host["engine_flavour"] == "snap"
        detail = f"{meaning} Docker comes from snap, which does not see the host's toolkit." if snap else meaning
        facts = tuple(name for name in ("engine", "engine_flavour", "gpu_runtime", "container_toolkit") if host[name])
        return Found(detail=detail, facts=facts)

    @staticmethod
    def _build_fix() -> Fix:
        return Fix("Move the step that needs the GPU from the build to the run, and name TORCH_CUDA_ARCH_LIST for what is compiled.")

    @staticmethod
    def _run_fix(host: Host) -> Fix:
        return Fix("Start the container with the GPU.", remedies.run_with_gpu(host))


class ContainerDriverCapabilities(Rule):
    """NVIDIA_DRIVER_CAPABILITIES lacks compute or utility.

    What:
        The variable is set, and names neither ``all`` nor ``compute``.
    Why:
        Only the driver libraries of the named groups are mounted into the container.
    Fix:
        Set NVIDIA_DRIVER_CAPABILITIES=compute,utility (video for NVENC, graphics for rendering).
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """

    area = "docker"
    vendors = ("nvidia",)
    asks = ("env",)
    remedy = Fix("Set NVIDIA_DRIVER_CAPABILITIES=compute,utility.", ("docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE",))

    def check(self, env: dict[str, str]) -> Outcome:
        named = env.get("NVIDIA_DRIVER_CAPABILITIES", "")
        words = {word.strip() for word in named.split(",")}
        if not named or words & {"all", "compute"}:
            return None
        return Found(detail=f"Only {named} is asked for: libcuda is not mounted.", facts=("env.NVIDIA_DRIVER_CAPABILITIES",))


class ContainerVisibleDevices(Rule):
    """NVIDIA_VISIBLE_DEVICES hides the GPU.

    What:
        The variable is void, none or empty, or names a GPU that does not exist.
    Why:
        It tells the container runtime which GPUs to inject; void injects nothing at all.
    Fix:
        Set NVIDIA_VISIBLE_DEVICES=all or a valid list.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """

    area = "docker"
    vendors = ("nvidia",)
    asks = ("env",)
    remedy = Fix("Set NVIDIA_VISIBLE_DEVICES=all or a valid list.", ("docker run --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all IMAGE",))

    def check(self, env: dict[str, str], container: str, signals: Hearing) -> Outcome:
        value = env.get("NVIDIA_VISIBLE_DEVICES")
        if value is None or value.strip().lower() not in {"", "void", "none"}:
            return None
        severity = "error" if signals.harmful or value.strip().lower() == "none" else "warning"
        return Found(
            detail=f"NVIDIA_VISIBLE_DEVICES is {value!r}, which gives this {container} container no GPU.",
            facts=("env.NVIDIA_VISIBLE_DEVICES", "container"),
            severity="error" if severity == "error" else "warning",
        )


class ContainerRequiresNewerDriver(Rule):
    """The image demands a newer driver than the host has.

    What:
        A condition in the image's NVIDIA_REQUIRE_CUDA is not met by the host's driver.
    Why:
        The container runtime compares the image's CUDA with that of the driver before it starts anything; it knows
        minor-version compatibility only where the image states driver and brand terms for it.
    Fix:
        Choose an image for the driver's CUDA, upgrade the driver, or, where minor-version compatibility covers it, set
        NVIDIA_DISABLE_REQUIRE=1.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/cli/libnvc.c
    """

    area = "docker"
    vendors = ("nvidia",)
    asks = ("driver", "driver_cuda", "image")
    remedy = Fix("Upgrade the host's driver, or choose an image for an older CUDA.", ("docker run --gpus all -e NVIDIA_DISABLE_REQUIRE=1 IMAGE",))

    def check(
        self,
        host: Host,
        matrix: Matrix,
        signals: Hearing,
        driver: str | None = None,
        driver_cuda: str | None = None,
        image_env: dict[str, str] | None = None,
        image: str | None = None,
    ) -> Outcome:
        asked = signals.value("require") or signals.value("require2")
        facts = tuple(name for name in ("driver", "driver_cuda", "image") if host[name])
        if asked or "requirement-error" in signals:
            return Found(detail=f"The image demands {asked or 'a newer driver'}, which the host's driver does not meet.", facts=facts)
        have = driver_cuda or cuda_of_driver(matrix, driver, host["platform"])
        if not image_env or not have:
            return None
        return self._judged(image_env, {"driver_cuda": have, "driver": driver or ""}, facts)

    @staticmethod
    def _judged(image_env: dict[str, str], have: dict[str, str], facts: tuple[str, ...]) -> Outcome:
        from compat.matrix.require import conditions, satisfies_require

        stated = conditions(image_env)
        for condition in stated:
            try:
                verdict = satisfies_require(condition, **have)
            except InputError as fault:
                return Unsure(str(fault))
            if verdict.satisfied is False:
                return Found(detail=f"The image's condition is not met: {verdict.why}.", facts=(*facts, "image_env"))
        return Fits("the host's driver meets the image's condition") if stated else None


class ContainerCgroupLost(Rule):
    """The container lost its GPUs when the device rules were reloaded.

    What:
        In a running container the device nodes exist but may not be opened, or NVML answers "Unknown Error" while the
        host is healthy.
    Why:
        With the systemd cgroup driver a daemon-reload rewrites the device rules that the hook had added behind the
        runtime's back.
    Fix:
        Recreate the container. To prevent it: CDI injection, explicit --device flags, or the cgroupfs driver.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """

    area = "docker"
    vendors = ("nvidia",)
    asks = ("container", "cgroup", "device_nodes_denied")
    remedy = Fix(
        "Recreate the container; then switch the toolkit to CDI so that it does not return.",
        ("docker rm -f CONTAINER", "sudo nvidia-ctk config --in-place --set nvidia-container-runtime.mode=cdi"),
    )

    def check(self, container: str, host: Host, signals: Hearing) -> Outcome:
        denied = [node for node in host["device_nodes_denied"] or () if "nvidia" in node]
        if signals.get("nvml-unknown") or (denied and host["user_id"] == 0) or (host["nvml"] or "").lower().startswith("unknown"):
            facts = ("container", *(name for name in ("device_nodes_denied", "nvml", "cgroup") if host[name]))
            return Found(detail=f"This {container} container may no longer open its GPUs.", facts=facts, confidence="certain" if denied else "likely")
        return None


class ContainerSelinux(Rule):
    """SELinux blocks GPU access in containers.

    What:
        SELinux enforces, and the device nodes may not be opened in the container.
    Why:
        The container's type may not open the host's device nodes without a policy for them.
    Fix:
        Start with --security-opt=label=disable, or install a policy for the devices.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """

    severity = "warning"
    area = "docker"
    requires = ("device-permission",)
    asks = ("selinux", "container")
    remedy = Fix("Start with --security-opt=label=disable.", ("podman run --security-opt=label=disable IMAGE",))

    def check(self, selinux: str, container: str, host: Host, signals: Hearing) -> Outcome:
        if selinux != "enforcing" or not (host["device_nodes_denied"] or signals.get("nvml-permission")):
            return None
        return Found(detail=f"SELinux enforces, and {container} may not open the device nodes.", facts=("selinux", "container"))


class ShmTooSmall(Rule):
    """/dev/shm is too small for data loaders or collectives.

    What:
        The shared memory of the container is the engine's default of 64 MiB, or not much more.
    Why:
        Worker processes and NCCL keep their buffers there, and die with a bus error when it is full.
    Fix:
        Start with --shm-size=8g or --ipc=host (Compose: shm_size; Kubernetes: an emptyDir of medium Memory at /dev/shm).
    Sources:
        - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
        - https://pytorch.org/docs/stable/data.html
    """

    severity = "warning"
    area = "container"
    asks = ("shm_mib", "container")
    remedy = Fix("Start the container with more shared memory.", ("docker run --shm-size=8g IMAGE", "docker run --ipc=host IMAGE"))
    _ENOUGH: Final = 512  # MiB; DeepSpeed's ds_report warns below this
    _TOLD: Final = ("shm-dataloader", "shm-nccl", "bus-error")

    def check(self, signals: Hearing, host: Host, shm_mib: int | None = None, container: str | None = None) -> Outcome:
        heard = signals.get(*self._TOLD)
        small = shm_mib is not None and shm_mib < self._ENOUGH
        facts = tuple(name for name in ("shm_mib", "container") if host[name] is not None)
        if heard and (small or shm_mib is None):
            sure = "certain" if small or heard.signal.signal != "bus-error" else "likely"
            size = f" It is {shm_mib} MiB." if small else ""
            return Found(detail=f"{heard.signal.meaning}{size}", facts=facts, severity="error", confidence="certain" if sure == "certain" else "likely")
        if small and container:
            return Found(detail=f"/dev/shm is {shm_mib} MiB.", facts=facts)
        return Fits(f"/dev/shm has {shm_mib} MiB") if shm_mib and container else None


class ContainerImageArch(Rule):
    """The image is for another processor architecture than the host.

    What:
        An image for amd64 was started on arm64, or the reverse.
    Why:
        Emulated containers cannot use the GPU driver's libraries.
    Fix:
        Pick the variant for the host's architecture.
    Sources:
        - https://docs.docker.com/build/building/multi-platform/
    """

    area = "container"
    asks = ("arch", "image")
    remedy = Fix("Pick the image variant for the host's architecture.", ("docker pull --platform linux/$(uname -m) IMAGE",))

    def check(self, arch: str, image: str) -> Outcome:
        tagged = re.search(r"[:-](amd64|x86_64|arm64|aarch64)(?:$|[-.])", image)
        same = {"amd64": "x86_64", "arm64": "aarch64"}
        if not tagged or same.get(tagged[1], tagged[1]) == same.get(arch, arch):
            return None
        return Found(detail=f"{image} is for {tagged[1]}, the host is {arch}.", facts=("image", "arch"))


class ImageRuntimeNotDevel(Rule):
    """The image lacks the compiler that the workload needs.

    What:
        Something is compiled in an image of the base or runtime flavour.
    Why:
        These images carry libraries only; nvcc and headers are in the devel flavour.
    Fix:
        Build in a devel stage and copy the wheels into the runtime stage.
    Sources:
        - https://gitlab.com/nvidia/container-images/cuda
    """

    area = "container"
    severity = "error"
    asks = ("image",)
    remedy = Fix("Build in a devel stage and copy the wheels into the runtime stage.")

    def check(self, image: str, signals: Hearing) -> Outcome:
        flavour = re.search(r"nvidia/cuda:\S*?-(base|runtime)-", image)
        if not flavour or not signals.pointing("toolkit-missing"):
            return None
        return Found(detail=f"{image} is of the {flavour[1]} flavour, without nvcc.", facts=("image",), fix=Fix("Use the devel flavour.", (f"FROM {image.replace(f'-{flavour[1]}-', '-devel-')}",)))


class ContainerMemlockLimit(Rule):
    """The limit of locked memory is low for RDMA.

    What:
        A message says that memory could not be pinned, and the limit is not unlimited.
    Why:
        RDMA pins its buffers; NCCL's documentation asks for the limit to be lifted.
    Fix:
        Start with --ulimit memlock=-1.
    Sources:
        - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """

    severity = "warning"
    area = "container"
    asks = ("memlock_kib",)
    remedy = Fix("Start with --ulimit memlock=-1.", ("docker run --ulimit memlock=-1 IMAGE",))

    def check(self, memlock_kib: int, signals: Hearing) -> Outcome:
        if memlock_kib < 0 or "memlock" not in signals:
            return None
        return Found(detail=f"Only {memlock_kib} KiB may be locked.", facts=("memlock_kib",))


class ContainerNumaBlocked(Rule):
    """NUMA calls are blocked in the container.

    What:
        NCCL reports that host buffers through cuMem are not possible.
    Why:
        Newer NCCL places host buffers by NUMA node, which the default profile of Docker denies.
    Fix:
        Add the capability SYS_NICE, or set NCCL_CUMEM_HOST_ENABLE=0.
    Sources:
        - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """

    severity = "info"
    area = "container"
    asks = ("container",)
    remedy = Fix("Add the capability SYS_NICE.", ("docker run --cap-add SYS_NICE IMAGE",))

    def check(self, container: str, signals: Hearing) -> Outcome:
        return Found(detail=f"NCCL met a blocked NUMA call in {container}.", facts=("container",)) if "numa-blocked" in signals else None


RULES = family(
    ContainerVisibleDevices, ContainerDriverCapabilities, ContainerNoGpu, ContainerRequiresNewerDriver, ContainerCgroupLost,
    ContainerSelinux, ContainerImageArch, ImageRuntimeNotDevel, ShmTooSmall, ContainerMemlockLimit, ContainerNumaBlocked,
)  # fmt: skip
