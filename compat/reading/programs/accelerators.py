"""Tools of accelerators that are not GPUs of NVIDIA, AMD or Intel: their tables look like nvidia-smi's.

npu-smi (Huawei), cnmon (Cambricon), ixsmi (Iluvatar), hl-smi (Intel Gaudi), mx-smi (MetaX), xpu_smi (Kunlunxin),
mthreads-gmi (Moore Threads), hy-smi (Hygon, which names no product), tpu-info (Google)::

    | npu-smi 24.1.rc3.7               Version: 24.1.rc3.7                                           |
    | 0     Ascend910           | OK            | 178.7       37                0    / 0             |
    | 0     0                   | 0000:9D:00.0  | 0           0    / 0          3419 / 65536         |

    |  IX-ML: 4.1.0       Driver Version: 4.1.0       CUDA Version: 10.2          |
    | 0    Iluvatar BI-V150         | 00000000:13:00.0     | 1500MHz   1600MHz    |
    | 0%   32C   P0    N/A / N/A    | 116MiB / 32768MiB    | 0%        Default    |

    | /dev/vfio/0 | TPU v6e chip | 1       | 1469584 |

The drivers they tell are none of NVIDIA's, nor is the CUDA that ixsmi names. An NPU of two chips is two devices.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.reading.claims import Claim
from compat.reading.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.program import View

_HYGON: Final = "Hygon DCU"
_DCU: Final = ("DCU     Temp ", "HCU     Temp ")
_TABLES: Final = ("| npu-smi ", "| CNMON v", "IX-ML:", "HL-SMI Version", "| MX-SMI ", "| XPU-SMI ", "mthreads-gmi:")
_HEADS: Final = (*_TABLES, *_DCU, "XPUSMI LOG", "TPU Chips")
_MAKERS: Final = devices.OTHERS | {"google"}
_CHIP = re.compile(r"[|\u2502] {0,3}/dev/(?:vfio/|accel)(\d{1,3}) {1,20}[|\u2502] {0,3}(TPU ?\w{2,5}) chip ")
_ROW = re.compile(r"\|?\s*(\d{1,3})\s+(?:/\s+)?(\S+(?: \S+){0,3}?)(?=\s{2}|\s*\|)")
_BUS = re.compile(r"\b[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]\b")
_MEMORY = re.compile(r"(\d{1,7}) {0,2}(?:Mi[Bb])? {0,4}[/(] {0,4}(\d{4,7})(?!\d)")
_LONGEST: Final = 400  # lines of one table


def _rows(view: View) -> Iterator[Claim]:
    """The devices below each head; what a second table lists again is the same."""
    seen: dict[tuple[str, str], str] = {}
    for start, stop in view.sections(view.own, _LONGEST):
        nameless = view.page.text_at(start).lstrip().startswith(_DCU)
        for index, line in view.span(start + 1, stop):
            found = _CHIP.search(line) or _ROW.match(line.strip())
            gpu = devices.device(_HYGON if nameless else found[2]) if found else None
            if found is None or gpu is None or gpu.vendor not in _MAKERS:
                continue
            near = f"{line}\n{view.page.text_at(index + 1)}"
            bus = address[0] if (address := _BUS.search(near)) else ""
            key = seen.setdefault((found[1], bus), str(len(seen)))
            used, size = map(int, sizes[-1]) if (sizes := _MEMORY.findall(near)) else (None, None)
            if int(key) < devices.MOST:
                gpu = replace(gpu, bus=bus, memory_mib=size, memory_used_mib=used)
                yield from view.stamp(index, [Claim("gpus", gpu, key=key)])


PROGRAM: Final = Program(
    name="accelerators' tools",
    labels=dict.fromkeys(("driver version", "cuda version"), values.silent),
    phrases=_HEADS,
    beyond=_rows,
)
