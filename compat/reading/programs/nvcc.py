"""CUDA on disk: ``nvcc -V``, version.txt, version.json and the defines of cuDNN's header.

::

    nvcc: NVIDIA (R) Cuda compiler driver
    Cuda compilation tools, release 12.1, V12.1.66
    Build cuda_12.1.r12.1/compiler.32415258_0

    CUDA Version 10.1.243                       (version.txt)

    #define CUDNN_MAJOR 7                       (cudnn.h, cudnn_version.h)
    #define CUDNN_MINOR 6
    #define CUDNN_PATCHLEVEL 4
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.reading.claims import Claim, Weight
from compat.reading.program import Program, said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reading.page import Page, Pair
    from compat.reading.program import View

_TOOLS = re.compile(r"compilation tools, release (\d+\.\d+)(?:, V(\d+\.\d+\.\d+))?")
_TEXT = re.compile(r"^\s*CUDA Version (\d+\.\d+(?:\.\d+)?)\s*$")
_DEFINE = re.compile(r"#\s*define\s+CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s+(\d{1,4})")
_NVCC_LABEL = re.compile(r"^\W*NVCC\s*:", re.IGNORECASE)


def _marked(page: Page, _found: Mapping[str, list[Pair]]) -> Iterator[int]:
    """Its own sentences; mmcv prints them behind a label of its own and is read by its own module."""
    yield from (index for index in page.find("CUDA Version ") if _TEXT.match(page.lines[index].text))
    for phrase in ("Cuda compiler driver", "compilation tools, release", "CUDNN_MAJOR"):
        yield from (index for index in page.find(phrase) if not _NVCC_LABEL.match(page.lines[index].text))


def _tools(line: str) -> Iterator[Claim]:
    """The V-number of nvcc, else its release."""
    if (found := _TOOLS.search(line)) and not _NVCC_LABEL.match(line):
        yield Claim("cuda_toolkit", found.group(2) or found.group(1))


def _header(view: View) -> Iterator[Claim]:
    """Version of cuDNN from the defines of its header, each on its line."""
    parts: dict[str, str] = {}
    start = -1
    for index, line in view.lines("CUDNN_"):
        if (found := _DEFINE.search(line)) and found.group(1) not in parts:
            parts[found.group(1)] = found.group(2)
            start = index if start < 0 else start
    if "MAJOR" in parts and "MINOR" in parts:
        numbers = [parts[name] for name in ("MAJOR", "MINOR", "PATCHLEVEL") if name in parts]
        yield from view.stamp(start, [Claim("cudnn", ".".join(numbers))])


PROGRAM: Final = Program(
    name="nvcc",
    marked=_marked,
    lines={
        "compilation tools, release": _tools,
        "CUDA Version ": said("cuda_toolkit", _TEXT.pattern, weight=Weight.LISTED),
    },
    beyond=_header,
    alone=True,
)
