"""TensorFlow's ``tf_env_collect.sh`` and the lines that TensorFlow logs when it meets a GPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.reports import devices, values
from compat.reports.claims import Claim, Weight
from compat.reports.page import betrayed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reports.page import Page, Pair, View

NAME: Final = "tensorflow"

_MARKS: Final = (
    "tf.version.version", "tf.version", "tf.version.git_version", "tf.git_version", "tf.compiler_version",
    "tf.version.compiler_version", "os kernel version", "os release version", "os platform", "linux distribution",
    "linux os distribution", "sanity check",
)  # fmt: skip
_NEEDLES: Final = (
    "== check python", "== check os platform", "== tensorflow import", "== cuda libs", "== check pips", "== nvidia-smi",
    "tensorflow/core", "tensorflow/stream_executor", "external/local_xla", "tensorflow/compiler",
)  # fmt: skip
_CREATED = re.compile(r"device:\s*(\d+), name: ([^,]+), pci bus id: \S+, compute capability: (\d+)\.(\d)")
_PROPERTIES = re.compile(r"name: (.+?) (?:major: (\d+) minor: (\d)|computeCapability: (\d+)\.(\d))")
_KERNEL = re.compile(r"kernel (?:version|reported version is):? (\d{3}(?:\.\d+)+)")
_LIBCUDA = re.compile(r"libcuda reported version is: (\d{3}(?:\.\d+)+)")
_LOADED = re.compile(r"Loaded (?:runtime CuDNN library: |cuDNN version )(\d[\d.]*)")
_DISTRIBUTION = re.compile(r"\('([^']*)', '([^']*)'")
_TUPLE = re.compile(r"\((\d), (\d{1,2}), (\d{1,2}), '\w+', \d+\)")
_CUDART = re.compile(r"(/\S*?/cuda[\w.-]*)/\S*libcudart\.so\.(\d+\.\d+\.\d+)")


def _distribution(pair: Pair) -> Iterator[Claim]:
    """Python 2 and early 3 printed ``('Ubuntu', '18.04', 'bionic')``."""
    found = _DISTRIBUTION.search(pair.value)
    yield from values.system_claims(f"{found.group(1)} {found.group(2)}" if found else pair.value)


LABELS: Final[Mapping[str, values.Reader]] = {
    **dict.fromkeys(_MARKS, values.silent),
    "tf.version.version": values.package("tensorflow"),
    "tf.version": values.package("tensorflow"),
    "python version": values.python,
    "os release version": values.kernel,
    "os platform": values.platform_string,
    "linux distribution": _distribution,
    "linux os distribution": _distribution,
    "uname": values.platform_string,
    "machine": values.arch(),
}


def recognise(page: Page, found: Mapping[str, list[Pair]]) -> list[int]:
    """Titles of the script's sections and TensorFlow's source paths in logs."""
    return betrayed(page, found, _MARKS, _NEEDLES)


def facts(view: View) -> Iterator[Claim]:
    """Labels and log lines."""
    if not view.marks.get(NAME):
        return
    yield from view.labelled(LABELS)
    yield from _logged(view)
    for index, line in view.lines("(3, "):
        if found := _TUPLE.search(line):
            yield from view.stamp(index, [Claim("python", ".".join(found.groups()), weight=Weight.LISTED)])
    for index, line in view.lines("libcudart"):
        if found := _CUDART.search(line):
            folder, version = found.groups()
            yield from view.stamp(index, [Claim("cuda_toolkits", version, key=folder)])
    yield from _pips(view)


def _logged(view: View) -> Iterator[Claim]:
    for index, line in view.lines("compute capability: "):
        if found := _CREATED.search(line):
            number, name, *digits = found.groups()
            if gpu := devices.device(name, target=devices.sm(*digits), vendor="nvidia"):
                yield from view.stamp(index, [Claim("gpus", gpu, key=number)])
    for index, line in view.lines("name: "):
        if found := _PROPERTIES.search(line):
            name, *digits = (part for part in found.groups() if part)
            if gpu := devices.device(name, target=devices.sm(*digits), vendor="nvidia"):
                yield from view.stamp(index, [Claim("gpus", gpu)])
    for needle, pattern, fact in (
        ("kernel ", _KERNEL, "driver"),
        ("libcuda reported", _LIBCUDA, "driver_library"),
        ("Loaded ", _LOADED, "cudnn"),
    ):
        for index, line in view.lines(needle):
            if found := pattern.search(line):
                value = found.group(1).rstrip(".")
                if value.isdigit() and len(value) < 4:
                    continue  # a packed number of cuDNN has four digits or five; this one is cut
                value = values.unpacked_cudnn(int(value)) if value.isdigit() else value
                yield from view.stamp(index, [Claim(fact, value)])


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
