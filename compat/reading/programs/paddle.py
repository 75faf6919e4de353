"""PaddlePaddle's ``summary_env.py`` and the device lines that Paddle logs when it first meets a GPU.

::

    Paddle version: 2.4.2
    Paddle With CUDA: True
    OS: ubuntu 18.04
    Libc version: glibc 2.27
    CUDA version: 11.2.142
    Build cuda_11.2.r11.2/compiler.29558016_0
    cuDNN version: 8.1.1
    Nvidia driver version: 440.33.01
    Nvidia driver List:
    GPU 0: Tesla P40

"CUDA version" is what nvcc answered. In the log "Driver API Version" is the highest CUDA the driver supports and
"Runtime API Version" what Paddle was built for::

    device: 0, GPU Compute Capability: 7.5, Driver API Version: 11.4, Runtime API Version: 11.2
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Build, Gpu
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Pair

# Flags that only Paddle prints; "Paddle version" alone is a template's label too.
_MARKS: Final = ("paddle with cuda", "nvidia driver list", "paddle with rocm")
_DEVICE = re.compile(
    r"device: (\d+), (?:GPU|CUDA) (?:Compute )?Capability: (\d+)\.?(\d), Driver (?:API )?Version: (\d+\.\d+)"
    r"(?:, Runtime (?:API )?Version: (\d+\.\d+))?"
)


def _paddle(pair: Pair) -> Iterator[Claim]:
    """The GPU distribution has another name; which one it is the next lines tell."""
    version = values.package_version(pair.value)
    if not version:
        return
    near = " ".join(pair.below(3)).lower()
    with_gpu = re.search(r"paddle with (?:cuda|rocm): ?true", near)
    name = "paddlepaddle-gpu" if with_gpu else "paddlepaddle"
    yield Claim("packages", version, key=name)
    if re.search(r"paddle with cuda: ?false", near):
        yield Claim("builds", Build(runtime="cpu"), key="paddlepaddle")


def _logged(line: str) -> Iterator[Claim]:
    """The log line of a device: its capability, and the CUDA of driver and build."""
    found = _DEVICE.search(line)
    if found is None:
        return
    number, major, minor, driver, runtime = found.groups()
    yield Claim("gpus", Gpu(target=devices.sm(major, minor), vendor="nvidia"), key=number)
    yield Claim("driver_cuda", driver)
    if runtime:
        yield Claim("builds", Build(runtime=f"cuda{runtime}"), key="paddlepaddle-gpu", weight=Weight.LISTED)


PROGRAM: Final = Program(
    name="paddle summary_env",
    labels={
        "paddle version": _paddle,
        "paddlepaddle version": values.silent,
        "os": values.system,
        "gcc version": values.number("gcc"),
        "clang version": values.number("clang"),
        "cmake version": values.number("cmake"),
        "libc version": values.libc,
        "python version": values.python,
        "cuda version": values.first("cuda_toolkit"),
        "cudnn version": values.number("cudnn"),
        "nvidia driver version": values.number("driver"),
        "gpu #": devices.indexed,
    },
    marks=_MARKS,
    phrases=("Driver API Version",),
    lines={
        "Capability: ": _logged,
        "cuDNN Version: ": said("cudnn", r"device: \d+, cuDNN Version: (\d+\.\d+(?:\.\d+)?)"),
    },
    alone=True,
)
