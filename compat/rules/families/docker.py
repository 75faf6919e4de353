"""The container engine on the host: there, reachable, of which kind; and how it hands out GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.changes import Command, Container, Service, System
from compat.joints.base import knows_cgroup
from compat.joints.verdict import Clash
from compat.rules.deeds import CONFIGURE_DOCKER, LIST_DEVICES
from compat.rules.lookups import cite, is_version
from compat.rules.rule import Fits, Found, NvidiaRule, Outcome, Rule
from compat.sentences import Sentence

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing


_DOCKER: Final = (CONFIGURE_DOCKER, Service("docker"))


class DockerMissing(Rule):
    """No container engine is found.

    Why: Images can be planned and written without an engine, but not built or verified.
    Fix: Install Docker Engine or Podman.
    Sources: https://docs.docker.com/engine/install/
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

    Why: The client is only a front end of the daemon.
    Fix: Start the daemon. Check DOCKER_HOST and the context.
    Sources: https://docs.docker.com/engine/daemon/troubleshoot/
    """

    severity = "warning"
    area = "docker"
    changes = (Service("docker", start=True), Command("docker context ls"))

    def check(self, engine_status: str, signals: Hearing) -> Outcome:
        """The client is installed, and nobody listens at the daemon's socket."""
        if engine_status not in {"stopped", "unreachable"}:
            return Fits("the container engine answers") if engine_status == "running" else None
        return Found(detail=f"The engine is {engine_status}.", severity="error" if "docker-daemon" in signals else None)


class DockerPermission(Rule):
    """The user may not talk to the Docker daemon.

    Why: It belongs to the group docker, whose members have the powers of root on the host.
    Fix: Join the group docker (its members have the powers of root) and log in again. Rootless Docker needs no group.
    Sources: https://docs.docker.com/engine/install/linux-postinstall/
    """

    severity = "warning"
    area = "docker"
    asks = ("groups",)
    changes = (Command("sudo usermod -aG docker $USER", "host"),)

    def check(self, engine_status: str, signals: Hearing) -> Outcome:
        """The daemon's socket exists and refuses this user."""
        if engine_status != "denied":
            return None
        severe = "docker-socket-denied" in signals
        return Found(detail="The engine's socket refuses this user.", severity="error" if severe else None)


class DockerSnap(Rule):
    """Docker comes from snap and cannot see the NVIDIA toolkit.

    Why: The snap is confined and does not find hooks and libraries of the host.
    Fix: Remove the snap and install Docker from its own repository.
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


class DockerRootless(NvidiaRule):
    """A rootless engine needs its own GPU configuration.

    Why: A rootless engine may not edit the device rules that the legacy hook sets.
    Fix: Use CDI. Or set no-cgroups for the toolkit.
    Sources: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    """

    severity = "warning"
    area = "docker"
    requires = ("container-no-gpu",)
    asks = ("cdi_devices",)
    changes = (LIST_DEVICES, Container("--device nvidia.com/gpu=all"))

    def check(self, host: Host, engine_flavour: str) -> Outcome:
        """The engine runs without root, and no CDI specification names a GPU."""
        told_so = (host.toolkit_config or {}).get("nvidia-container-cli.no-cgroups") == "true"
        nvidia = any(gpu.vendor == "nvidia" for gpu in host.gpus or ())
        if engine_flavour != "rootless" or host.cdi_devices or told_so or not nvidia:
            return None
        detail = "The engine is rootless and no CDI device is known."
        return Found(detail=detail, facts=("engine_flavour", "cdi_devices"))


class K8sNoGpuResource(Rule):
    """The pod did not request a GPU.

    Why: Device plug-ins inject only what the pod asks for.
    Fix: Add resources.limits nvidia.com/gpu: 1 to the container of the pod. AMD's is amd.com/gpu; check the device
        plug-in and the runtime class.
    Sources: https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
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


class ContainerMixedInjection(NvidiaRule):
    """Hook and runtime are used together in an unsupported way.

    Why: On Tegra and on CDI-only set-ups the old hook refuses to work.
    Fix: Use the runtime instead of --gpus. That is --runtime=nvidia with NVIDIA_VISIBLE_DEVICES.
    Sources: https://github.com/NVIDIA/nvidia-container-toolkit
    """

    area = "docker"
    requires = ("container-no-gpu",)
    asks = ("gpu_runtime",)
    changes = (Container("--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all"),)

    def check(self, host: Host, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """The container toolkit refuses --gpus because it runs in CDI or CSV mode, or a command is about to ask so."""
        if heard := signals.get("hook-unsupported"):
            return Found(detail=heard.signal.meaning)
        mode = (host.toolkit_config or {}).get("nvidia-container-runtime.mode", "")
        asks = next((line for line in commands if "--gpus" in line and "runtime" not in line), "")
        if mode not in {"cdi", "csv"} or not asks:
            return None
        detail = f"The toolkit runs in the mode {mode}, and --gpus goes through the older hook."
        return Found(detail=detail, facts=("toolkit_config",), confidence="likely", severity="warning")


class ContainerToolkitOld(NvidiaRule):
    """The NVIDIA container toolkit is too old.

    Why: Early releases know cgroup v1 only, and mounted compat libraries without looking at the driver.
    Fix: Upgrade nvidia-container-toolkit and libnvidia-container1 together.
    Sources: https://github.com/NVIDIA/libnvidia-container/releases
    """

    severity = "warning"
    area = "docker"
    requires = ("container-no-gpu",)
    changes = (System("container-toolkit"),)

    def check(self, container_toolkit: str, cgroup: str, matrix: Matrix) -> Outcome:
        """The toolkit is of a release that cannot set device rules under cgroup v2."""
        if not is_version(container_toolkit) or not cgroup.startswith("v2"):
            return None
        judged = knows_cgroup(matrix, container_toolkit, cgroup)
        if isinstance(judged, Clash):
            return Found(detail=f"{judged.why}.", severity="error", sources=cite(matrix, *judged.rows))
        return Fits(Sentence("container toolkit {version} knows cgroup v2", version=container_toolkit))


class CdiSpecStale(NvidiaRule):
    """The CDI specification was written for another driver.

    Why: It lists library files of one driver version, and driver upgrades do not refresh it.
    Fix: Generate the specification again.
    Sources: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
    """

    area = "docker"
    severity = "warning"
    asks = ("cdi_devices",)
    changes = (LIST_DEVICES,)

    def check(self, cdi_driver: str, driver: str, signals: Hearing) -> Outcome:
        """The driver version in the specification is not the one that is loaded."""
        if cdi_driver == driver:
            return Fits("the CDI specification is of the loaded driver")
        severe = "cdi-unresolvable" in signals
        detail = f"The specification is for driver {cdi_driver}; {driver} is loaded."
        return Found(detail=detail, severity="error" if severe else None)


class ContainerCliLdcache(NvidiaRule):
    """nvidia-container-cli cannot find the driver's libraries.

    Why: It finds the driver through the host's loader cache only.
    Fix: Rebuild the loader's cache on the host. Correct the ldconfig line of its configuration.
    Sources: https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc_ldcache.c
    """

    area = "docker"
    requires = ("container-no-gpu", "no-driver")
    asks = ("libraries", "toolkit_config")
    changes = (
        Command("sudo ldconfig", "linux"),
        Command("grep ldconfig /etc/nvidia-container-runtime/config.toml", "linux"),
    )

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """The tool fails at ldconfig, or is configured to start an ldconfig of the host that is not there."""
        if heard := signals.get("cli-ldcache"):
            return Found(detail=heard.signal.meaning)
        missing = (host.toolkit_config or {}).get("missing", "")
        if not missing:
            return None
        detail = f"The toolkit is told to start {missing}, which is not there."
        return Found(detail=detail, facts=("toolkit_config",), severity="warning")


class DockerNoGpuRuntime(NvidiaRule):
    """The engine has no way to hand out GPUs.

    Why: Docker maps --gpus to a hook or a CDI device that the container toolkit provides.
    Fix: Install the container toolkit and configure the engine.
    Sources: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    """

    severity = "warning"
    area = "docker"
    requires = ("container-no-gpu", "docker-snap", "no-driver")
    asks = ("gpu_runtime", "cdi_devices", "container_toolkit")
    changes = (System("container-toolkit"), *_DOCKER)

    def check(self, host: Host, engine: str, gpus: tuple[Gpu, ...]) -> Outcome:
        """An NVIDIA GPU and a running engine are there, and the engine cannot join them.

        It knows neither the runtime ``nvidia`` nor a CDI device.
        """
        if host.gpu_runtime or host.cdi_devices:
            return Fits(Sentence("{engine} can hand out GPUs", engine=engine))
        cards = [gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.driver != "vfio-pci"]
        if not host.absent("gpu_runtime") or not cards or host.container or host.engine_status not in {None, "running"}:
            return None
        # Docker has a runtime for GPUs, Podman reads CDI specifications
        configure = (LIST_DEVICES,) if engine.startswith("podman") else _DOCKER
        return Found(
            detail=f"{engine} knows no NVIDIA runtime and no CDI device.",
            facts=("engine", "gpu_runtime"),
            fix=self.remedy(System("container-toolkit"), *configure),
        )


class ContainerVisibleDevicesUnprivileged(NvidiaRule):
    """Device requests by variable are not accepted for this container.

    Why: Operators switch the variable off so that images cannot grant themselves devices.
    Fix: Ask with --gpus or CDI. Or use the device plug-in.
    Sources: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/
    """

    severity = "warning"
    area = "docker"
    requires = ("container-no-gpu",)
    asks = ("gpu_runtime", "toolkit_config")
    changes = (Container(gpus=True),)
    _SETTING: Final = "accept-nvidia-visible-devices-envvar-when-unprivileged"  # config.toml of the toolkit

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """The toolkit is configured to refuse NVIDIA_VISIBLE_DEVICES from unprivileged containers.

        That is an operator's choice: where nothing was refused yet it is told as advice.
        """
        if heard := signals.get("unprivileged-envvar"):
            return Found(detail=heard.signal.meaning, severity="error")
        if (host.toolkit_config or {}).get(self._SETTING) != "false":
            return None
        detail = "Containers without privileges cannot ask for GPUs by variable here."
        return Found(detail=detail, facts=("toolkit_config",), severity="info")
