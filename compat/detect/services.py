"""NVIDIA's helpers beside the driver: fabric manager, IMEX, the multi-process service (MPS), the container toolkit.

And what manages services on this machine at all.

None of them is asked: systemd keeps a control group for each running unit, which anyone may see, and MPS writes the
number of its process beside its pipes. A program tries those pipes before it tries the GPU itself. The toolkit's
settings say how GPUs are put into containers, and which requests are refused. Their file is TOML, of which plain
settings of one line each are read here: importing a TOML reader costs more, and older Pythons have none.

Sources: NVIDIA fabric manager user guide; NVIDIA IMEX guide; NVIDIA, "Multi-Process Service" (CUDA_MPS_PIPE_DIRECTORY,
its default folder); systemd.slice(5); NVIDIA Container Toolkit, config.toml (``nvidia-ctk config default``);
sd_booted(3): /run/systemd/system; OpenRC (src/shared/rc.h, RC_SVCDIR): /run/openrc.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.detect.base import LINUX
from compat.detect.context import container_kind
from compat.detect.system_packages import versions
from compat.facts import Fact, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "NVIDIA services"
FACTS: Final = ("fabric_manager", "imex", "init", "mps", "toolkit_config")
SYSTEMS: Final = LINUX
SOUGHT: Final = "package database, /sys/fs/cgroup/system.slice, MPS pipes, the toolkit's config.toml"

_MANAGERS: Final = {"systemd": "/run/systemd/system", "openrc": "/run/openrc"}
_SLICES: Final = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")  # cgroup v2, v1
_PIPES: Final = "/tmp/nvidia-mps"  # noqa: S108 - looked at, never written: where MPS keeps its pipes by default
_PID: Final = "nvidia-cuda-mps-control.pid"
_COMMAND: Final = "nvidia-cuda-mps"  # the kernel keeps 15 characters of a process's name (proc(5), comm)
_CONFIG: Final = "/etc/nvidia-container-runtime/config.toml"
_SECTION: Final = pattern(r"\[([\w.-]{1,80})\]")
_SETTING: Final = pattern(r"([\w-]{1,60})\s*=\s*(\"[^\"]{0,200}\"|true|false|\d{1,9})")
_MOST: Final = 100
# "@" before a path means the host's program, not the container's; it differs between distributions
_LDCONFIG: Final = "nvidia-container-cli.ldconfig"


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Version and state (``535.161.08 running``) of the two services; state of MPS; settings of the toolkit."""
    return {
        "fabric_manager": _service(machine, r"nvidia-fabric-?manager", "nv-fabricmanager", "nvidia-fabricmanager"),
        "imex": _service(machine, r"nvidia-imex", "nvidia-imex", "nvidia-imex"),
        "init": _init(machine),
        "mps": _mps(machine),
        "toolkit_config": _settings(machine),
    }


def _service(machine: Machine, package: str, program: str, unit: str) -> Reading:
    """Version from the package that brought a service; running if systemd has a control group for its unit.

    Inside a container its absence tells nothing: it runs on the host.
    """
    named = {name: version for name, version in versions(machine).items() if re.match(package, name)}
    if not named and not machine.exists(f"/usr/bin/{program}"):
        if container_kind(machine):
            return Unknown("a container does not see the services of its host", _SLICES[0])
        return Fact(None, f"package database, /usr/bin/{program}")
    version = next(iter(named.values()), "").split("-")[0].split(":")[-1]
    running = any(machine.exists(f"{each}/{unit}.service") for each in _SLICES)
    source = f"{_SLICES[0]}/{unit}.service"
    if not running and not machine.exists(_SLICES[0]):
        return Unknown("installed, but the system's services are not visible from here", source)
    return Fact(f"{version} {'running' if running else 'stopped'}".strip(), source)


def _init(machine: Machine) -> Reading:
    """What manages services: the folder that systemd or OpenRC keeps while it runs; else the name of process 1.

    A container has a process 1 of its own, which manages the services of no machine.
    """
    for name, path in _MANAGERS.items():
        if machine.exists(path):
            return Fact(name, path)
    if container_kind(machine):
        return Unknown("a container does not see what manages its host's services", "/run")
    named = machine.text("/proc/1/comm").strip()
    return Fact(named, "/proc/1/comm") if re.fullmatch(r"[\w.-]{1,15}", named) else Unknown("not told", "/proc/1/comm")


def _mps(machine: Machine) -> Reading:
    """Whether the daemon behind the pipes lives: its process number stands beside them."""
    folder = machine.env.get("CUDA_MPS_PIPE_DIRECTORY", "") or _PIPES
    path = f"{folder.rstrip('/')}/{_PID}"
    if not folder.startswith("/") or not machine.exists(folder):
        return Fact(None, folder)
    reading = machine.read(path, 32)
    if isinstance(reading, Unknown):
        return reading
    number = (reading.value or "").strip()
    if not re.fullmatch(r"[0-9]{1,10}", number):
        return Fact(None, path)
    if machine.text(f"/proc/{number}/comm").startswith(_COMMAND):
        return Fact("running", path)
    if container_kind(machine):
        return Unknown("the daemon's process may be outside this container", path)
    return Fact("stopped", path)


def _settings(machine: Machine) -> Reading:
    """Every plain setting under its dotted name (``nvidia-container-runtime.mode``); comments are not settings.

    ``missing`` names a program that the settings start and that is not there.
    """
    reading = machine.read(_CONFIG, 1 << 16)
    if isinstance(reading, Unknown) or reading.value is None:
        return reading
    section, found = "", dict[str, str]()
    for line in reading.value.splitlines():
        text = line.strip()
        if head := _SECTION.match(text):
            section = f"{head[1]}."
        elif (said := _SETTING.match(text)) and len(found) < _MOST:
            found[f"{section}{said[1]}"] = said[2].strip('"')
    if (program := found.get(_LDCONFIG, "")).startswith("@/") and not machine.exists(program[1:]):
        found["missing"] = program[1:]
    return Fact(found, _CONFIG)
