"""The image of a plan for tools beside the engine: Compose, development containers, Apptainer.

The first two build the Dockerfile that lies beside them; Apptainer, which clusters run without a daemon and as the
person's own user, gets a definition file of its own with the same steps.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from compat.dockerfile.image import context, family
from compat.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compat.dockerfile.settings import Settings
    from compat.plan import Plan

_NODES: Final[Mapping[str, list[str]]] = {"rocm": ["/dev/kfd", "/dev/dri"], "xpu": ["/dev/dri"]}
# The group that owns the device nodes has another number on each machine; neither tool can ask the shell for it.
_GROUP: Final = "${RENDER_GID:?set it to what `stat -c %g /dev/dri/renderD128` prints}"
# Compose specification, "devices" and "Compose Deploy: devices"; Jetson's runtime brings its devices by itself.
_COMPOSE: Final[Mapping[str, dict[str, Any]]] = {
    "cuda": {
        "deploy": {
            "resources": {"reservations": {"devices": [{"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}]}}
        }
    },
    "jetson": {"runtime": "nvidia"},
    "rocm": {"devices": _NODES["rocm"], "group_add": ["video", _GROUP]},
    "xpu": {"devices": _NODES["xpu"], "group_add": [_GROUP]},
    "tpu": {"privileged": True, "network_mode": "host", "user": "0"},
}
# Development Containers reference, "runArgs" and "Variables in devcontainer.json".
_RUN_ARGUMENTS: Final[Mapping[str, list[str]]] = {
    "cuda": ["--gpus=all"],
    "jetson": ["--runtime=nvidia"],
    **{name: [*(f"--device={node}" for node in nodes)] for name, nodes in _NODES.items()},
    "tpu": ["--privileged", "--network=host", "--user=0"],
}
# Apptainer, "GPU Support"; it binds /dev, hence Intel's devices, by itself.
_APPTAINER: Final[Mapping[str, str]] = {"cuda": " --nv", "jetson": " --nv", "rocm": " --rocm"}


def compose(plan: Plan, settings: Settings) -> str:
    """A ``compose.yaml`` with one service, which has the devices of the plan."""
    import yaml

    known = context(plan, settings)
    service: dict[str, Any] = {"build": ".", **_COMPOSE.get(family(plan), {})}
    document: dict[str, Any] = {"services": {"app": service}}
    if server := known["server"]:
        where = f"{server.port}:{server.port}"
        # The model is the person's to name.
        command = [*server.model.split(), "${MODEL:?name the model to serve}"]
        service |= {"command": command, "ipc": "host", "ports": [where], "volumes": [f"models:{known['models']}"]}
        document["volumes"] = {"models": {}}
    # No anchors: the same list twice is written twice.
    return "# Written by envcheck.\n" + str(
        yaml.dump(json.loads(json.dumps(document)), Dumper=_plain_dumper(), sort_keys=False, width=120)
    )


def _plain_dumper() -> type[Any]:
    """A dumper of YAML that indents lists, as people do."""
    import yaml

    class Indented(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
            super().increase_indent(flow, False)

    return Indented


def devcontainer(plan: Plan, settings: Settings) -> str:
    """A ``devcontainer.json`` that builds the Dockerfile beside it and hands the devices in."""
    known, kind = context(plan, settings), family(plan)
    groups = ["--group-add=${localEnv:RENDER_GID:video}"] if kind in _NODES else []
    document = {
        "name": known["title"],
        "build": {"dockerfile": "Dockerfile"},
        "runArgs": [*_RUN_ARGUMENTS.get(kind, []), *groups],
        **({"hostRequirements": {"gpu": True}} if kind in {"cuda", "jetson"} else {}),
        **({"forwardPorts": [known["server"].port]} if known["server"] else {}),
    }
    document["customizations"] = {"envcheck": {"note": "Written by envcheck."}}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def apptainer(plan: Plan, settings: Settings) -> str:
    """A definition file: the steps of the plain form, without a user, for Apptainer runs as the caller.

    Raises:
        InputError: for wishes that have no counterpart: stages that compile, and secrets.
    """
    from compat.dockerfile import templates

    known = context(plan, settings)
    for name in ("compile", "secrets"):
        if getattr(known["settings"], name):
            raise InputError(
                f"{name} has no counterpart in a definition file",
                where=name,
                hint="build the image with an engine, and convert it: apptainer build FILE docker-daemon://IMAGE",
            )
    text: str = templates().get_template("apptainer.def.j2").render(known, device=_APPTAINER.get(family(plan), ""))
    return "\n".join(line.rstrip() for line in text.split("\n"))


WRITERS: Final[Mapping[str, Callable[[Plan, Settings], str]]] = {
    "compose": compose,
    "devcontainer": devcontainer,
    "apptainer": apptainer,
}
