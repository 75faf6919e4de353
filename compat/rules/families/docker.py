"""The container engine on the host: there, reachable, and of which kind; and Kubernetes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat.changes import Command, Container, System
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.reading.messages import Hearing


class DockerMissing(Rule):
    """No container engine is found.

    Why:
        Images can be planned and written without an engine, but not built or verified.
    Fix:
        Install Docker Engine or Podman.
    Sources:
        - https://docs.docker.com/engine/install/
    """

    severity = "info"
    area = "docker"
    asks = ("engine",)
    changes = (System("engine"),)

    def check(self, host: Host) -> Outcome:
        """Neither Docker nor Podman is installed."""
        if not host.absent("engine") or host.container:
            return None
        return Found(detail="Images can be written here, but not built or verified.", facts=("engine",))


class DockerDaemonDown(Rule):
    """The Docker daemon does not answer.

    Why:
        The client is only a front end of the daemon.
    Fix:
        Start the daemon. Check DOCKER_HOST and the context.
    Sources:
        - https://docs.docker.com/engine/daemon/troubleshoot/
    """

    severity = "warning"
    area = "docker"
    changes = (Command("sudo systemctl enable --now docker", "linux"), Command("docker context ls"))

    def check(self, engine_status: str, signals: Hearing) -> Outcome:
        """The client is installed, and nobody listens at the daemon's socket."""
        if engine_status not in {"stopped", "unreachable"}:
            return Fits("the container engine answers") if engine_status == "running" else None
        return Found(detail=f"The engine is {engine_status}.", severity="error" if "docker-daemon" in signals else None)


class DockerPermission(Rule):
    """The user may not talk to the Docker daemon.

    Why:
        It belongs to the group docker, whose members have the powers of root on the host.
    Fix:
        Join the group docker (its members have the powers of root) and log in again. Rootless Docker needs no group.
    Sources:
        - https://docs.docker.com/engine/install/linux-postinstall/
    """

    severity = "warning"
    area = "docker"
    asks = ("groups",)
    changes = (Command("sudo usermod -aG docker $USER", "host"),)

    def check(self, engine_status: str, signals: Hearing) -> Outcome:
        """The daemon's socket exists and refuses this user."""
        if engine_status != "denied":
            return None
        return Found(
            detail="The engine's socket refuses this user.",
            severity="error" if "docker-socket-denied" in signals else None,
        )


class DockerSnap(Rule):
    """Docker comes from snap and cannot see the NVIDIA toolkit.

    Why:
        The snap is confined and does not find hooks and libraries of the host.
    Fix:
        Remove the snap and install Docker from its own repository.
    Sources:
        - https://docs.docker.com/engine/install/ubuntu/
        - https://github.com/canonical/docker-snap
    """

    severity = "warning"
    area = "docker"
    requires = ("container-no-gpu",)
    changes = (Command("sudo snap remove docker", "linux"),)

    def check(self, host: Host, engine_flavour: str) -> Outcome:
        """The engine is the snap package."""
        if engine_flavour != "snap" or not any(gpu.vendor == "nvidia" for gpu in host.gpus or ()):
            return None
        return Found(detail="Docker is the snap package.")


class DockerRootless(Rule):
    """A rootless engine needs its own GPU configuration.

    Why:
        A rootless engine may not edit the device rules that the legacy hook sets.
    Fix:
        Use CDI. Or set no-cgroups for the toolkit.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    """

    severity = "warning"
    area = "docker"
    vendors = ("nvidia",)
    requires = ("container-no-gpu",)
    asks = ("cdi_devices",)
    changes = (
        Command("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", "linux"),
        Container("--device nvidia.com/gpu=all"),
    )

    def check(self, host: Host, engine_flavour: str) -> Outcome:
        """The engine runs without root, and no CDI specification names a GPU."""
        if (
            engine_flavour != "rootless"
            or host.cdi_devices
            or (host.toolkit_config or {}).get("nvidia-container-cli.no-cgroups") == "true"
            or not any(gpu.vendor == "nvidia" for gpu in host.gpus or ())
        ):
            return None
        return Found(
            detail="The engine is rootless and no CDI device is known.", facts=("engine_flavour", "cdi_devices")
        )


class K8sNoGpuResource(Rule):
    """The pod did not request a GPU.

    Why:
        Device plug-ins inject only what the pod asks for.
    Fix:
        Add resources.limits nvidia.com/gpu: 1 to the container of the pod. AMD's is amd.com/gpu; check the device
        plug-in and the runtime class.
    Sources:
        - https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
    """

    area = "kubernetes"
    severity = "warning"
    requires = ("container-no-gpu",)
    changes = (Command("kubectl describe node | grep nvidia.com/gpu"),)

    def check(self, container: str, device_nodes: tuple[str, ...], signals: Hearing) -> Outcome:
        """The process runs in Kubernetes, and no GPU device node is there."""
        nodes = [node for node in device_nodes if re.search(r"nvidia\d|kfd|dxg|renderD", node)]
        if container != "kubernetes" or nodes:
            return None
        return Found(detail="No GPU device node is in this pod.", severity="error" if signals.harmful else None)


RULES = family(DockerMissing, DockerDaemonDown, DockerPermission, DockerSnap, DockerRootless, K8sNoGpuResource)
