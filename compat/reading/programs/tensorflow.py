"""TensorFlow's ``tf_env_collect.sh`` and the lines that TensorFlow logs when it meets a GPU.

The script prints sections::

    == check python ===================================================
    python version: 3.6.9
    == check os platform ===============================================
    os release version: 4.19.112+
    linux distribution: ('Ubuntu', '18.04', 'bionic')
    == check pips =====================================================
    tensorflow                    2.3.0
    == cuda libs  =====================================================
    /usr/local/cuda-10.1/targets/x86_64-linux/lib/libcudart.so.10.1.243

and the log names devices, and the driver where something is wrong with it::

    device: 0, name: Tesla T4, pci bus id: 0000:00:04.0, compute capability: 7.5
    kernel reported version is: 384.81.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Build
from compat.reading.claims import Claim, Weight
from compat.reading.page import Page, Pair, hint
from compat.reading.program import Program, View, said
from compat.reading.systems import spelling

_MARKS: Final = (
    "tf.version.version", "tf.version", "tf.version.git_version", "tf.git_version", "tf.compiler_version",
    "tf.version.compiler_version", "os kernel version", "os release version", "os platform", "linux distribution",
    "linux os distribution", "sanity check", "is_cuda_build",
)  # fmt: skip
_NEEDLES: Final = (
    "== check python", "== check os platform", "== tensorflow import", "== cuda libs", "== check pips", "== nvidia-smi",
    "tensorflow/core", "tensorflow/stream_executor", "external/local_xla", "tensorflow/compiler",
)  # fmt: skip
_CREATED: Final = (
    r"device:\s*(?P<key>\d+), name: (?P<name>[^,]+), pci bus id: [\w:.]+"
    r"(?:, compute capability: (?P<major>\d+)\.(?P<minor>\d)|\))"
)
_PROPERTIES: Final = r"name: (?P<name>.+?) (?:major: |computeCapability: )(?P<major>\d+)(?: minor: |\.)(?P<minor>\d)"
# The oldest logs print the name on a line of its own.
_CAPABILITY: Final = r"^\s*major: (?P<major>\d+) minor: (?P<minor>\d) memoryClockRate"
_DISTRIBUTION = re.compile(r"\('([^']*)', '([^']*)'")
_PRETTY = re.compile(r"'PRETTY_NAME': '([^']{1,80})'")
_CUDART = re.compile(r"(/\S*?/cuda[\w.-]*)/\S*libcudart\.so\.(\d+\.\d+\.\d+)")


def _distribution(pair: Pair) -> Iterator[Claim]:
    """Python 2 and early 3 printed ``('Ubuntu', '18.04', 'bionic')``."""
    found = _DISTRIBUTION.search(pair.value)
    yield from values.system_claims(f"{found.group(1)} {found.group(2)}" if found else pair.value)


def _platform(pair: Pair) -> Iterator[Claim]:
    """The script's platform string, or what a person answers to the form's question of the same name."""
    if spelling(pair.value) and "-with-" not in pair.value:
        yield from hint(values.system_claims(pair.value), Weight.HAND)
    else:
        yield from values.platform_string(pair)


def _release(pair: Pair) -> Iterator[Claim]:
    """Python's ``platform.freedesktop_os_release()``, which newer scripts print in place of the distribution."""
    if found := _PRETTY.search(pair.value):
        yield from values.system_claims(found.group(1))


def _cudart(line: str) -> Iterator[Claim]:
    """A toolkit by its folder and the name of its library."""
    if found := _CUDART.search(line):
        folder, version = found.groups()
        yield Claim("cuda_toolkits", version, key=folder)


def _built(pair: Pair) -> Iterator[Claim]:
    """The CUDA of the build, as ``tf.sysconfig.get_build_info()`` prints it: ``12.5.1``, ``11.2``."""
    if found := re.match(r"\d{1,2}\.\d{1,2}", pair.value):
        yield Claim("builds", Build(runtime=f"cuda{found[0]}"), key="tensorflow")


def _with_cuda(pair: Pair) -> Iterator[Claim]:
    """A build without CUDA, which may still be one for ROCm."""
    if pair.value == "False" and "is_rocm_build: True" not in pair.page.text:
        yield Claim("builds", Build(runtime="cpu"), key="tensorflow")


def _pips(view: View) -> Iterator[Claim]:
    """``== check pips``: the rows of pip list that contain numpy, protobuf or tensorflow."""
    for start, _ in view.lines("== check pips"):
        for index, line in view.span(start + 1, start + 12):
            found = re.fullmatch(r"\s*([A-Za-z][\w.\-]*)\s+\(?(\d[\w.+]*)\)?\s*", line)
            if "==" in line:
                break
            if found:
                claim = Claim("packages", found.group(2), key=found.group(1), weight=Weight.LISTED)
                yield from view.stamp(index, [claim])


def _slips(page: Page) -> Iterator[int]:
    """The end of the traceback where the script's own check asks TensorFlow 2 for a session of TensorFlow 1."""
    for index in page.find("with tf.Session() as sess"):
        if "/check_tf.py" in page.lines[index - 1].text:
            yield from range(index + 1, min(index + 3, len(page.lines)))


PROGRAM: Final = Program(
    name="tensorflow",
    labels={
        "tf.version.version": values.package("tensorflow"),
        "tf.version": values.package("tensorflow"),
        "python version": values.python,
        "os release version": values.kernel,
        "os platform": _platform,
        "linux distribution": _distribution,
        "linux os distribution": _distribution,
        "freedesktop os release": _release,
        "uname": values.platform_string,
        "machine": values.arch(),
        "cuda_version": _built,
        "is_cuda_build": _with_cuda,
    },
    marks=_MARKS,
    phrases=_NEEDLES,
    lines={
        "pci bus id: ": devices.card(_CREATED, maker="nvidia"),
        "memoryClockRate": devices.card(_CAPABILITY, maker="nvidia", weight=Weight.LISTED),
        "name: ": devices.card(_PROPERTIES, maker="nvidia"),
        "kernel ": said("driver", r"kernel (?:version|reported version is):? (\d{3}(?:\.\d+)+)"),
        "libcuda reported": said("driver_library", r"libcuda reported version is: (\d{3}(?:\.\d+)+)"),
        "Loaded ": said("cudnn", r"Loaded (?:runtime CuDNN library: |cuDNN version )(\d[\d.]*)"),
        "(3, ": said("python", r"\((\d), (\d{1,2}), (\d{1,2}), '\w+', \d+\)", weight=Weight.LISTED),
        "libcudart": _cudart,
    },
    beyond=_pips,
    slips=_slips,
)
