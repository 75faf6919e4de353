"""``jax.print_environment_info()``, before and after it named its devices.

::

    jax:    0.4.36
    jaxlib: 0.4.36
    python: 3.11.11 (main, Dec  6 2024, 12:42:50) [GCC 9.4.0]
    device info: NVIDIA GeForce RTX 3090-1, 1 local devices"
    process_count: 1
    platform: uname_result(system='Linux', node='', release='4.18.0-425', version='#1 SMP', machine='x86_64')

The number behind the device's name counts the devices of all hosts, the one before "local devices" those of this one.
Newer releases print ``jax.devices (1 total, 1 local): [CudaDevice(id=0)]``, which names none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.reading.claims import Claim
from compat.reading.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Pair

_MARKS: Final = ("jaxlib", "device info", "process_count", "jax.devices", "jax.local_devices")
_DEVICES = re.compile(r"(.*?)-(\d{1,4}), (\d{1,4}) local devices")
_KIND = re.compile(r"(?:device_kind=['\"]?|GpuDevice\(.{0,40}?name=)([A-Za-z][^'\",)]{1,60})")


def _info(pair: Pair) -> Iterator[Claim]:
    """``NVIDIA A100-SXM4-80GB-8, 8 local devices``: name, count of all, count of this host's."""
    found = _DEVICES.match(pair.value.strip("\" '"))
    gpu = devices.device(found.group(1)) if found else None
    if found and gpu and gpu.name.lower() != "cpu":
        for index in range(min(int(found.group(3)), devices.MOST)):
            yield Claim("gpus", gpu, key=str(index))


def _kinds(pair: Pair) -> Iterator[Claim]:
    """Device kinds, where the printed devices carry them."""
    for name in _KIND.findall(pair.value)[: devices.MOST]:
        if gpu := devices.device(name):
            yield Claim("gpus", gpu)


PROGRAM: Final = Program(
    name="jax environment",
    labels={
        **values.packages("jax", "jaxlib", "numpy"),
        "python": values.python,
        "device info": _info,
        "jax.devices": _kinds,
        "platform": values.platform_string,
    },
    marks=_MARKS,
)
