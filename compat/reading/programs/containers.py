"""Container engines: ``docker info``, ``docker version``, nvidia-container-cli.

::

    Server Version: 24.0.7
    Cgroup Driver: systemd
    Cgroup Version: 2
    Runtimes: io.containerd.runc.v2 nvidia runc
    Kernel Version: 5.15.0-91-generic
    Operating System: Ubuntu 22.04.3 LTS

nvidia-container-cli means by "CUDA version" what the driver supports::

    NVRM version:   430.26
    CUDA version:   10.2
    Model:          GeForce RTX 2080 Ti
    Architecture:   7.5
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Gpu
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program, said
from compat.reading.systems import split_architecture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Pair
    from compat.reading.program import View

_MARKS: Final = (
    "server version", "storage driver", "logging driver", "cgroup driver", "default runtime", "docker root dir",
    "ostype", "runtimes", "nvrm version", "device index", "cgroup version", "security options",
)  # fmt: skip
_ENGINE = re.compile(r"^\s*Version:\s*(\d+\.\d+[\w.+-]*)")
_CAPABILITY = re.compile(r"\d{1,2}\.\d")
_INDEX = re.compile(r"Device Index:\s*(\d{1,3})")
_CLI: Final = said(
    "container_toolkit",
    r"(?:cli-version|nvidia-container-toolkit version|NVIDIA Container Toolkit CLI version):?\s*(\d+\.\d+[\w.]*)",
)


def _engine(pair: Pair) -> Iterator[Claim]:
    """A server that states its version is running."""
    if version := pair.value.split(" ")[0]:
        yield Claim("engine", f"docker {version}")
        yield Claim("engine_status", "running")


def _runtimes(pair: Pair) -> Iterator[Claim]:
    """Whether NVIDIA's runtime is registered with the engine."""
    if "nvidia" in pair.value.split():
        yield Claim("gpu_runtime", "nvidia")


def _cgroup(pair: Pair) -> Iterator[Claim]:
    """The driver, and the version on the next line."""
    near = next((text for text in pair.below(1) if "Cgroup Version" in text), "")
    version = near.partition(":")[2].strip()
    if re.fullmatch(r"[a-z]+", pair.value) and version in {"1", "2"}:
        yield Claim("cgroup", f"v{version} {pair.value}")


def _system(pair: Pair) -> Iterator[Claim]:
    """The host's system; Docker Desktop calls itself one too."""
    printed, _ = split_architecture(pair.value)
    yield from values.system_claims(printed)


def _architecture(pair: Pair) -> Iterator[Claim]:
    """The processor's in ``docker info``; in nvidia-container-cli's list of devices a compute capability."""
    if _CAPABILITY.fullmatch(pair.value):
        above = pair.page.lines[max(0, pair.index - 6) : pair.index]
        number = next((found.group(1) for line in reversed(above) if (found := _INDEX.search(line.text))), "")
        gpu = Gpu(target=devices.capability(pair.value), vendor="nvidia")
        yield Claim("gpus", gpu, key=number, weight=Weight.LISTED)
    else:
        yield from values.arch()(pair)


def _server(view: View) -> Iterator[Claim]:
    """The server's version in ``docker version``."""
    for index, _line in view.lines("Server: Docker Engine"):
        for row, text in view.span(index + 1, index + 5):
            if found := _ENGINE.match(text):
                yield from view.stamp(row, [Claim("engine", f"docker {found.group(1)}")])


PROGRAM: Final = Program(
    name="container engine",
    labels={
        "server version": _engine,
        "runtimes": _runtimes,
        "cgroup driver": _cgroup,
        "kernel version": values.kernel,
        "operating system": _system,
        "architecture": _architecture,
        # nvidia-container-cli info
        "nvrm version": values.first("driver"),
        "cuda version": values.first("driver_cuda"),
        "model": devices.named,
    },
    marks=_MARKS,
    phrases=("Docker version ", "Server: Docker Engine", "cli-version", "Docker Engine"),
    # the compute capabilities in nvidia-container-cli's list of devices
    marked=lambda _, found: (one.index for one in found.get("architecture", ()) if _CAPABILITY.fullmatch(one.value)),
    lines={
        "Docker version ": said("engine", r"Docker version (\d+\.\d+[\w.+-]*)"),
        **dict.fromkeys(("cli-version", "Container Toolkit CLI version", "nvidia-container-toolkit version"), _CLI),
    },
    beyond=_server,
)
