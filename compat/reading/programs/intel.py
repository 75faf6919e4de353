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

Each card is there once per list and per backend: the first of these lists is the machine's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
from compat.reading.claims import Claim
from compat.reading.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reading.page import Page, Pair
    from compat.reading.program import View

_CARD: Final = r"(?P<name>Intel\S* (?:[\w()-]+ ){0,5}?(?:Graphics|GPU)(?: [\w()-]+){0,3})"
# What lines of a list hold -> their shape.
_LISTS: Final = (
    ("* Intel", re.compile(rf"^\W*\*\s+{_CARD}\s*$")),
    ("_XpuDeviceProperties", re.compile(r"\[\d{1,3}\] _XpuDeviceProperties\(name='(?P<name>[^']{2,60})'")),
    (
        ":gpu",
        re.compile(
            r"\[(?P<backend>level_zero|opencl|ext_oneapi_level_zero):gpu(?:\]\[\1)?:\d{1,3}\]\s*[^,]{3,60}, "
            r"(?P<name>Intel\S* .{2,60}?)(?: OpenCL \d| \d+\.\d+)[^\[]{0,40}\[(?P<driver>[\d.]{0,20})"
        ),
    ),
    ("Device ", re.compile(rf"\bDevice (?:#\d{{1,2}}:|Name:?) {{1,60}}{_CARD} *(?:\||$)")),
)


def _marked(page: Page, _found: Mapping[str, list[Pair]]) -> Iterator[int]:
    """Lines that name devices."""
    for needle, shape in _LISTS:
        yield from (at for at in page.find(needle) if shape.search(page.lines[at].text))


def _devices(view: View) -> Iterator[Claim]:
    """The devices of the first list, of its first backend."""
    rows: list[tuple[int, dict[str, str | None]]] = []
    for needle, shape in _LISTS:
        rows = rows or [(at, found.groupdict()) for at, line in view.lines(needle) if (found := shape.search(line))]
    for number, (index, told) in enumerate(rows):
        gpu, backend = devices.device(told["name"] or "", vendor="intel"), told.get("backend") or ""
        if gpu and backend == (rows[0][1].get("backend") or ""):
            driver = [Claim("intel_runtime", told["driver"])] if "level_zero" in backend and told["driver"] else []
            yield from view.stamp(index, [Claim("gpus", gpu, key=str(number)), *driver])


PROGRAM: Final = Program(name="intel tools", marked=_marked, beyond=_devices, alone=True)
