"""CDI specifications: which devices an engine can hand out by name, and the driver they were written for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.detect.machine import Machine

FOLDERS: Final = ("/etc/cdi", "/var/run/cdi")
"""Where engines look for specifications unless told otherwise (CDI specification, SPEC.md)."""

_LIMIT: Final = 4 << 20
_KIND: Final = re.compile(r"""^\s{0,2}["']?kind["']?\s*:\s*["']?([\w.-]+/[\w.-]+)""", re.MULTILINE)
_DEVICES: Final = re.compile(r"^devices:\s*$(.*?)(?=^\S[^-]|\Z)", re.MULTILINE | re.DOTALL)
_NAME: Final = re.compile(r"""^(?:- | {2}|- {3}| {2}- | {4})name:\s*["']?([\w.:-]+)""", re.MULTILINE)
_LIBCUDA: Final = re.compile(r"libcuda\.so\.(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)")


@dataclass(frozen=True, slots=True)
class Specification:
    """One file: the qualified ``devices`` it defines and the ``driver`` whose libraries it mounts."""

    path: str
    kind: str
    devices: tuple[str, ...] = ()
    driver: str = ""


def specifications(machine: Machine) -> tuple[Specification, ...]:
    """Every specification in the two standard folders that names a kind."""
    return tuple(_all(machine))


def _all(machine: Machine) -> Iterator[Specification]:
    for folder in FOLDERS:
        for name in machine.names(folder):
            if name.endswith((".yaml", ".yml", ".json")):
                path = f"{folder}/{name}"
                text = machine.text(path, _LIMIT)
                if kind := _KIND.search(text):
                    driver = _LIBCUDA.search(text)
                    devices = tuple(f"{kind[1]}={each}" for each in _names(text))
                    yield Specification(path, kind[1], devices, driver[1] if driver else "")


def _names(text: str) -> tuple[str, ...]:
    """Names of devices; in YAML only at the level of the list itself, where nothing else is called ``name``."""
    if text.startswith("{"):
        return tuple(dict.fromkeys(_json_names(text)))
    block = _DEVICES.search(text)
    return tuple(dict.fromkeys(_NAME.findall(block[1]))) if block else ()


def _json_names(text: str) -> Iterator[str]:
    import json

    try:
        devices = json.loads(text).get("devices")
    except (ValueError, AttributeError, RecursionError):
        return
    for device in devices if isinstance(devices, list) else ():
        if isinstance(device, dict) and isinstance(device.get("name"), str):
            yield device["name"]
