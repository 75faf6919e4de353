"""Environment variables that steer GPU software: ``NAME=value`` on a line of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.reports.claims import Claim, Weight
from compat.reports.page import ends

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reports import values
    from compat.reports.page import Page, Pair, View

NAME: Final = "environment"

LABELS: Final[Mapping[str, values.Reader]] = {}

STEERING: Final = (
    "CUDA_", "NVIDIA_", "NCCL_", "VLLM_", "TORCH_", "PYTORCH_", "HSA_", "HIP_", "ROCR_", "ROCM_", "LD_LIBRARY_PATH",
    "LD_PRELOAD", "XLA_", "TF_", "JAX_", "CUDNN_", "MIOPEN_", "GPU_DEVICE_ORDINAL", "TRITON_", "SGLANG_", "ASCEND_",
    "ONEAPI_", "ZE_", "TORCHINDUCTOR_", "NVTE_",
)  # fmt: skip
"""Beginnings of the variables' names."""

_LINE = re.compile(
    r"^\s*(?:[$#%]\s+)?(?:export\s+|set\s+|ENV\s+|[-*]\s+|Environment=\"?)?([A-Z][A-Z0-9_]{2,60})=(\"[^\"]*\"|'[^']*'|[^\s\"]+)?\"?\s*$"
)


def recognise(page: Page, found: Mapping[str, list[Pair]]) -> list[int]:
    """Lines that set one of the variables."""
    del found
    return sorted({index for prefix in STEERING for index in page.find(prefix) if _LINE.match(page.lines[index].text)})


def facts(view: View) -> Iterator[Claim]:
    """Each variable with a value."""
    for index in ends(view.marks.get(NAME, ())):
        if found := _LINE.match(view.page.lines[index].text):
            name, value = found.groups()
            if value and name.startswith(STEERING):
                claim = Claim("env", value.strip("\"'"), key=name, weight=Weight.LISTED)
                yield from view.stamp(index, [claim])
