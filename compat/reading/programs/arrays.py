"""``numba -s`` and ``cupy.show_config()``: two columns parted by a colon, CUDA numbers packed or dotted.

::

    Platform Name                                 : Linux-5.4.0-109-generic-x86_64-with-glibc2.29
    OS Specific Version                           : Ubuntu 18.04 bionic
    CUDA Driver Version                           : 11.2
    id 0    b'GeForce RTX 2080'                              [SUPPORTED]
                          Compute Capability: 7.5

cupy packs its numbers as CUDA's headers do::

    CUDA Driver Version          : 11060
    cuDNN Version                : 8303
    Device 0 Name                : NVIDIA GeForce RTX 2070
    Device 0 Compute Capability  : 75

Both mean by "CUDA Driver Version" the CUDA that the driver supports.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Gpu
from compat.reading.claims import Claim
from compat.reading.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Pair
    from compat.reading.program import View

_MARKS: Final = (
    "llvmlite version", "numba version", "cuda device initialized", "os specific version", "cupy version",
    "cupy platform", "cuda build version", "cudnn build version", "nccl build version", "cuda root",
    "device # compute capability", "cuda detect output", "platform release",
)  # fmt: skip
_FOUND = re.compile(r"^\W*id (\d+)\s+b?'([^']+)'")
_CAPABILITY = re.compile(r"^\W*[Cc]ompute [Cc]apability\s*:\s*(\d+)\.(\d)")


def _nccl(pair: Pair) -> Iterator[Claim]:
    """nccl.h packs 2.7.8 as 2708 and, since 2.9, 2.10.3 as 21003."""
    if found := re.match(r"(\d{4,5})\b", pair.value):
        value = int(found.group(1))
        unit = 10000 if value >= 10000 else 1000
        yield Claim("nccl", f"{value // unit}.{value % unit // 100}.{value % 100}")


def _detected(view: View) -> Iterator[Claim]:
    """Numba's list of devices, each with its capability below."""
    for index, line in view.lines("id "):
        if (found := _FOUND.match(line)) and (gpu := devices.device(found.group(2))):
            below = (match for _, text in view.span(index + 1, index + 4) if (match := _CAPABILITY.match(text)))
            target = next((devices.sm(*match.groups()) for match in below), "")
            named = Claim("gpus", Gpu(name=gpu.name, vendor=gpu.vendor, target=target), key=found.group(1))
            yield from view.stamp(index, [named])


PROGRAM: Final = Program(
    name="numba or cupy",
    labels={
        "machine": values.arch(),
        "platform name": values.platform_string,
        "platform release": values.kernel,
        "os": values.platform_string,
        "os specific version": values.system,
        "libc version": values.libc,
        "python version": values.python,
        "numba version": values.package("numba"),
        "llvmlite version": values.package("llvmlite"),
        "cupy version": values.package("cupy"),
        "numpy version": values.package("numpy"),
        "scipy version": values.package("scipy"),
        "cuda driver version": values.packed("driver_cuda"),
        "cuda runtime version": values.silent,
        "cudnn version": values.cudnn_packed,
        "nccl runtime version": _nccl,
        "device # name": devices.indexed,
        "device # compute capability": devices.capabilities,
    },
    marks=_MARKS,
    phrases=("__CUDA Information__", "__Hardware Information__"),
    beyond=_detected,
)
