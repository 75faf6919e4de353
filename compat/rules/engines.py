"""The container engine on the host: there, reachable, and able to hand out GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.findings import Fix
from compat.rules import remedies
from compat.rules.knowledge import is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.rules.signals import Hearing

_CONFIGURE: Final = ("sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl restart docker")


class DockerMissing(Rule):
    """No container engine is found.

    What:
        Neither Docker nor Podman is installed.
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
    remedy = Fix("Install Docker Engine or Podman.")

    def mend(self, host: Host) -> Fix:
        """The engine's package of this distribution."""
        return Fix(self.remedy.text, remedies.install(host, "docker.io" if remedies.distribution(host) in {"debian", "ubuntu"} else "podman"))

    def check(self, host: Host) -> Outcome:
        if not host.absent("engine") or host["container"]:
            return None
        return Found(detail="Images can be written here, but not built or verified.", facts=("engine",))


class DockerDaemonDown(Rule):
    """The Docker daemon does not answer.

    What:
        The client is installed, and nobody listens at the daemon's socket.
    Why:
        The client is only a front end of the daemon.
    Fix:
        Start the daemon; check DOCKER_HOST and the context.
    Sources:
        - https://docs.docker.com/engine/daemon/troubleshoot/
    """

    severity = "warning"
    area = "docker"
    asks = ("engine_status",)
    remedy = Fix("Start the daemon.", ("sudo systemctl enable --now docker", "docker context ls"))

    def check(self, engine_status: str, signals: Hearing) -> Outcome:
        if engine_status not in {"stopped", "unreachable"}:
            return Fits("the container engine answers") if engine_status == "running" else None
        return Found(detail=f"The engine is {engine_status}.", facts=("engine_status",), severity="error" if "docker-daemon" in signals else None)


class DockerPermission(Rule):
    """The user may not talk to the Docker daemon.

    What:
        The daemon's socket exists and refuses this user.
    Why:
        It belongs to the group docker, whose members have the powers of root on the host.
    Fix:
        Join the group and log in again, or use rootless Docker.
    Sources:
        - https://docs.docker.com/engine/install/linux-postinstall/
    """

    severity = "warning"
    area = "docker"
    asks = ("engine_status", "groups")
    remedy = Fix("Join the group docker (its members have the powers of root) and log in again.", ("sudo usermod -aG docker $USER",))

    def check(self, engine_status: str, signals: Hearing) -> Outcome:
        if engine_status != "denied":
            return None
        return Found(detail="The engine's socket refuses this user.", facts=("engine_status",), severity="error" if "docker-socket-denied" in signals else None)


class DockerNoGpuRuntime(Rule):
    """The engine has no way to hand out GPUs.

    What:
        An NVIDIA GPU and a running engine are there, and the engine knows neither the runtime ``nvidia`` nor a CDI
        device.
    Why:
        Docker maps --gpus to a hook or a CDI device that the container toolkit provides.
    Fix:
        Install the container toolkit and configure the engine.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    """

    severity = "warning"
    area = "docker"
    vendors = ("nvidia",)
    requires = ("container-no-gpu", "docker-snap", "no-driver")
    asks = ("gpu_runtime", "cdi_devices", "container_toolkit")
    remedy = Fix("Install the container toolkit and configure the engine.", _CONFIGURE)

    def check(self, engine: str, gpus: tuple[Gpu, ...], host: Host) -> Outcome:
        if host["gpu_runtime"] or host["cdi_devices"]:
            return Fits(f"{engine} can hand out GPUs")
        cards = [gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.driver != "vfio-pci"]
        if not host.absent("gpu_runtime") or not cards or host["container"] or host["engine_status"] not in {None, "running"}:
            return None
        steps = (*remedies.install(host, "nvidia-container-toolkit"), *_CONFIGURE)
        return Found(detail=f"{engine} knows no NVIDIA runtime and no CDI device.", facts=("engine", "gpu_runtime"), fix=Fix("Install the container toolkit and configure the engine.", steps))


class DockerSnap(Rule):
    """Docker comes from snap and cannot see the NVIDIA toolkit.

    What:
        The engine is the snap package.
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
    asks = ("engine_flavour",)
    remedy = Fix("Remove the snap and install Docker from its own repository.", ("sudo snap remove docker",))

    def check(self, engine_flavour: str, host: Host) -> Outcome:
        if engine_flavour != "snap" or not any(gpu.vendor == "nvidia" for gpu in host["gpus"] or ()):
            return None
        return Found(detail="Docker is the snap package.", facts=("engine_flavour",))


class DockerRootless(Rule):
    """A rootless engine needs its own GPU configuration.

    What:
        The engine runs without root, and no CDI specification names a GPU.
    Why:
        A rootless engine may not edit the device rules that the legacy hook sets.
    Fix:
        Use CDI, or set no-cgroups for the toolkit.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    """

    severity = "warning"
    area = "docker"
    vendors = ("nvidia",)
    requires = ("container-no-gpu",)
    asks = ("engine_flavour", "cdi_devices")
    remedy = Fix("Use CDI.", ("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", "docker run --device nvidia.com/gpu=all IMAGE"))

    def check(self, engine_flavour: str, host: Host) -> Outcome:
        if engine_flavour != "rootless" or host["cdi_devices"] or not any(gpu.vendor == "nvidia" for gpu in host["gpus"] or ()):
            return None
        return Found(detail="The engine is rootless and no CDI device is known.", facts=("engine_flavour", "cdi_devices"))


class CdiSpecStale(Rule):
    """The CDI specification was written for another driver.

    What:
        The driver version in the specification is not the one that is loaded.
    Why:
        It lists library files of one driver version, and driver upgrades do not refresh it.
    Fix:
        Generate it again.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
    """

    area = "docker"
    severity = "warning"
    vendors = ("nvidia",)
    asks = ("cdi_driver", "driver", "cdi_devices")
    remedy = Fix("Generate the specification again.", ("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",))

    def check(self, cdi_driver: str, driver: str, signals: Hearing) -> Outcome:
        if cdi_driver == driver:
            return Fits("the CDI specification is of the loaded driver")
        told = "cdi-unresolvable" in signals
        return Found(detail=f"The specification is for driver {cdi_driver}; {driver} is loaded.", facts=("cdi_driver", "driver"), severity="error" if told else None)


class ContainerToolkitOld(Rule):
    """The NVIDIA container toolkit is too old.

    What:
        The toolkit is of the major before 1.8, which cannot set device rules under cgroup v2.
    Why:
        Early releases know cgroup v1 only, and mounted compat libraries without looking at the driver.
    Fix:
        Upgrade nvidia-container-toolkit and libnvidia-container1 together.
    Sources:
        - https://github.com/NVIDIA/libnvidia-container/releases
    """

    severity = "warning"
    area = "docker"
    vendors = ("nvidia",)
    requires = ("container-no-gpu",)
    asks = ("container_toolkit", "cgroup")
    remedy = Fix("Upgrade nvidia-container-toolkit and libnvidia-container1 together.")
    _CGROUP_V2: Final = (1, 8)  # libnvidia-container 1.8.0, release notes: support for cgroup v2

    def check(self, container_toolkit: str, cgroup: str) -> Outcome:
        if not is_version(container_toolkit) or not cgroup.startswith("v2"):
            return None
        if versions.release(container_toolkit) >= self._CGROUP_V2:
            return Fits(f"container toolkit {container_toolkit} knows cgroup v2")
        return Found(detail=f"Toolkit {container_toolkit} does not know cgroup v2.", facts=("container_toolkit", "cgroup"), severity="error")


class ContainerCgroupDriverRisk(Rule):
    """A set-up that can lose its GPUs on a daemon-reload.

    What:
        The engine uses the systemd cgroup driver and the legacy NVIDIA hook.
    Why:
        A daemon-reload rewrites device rules that the hook had added behind the runtime's back.
    Fix:
        Switch the toolkit to CDI.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """

    severity = "info"
    area = "docker"
    vendors = ("nvidia",)
    requires = ("container-cgroup-lost",)
    asks = ("cgroup", "gpu_runtime")
    remedy = Fix("Switch the toolkit to CDI.", ("sudo nvidia-ctk config --in-place --set nvidia-container-runtime.mode=cdi",))

    def check(self, cgroup: str, gpu_runtime: str, host: Host) -> Outcome:
        if "systemd" not in cgroup or gpu_runtime != "nvidia" or host["cdi_devices"]:
            return None
        return Found(detail=f"cgroup {cgroup}, runtime {gpu_runtime}, no CDI.", facts=("cgroup", "gpu_runtime"))


class ContainerMixedInjection(Rule):
    """Hook and runtime are used together in an unsupported way.

    What:
        The container toolkit refuses --gpus because it runs in CDI or CSV mode.
    Why:
        On Tegra and on CDI-only set-ups the old hook refuses to work.
    Fix:
        Use --runtime=nvidia with NVIDIA_VISIBLE_DEVICES instead of --gpus.
    Sources:
        - https://github.com/NVIDIA/nvidia-container-toolkit
    """

    area = "docker"
    vendors = ("nvidia",)
    requires = ("container-no-gpu",)
    asks = ("gpu_runtime",)
    remedy = Fix("Use the runtime instead of --gpus.", ("docker run --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all IMAGE",))

    def check(self, signals: Hearing) -> Outcome:
        heard = signals.get("hook-unsupported")
        return Found(detail=heard.signal.meaning) if heard else None


class ContainerCliLdcache(Rule):
    """nvidia-container-cli cannot find the driver's libraries.

    What:
        The tool fails at ldconfig, or does not find libnvidia-ml in the host's loader cache.
    Why:
        It finds the driver through the host's loader cache only.
    Fix:
        Rebuild the cache; correct the ldconfig line of its configuration.
    Sources:
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc_ldcache.c
    """

    area = "docker"
    vendors = ("nvidia",)
    requires = ("container-no-gpu", "no-driver")
    asks = ("libraries",)
    remedy = Fix("Rebuild the loader's cache on the host.", ("sudo ldconfig", "grep ldconfig /etc/nvidia-container-runtime/config.toml"))

    def check(self, signals: Hearing) -> Outcome:
        heard = signals.get("cli-ldcache")
        return Found(detail=heard.signal.meaning) if heard else None


class ContainerVisibleDevicesUnprivileged(Rule):
    """Device requests by variable are not accepted for this container.

    What:
        The toolkit is configured to refuse NVIDIA_VISIBLE_DEVICES from unprivileged containers.
    Why:
        Operators switch the variable off so that images cannot grant themselves devices.
    Fix:
        Ask with --gpus, CDI or the device plug-in.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/
    """

    severity = "warning"
    area = "docker"
    vendors = ("nvidia",)
    requires = ("container-no-gpu",)
    asks = ("gpu_runtime",)
    remedy = Fix("Ask with --gpus or CDI.", ("docker run --gpus all IMAGE",))

    def check(self, signals: Hearing) -> Outcome:
        heard = signals.get("unprivileged-envvar")
        return Found(detail=heard.signal.meaning, severity="error") if heard else None


class K8sNoGpuResource(Rule):
    """The pod did not request a GPU.

    What:
        The process runs in Kubernetes, and no GPU device node is there.
    Why:
        Device plug-ins inject only what the pod asks for.
    Fix:
        Add resources.limits nvidia.com/gpu (or amd.com/gpu), and check the device plug-in and the runtime class.
    Sources:
        - https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
    """

    area = "kubernetes"
    severity = "warning"
    requires = ("container-no-gpu",)
    asks = ("container", "device_nodes")
    remedy = Fix("Add resources.limits nvidia.com/gpu: 1 to the container of the pod.", ("kubectl describe node | grep nvidia.com/gpu",))

    def check(self, container: str, device_nodes: tuple[str, ...], signals: Hearing) -> Outcome:
        nodes = [node for node in device_nodes if re.search(r"nvidia\d|kfd|dxg|renderD", node)]
        if container != "kubernetes" or nodes:
            return None
        return Found(detail="No GPU device node is in this pod.", facts=("container", "device_nodes"), severity="error" if signals.harmful else None)


RULES = family(
    DockerMissing, DockerDaemonDown, DockerPermission, DockerSnap, DockerRootless, ContainerMixedInjection, ContainerToolkitOld, CdiSpecStale,
    ContainerCliLdcache, DockerNoGpuRuntime, ContainerVisibleDevicesUnprivileged, K8sNoGpuResource, ContainerCgroupDriverRisk,
)  # fmt: skip
