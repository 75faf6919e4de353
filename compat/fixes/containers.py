"""Fixes of containers: the command that was typed, mended; the toolkit, installed before it is configured."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.changes import Command, Container, System
from compat.facts import Host
from compat.findings import Fix
from compat.lazy import pattern
from compat.rules.remedies import of_system

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compat.fixes.subject import Subject

_RUN: Final = pattern(r"\b(?P<engine>docker|podman|nerdctl)(?P<middle>(?: container)? run)\b")
_NODES: Final = "--device /dev/kfd --device /dev/dri"
_CDI: Final = pattern(r"select device driver \W{0,3}cdi\b")  # dockerd's name of the driver that was asked for
_LONGEST: Final = 110  # characters of a command that is repeated whole


def no_gpu(subject: Subject) -> Fix | None:
    """A container without a GPU: what was typed, with the GPU; or what the engine lacks to give one."""
    signals = subject.case.signals
    if signals.get("cdi-name-as-path") and _by_podman(subject):
        text = "Upgrade podman to 4.1 or newer, which knows CDI; then make the device list."
        return Fix(text, changes=(Command("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"),))
    if signals.get("cli-wsl"):
        text = "Update the NVIDIA driver of Windows, and WSL: to version 2, as WSL 1 has no GPU."
        return Fix(text, changes=(Command("wsl --update"), Command("wsl --shutdown")))
    if signals.get("cli-nvml-library") and not subject.host.driver:
        return _no_driver(subject)
    if subject.host.container == "kubernetes" or signals.get("kubernetes-insufficient", "kubernetes-no-gpus"):
        return _in_cluster(subject)
    if signals.get("select-driver", "unknown-runtime", "runtime-hook-missing", "cli-nvml-library"):
        return _toolkit(subject)
    return _retyped(subject) or (_with_nodes(subject) if signals.get("kfd-no-file") else None)


def _by_podman(subject: Subject) -> bool:
    return any("podman" in command for command in subject.case.commands)


def _retyped(subject: Subject) -> Fix | None:
    """The command that was typed, with the GPU; none where it is too long to be said again."""
    typed = next((line for line in subject.case.commands if _RUN.search(line) and "--gpus" not in line), "")
    if not typed or len(typed) > _LONGEST or "/dev/kfd" in typed:
        return None
    amd = {gpu.vendor for gpu in subject.gpus} == {"amd"} or "kfd-no-file" in subject.case.signals
    option = _NODES if amd else "--gpus all"
    option = "--device nvidia.com/gpu=all" if _by_podman(subject) and not amd else option
    mended = _RUN.sub(lambda found: f"{found['engine']}{found['middle']} {option}", typed, count=1)
    return Fix("Start the container with the GPU.", changes=(Command(re.sub(r"^\$\s*", "", mended)),))


def _with_nodes(subject: Subject) -> Fix | None:
    """AMD's device nodes, for an image that nothing names."""
    if not subject.host.container or any("/dev/kfd" in line for line in subject.case.commands):
        return None
    start = Container(_NODES, image=subject.host.image or "")
    return Fix("Start the container with AMD's device nodes.", changes=(start,))


def _no_driver(subject: Subject) -> Fix:
    """The toolkit works and finds no driver library where the engine runs."""
    windows = subject.host.platform in {"windows", "wsl2"} or subject.host.engine_flavour == "desktop"
    if windows:
        steps = (Command("wsl --update"), Command("wsl --shutdown"))
        return Fix(
            "Install the NVIDIA driver of Windows, which WSL and Docker Desktop take theirs from.", changes=steps
        )
    text = (
        "Install the NVIDIA driver on the host, where nvidia-smi has to answer first; with Docker Desktop, on Windows."
    )
    install, _ = of_system([System("driver")], _outside(subject.host), subject.matrix)
    return Fix(text, changes=install)


def _in_cluster(subject: Subject) -> Fix:
    """A pod has to ask for a GPU; where no node offers one, the device plugin sees none under another runtime."""
    if not subject.case.signals.get("kubernetes-insufficient", "kubernetes-no-gpus"):
        return Fix("Ask for the GPU in the pod's container: resources.limits, nvidia.com/gpu: 1.")
    if any(gpu.vendor == "amd" for gpu in subject.gpus) or "amd.com/gpu" in subject.text:
        text = "Run AMD's device plugin on the nodes, where the amdgpu driver has to be loaded."
        return Fix(text, changes=(Command("kubectl get daemonset -A"),))
    engine = (
        "docker"
        if (subject.host.engine or "").startswith("docker") or "nvidia-docker" in subject.text
        else "containerd"
    )
    steps = (
        f"sudo nvidia-ctk runtime configure --runtime={engine} --set-as-default",
        f"sudo systemctl restart {engine}",
    )
    text = "Make nvidia the node's default runtime, and run NVIDIA's device plugin."
    return Fix(text, changes=tuple(map(Command, steps)))


def _toolkit(subject: Subject) -> Fix | None:
    """The engine has no hook for NVIDIA's GPUs: install the toolkit, then configure the engine."""
    if subject.host.engine_flavour == "snap" or "/snap/" in subject.text:
        text = "Replace the Docker of snap, which does not see nvidia-container-toolkit, by the distribution's own."
        return Fix(text, changes=(Command("sudo snap remove docker"),))
    if subject.host.platform in {"windows", "wsl2"} and subject.host.engine_flavour == "desktop":
        return Fix("Switch Docker Desktop to the WSL 2 engine, and update the NVIDIA driver of Windows.")
    steps = ["sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl restart docker"]
    if _CDI.search(subject.text):
        text = "Turn CDI on in Docker, 25 or newer, and restart it."
        return Fix(text, changes=(Command(f"{steps[0]} --cdi.enabled"), Command(steps[1])))
    if have := subject.host.container_toolkit:
        text = f"nvidia-container-toolkit {have} is installed: configure Docker for it, and restart that Docker."
        return Fix(text, changes=tuple(map(Command, steps)))
    install, _ = of_system([System("container-toolkit")], _outside(subject.host), subject.matrix)
    text = "Install nvidia-container-toolkit from NVIDIA's repository, configure Docker."
    return Fix(text, changes=(*install, *map(Command, steps)))


def _outside(machine: Host) -> Host:
    """The host of a container that did not start: what was read is the host's own."""
    return Host({name: one for name, one in machine.readings.items() if name != "container"})


FIXES: Final[Mapping[str, Callable[[Subject], Fix | None]]] = {"container-no-gpu": no_gpu}
