"""Intel's devices: what collect_env prints of them since torch 2.8, ``sycl-ls``, ``clinfo`` and ``xpu-smi``.

::

    Intel GPU models onboard:
    * Intel(R) Arc(TM) A770 Graphics
    Intel GPU models detected:
    * [0] _XpuDeviceProperties(name='Intel(R) Arc(TM) A770 Graphics', platform_name='...', type='gpu', ...)

    [level_zero:gpu][level_zero:0] Intel(R) Level-Zero, Intel(R) Data Center GPU Max 1550 1.3 [1.3.29735]
    [opencl:gpu][opencl:3] Intel(R) OpenCL Graphics, Intel(R) Data Center GPU Max 1550 OpenCL 3.0 NEO  [24.22]
    [level_zero:gpu:0] Intel(R) Level-Zero, Intel(R) Arc(TM) A770 Graphics 1.3 [1.3.29735]
     `-- Device #0: Intel(R) UHD Graphics 630
    | 0         | Device Name: Intel(R) Data Center GPU Flex 170                                       |

Each card is there once per list and per backend. Onboard is what the bus shows, detected what torch can use; the same
card stands in both, so the longer list of the two is the machine's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reading.page import Page, Pair
    from compat.reading.program import View

_ITEM = re.compile(r"^\W*\*\s+(Intel\S* .{2,60})$")
_DETECTED = re.compile(r"\[(\d{1,3})\] _XpuDeviceProperties\(name='([^']{2,60})'")
_BACKEND = re.compile(
    r"\[(level_zero|opencl|ext_oneapi_level_zero):gpu(?:\]\[\1)?:(\d{1,3})\]\s*[^,]{3,60}, (Intel\S* .{2,60}?)"
    r"(?: OpenCL \d| \d+\.\d+)[^\[]{0,40}\[([\d.]{0,20})"
)


_NAMED = re.compile(
    r"\bDevice (?:#\d{1,2}:|Name:?) {1,60}(Intel\S* (?:[\w()-]+ ){0,5}?(?:Graphics|GPU)(?: [\w()-]+){0,3}) *(?:\||$)"
)


def _onboard(pair: Pair) -> Iterator[Claim]:
    """The items below the label, one per card."""
    found = [_ITEM.match(text) for text in pair.below(devices.MOST)]
    for number, item in enumerate(found):
        gpu = devices.device(item.group(1), vendor="intel") if item else None
        if gpu is None:
            return
        yield Claim("gpus", gpu, key=str(number))


def _detected(pair: Pair) -> Iterator[Claim]:
    """What torch sees, where the list of what is onboard is empty."""
    above = [line.text for line in pair.page.lines[max(0, pair.index - devices.MOST) : pair.index]]
    if any(_ITEM.match(text) for text in above[above_label(above) :]):
        return
    for text in pair.below(devices.MOST):
        found = _DETECTED.search(text)
        if found is None:
            return
        if gpu := devices.device(found.group(2), vendor="intel"):
            yield Claim("gpus", gpu, key=found.group(1))


def above_label(texts: list[str]) -> int:
    """Where the list of what is onboard begins among the lines above; behind them all if it is not there."""
    return next((at for at, text in enumerate(texts) if "Intel GPU models onboard" in text), len(texts))


def _backends(view: View) -> Iterator[Claim]:
    """The devices of one backend: the others list the same cards again."""
    rows = [(at, found) for at, line in view.lines(":gpu") if (found := _BACKEND.search(line))]
    first = next((found.group(1) for _, found in rows), "")
    for index, found in rows:
        gpu = devices.device(found.group(3), vendor="intel")
        if gpu and found.group(1) == first:
            driver = [Claim("intel_runtime", found.group(4))] if "level_zero" in first and found.group(4) else []
            yield from view.stamp(index, [Claim("gpus", gpu, key=found.group(2)), *driver])
    for number, (index, line) in enumerate(view.lines("Device ") if not rows else ()):
        found = _NAMED.search(line)
        if gpu := devices.device(found.group(1), vendor="intel") if found else None:
            yield from view.stamp(index, [Claim("gpus", gpu, key=str(number), weight=Weight.HINT)])


def _marked(page: Page, _found: Mapping[str, list[Pair]]) -> Iterator[int]:
    """Lines of programs that list devices."""
    for needle, shape in ((":gpu", _BACKEND), ("Device ", _NAMED)):
        yield from (at for at in page.find(needle) if shape.search(page.lines[at].text))


PROGRAM: Final = Program(
    name="intel tools",
    labels={"intel gpu models onboard": _onboard, "intel gpu models detected": _detected},
    marks=("intel gpu models onboard", "intel gpu models detected"),
    marked=_marked,
    beyond=_backends,
    alone=True,
)
