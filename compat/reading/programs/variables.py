"""Environment variables that steer GPU software: ``NAME=value`` on a line of its own.

vLLM's collect_env ends with them, shells echo them, units and compose files set them::

    LD_LIBRARY_PATH=/usr/local/cuda/lib64
    Environment="HSA_OVERRIDE_GFX_VERSION=10.3.0"
    CUDA_VISIBLE_DEVICES=0 python train.py

A variable without a value is not set, and no fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from compat.reading.claims import Claim, Weight
from compat.reading.page import Page, Pair, ends
from compat.reading.program import Program, View

# Beginnings of the variables' names.
STEERING: Final = (
    "CUDA_", "NVIDIA_", "NCCL_", "VLLM_", "TORCH_", "PYTORCH_", "HSA_", "HIP_", "ROCR_", "ROCM_", "LD_LIBRARY_PATH",
    "LD_PRELOAD", "XLA_", "TF_", "JAX_", "CUDNN_", "MIOPEN_", "GPU_DEVICE_ORDINAL", "TRITON_", "SGLANG_", "ASCEND_",
    "ONEAPI_", "ZE_", "TORCHINDUCTOR_", "NVTE_",
)  # fmt: skip

_LOGGED = re.compile(r"[\s\[]([A-Z][A-Z0-9_]{2,60})=([^\s\"\]]+)")
_BEFORE = re.compile(
    r"^\s*(?:[$#%]\s+)?((?:[A-Z][A-Z0-9_]{2,60}=[^\s$]+\s+)+)(?:python|torchrun|accelerate|vllm|deepspeed|docker|ollama|\./)"
)
_LINE = re.compile(
    r"^\s*(?:[$#%]\s+)?(?:export\s+|set\s+|ENV\s+|[-*]\s+|Environment=\"?)?([A-Z][A-Z0-9_]{2,60})=(\"[^\"]*\"|'[^']*'|[^\s\"]+)?\"?\s*$"
)


def _marked(page: Page, _found: Mapping[str, list[Pair]]) -> Iterator[int]:
    """Lines that set one of the variables."""
    lines = {index for prefix in STEERING for index in page.find(prefix)}
    return (index for index in lines if any(_set(page.lines[index].text)))


def _variables(view: View) -> Iterator[Claim]:
    """Each variable with a value."""
    for index in ends(view.own):
        settings = _set(view.page.lines[index].text)
        yield from view.stamp(index, (Claim("env", value, key=name, weight=Weight.LISTED) for name, value in settings))


def _set(line: str) -> Iterator[tuple[str, str]]:
    """Variables that a line sets: alone, before a command, or as the field of a structured log.

    Nowhere else: error messages advise variables in the same spelling ("consider passing CUDA_LAUNCH_BLOCKING=1").
    """
    pairs: list[tuple[str, str]] = []
    if whole := _LINE.match(line):
        pairs = [(whole.group(1), whole.group(2) or "")]
    elif before := _BEFORE.match(line):
        pairs = [(name, value) for name, _, value in (word.partition("=") for word in before.group(1).split())]
    elif "level=" in line:
        pairs = _LOGGED.findall(line)
    return ((name, value.strip("\"'")) for name, value in pairs if value and name.startswith(STEERING))


PROGRAM: Final = Program(name="environment", marked=_marked, beyond=_variables)
