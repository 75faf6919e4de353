"""The container engine: asked over its socket, without its SDK and mostly without its client.

Sockets are asked for ``/version`` and ``/info``; connecting tells most by itself: refused means a stopped daemon,
denied a user outside its group, silence one that hangs. Clients are run only for the version of an engine that does
not answer. What ``/info`` says of the host's name, its registries and its containers is not looked at.

Sources: Docker Engine API reference (``GET /version``, ``GET /info``); Docker, "Rootless mode"; NVIDIA Container
Toolkit installation guide (runtimes in daemon.json, the hook behind ``--gpus``); Podman, podman-system-service(1).
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

import compat.detect.cdi as cdi
from compat.detect.base import LINUX
from compat.detect.system_packages import versions
from compat.facts import Fact, Reading, Unknown
from compat.lazy import dataclass, pattern
from compat.untrusted import items, json_of, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "container engine"
_OF_ENGINE: Final = ("engine", "engine_status", "engine_flavour", "gpu_runtime")
FACTS: Final = (*_OF_ENGINE, "container_toolkit", "cdi_devices", "cdi_driver", "cgroup")
SYSTEMS: Final = LINUX | {"darwin"}
SOUGHT: Final = "sockets of Docker and Podman, PATH"

_DAEMON_FILE: Final = "/etc/docker/daemon.json"
_VERSION: Final = pattern(r"(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)")
_CDI_GPUS: Final = ("nvidia.com/gpu=", "amd.com/gpu=", "intel.com/gpu=")  # kinds that the vendors' generators write
# What Docker's --gpus calls when it starts a container; it may be there without any runtime being registered
_HOOKS: Final = ("nvidia-container-runtime-hook", "nvidia-container-toolkit")


@dataclass(frozen=True, slots=True)
class Engine:
    """What is known of one engine.

    Attributes:
        name: ``docker`` or ``podman``.
        socket: where it listens; empty for one that is only installed.
        status: ``running``, ``stopped``, ``denied`` or ``unreachable``; empty for one that needs no daemon.
        version: its release, the server's if that answered, else the client's.
        info: the document that it answered ``/info`` with.
    """

    name: str
    socket: str = ""
    status: str = ""
    version: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Which engine, whether it answers, how it was installed, and how it would give a GPU to a container.

    The toolkit, specifications and control groups are facts of the machine and are told without an engine as well.
    """
    engine = _find(machine)
    devices = cdi.readings(cdi.specifications(machine))
    shared = {"container_toolkit": _toolkit(machine), **devices, "cgroup": _cgroup(machine, engine)}
    if engine is None:
        return {**shared, **dict.fromkeys(_OF_ENGINE, Fact(None, SOUGHT))}
    label = f"{engine.name} {engine.version}".strip()
    daemonless = Fact("running", f"{engine.name} needs no daemon")  # that Podman is installed is all there is to ask
    return {
        **shared,
        "engine": Fact(label, engine.socket or "PATH"),
        "engine_status": Fact(engine.status, engine.socket or "PATH") if engine.status else daemonless,
        "engine_flavour": _flavour(machine, engine),
        "gpu_runtime": _gpu_runtime(machine, engine, devices["cdi_devices"]),
    }


def _sockets(machine: Machine) -> list[tuple[str, str]]:
    """Sockets worth asking, the one that DOCKER_HOST names first, then system, rootless and desktop places.

    Rootless engines listen below XDG_RUNTIME_DIR, Docker Desktop below the home folder, since 4.13 also outside the
    system's place. A DOCKER_HOST that names another machine (tcp, ssh) is not asked: this is about the machine here.
    """
    env = machine.env
    runtime, home = env.get("XDG_RUNTIME_DIR", ""), env.get("HOME", "")
    places = [
        ("docker", env.get("DOCKER_HOST", "").removeprefix("unix://")),
        ("docker", "/var/run/docker.sock"),
        ("docker", f"{runtime}/docker.sock" if runtime else ""),
        ("docker", f"{home}/.docker/desktop/docker.sock" if home else ""),
        ("docker", f"{home}/.docker/run/docker.sock" if home else ""),
        ("podman", "/run/podman/podman.sock"),
        ("podman", f"{runtime}/podman/podman.sock" if runtime else ""),
    ]
    return [(name, path) for name, path in dict.fromkeys(places) if path.startswith("/")]


def _find(machine: Machine) -> Engine | None:
    """The first engine that answers; else the first that is there and says why not; else one that is only installed."""
    silent: list[Engine] = []  # sockets that exist and did not answer: the first of them is told if none answers
    for name, socket in _sockets(machine):
        if machine.exists(socket):
            engine = _asked(machine, name, socket)
            if engine.status == "running":
                return engine
            silent.append(engine)
    if silent:
        first = silent[0]
        return Engine(first.name, first.socket, first.status, _client_version(machine, first.name))
    # No socket at all: Docker without one is a daemon that does not run, Podman works without
    for name, status in (("docker", "stopped"), ("podman", "")):
        if machine.which(name):
            return Engine(name, "", status, _client_version(machine, name))
    return None


def _asked(machine: Machine, name: str, socket: str) -> Engine:
    """One engine as its socket shows it; the kind of failure to connect is its status."""
    try:
        version = _document(machine, socket, "/version")
        info = _document(machine, socket, "/info")
    except PermissionError:
        return Engine(name, socket, "denied")
    except (ConnectionRefusedError, FileNotFoundError):
        return Engine(name, socket, "stopped")
    except OSError:  # silence, an answer that is no success, an answer that is no document
        return Engine(name, socket, "unreachable")
    found = _VERSION.match(str(version.get("Version") or ""))
    podman = any("podman" in str(part).lower() for part in items(version.get("Components")))
    return Engine("podman" if podman else name, socket, "running", found[1] if found else "", info)


def _document(machine: Machine, socket: str, url: str) -> dict[str, Any]:
    """A JSON answer; anything else counts as an engine that cannot be reached.

    Half of what is left of the deadline, because there are two questions and the second must have its turn.
    """
    found = json_of(machine.root.ask(socket, url, machine.left() / 2))
    if not isinstance(found, dict):
        raise OSError(71, "the answer is no JSON object")
    return found


def _client_version(machine: Machine, name: str) -> str:
    """Version by package, else by asking the client, which starts in some 30 ms."""
    for package, version in versions(machine).items():
        known = package in {f"{name}-ce", f"{name}.io", name, "moby-engine"}
        if known and (found := _VERSION.search(version.split(":")[-1])):
            return found[1]
    program = machine.which(name)
    found = _VERSION.search(machine.ask([program, "--version"]).out) if program else None
    return found[1] if found else ""


def _flavour(machine: Machine, engine: Engine) -> Reading:
    """Desktop, snap and rootless engines each keep GPUs away in their own manner.

    Desktop runs containers in a virtual machine of its own; a snap sees neither the host's toolkit nor its libraries;
    a rootless engine may not touch control groups, which the toolkit has to be told. The daemon's own word counts
    first, the place of its client or socket where it does not answer.
    """
    info, program = engine.info, machine.real(machine.which(engine.name))
    options = " ".join(str(option) for option in items(info.get("SecurityOptions")))
    rootless_socket = engine.socket.startswith("/run/user/") and "desktop" not in engine.socket
    snapped = program.startswith("/snap/") or program == "/usr/bin/snap"
    marks = (
        ("desktop", "Docker Desktop" in str(info.get("OperatingSystem")) or "/.docker/" in engine.socket),
        ("snap", snapped or "/snap/" in str(info.get("DockerRootDir"))),
        ("rootless", "name=rootless" in options or rootless_socket or _podman_rootless(machine, engine)),
    )
    kind = next((name for name, holds in marks if holds), "native")
    return Fact(kind, f"{engine.socket}/info" if info else program or engine.socket)


def _podman_rootless(machine: Machine, engine: Engine) -> bool:
    """Podman without a daemon is rootless for everybody but root."""
    if engine.name != "podman" or engine.info:
        return False
    try:
        return machine.root.user()[0] != 0
    except OSError:
        return False


def _gpu_runtime(machine: Machine, engine: Engine, devices: Reading) -> Reading:
    """A registered runtime, CDI specifications, or the hook that ``--gpus`` calls; absent if none of them is there."""
    # The daemon knows what is in force; its configuration file is only what would be after the next start
    runtimes = engine.info.get("Runtimes") if engine.info else None
    told = Fact(runtimes, f"{engine.socket}/info") if isinstance(runtimes, dict) else _configured(machine)
    names = told.value if isinstance(told, Fact) else {}
    for name in ("nvidia", "amd"):
        if name in names or f"{name}-container-runtime" in names:
            return Fact(name, told.source)
    if isinstance(devices, Fact) and any(device.startswith(_CDI_GPUS) for device in devices.value):
        return Fact("cdi", ", ".join(cdi.FOLDERS))
    if engine.name == "docker" and (hook := next((path for name in _HOOKS if (path := machine.which(name))), "")):
        return Fact("nvidia", f"{hook}, the hook behind --gpus; no runtime is registered")
    # Nothing found is no proof while a file is closed, or the daemon, which may be configured otherwise, is not asked
    if closed := next((each for each in (told, devices) if isinstance(each, Unknown)), None):
        return closed
    if engine.status in {"denied", "unreachable"} and not names:
        return Unknown(f"the engine is {engine.status} and its configuration names no GPU runtime", told.source)
    return Fact(None, told.source)


def _configured(machine: Machine) -> Reading:
    """Runtimes by name in Docker's configuration file, for an engine that does not answer."""
    reading = machine.read(_DAEMON_FILE)
    if isinstance(reading, Unknown):
        return reading
    found = json_of(reading.value or "{}")
    return Fact(table(table(found).get("runtimes")), _DAEMON_FILE + (", which is not JSON" if found is None else ""))


def _toolkit(machine: Machine) -> Reading:
    """NVIDIA Container Toolkit by package, else by its own tool."""
    for package in ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "nvidia-docker2"):
        if found := _VERSION.search(versions(machine).get(package, "")):
            return Fact(found[1], f"package {package}")
    program = machine.which("nvidia-ctk")
    if not program:
        return Fact(None, "package database, nvidia-ctk on PATH")
    outcome = machine.ask([program, "--version"])
    found = _VERSION.search(outcome.out)
    return Fact(found[1], program) if found else Unknown(outcome.why or "nvidia-ctk does not tell its version", program)


def _cgroup(machine: Machine, engine: Engine | None) -> Reading:
    """Version by its mark in the file system (cgroups(7)), the engine's driver by its own word."""
    if machine.exists("/sys/fs/cgroup/cgroup.controllers"):
        version = "v2"
    elif machine.names("/sys/fs/cgroup"):
        version = "v1"
    else:
        return Unknown("/sys/fs/cgroup is not mounted", "/sys/fs/cgroup")
    driver = str(engine.info.get("CgroupDriver") or "") if engine else ""
    return Fact(f"{version} {driver}".strip(), "/sys/fs/cgroup" + (", engine" if driver else ""))
