"""A container of Podman with CDI devices, through Podman's own service.

Its service for Docker's clients leaves requests for devices unread before 5.4, without a word (containers/podman
pull request 25171); its own one takes CDI names since 4.1. What starts, waits and reads is the same for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

KEEP_GROUPS: Final = "run.oci.keep_original_groups"  # crun(1); what ``--group-add keep-groups`` sets
_CREATE: Final = "/v4.0.0/libpod/containers/create"


def is_podman(client: Any) -> bool:
    """Whether Podman answers in Docker's place."""
    return any(part.get("Name") == "Podman Engine" for part in client.version().get("Components") or ())


def created(client: Any, image: Any, command: Sequence[str], environment: Mapping[str, str], **limits: Any) -> Any:
    """A container that is not started yet, with devices by CDI names or as nodes.

    ``client``: the engine, as Docker's SDK has it. ``limits``: what the container may have, as the SDK calls it.

    Raises:
        APIError: if Podman refuses.
    """
    from docker.errors import APIError

    answer = client.api.post(client.api.base_url + _CREATE, json=_specification(image.id, command, environment, limits))
    if not answer.ok:
        raise APIError("refused", answer, answer.json().get("message", ""))
    return client.containers.get(answer.json()["Id"])


def _specification(
    image: str, command: Sequence[str], environment: Mapping[str, str], limits: Mapping[str, Any]
) -> dict[str, Any]:
    """The limits in Podman's words (its API reference, ``SpecGenerator``).

    SELinux keeps a confined container from NVIDIA's device nodes (NVIDIA Container Toolkit, "Support for CDI").
    """
    named = (name for request in limits.get("device_requests", ()) for name in request["DeviceIDs"])
    memory = {"limit": limits["mem_limit"], "swap": limits["memswap_limit"]}
    return {
        "image": image,
        "entrypoint": list(command[:1]),
        "command": list(command[1:]),
        "env": dict(environment),
        "devices": [{"path": name} for name in (*limits.get("devices", ()), *named)],
        "annotations": limits.get("annotations", {}),
        "netns": {"nsmode": limits["network_mode"]},
        "read_only_filesystem": limits["read_only"],
        "mounts": [
            {"type": "tmpfs", "source": "tmpfs", "destination": place, "options": words.split(",")}
            for place, words in limits["tmpfs"].items()
        ],
        "no_new_privileges": "no-new-privileges" in limits["security_opt"],
        "selinux_opts": ["disable"],
        "resource_limits": {"memory": memory, "pids": {"limit": limits["pids_limit"]}},
        "log_configuration": {"driver": "k8s-file", "size": 16 * 1024**2},
        **{key: limits[key] for key in ("name", "labels", "cap_drop", "shm_size")},
    }
