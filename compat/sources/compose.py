"""Compose files: each service's image, the devices it asks for and its environment.

Source: Compose specification (``deploy.resources.reservations.devices``, ``gpus``, ``runtime``, ``devices``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from compat.sources import installers, shell
from compat.sources.documents import Located, read_yaml
from compat.sources.values import Ask, Service, Stage, number_of_gpus

# Device drivers that an engine registers; what a variable names is not known.
_DRIVERS: Final = re.compile(r"^(?:nvidia(?:\..+)?|amd|cdi)$|\$")


def read(text: str, file: str) -> Ask:
    """What a compose file asks for.

    Raises:
        InputError: if it is not YAML.
    """
    found = read_yaml(text, file).get("services").table()
    services = tuple(_service(name, body) for name, body in found.items())
    refused = tuple(one for body in found.values() for one in _refused(body))
    return Ask(file=file, kind="compose", services=services, stages=tuple(_stages(services)), refused=refused)


def _refused(body: Located) -> Iterator[tuple[int, str, str]]:
    """A reservation that says how many devices and which ones, or that names a driver that no engine has.

    Source: compose-spec/compose-go pull 689; Docker documentation, "Run Docker Compose services with GPU access";
    moby/moby, ``registerDeviceDriver`` in daemon (nvidia, nvidia.cdi, nvidia.runtime-hook, amd, cdi).
    """
    for device in (*_reserved(body), *body.get("gpus").items()):
        if device.get("count").text and device.get("device_ids").items():
            why = "`count` and `device_ids` stand beside each other, and Compose takes one of them"
            yield device.get("count").line, why, "Leave out `count`: the devices are counted by their names."
        if (driver := device.get("driver")).text and not _DRIVERS.search(driver.text):
            way = "For AMD list /dev/kfd and /dev/dri under the service's devices, for NVIDIA write `driver: nvidia`."
            yield driver.line, f"Docker has no device driver `{driver.text}`", way


def _reserved(body: Located) -> list[Located]:
    return body.get("deploy").get("resources").get("reservations").get("devices").items()


def _stages(services: Iterable[Service]) -> Iterator[Stage]:
    """What the commands of services install before their programs start, on the image of each."""
    for one in services:
        if installs := installers.of_container(one.starts):
            yield Stage(name=one.name, base=one.image, written=one.image, line=one.image_line, installs=installs)


def _service(name: str, body: Located) -> Service:
    """A service with the devices that it fixes, in any of the three ways that Compose knows."""
    reserved = _reserved(body)
    named = [found for device in reserved for found in device.get("device_ids").items()]
    short = body.get("gpus")
    named += [found for device in short.items() for found in device.get("device_ids").items()]
    nodes = [item for item in body.get("devices").items() if item.text.startswith("/dev/nvidia")]
    named += [Located(item.text.partition(":")[0], item.line) for item in nodes]
    nodes += [item for item in body.get("devices").items() if item.text.startswith(("/dev/kfd", "/dev/dri"))]
    nodes += body.get("deploy").get("resources").get("reservations").get("generic_resources").items()  # of a swarm
    env = _environment(body.get("environment"))
    fixed = next((item.line for key, item in env.items() if key.endswith("VISIBLE_DEVICES")), body.line)
    return Service(
        name=name,
        image=body.get("image").text,
        devices=tuple(item.text for item in named),
        gpu=bool([*reserved, *short.items(), *nodes] or short.text or body.get("privileged").text == "true"),
        given=_given([*reserved, *short.items()]),
        runtime=body.get("runtime").text,
        env={key: item.text for key, item in env.items()},
        env_lines={key: item.line for key, item in env.items()},
        line=body.line,
        image_line=body.get("image").line,
        device_line=named[0].line if named else fixed,
        starts=shell.started(words(body.get("entrypoint")), words(body.get("command"))),
        extends=bool(body.get("extends").text or body.get("extends").table()),
    )


def _given(devices: list[Located]) -> int:
    """How many GPUs one reservation gives: those that it names, or its count; 0 where that is ``all``, or not said."""
    named = [len(device.get("device_ids").items()) for device in devices]
    counts = [device.get("count").text for device in devices]
    if len(devices) != 1 or named[0]:
        return named[0] if len(devices) == 1 else 0
    return number_of_gpus(counts[0])


def words(section: Located) -> list[str]:
    """The words of a command, each with its line; written as a list, or as a text that Compose divides."""
    if section.text:
        return shell.split(section.text, section.line)
    return [shell.Word.placed(item.text, item.line) for item in section.items()]


def _environment(section: Located) -> dict[str, Located]:
    """A service's variables with their lines, written as a table or as a list of ``NAME=VALUE``."""
    if section.table():
        return section.table()
    pairs = ((item.text.partition("="), item.line) for item in section.items())
    return {name: Located(value, line) for (name, _, value), line in pairs}
