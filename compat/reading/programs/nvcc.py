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
from compat.reading.page import betrayed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import compat.reading.values as values
    from compat.reading.page import Page, Pair, View

NAME: Final = "nvcc"

LABELS: Final[Mapping[str, values.Reader]] = {}

_TOOLS = re.compile(r"compilation tools, release (\d+\.\d+)(?:, V(\d+\.\d+\.\d+))?")
_TEXT = re.compile(r"^\s*CUDA Version (\d+\.\d+(?:\.\d+)?)\s*$")
_DEFINE = re.compile(r"#\s*define\s+CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s+(\d{1,4})")
_NVCC_LABEL = re.compile(r"^\W*NVCC\s*:", re.IGNORECASE)


def recognise(page: Page, found: Mapping[str, list[Pair]]) -> list[int]:
    """Its own sentences."""
    marks = betrayed(page, found, (), ("Cuda compiler driver", "compilation tools, release", "CUDNN_MAJOR"))
    texts = [index for index in page.find("CUDA Version ") if _TEXT.match(page.lines[index].text)]
    return sorted({*texts, *(index for index in marks if not _NVCC_LABEL.match(page.lines[index].text))})


def facts(view: View) -> Iterator[Claim]:
    """The V-number of nvcc, the release of version.txt, cuDNN put together from its three defines."""
    for index, line in view.lines("compilation tools, release"):
        # mmcv prints the same sentence behind its own label and is read by its own module.
        if (found := _TOOLS.search(line)) and not _NVCC_LABEL.match(line):
            yield from view.stamp(index, [Claim("cuda_toolkit", found.group(2) or found.group(1))])
    for index, line in view.lines("CUDA Version "):
        if found := _TEXT.match(line):
            yield from view.stamp(index, [Claim("cuda_toolkit", found.group(1), weight=Weight.LISTED)])
    yield from _header(view)


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
