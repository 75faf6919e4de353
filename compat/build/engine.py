"""The engine through its SDK, with its failures in our words."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from compat.build.podman import KEEP_GROUPS, is_podman
from compat.errors import CannotCheckError, InputError

# A folder of our own in the container: the image's ``/tmp`` keeps the mode that it has there, which may let nobody
# write, even when memory is mounted over it (runc, ``mountToRootfs``).
SCRATCH: Final = "/envcheck"

_GIB: Final = 1024**3
_SOCKET: Final = "unix:///var/run/docker.sock"
_LEAST: Final = 6 * 1024**2
# Docker documentation, "Resource constraints": "the minimum allowed value is 6m".
_MOST: Final = 4 * 1024**5
# 4 PiB of physical memory is all that x86-64 can address (kernel documentation, "5-level paging").
_DEVICE: Final = re.compile(
    r"[0-9]{1,4}(:[0-9]{1,3})?"  # an index, or GPU:instance of a partitioned one
    r"|(GPU|MIG)-[0-9A-Za-z/\-]{1,100}"  # what nvidia-smi -L prints
    r"|[\w.\-]{1,100}/[\w.\-]{1,100}=[\w.:\-]{1,100}",  # a CDI name: vendor/class=device
    re.ASCII,
)


def connect(timeout: float, patience: float = 10.0) -> Any:
    """A client of the engine that DOCKER_HOST or the default socket names.

    ``patience``: seconds for the first one, which an engine that works gives at once.

    Raises:
        CannotCheckError: if no engine answers, with what to do.
    """
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=max(1, int(min(timeout, patience))))
        client.ping()
        client.api.timeout = int(timeout)
    except (DockerException, ValueError, OSError) as error:
        raise CannotCheckError(f"no container engine answers: {_silence(error)}", hint=_hint(str(error))) from None
    return client


def _silence(error: Exception) -> str:
    """Why an address is silent. The commonest causes are told with the address: an errno alone names no socket."""
    address = os.environ.get("DOCKER_HOST") or _SOCKET
    match _innermost(error):
        case FileNotFoundError() if address.startswith("unix:"):
            return f"there is no socket at {address}"
        case PermissionError():
            return f"the socket at {address} may not be used"
        case ConnectionRefusedError():
            return f"nobody listens at {address}"
        case OSError(strerror=str(why)):
            return f"{address}: {why}"
    return _plain(error)


def _hint(text: str) -> str:
    """What to do about an engine that does not answer, by what its socket said."""
    if "Permission" in text or "denied" in text:
        return "your user may not use the socket: join the group docker, or run as root"
    return "start it (envcheck doctor tells how), or set DOCKER_HOST to where it listens"


def _plain(error: Exception) -> str:
    """The innermost cause in one line."""
    return " ".join(str(_innermost(error)).split())[:300]


def _innermost(error: BaseException) -> BaseException:
    """What an exception began with: the SDK wraps its HTTP library's, which wraps the socket's."""
    while error.__context__ is not None:
        error = error.__context__
    return error


def image_of(client: Any, name: str) -> Any:
    """A local image.

    Raises:
        InputError: if the name cannot be one.
        CannotCheckError: if it is not on this machine.
    """
    from docker.errors import APIError, NotFound

    for spelled in (name, f"localhost/{name}"):  # what Podman itself builds or imports has that before its name
        try:
            return client.images.get(spelled)
        except NotFound:  # the SDK tells a missing image apart by Docker's own words alone
            continue
        except APIError as error:
            raise InputError(_plain(error), where=name[:80], expected="an image name or id") from None
    hint = f"build it, or fetch it with: docker pull {name}"
    raise CannotCheckError(f"there is no image {name!r} on this machine", hint=hint)


def devices(client: Any, runtime: str, gpus: str) -> Mapping[str, Any]:
    """How a container gets the devices of a plan.

    NVIDIA: the engine's ``--gpus`` request, or CDI names where the engine knows only those, as Podman does. AMD: the
    kernel's nodes and the numeric groups that own them (ROCm documentation, "Running ROCm Docker containers"). Intel:
    ``/dev/dri``.

    Raises:
        CannotCheckError: for a plan on TPUs, which wants a container with all rights and the machine's network.
    """
    if gpus == "none" or runtime == "cpu":
        return {}
    if runtime == "tpu":
        raise CannotCheckError("no TPU is given to a container that is confined, so that nothing was checked on one")
    if runtime.startswith(("rocm", "xpu")):
        found = _nodes(("/dev/kfd", "/dev/dri") if runtime.startswith("rocm") else ("/dev/dri",))
        # Rootless Podman maps a group's number to another one of the host; crun keeps the caller's (podman-run(1)).
        rootless = found["devices"] and is_podman(client) and client.info().get("Rootless")
        return {"devices": found["devices"], "annotations": {KEEP_GROUPS: "1"}} if rootless else found
    known = _has_nvidia(client)
    if not known and "=" not in gpus:
        return {}
    from docker.types import DeviceRequest

    capabilities = [["compute", "utility"]]
    if not known or _has_cdi_only(client) or is_podman(client):
        # An engine knows CDI devices by their full names only; "all" is one of NVIDIA's.
        names = [item if "=" in item else "nvidia.com/gpu=" + item for item in gpus.split(",")]
        return {"device_requests": [DeviceRequest(driver="cdi", device_ids=names)]}
    if gpus == "all":
        return {"device_requests": [DeviceRequest(count=-1, capabilities=capabilities)]}
    return {"device_requests": [DeviceRequest(device_ids=gpus.split(","), capabilities=capabilities)]}


def _has_nvidia(client: Any) -> bool:
    """Whether the engine can hand out NVIDIA GPUs at all; asking one that cannot fails the whole start."""
    from pathlib import Path

    local = Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists()
    return local or "nvidia" in (client.info().get("Runtimes") or {}) or _has_cdi_only(client)


def _has_cdi_only(client: Any) -> bool:
    """Whether the engine knows NVIDIA's devices by CDI and has no runtime of NVIDIA's."""
    info = client.info()
    found = any("nvidia" in str(item) for item in info.get("DiscoveredDevices") or ())
    return found and "nvidia" not in (info.get("Runtimes") or {})


def _nodes(paths: tuple[str, ...]) -> Mapping[str, Any]:
    """The device nodes that are there, with the numeric groups that own them: names differ inside the container."""
    from pathlib import Path

    there = [path for path in paths if Path(path).exists()]
    members = [item for path in there for item in ([Path(path), *Path(path).glob("renderD*")])]
    groups = sorted({str(item.stat().st_gid) for item in members})
    return {"devices": [f"{path}:{path}:rwm" for path in there], "group_add": groups}


def demand(gpus: str, memory: int) -> None:
    """Refuse devices and limits that no engine could grant, before one is asked.

    ``gpus``: ``all``, ``none``, or ids with commas: indexes, UUIDs or CDI names.

    Raises:
        InputError: naming the option.
    """
    wrong = [item for item in gpus.split(",") if not _DEVICE.fullmatch(item)]
    if gpus not in ("all", "none") and wrong:
        expected = "all, none, or device ids with commas, such as 0,1 or GPU-1a2b"
        raise InputError(f"{wrong[0][:80]!r} is no device", where="--gpus", expected=expected)
    if not _LEAST <= memory <= _MOST:
        raise InputError(f"a limit of {memory} bytes", where="--memory", expected="6 MiB to 4 PiB")


def confinement(memory: int) -> Mapping[str, Any]:
    """Least privilege: no network, nothing writable but memory, no capability, no new ones, bounded in all.

    ``memory``: limit in bytes; shared memory, ``/tmp`` and :data:`SCRATCH` count towards it.
    """
    return {
        "network_mode": "none",
        "read_only": True,
        "tmpfs": dict.fromkeys(("/tmp", SCRATCH), f"rw,exec,nosuid,nodev,size={memory // 4}"),  # noqa: S108 - the container's own
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "mem_limit": memory,
        "memswap_limit": memory,
        "shm_size": min(_GIB, memory // 4),
        "pids_limit": 4096,
    }
