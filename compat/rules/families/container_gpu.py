"""Inside a container: was a GPU handed over."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.commands as commanded
import compat.rules.remedies as remedies
from compat.changes import Command, Container, System
from compat.findings import Fix
from compat.rules.rule import Fits, Found, Outcome, Rule, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing


def _with_gpu(host: Host, _: Matrix) -> Fix:
    """How this container is started with the GPUs that are known."""
    return Fix("Start the container with the GPU.", changes=(remedies.run_with_gpu(host),))


class ContainerVisibleDevices(Rule):
    """NVIDIA_VISIBLE_DEVICES hides the GPU.

    Why:
        It tells the container runtime which GPUs to inject; void injects nothing at all.
    Fix:
        Set NVIDIA_VISIBLE_DEVICES=all or a valid list.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """

    area = "docker"
    vendors = ("nvidia",)
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


class ContainerDriverCapabilities(Rule):
    """NVIDIA_DRIVER_CAPABILITIES lacks compute or utility.

    Why:
        Only the driver libraries of the named groups are mounted into the container.
    Fix:
        Set NVIDIA_DRIVER_CAPABILITIES=compute,utility. Add video for NVENC and graphics for rendering.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """

    area = "docker"
    vendors = ("nvidia",)
    changes = (Container("--gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility"),)

    def check(self, env: Mapping[str, str]) -> Outcome:
        """The variable is set, and names neither ``all`` nor ``compute``."""
        named = env.get("NVIDIA_DRIVER_CAPABILITIES", "")
        words = {word.strip() for word in named.split(",")}
        if not named or words & {"all", "compute"}:
            return None
        return Found(
            detail=f"Only {named} is asked for: libcuda is not mounted.", facts=("env.NVIDIA_DRIVER_CAPABILITIES",)
        )


_BUILT: Final = Fix(
    "Move the step that needs the GPU from the build to the run, and name the targets of what is compiled."
)


class ContainerNoGpu(Rule):
    """A container has no GPU, or the engine cannot give it one.

    Why:
        An image is blind unless the engine injects the devices and the driver's libraries, for which it needs the
        vendor's container toolkit. Image builds get no GPU at all, and Docker from snap does not see the toolkit.
    Fix:
        Install and configure the container toolkit, then start the container with the GPU. NVIDIA: ``--gpus all``; AMD:
        ``--device /dev/kfd --device /dev/dri``; in Kubernetes request nvidia.com/gpu.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc.c
    """

    area = "docker"
    requires = ("container-visible-devices",)
    asks = ("container", "device_nodes", "gpu_runtime", "engine_flavour")
    changes = (
        System("container-toolkit"),
        Command("sudo nvidia-ctk runtime configure --runtime=docker", "linux"),
        Command("sudo systemctl restart docker", "linux"),
        Container("--gpus all"),
    )

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
        if not host.container and host.l4t and "smi-not-found" in signals:
            return Fits("a Jetson need not have nvidia-smi")
        if not host.container:
            return Fits("") if host.absent("container") else None
        return self._inside(host, signals, commands)

    @staticmethod
    def _inside(host: Host, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """A program in a container, which sees no GPU."""
        blind = signals.saying("no-gpu-seen") or signals.saying("no-gpu-vague")
        if commanded.builds_image(commands) and blind:
            return Found(detail="A step of an image build gets no GPU.", facts=("container",), fix=_BUILT)
        nodes = [node for node in host.device_nodes or () if re.search(r"nvidia\d|kfd|dxg", node)]
        if host.device_nodes is not None and not nodes and (host.gpus or blind):
            detail = f"No GPU device node is in this {host.container} container."
            return Found(detail=detail, facts=("container", "device_nodes"), fix=_with_gpu)
        vague = blind is not None and "no-gpu-vague" in blind.signal.says
        alone = commanded.starts_blind(commands)
        bare = vague and alone
        unseen = blind and (not host.driver or alone or "no-gpu-node" in blind.signal.says)
        if unseen and (bare or not vague) and host.device_nodes is None:
            return Found(
                detail="The program in the container sees no GPU.",
                facts=("container",),
                confidence="likely",
                severity="warning" if bare else None,  # a machine without any GPU says the same
                fix=_with_gpu,
            )
        if nodes:
            return Fits("the container has GPU device nodes")
        # Docker starts no container with --gpus where it cannot give one
        hint = signals.pointing("container-no-gpu")
        about = hint is not None and hint.signal.signal == "cli-any"
        given = not about and (not blind or vague) and any("--gpus" in command for command in commands)
        return Fits("the container was started with --gpus") if given and "docker" in " ".join(commands) else None


class ContainerCgroupLost(Rule):
    """The container lost its GPUs when the device rules were reloaded.

    Why:
        With the systemd cgroup driver a daemon-reload rewrites the device rules that the hook had added behind the
        runtime's back.
    Fix:
        Recreate the container; then switch the toolkit to CDI so that it does not return. Explicit --device flags or
        the cgroupfs driver prevent it too.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """

    area = "docker"
    vendors = ("nvidia",)
    platforms = ("linux", "wsl2")
    asks = ("cgroup", "device_nodes_denied")
    changes = (
        Command("docker rm -f CONTAINER"),
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
        return Found(
            detail=f"This {container} container may no longer open its GPUs.",
            facts=("container", *cited),
            confidence="certain" if denied else "likely",
        )


class ContainerSelinux(Rule):
    """SELinux blocks GPU access in containers.

    Why:
        The container's type may not open the host's device nodes without a policy for them.
    Fix:
        Start with --security-opt=label=disable. Or install a policy for the devices.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
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
