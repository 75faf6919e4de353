"""Inside a container: was a GPU handed over, and does the image fit the host and the work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.commands as commanded
import compat.rules.deeds as deeds
from compat.changes import Command, Container, Example, Service, System
from compat.errors import InputError
from compat.findings import Fix, Severity
from compat.joints.base import starts
from compat.joints.driver import board_image
from compat.joints.verdict import Clash
from compat.reading.jetson_release import image_l4t
from compat.rules.lookups import cite, cuda_of_driver, is_version, products_of
from compat.rules.rule import Fits, Found, NvidiaRule, Outcome, Rule, Unsure, told
from compat.rules.stack import has_no_device

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.matrix.rows import Image
    from compat.reading.messages import Hearing


def _with_gpu(host: Host, _: Matrix) -> Fix:
    """How this container is started with the GPUs that are known."""
    return Fix("Start the container with the GPU.", changes=(deeds.run_with_gpu(host),))


class ContainerVisibleDevices(NvidiaRule):
    """NVIDIA_VISIBLE_DEVICES hides the GPU.

    Why: It tells the container runtime which GPUs to inject; void injects nothing at all.
    Fix: Set NVIDIA_VISIBLE_DEVICES=all or a valid list.
    Sources: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """

    area = "docker"
    asks = ("device_nodes",)
    changes = (Container("--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all"),)

    def check(self, host: Host, env: Mapping[str, str], container: str, signals: Hearing) -> Outcome:
        """The variable is void, none or empty, and no GPU came into the container by other means.

        CDI sets it to void itself, so that the old hook does not inject what CDI has injected already.
        """
        value = env.get("NVIDIA_VISIBLE_DEVICES")
        if value is None or value.strip().lower() not in {"", "void", "none"}:
            return None
        if "/dev/nvidiactl" in (host.device_nodes or ()):
            return Fits("GPUs were given to this container by other means than NVIDIA_VISIBLE_DEVICES")
        return Found(
            detail=f"NVIDIA_VISIBLE_DEVICES is {value!r}, which gives this {container} container no GPU.",
            facts=("env.NVIDIA_VISIBLE_DEVICES", "container"),
            severity="error" if signals.harmful or value.strip().lower() == "none" else "warning",
        )


class ContainerDriverCapabilities(NvidiaRule):
    """NVIDIA_DRIVER_CAPABILITIES lacks compute or utility.

    Why: Only the driver libraries of the named groups are mounted into the container.
    Fix: Set NVIDIA_DRIVER_CAPABILITIES=compute,utility. Add video for NVENC and graphics for rendering.
    Sources: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """

    area = "docker"
    asks = ("env",)
    changes = (Container("-e NVIDIA_DRIVER_CAPABILITIES=compute,utility", gpus=True),)

    def check(self, host: Host, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """The variable or the command that started the container names some, and neither ``all`` nor ``compute``."""
        stated = (host.env or {}).get("NVIDIA_DRIVER_CAPABILITIES", "")
        words = {word.strip() for word in stated.split(",")} if stated else commanded.capabilities(commands)
        if not words or words & {"all", "compute"}:
            return None
        detail = f"Only {stated or ','.join(sorted(words))} is asked for: libcuda is not mounted."
        if stated:
            return Found(detail=detail, facts=("env.NVIDIA_DRIVER_CAPABILITIES",))
        return Found(detail=detail, confidence="likely") if signals.harmful else None


_BUILT: Final = Fix(
    "Move the step that needs the GPU from the build to the run, and name the targets of what is compiled."
)


class ContainerNoGpu(Rule):
    """A container has no GPU, or the engine cannot give it one.

    Why: An image is blind unless the engine injects the devices and the driver's libraries, for which it needs the
        vendor's container toolkit. Image builds get no GPU at all, and Docker from snap does not see the toolkit.
    Fix: Install and configure the container toolkit, then start the container with the GPU. NVIDIA: ``--gpus all``;
        AMD: ``--device /dev/kfd --device /dev/dri``; in Kubernetes request nvidia.com/gpu.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc.c
    """

    area = "docker"
    requires = ("container-visible-devices",)
    asks = ("container", "device_nodes", "gpu_runtime", "engine_flavour")
    changes = (System("container-toolkit"), deeds.CONFIGURE_DOCKER, Service("docker"), Container(gpus=True))

    def check(self, host: Host, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """The program runs in a container without GPU device nodes or driver.

        Or the engine refused the request for a GPU.
        """
        refused = signals.saying("engine-refused")
        if refused and refused.signal.signal == "cli-nvml-library" and host.absent("driver"):
            return None  # the host itself has no driver: that is the cause
        if refused:
            detail, snap = refused.signal.meaning, " Docker comes from snap, which does not see the host's toolkit."
            names = ("engine", "engine_flavour", "gpu_runtime", "container_toolkit")
            cited = told(**{name: host.value(name) for name in names})
            return Found(detail=f"{detail}{snap}" if host.engine_flavour == "snap" else detail, facts=cited)
        bare = signals.saying("node-bare") if "nvidia.com/gpu" not in signals.text else None
        if bare and host.driver:
            return Found(detail=bare.signal.meaning, facts=("driver",), confidence="likely")
        if not host.container and host.l4t and "smi-not-found" in signals:
            return Fits("a Jetson need not have nvidia-smi")
        if not host.container:
            elsewhere = host.absent("container") or host.platform in {"windows", "darwin"} or host.driver
            queued = "kubernetes-insufficient" in signals  # told of other nodes, whatever is here
            return Fits("") if not queued and (elsewhere or has_no_device(host)) else None
        return self._inside(host, signals, commands)

    @staticmethod
    def _inside(host: Host, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """A program in a container, which sees no GPU."""
        blind = signals.saying("no-gpu-seen") or signals.saying("no-gpu-vague")
        if commanded.builds_image(commands) and blind:
            return Found(detail="A step of an image build gets no GPU.", facts=("container",), fix=_BUILT)
        listed = host.device_groups if host.device_nodes is None else host.device_nodes
        nodes = [node for node in listed or () if re.search(r"nvidia\d|kfd|dxg|renderD", node)]
        nodes = [node for node in nodes if host.device_nodes is None or "renderD" not in node]
        if host.device_nodes is not None and not nodes and (host.gpus or blind):
            detail = f"No GPU device node is in this {host.container} container."
            return Found(detail=detail, facts=("container", "device_nodes"), fix=_with_gpu)
        vague = blind is not None and "no-gpu-vague" in blind.signal.says
        alone = commanded.starts_blind(commands)
        bare = vague and alone
        unseen = blind and (not host.driver or alone or "no-gpu-node" in blind.signal.says)
        if unseen and (bare or not vague) and host.device_nodes is None and not nodes:
            mild: Severity | None = "warning" if bare else None  # a machine without any GPU says the same
            detail = "The program in the container sees no GPU."
            return Found(detail=detail, facts=("container",), confidence="likely", severity=mild, fix=_with_gpu)
        if nodes:
            return Fits("the container has GPU device nodes")
        # Docker starts no container with --gpus where it cannot give one
        hint = signals.pointing("container-no-gpu")
        about = hint is not None and hint.signal.signal == "cli-any"
        given = not about and (not blind or vague) and any("--gpus" in command for command in commands)
        return Fits("the container was started with --gpus") if given and "docker" in " ".join(commands) else None


class ContainerCgroupLost(NvidiaRule):
    """The container lost its GPUs when the device rules were reloaded.

    Why: With the systemd cgroup driver a daemon-reload rewrites the device rules that the hook had added behind the
        runtime's back.
    Fix: Recreate the container; then switch the toolkit to CDI so that it does not return. Explicit --device flags or
        the cgroupfs driver prevent it too.
    Sources: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """

    area = "docker"
    platforms = ("linux", "wsl2")
    asks = ("cgroup", "device_nodes_denied")
    changes = (
        Example("docker rm -f <container>"),
        Command("sudo nvidia-ctk config --in-place --set nvidia-container-runtime.mode=cdi", "linux"),
    )

    def check(self, host: Host, container: str, signals: Hearing) -> Outcome:
        """In a running container the device nodes exist but may not be opened.

        Or NVML answers "Unknown Error" while the host is healthy.
        """
        given = any("nvidia" in node for node in host.device_nodes or ())
        if host.known("device_nodes") and not given:
            return None  # what was never given cannot be lost
        denied = [node for node in host.device_nodes_denied or () if "nvidia" in node and host.selinux != "enforcing"]
        unknown = signals.get("nvml-unknown") or (host.nvml or "").lower().startswith("unknown")
        if not unknown and not (denied and host.user_id == 0):
            return None
        cited = told(device_nodes_denied=host.device_nodes_denied, nvml=host.nvml, cgroup=host.cgroup)
        detail = f"This {container} container may no longer open its GPUs."
        return Found(detail=detail, facts=("container", *cited), confidence="certain" if denied else "likely")


class ContainerSelinux(Rule):
    """SELinux blocks GPU access in containers.

    Why: The container's type may not open the host's device nodes without a policy for them.
    Fix: Start with --security-opt=label=disable. Or install a policy for the devices.
    Sources: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """

    severity = "warning"
    area = "docker"
    requires = ("device-permission",)
    changes = (Container("--security-opt=label=disable", engine="podman"),)

    def check(self, host: Host, selinux: str, container: str, signals: Hearing) -> Outcome:
        """SELinux enforces, and the device nodes may not be opened in the container."""
        if selinux != "enforcing" or not (host.device_nodes_denied or signals.get("nvml-permission")):
            return None
        return Found(
            detail=f"SELinux enforces, and {container} may not open the device nodes.",
            facts=("selinux", "container", "device_nodes_denied"),
            severity="error" if host.user_id == 0 else None,  # no mode of a node keeps root out
        )


class ImageShipsDriver(NvidiaRule):
    """The image contains NVIDIA driver libraries.

    Why: The driver's libraries must be injected from the host, so that they match the kernel module.
    Fix: Remove the driver packages from the Dockerfile. Install cuda-toolkit or cuda-libraries, never the cuda or
        cuda-drivers meta packages.
    Sources: https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc_info.c
    """

    area = "container"
    requires = ("jetson-jetpack-mismatch", "container-requires-newer-driver")
    asks = ("libraries",)
    changes = (System("driver-remove"),)
    _MARKS: Final = ("nvidia-driver", "libnvidia-compute", "cuda-drivers", "nvidia-utils", "nvidia-compute-utils")

    def check(self, container: str, driver_packages: tuple[str, ...]) -> Outcome:
        """Inside a container, libcuda or libnvidia-ml comes from the image.

        Its version is not that of the host's driver.
        """
        found = [name for name in driver_packages if name.startswith(self._MARKS)]
        if not found:
            return None
        return Found(detail=f"Inside {container}: {', '.join(found[:3])} is installed in the image.")


class ContainerRequiresNewerDriver(NvidiaRule):
    """The image demands a newer driver than the host has.

    Why: The container runtime compares the image's CUDA with that of the driver before it starts anything; it knows
        minor-version compatibility only where the image states driver and brand terms for it.
    Fix: Choose an image for an older CUDA, or upgrade the host's driver if the GPU has a newer one. Where minor-version
        compatibility covers it, NVIDIA_DISABLE_REQUIRE=1 does.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/cli/libnvc.c
    """

    area = "docker"
    asks = ("driver", "driver_cuda", "image")

    def check(self, host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """A condition in the image's NVIDIA_REQUIRE_CUDA is not met by the host's driver."""
        image_env = host.image_env
        asked = signals.value("require") or signals.value("require2")
        facts = told(driver=host.driver, driver_cuda=host.driver_cuda, image=host.image)
        if asked or "requirement-error" in signals:
            detail = f"The image demands {asked or 'a newer driver'}, which the host's driver does not meet."
            return Found(detail=detail, facts=facts)
        if release := signals.value("release"):
            return Found(detail=f"The image was built for driver {release} or later.", facts=facts)
        have = host.driver_cuda or cuda_of_driver(matrix, host.driver, host.platform)
        row = _published(host.image or "", matrix)
        if not image_env and have and signals.text and row:
            image_env = {"NVIDIA_REQUIRE_CUDA": row.require}
        if not image_env or not have:
            return _newer_board(host.image or "", host.l4t or "")
        from compat.matrix.require import conditions

        brands = {row.brand for gpu in host.gpus or () for row in products_of(gpu, matrix)}
        targets = {gpu.target for gpu in host.gpus or ()}
        brand, target = (one.pop() if len(one) == 1 else "" for one in (brands, targets))
        stated = conditions(image_env)
        for condition in stated:
            try:
                found = starts(matrix, condition, host.driver or "", brand, target, cuda=have)
            except InputError as fault:
                return Unsure(str(fault))
            if isinstance(found, Clash):
                cited = cite(matrix, row) if row and row.require == condition else ()
                return Found(
                    detail=f"{found.why[:1].upper()}{found.why[1:]}.", facts=(*facts, "image_env"), sources=cited
                )
        return Fits("the host's driver meets the image's condition") if stated else None


def _published(image: str, matrix: Matrix) -> Image | None:
    """The row of a published image that states a condition, by its name."""
    repository = image.partition(":")[0].removeprefix("docker.io/")
    rows = matrix.select("images", repository=repository) if repository else ()
    wanted = f"{repository}:{image.partition(':')[2]}"
    stating = ((row, name) for row in rows if row.require for name in row.references())
    # a tag may be the short form of one that names its system too
    return next((row for row, name in stating if name == wanted or name.startswith(f"{wanted}-ubuntu")), None)


def _newer_board(image: str, own: str) -> Outcome:
    """An image for a newer L4T than the Jetson has, whose driver is part of its system."""
    tagged = image_l4t(image)
    judged = board_image(tagged, own) if tagged and is_version(own) else None
    if not isinstance(judged, Clash):
        return None
    fix = Fix(f"Choose an image for L4T {own}, or flash the board with a newer JetPack.")
    return Found(detail=f"{image}: {judged.why}.", facts=("l4t", "image"), fix=fix)


class ContainerImageArch(Rule):
    """The image is for another processor architecture than the host.

    Why: Emulated containers cannot use the GPU driver's libraries.
    Fix: Pick the image variant for the host's architecture.
    Sources: https://docs.docker.com/build/building/multi-platform/
    """

    area = "container"
    changes = (Container("--platform linux/$(uname -m)", command="pull", where="linux"),)

    def check(self, arch: str, image: str) -> Outcome:
        """An image for amd64 was started on arm64, or the reverse."""
        tagged = re.search(r"[:-](amd64|x86_64|arm64|aarch64)(?:$|[-.])", image)
        same = {"amd64": "x86_64", "arm64": "aarch64"}
        if not tagged or same.get(tagged[1], tagged[1]) == same.get(arch, arch):
            return None
        return Found(detail=f"{image} is for {tagged[1]}, the host is {arch}.")


class ImageRuntimeNotDevel(Rule):
    """The image lacks the compiler that the workload needs.

    Why: These images carry libraries only; nvcc and headers are in the devel flavour.
    Fix: Build in a devel stage and copy the wheels into the runtime stage.
    Sources: https://gitlab.com/nvidia/container-images/cuda
    """

    area = "container"

    def check(
        self, host: Host, image: str, matrix: Matrix, signals: Hearing, commands: tuple[str, ...],
        distributions: Mapping[str, str],
    ) -> Outcome:  # fmt: skip
        """Something is compiled in an image of the base or runtime flavour.

        Or a package is installed there that compiles GPU code at its first use.
        """
        flavour = re.search(r"nvidia/cuda:\S*?-(base|runtime)-", image)
        late = sorted(row.name for row in matrix.table("packages") if row.late and row.name in distributions)
        heard = bool(signals.pointing("toolkit-missing")) or commanded.compiles(commands)
        if not flavour or not (heard or (late and host.absent("cuda_toolkit"))):
            return None
        who = "" if heard else f" {late[0]} compiles its operators at first use."
        return Found(
            detail=f"{image} is of the {flavour[1]} flavour, without nvcc.{who}",
            facts=("image", *(() if heard else (f"packages.{late[0]}", "cuda_toolkit"))),
            severity=None if heard else "warning",
            fix=Fix(f"Use the devel flavour: {image.replace(f'-{flavour[1]}-', '-devel-')}."),
        )
