"""SD.Next's start-up log, older and newer.

::

    INFO     Torch backend: nVidia CUDA 11.8 cuDNN 8700
    INFO     Torch detected GPU: NVIDIA GeForce RTX 3080 Ti VRAM 12287 Arch (8, 6) Cores 80

    INFO     Torch backend: version="2.4.1+cu121" type=CUDA CUDA=12.1 cuDNN=90100
    INFO     Torch detected: gpu="NVIDIA GeForce RTX 4090" vram=24214 units=128 arch=(8, 9)
    INFO     System packages: {'torch': '2.4.1+cpu', 'diffusers': '0.31.0.dev0',
                             'transformers': '4.45.1'}

For AMD cards the two numbers of ``Arch`` are parts of HIP's own counting, no kernel target.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat import versions
from compat.facts import Build
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import View

_NEEDLES: Final = ("Starting SD.Next", "Torch backend: ", "Torch detected", "System packages: {")
_VERSION = re.compile(r'version="(\d[\w.+]{2,40})"')
_RUNTIME = re.compile(r"\b(CUDA|HIP)[ =](\d{1,2}\.\d+)")
_CUDNN = re.compile(r"\bcuDNN[ =](\d{4,6})\b")
_DEVICE = re.compile(r'Torch detected(?: GPU: (.{3,80}?) VRAM \d|: gpu="([^"\n]{3,80})")')
_TUPLE = re.compile(r"(?:Arch |arch=|capability=)\((\d{1,2}), ?(\d)\)")
_PACKAGE = re.compile(r"\b([A-Za-z][\w.-]{1,40})'?: '?(\d+\.\d[\w.+]{0,40})")
# Lines over which the list of packages may go on; an entry that begins a line stands on one of its own by now.
_BROKEN: Final = 8


def _backend(line: str) -> Iterator[Claim]:
    """The build of torch: its version where it is told, the runtime, and cuDNN as a packed number."""
    if found := _VERSION.search(line):
        yield Claim("packages", values.package_version(found.group(1)), key="torch")
    if found := _RUNTIME.search(line):
        kind, release = found.groups()
        yield Claim("builds", Build(runtime=("cuda" if kind == "CUDA" else "rocm") + release), key="torch")
    if found := _CUDNN.search(line):
        yield Claim("cudnn", versions.unpacked_cudnn(int(found.group(1))), weight=Weight.LISTED)


def _device(line: str) -> Iterator[Claim]:
    """One device; its compute capability where NVIDIA made it."""
    if found := _DEVICE.search(line):
        name = found.group(1) or found.group(2)
        digits = _TUPLE.search(line)
        target = devices.sm(*digits.groups()) if digits and devices.vendor(name) == "nvidia" else ""
        if gpu := devices.device(name, target=target):
            yield Claim("gpus", gpu)


def _packages(line: str) -> Iterator[Claim]:
    """The versions on one line of the list."""
    for name, version in _PACKAGE.findall(line):
        yield Claim("packages", version, key=name, weight=Weight.LISTED)
        if name == "torch" and "+cpu" in version:
            yield Claim("builds", Build(runtime="cpu"), key="torch", weight=Weight.LISTED)


def _listed(view: View) -> Iterator[Claim]:
    """The packages that it looks for, over several lines."""
    for start, _line in view.lines("System packages: {"):
        for index, line in view.span(start, start + _BROKEN):
            text = line.partition("System packages: ")[2] if index == start else line
            listed = list(_packages(text))
            if not listed:
                break
            yield from view.stamp(index, listed)


PROGRAM: Final = Program(
    name="sd.next log",
    phrases=_NEEDLES,
    lines={
        "Python: version=": said("python", r"\bPython: version=(\d\.\d{1,2}\.\d{1,2})\b"),
        "Torch backend: ": _backend,
        "Torch detected": _device,
    },
    beyond=_listed,
)
