"""Fixes of containers: the command that was typed, mended; the toolkit, installed before it is configured."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.fixes.boards as boards
from compat.changes import Command, Container, Service, System
from compat.commands import options_of
from compat.facts import Host
from compat.findings import Fix
from compat.lazy import pattern
from compat.reading.commands import asks_for_gpu, capabilities, container_of, is_plain
from compat.rules.deeds import AMD_NODES, CONFIGURE_DOCKER, LIST_DEVICES, WITH_AMD, install_driver, of_system, spelled

if TYPE_CHECKING:
    from compat.changes import Change
    from compat.fixes.subject import Subject
    from compat.rules.case import Case

_SNUG: Final = frozenset({"singularity", "apptainer"})
_RUN: Final = pattern(r"\b(?:(?:docker|podman|nerdctl)(?: container)? run|(?:singularity|apptainer) \w+)\b")
# A number is how many; of 0 devices the daemon sets nothing (docker/cli, opts/gpus.go; moby, daemon/nvidia_linux.go).
_GPUS_OPTION: Final = pattern(r"--gpus[ =]'?([^\s']*\bcapabilities=[^\s']*)'?")
_NO_GPU: Final = pattern(r"--gpus[ =]0(?=\s)")
_ASKING: Final = pattern(r"--gpus[ =]\S+")
_NODES: Final = ("kubernetes-insufficient", "kubernetes-no-gpus", "kubernetes-bare-node")  # a node offers no GPU
_RESERVED: Final = "deploy, resources, reservations, devices, with capabilities: [gpu]"
_GUIDE: Final = " as docs.nvidia.com/datacenter/cloud-native/container-toolkit says"
_ROCM: Final = pattern(r"\brocm")  # AMD's images, ``rocm/pytorch``, and AMD's of others, ``ollama/ollama:rocm``
_UNSEALED: Final = "--security-opt=label=disable"  # without SELinux's label
_LONGEST: Final = 110  # characters of a command that is repeated whole


def no_gpu(subject: Subject) -> Fix | None:
    """A container without a GPU: what was typed, with the GPU; or what the engine lacks to give one."""
    signals = subject.case.signals
    if signals.get("cdi-name-as-path") and container_of(subject.case.commands) == "podman":
        first = subject.matrix.turn("podman-cdi").version
        text = f"Upgrade podman to {first} or newer, which knows CDI; then make the device list."
        return Fix(text, changes=(LIST_DEVICES,))
    if signals.get("docker-dri-missing", "docker-kfd-missing"):
        return without_nodes(subject)
    return _refused(subject) or _retyped(subject) or (_with_nodes(subject) if signals.get("kfd-no-file") else None)


def without_nodes(subject: Subject) -> Fix | None:
    """A host without the nodes of AMD's and Intel's drivers, which WSL and Docker Desktop never have."""
    if subject.host.platform in {"windows", "wsl2"}:
        text = "Docker Desktop and WSL2 have no /dev/kfd and no /dev/dri: hand over /dev/dxg with ROCm's libraries for"
        return Fix(f"{text} WSL, or start the image on Linux itself.")
    if subject.case.signals.get("docker-dri-missing"):
        text = (
            "Load the driver that makes /dev/dri on the host: amdgpu, i915 or xe. WSL and Docker Desktop have /dev/dxg"
        )
        return Fix(f"{text} and /usr/lib/wsl instead.")
    return None


def _refused(subject: Subject) -> Fix | None:
    """What the engine or the cluster lacks to give a GPU."""
    signals = subject.case.signals
    if fix := _of_others(subject):
        return fix
    if signals.get("cli-nvml-library") and not subject.host.driver:
        return _no_driver(subject)
    engines = {container_of([line]) for line in subject.case.commands}  # Docker's own container may have the GPU
    orchestrated = "kubernetes" in {subject.host.container, *engines}
    if orchestrated or signals.get(*_NODES):
        return _in_cluster(subject)
    if signals.get("select-driver", "unknown-runtime", "runtime-hook-missing", "cli-nvml-library"):
        return _toolkit(subject)
    return None


def _of_others(subject: Subject) -> Fix | None:
    """Where no GPU of NVIDIA's is told: its option, handed to the nodes of the GPU that is there."""
    vendors = {gpu.vendor for gpu in subject.host.gpus or ()}
    refused = subject.case.signals.get("select-driver", "cli-nvml-library", "nvml-not-loaded")
    if not refused or "nvidia" in vendors or not vendors & {"amd", "intel"}:
        return None
    nodes = AMD_NODES if "amd" in vendors else "--device /dev/dri"
    typed = next((line for line in subject.case.commands if _ASKING.search(line) and _is_said_again(line)), "")
    text = "Docker's --gpus is for GPUs of NVIDIA, and none is named here: hand over the nodes of this one."
    return Fix(text, changes=(Command(_ASKING.sub(nodes, typed)) if typed else Container(nodes),))


def _is_said_again(command: str, longest: int = _LONGEST) -> bool:
    """Whether a command that was typed is told whole: a short one, with nothing behind it that a shell would run."""
    return len(command) <= longest and is_plain(command)


def _retyped(subject: Subject) -> Fix | None:
    """The command that was typed, with the GPU; none where it is too long to be said again."""
    from compat.sources.pasted import SERVICE

    started = [line for line in subject.case.commands if _RUN.search(line)]
    if none := next((line for line in started if _NO_GPU.search(line)), ""):
        mended = _NO_GPU.sub("--gpus all", none) if _is_said_again(none) else ""
        text = "Write --gpus all, or --gpus device=0 for the first one: --gpus 0 asks for no GPU."
        return Fix(text, changes=(Command(mended),) if mended else ())
    typed = next((line for line in started if not asks_for_gpu(line) or (SERVICE in line and _ROCM.search(line))), "")
    amd = {gpu.vendor for gpu in subject.gpus} == {"amd"} or "kfd-no-file" in subject.case.signals
    amd = amd or bool(_ROCM.search(typed))
    if SERVICE in typed:
        name = typed.partition(SERVICE)[2].split()[0]
        way = "devices: /dev/kfd and /dev/dri" if amd else _RESERVED
        return Fix(f"Give the service {name} the GPU in the compose file: {way}.")
    if not typed or not _is_said_again(_bare(typed)):
        return None
    engine = container_of([typed])
    option = options_of(Container(gpus=True, engine=engine))
    if amd:
        option = "--rocm" if engine in _SNUG else AMD_NODES
    return Fix("Start the container with the GPU.", changes=(Command(_started_with(option, _bare(typed))),))


def computing(subject: Subject) -> Fix | None:
    """The command that asks for parts of the driver without the one that computes, with that."""
    typed = next((line for line in subject.case.commands if capabilities([line])), "")
    if not typed or not _is_said_again(typed, 2 * _LONGEST):
        return None
    named = ",".join(sorted({"compute", "utility", *capabilities([typed])}))
    option = _GPUS_OPTION.search(typed)
    if option is None:
        mended = re.sub(r"(NVIDIA_DRIVER_CAPABILITIES=)[a-z0-9,]+", rf"\g<1>{named}", typed)
    else:  # the value is a line of CSV
        value = option[1].strip('"') if option[1].count('"') == 2 and option[1][0] == option[1][-1] else option[1]
        fields = re.sub(r"\"?capabilities=[a-z0-9]+(?:,[a-z0-9]+(?![\w=]))*\"?", f'"capabilities={named}"', value)
        mended = f"{typed[: option.start()]}--gpus '{fields}'{typed[option.end() :]}"
    return Fix("Ask for compute too.", changes=(Command(mended),))


def in_use(change: Change, case: Case) -> tuple[Change, ...]:
    """A change; the start of a container by the engine that was typed, from the image in use. None by a cluster."""
    if not isinstance(change, Container):
        # K3s writes the configuration of its own containerd, at each start (docs.k3s.io/advanced)
        apart = case.signals.said.get("k3s") and isinstance(change, Command) and "containerd" in change.line
        own = (Service("k3s"),) if apart and " restart " in getattr(change, "line", "") else ()
        return own if apart else (change,)
    image = change.image or case.host.image or ""
    change = replace(WITH_AMD if change.gpus and _ROCM.search(image) else change, image=image)
    engine = container_of(case.commands) or change.engine
    if change.command == "run" and change.options and " " not in change.options and not (change.gpus or change.group):
        typed = next((_bare(one) for one in case.commands if _RUN.search(one)), "")
        if typed and engine not in _SNUG and _is_said_again(typed):
            earlier = re.sub(rf" {re.escape(change.options.partition('=')[0])}[= ]\S+", "", typed)  # its value there
            return (Command(_started_with(change.options, earlier)),)
    if change.command != "run" or engine == change.engine:
        return (change,)
    if engine in {"podman", "nerdctl"}:
        # rootless Podman maps a number to another group of the host; it keeps the caller's own groups (podman-run(1))
        rootless = engine == "podman" and not any(re.search(r"\bsudo podman\b", line) for line in case.commands)
        return (replace(change, engine=engine, group="keep-groups" if change.group and rootless else change.group),)
    snug = engine in _SNUG and change.gpus and not (change.options or change.group)
    return (replace(change, engine=engine, command="exec"),) if snug else ()


def _bare(command: str) -> str:
    """A command without the prompt that a text shows before it."""
    return re.sub(r"^\$\s*", "", command)


def _started_with(options: str, command: str) -> str:
    """A command that starts a container, with more options."""
    return _RUN.sub(lambda found: f"{found[0]} {options}", command, count=1)


def _with_nodes(subject: Subject) -> Fix | None:
    """AMD's device nodes, for an image that nothing names."""
    if not subject.host.container or any("/dev/kfd" in line for line in subject.case.commands):
        return None
    return Fix("Start the container with AMD's device nodes.", changes=(Container(AMD_NODES),))


def _no_driver(subject: Subject) -> Fix:
    """The toolkit works and finds no driver library where the engine runs."""
    if boards.is_one(subject):
        text = "Name JetPack's folder of drivers, /usr/lib/aarch64-linux-gnu/tegra, in /etc/ld.so.conf.d on the board."
        return Fix(text, changes=(Command("sudo ldconfig", "linux"),))
    windows = subject.host.platform in {"windows", "wsl2"} or subject.host.engine_flavour == "desktop"
    if windows:
        steps = (Command("wsl --update"), Command("wsl --shutdown"))
        return Fix(
            "Install the NVIDIA driver of Windows, which WSL and Docker Desktop take theirs from.", changes=steps
        )
    text = (
        "Install the NVIDIA driver on the host, where nvidia-smi has to answer first; with Docker Desktop, on Windows."
    )
    outside = _outside(subject.host)
    return spelled(install_driver(outside, subject.matrix, text), outside, subject.matrix)


def _in_cluster(subject: Subject) -> Fix:
    """A pod has to ask for a GPU; where no node offers one, the device plugin sees none under another runtime."""
    amd = any(gpu.vendor == "amd" for gpu in subject.gpus) or "amd.com/gpu" in subject.said("service")
    if subject.said("k3s") and not amd:
        text = "Install NVIDIA's container toolkit on the node and restart K3s, which finds it; give the pods"
        return Fix(f"{text}, the device plugin's too, runtimeClassName: nvidia.", changes=(Service("k3s"),))
    if not subject.case.signals.get(*_NODES):
        text = "Ask for the GPU in the pod's container, resources.limits, nvidia.com/gpu: 1"
        return Fix(f"{text}; with runtimeClassName: nvidia where that is not the node's default runtime.")
    if amd:
        text = "Run AMD's device plugin on the nodes, where the amdgpu driver has to be loaded."
        return Fix(text, changes=(Command("kubectl get daemonset -A"),))
    docker = (subject.host.engine or "").startswith("docker") or "nvidia-docker" in subject.said("service")
    engine = "docker" if docker else "containerd"
    configure = Command(f"sudo nvidia-ctk runtime configure --runtime={engine} --set-as-default")
    text = "Make nvidia the node's default runtime, and run NVIDIA's device plugin (k8s-device-plugin)."
    if not subject.case.signals.get("kubernetes-insufficient"):
        return Fix(text, changes=(configure, Service(engine)))
    see = Command("kubectl describe nodes | grep nvidia.com/gpu")
    text = "Where no node lists a GPU, run NVIDIA's device plugin, with nvidia as the node's default runtime."
    return Fix(text, changes=(see,))


def _toolkit(subject: Subject) -> Fix | None:
    """The engine has no hook for NVIDIA's GPUs: install the toolkit, then configure the engine."""
    snap = bool({"/snap/", "docker.dockerd"} & {*subject.said("service")})
    snap = snap or any("snap install docker" in line for line in subject.case.commands)
    if subject.host.engine_flavour == "snap" or snap:
        text = "Replace snap's Docker, which does not see NVIDIA's container toolkit, by the distribution's own"
        own, _ = of_system([System("engine")], _outside(subject.host), subject.matrix)
        changes = (Command("sudo snap remove docker"), *own)
        return Fix(f"{text}, then install and configure the toolkit.", changes=changes)
    desktop = subject.host.platform == "wsl2" and subject.host.engine_flavour == "desktop"
    if desktop or subject.host.platform == "windows":
        return Fix("Switch Docker Desktop to the WSL 2 engine, and update the NVIDIA driver of Windows.")
    restart = Service("docker")
    if subject.case.signals.value("cdi_driver"):
        text = "Turn CDI on in Docker, 25 or newer, and restart it."
        return Fix(text, changes=(Command(f"{CONFIGURE_DOCKER.line} --cdi.enabled"), restart))
    if have := subject.host.container_toolkit:
        text = f"nvidia-container-toolkit {have} is installed: configure Docker for it, and restart that Docker."
        return Fix(text, changes=(CONFIGURE_DOCKER, restart))
    outside, matrix = _outside(subject.host), subject.matrix
    added, _ = of_system([System("container-repository")], outside, matrix)
    first = tuple(replace(one, where="script") for one in added if isinstance(one, Command))
    install, _ = of_system([System("container-toolkit")], outside, matrix)
    text = f"Install nvidia-container-toolkit{_GUIDE}, then configure Docker."
    if first:
        text = "Add NVIDIA's repository (doctor --script has the lines), then install."
    elif install:
        text = "Install nvidia-container-toolkit, then configure Docker."
    return Fix(text, changes=(*first, *install, CONFIGURE_DOCKER, restart))


def _outside(machine: Host) -> Host:
    """The host of a container that did not start: what was read is the host's own."""
    return Host({name: one for name, one in machine.readings.items() if name != "container"})


def _of_nvidia(subject: Subject) -> Fix:
    """NVIDIA's nodes, which belong to no group of users: what keeps a container from them, or their modes."""
    typed = next((line for line in subject.case.commands if _RUN.search(line)), "")
    if _UNSEALED in typed and "podman" in typed and "sudo" not in typed:
        text = "A rootless container may not write cgroups: let NVIDIA's hook leave them alone, or take CDI."
        line = "sudo nvidia-ctk config --in-place --set nvidia-container-cli.no-cgroups=true"
        return Fix(text, changes=(Command(line, "linux"),))
    if typed and _UNSEALED not in typed and _is_said_again(typed):
        changes = (Command(_started_with(_UNSEALED, typed)),)
        return Fix("Where SELinux enforces, let the container pass it.", changes=changes)
    text = "Let every user open NVIDIA's nodes, /dev/nvidia*, whose modes this shows."
    return Fix(text, changes=(Command("ls -l /dev/nvidia*", "linux"),))


def permission(subject: Subject) -> Fix | None:
    """Nodes that may not be opened, of NVIDIA's or by a member of their group: joining one changes nothing."""
    groups, denied = subject.host.groups or (), subject.host.device_nodes_denied
    nvidia = subject.case.signals.get("nvml-permission") or {gpu.vendor for gpu in subject.gpus} == {"nvidia"}
    if nvidia and not denied:
        return _of_nvidia(subject)
    owners = (subject.host.device_groups or {}).items()
    number = next((of for node, of in owners if of.isdigit() and ("kfd" in node or "renderD" in node)), "")
    if number and number != "0" and not denied:
        text = "No group here has the number that owns the nodes: give it to the container."
        return Fix(text, changes=(Container(AMD_NODES, group=number),))
    if groups and "render" not in groups and not subject.host.container and not denied:
        lacks = ",".join(name for name in ("render", "video") if name not in groups)
        text = f"Join the group {lacks.replace(',', ' and ')}, and log in again."
        return Fix(text, changes=(Command(f"sudo usermod -aG {lacks} $USER"),))
    if "render" in groups and not subject.host.container:
        return Fix("This user is in render: log in again, and restart services and containers, which keep old groups.")
    return None
