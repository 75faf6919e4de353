"""How the engine hands out GPUs: the NVIDIA container toolkit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.changes import Command, Container, System
from compat.rules.knowledge import is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.reading.messages import Hearing


_DOCKER: Final = (
    Command("sudo nvidia-ctk runtime configure --runtime=docker", "linux"),
    Command("sudo systemctl restart docker", "linux"),
)
_PODMAN: Final = (Command("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", "linux"),)


def _configure(engine: str) -> tuple[Command, ...]:
    """How the engine that is here learns of GPUs: Docker has a runtime for it, Podman reads CDI specifications."""
    return _PODMAN if engine.startswith("podman") else _DOCKER


class DockerNoGpuRuntime(Rule):
    """The engine has no way to hand out GPUs.

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
    changes = (System("container-toolkit"), *_DOCKER)

    def check(self, host: Host, engine: str, gpus: tuple[Gpu, ...]) -> Outcome:
        """An NVIDIA GPU and a running engine are there, and the engine cannot join them.

        It knows neither the runtime ``nvidia`` nor a CDI device.
        """
        if host.gpu_runtime or host.cdi_devices:
            return Fits(f"{engine} can hand out GPUs")
        cards = [gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.driver != "vfio-pci"]
        if not host.absent("gpu_runtime") or not cards or host.container or host.engine_status not in {None, "running"}:
            return None
        return Found(
            detail=f"{engine} knows no NVIDIA runtime and no CDI device.",
            facts=("engine", "gpu_runtime"),
            fix=self.remedy(System("container-toolkit"), *_configure(engine)),
        )


class CdiSpecStale(Rule):
    """The CDI specification was written for another driver.

    Why:
        It lists library files of one driver version, and driver upgrades do not refresh it.
    Fix:
        Generate the specification again.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
    """

    area = "docker"
    severity = "warning"
    vendors = ("nvidia",)
    asks = ("cdi_devices",)
    changes = (Command("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", "linux"),)

    def check(self, cdi_driver: str, driver: str, signals: Hearing) -> Outcome:
        """The driver version in the specification is not the one that is loaded."""
        if cdi_driver == driver:
            return Fits("the CDI specification is of the loaded driver")
        told = "cdi-unresolvable" in signals
        return Found(
            detail=f"The specification is for driver {cdi_driver}; {driver} is loaded.",
            severity="error" if told else None,
        )


class ContainerToolkitOld(Rule):
    """The NVIDIA container toolkit is too old.

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
    changes = (System("container-toolkit"),)
    _CGROUP_V2: Final = (1, 8)  # libnvidia-container 1.8.0, release notes: support for cgroup v2

    def check(self, container_toolkit: str, cgroup: str) -> Outcome:
        """The toolkit is of the major before 1.8, which cannot set device rules under cgroup v2."""
        if not is_version(container_toolkit) or not cgroup.startswith("v2"):
            return None
        if versions.release(container_toolkit) >= self._CGROUP_V2:
            return Fits(f"container toolkit {container_toolkit} knows cgroup v2")
        return Found(detail=f"Toolkit {container_toolkit} does not know cgroup v2.", severity="error")


class ContainerMixedInjection(Rule):
    """Hook and runtime are used together in an unsupported way.

    Why:
        On Tegra and on CDI-only set-ups the old hook refuses to work.
    Fix:
        Use the runtime instead of --gpus. That is --runtime=nvidia with NVIDIA_VISIBLE_DEVICES.
    Sources:
        - https://github.com/NVIDIA/nvidia-container-toolkit
    """

    area = "docker"
    vendors = ("nvidia",)
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
        return Found(
            detail=f"The toolkit runs in the mode {mode}, and --gpus goes through the older hook.",
            facts=("toolkit_config",),
            confidence="likely",
            severity="warning",
        )


class ContainerCliLdcache(Rule):
    """nvidia-container-cli cannot find the driver's libraries.

    Why:
        It finds the driver through the host's loader cache only.
    Fix:
        Rebuild the loader's cache on the host. Correct the ldconfig line of its configuration.
    Sources:
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc_ldcache.c
    """

    area = "docker"
    vendors = ("nvidia",)
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
        return Found(
            detail=f"The toolkit is told to start {missing}, which is not there.",
            facts=("toolkit_config",),
            severity="warning",
        )


class ContainerVisibleDevicesUnprivileged(Rule):
    """Device requests by variable are not accepted for this container.

    Why:
        Operators switch the variable off so that images cannot grant themselves devices.
    Fix:
        Ask with --gpus or CDI. Or use the device plug-in.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/
    """

    severity = "warning"
    area = "docker"
    vendors = ("nvidia",)
    requires = ("container-no-gpu",)
    asks = ("gpu_runtime", "toolkit_config")
    changes = (Container("--gpus all"),)
    _SETTING: Final = "accept-nvidia-visible-devices-envvar-when-unprivileged"  # config.toml of the toolkit

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """The toolkit is configured to refuse NVIDIA_VISIBLE_DEVICES from unprivileged containers.

        That is an operator's choice: where nothing was refused yet it is told as advice.
        """
        if heard := signals.get("unprivileged-envvar"):
            return Found(detail=heard.signal.meaning, severity="error")
        if (host.toolkit_config or {}).get(self._SETTING) != "false":
            return None
        return Found(
            detail="Containers without privileges cannot ask for GPUs by variable here.",
            facts=("toolkit_config",),
            severity="info",
        )


RULES = family(
    ContainerMixedInjection,
    ContainerToolkitOld,
    CdiSpecStale,
    ContainerCliLdcache,
    DockerNoGpuRuntime,
    ContainerVisibleDevicesUnprivileged,
)
