"""CDI specifications: which devices an engine can hand out by name, and the driver they were written for.

A specification written for one driver release mounts files of that release by name; after a driver update these are
gone. The release is therefore read from the path of libcuda in the specification.

There is no YAML reader in the standard library, and importing one costs more than this whole detector. Generators write
block style, of which two things are needed: the top-level ``kind`` and the ``name`` of each item of ``devices``.

Source: CDI specification, SPEC.md; NVIDIA Container Toolkit, ``nvidia-ctk cdi generate``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.facts import Fact, Reading, Unknown
from compat.lazy import dataclass, pattern
from compat.untrusted import json_of, rows, strings, table, word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.detect.machine import Machine

# Where engines look for specifications unless told otherwise (CDI specification, SPEC.md).
FOLDERS: Final = ("/etc/cdi", "/var/run/cdi")

_LIMIT: Final = 4 << 20
_KIND: Final = pattern(r"""^\s{0,2}["']?kind["']?\s*:\s*["']?([\w.-]+/[\w.-]+)""", re.MULTILINE)
_DEVICES: Final = pattern(r"^devices:\s*$(.*?)(?=^[^\s-]|\Z)", re.MULTILINE | re.DOTALL)
_NAME: Final = pattern(r"""^(?:- | {2}|- {3}| {2}- | {4})name:\s*["']?([\w.:-]+)""", re.MULTILINE)
_LIBCUDA: Final = pattern(r"libcuda\.so\.(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)")


@dataclass(frozen=True, slots=True)
class Specification:
    """One file: its qualified ``devices``, the ``driver`` whose libraries it mounts; or ``why`` it may not be read."""

    path: str
    devices: tuple[str, ...] = ()
    driver: str = ""
    why: str = ""


def specifications(machine: Machine) -> tuple[Specification, ...]:
    """Every specification in the two standard folders that names a kind, and those that may not be read."""
    named = (f"{folder}/{name}" for folder in FOLDERS for name in machine.names(folder))
    files = (path for path in named if path.endswith((".yaml", ".yml", ".json")))
    return tuple(found for path in files if (found := _one(machine, path)) is not None)


def readings(found: Sequence[Specification]) -> dict[str, Reading]:
    """Devices and driver of all specifications; where none tells them, a closed file means that nobody knows."""
    where = ", ".join(each.path for each in found) or ", ".join(FOLDERS)
    devices = tuple(name for each in found for name in each.devices)
    driver = next((each.driver for each in found if each.driver), None)
    closed = next((Unknown(each.why, each.path) for each in found if each.why), None)
    return {
        "cdi_devices": closed if closed and not devices else Fact(devices, where),
        "cdi_driver": closed if closed and not driver else Fact(driver, where),
    }


def _one(machine: Machine, path: str) -> Specification | None:
    """The specification in a file, unless it names no kind."""
    reading = machine.read(path, _LIMIT)
    if isinstance(reading, Unknown):
        return Specification(path, why=reading.why)
    text = (reading.value or "").strip()
    kind, devices = _of_json(text) if text.startswith("{") else _of_yaml(text)
    driver = _LIBCUDA.search(text)
    qualified = tuple(f"{kind}={each}" for each in dict.fromkeys(devices))
    return Specification(path, qualified, driver[1] if driver else "") if kind else None


def _of_yaml(text: str) -> tuple[str, list[str]]:
    """Kind and names of devices as generators write them: names at the level of the list alone."""
    kind, block = _KIND.search(text), _DEVICES.search(text)
    return (kind[1] if kind else "", _NAME.findall(block[1]) if block else [])


def _of_json(text: str) -> tuple[str, list[str]]:
    """Kind and names of devices of a JSON specification; nothing if it is damaged."""
    document = table(json_of(text))
    return word(document, "kind"), strings([each.get("name") for each in rows(document.get("devices"))])
