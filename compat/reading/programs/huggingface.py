"""``transformers env``, ``accelerate env``, ``diffusers-cli env``, ``datasets-cli env``, ``trl env`` and their like.

A Markdown list, meant to be pasted as it is::

    - `transformers` version: 4.57.3
    - Platform: Linux-6.6.97+-x86_64-with-glibc2.35
    - Python version: 3.11.11
    - PyTorch version (accelerator?): 2.9.1+cu128 (CUDA)
    - Tensorflow version (GPU?): not installed (NA)
    - Using GPU in script?: <fill in>
    - GPU type: NVIDIA H100 80GB HBM3

The question in parentheses has changed over the years, which is why labels are compared without it. diffusers asks
nvidia-smi for its accelerators and prints the answer: ``- Accelerator: NVIDIA A100-SXM4-80GB, 81920 MiB``.
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

    from compat.reading.page import Pair

_LIBRARIES: Final = (
    "transformers", "accelerate", "diffusers", "datasets", "peft", "trl", "safetensors", "deepspeed", "bitsandbytes",
    "xformers", "jax", "jaxlib", "flax", "tokenizers", "optimum", "sentence-transformers", "evaluate", "timm",
    "flash-attn", "liger-kernel", "vllm",
)  # fmt: skip
_MARKS: Final = (
    "huggingface_hub version", "safetensors version", "accelerate version", "accelerate config", "flax version",
    "transformers version", "diffusers version", "using gpu in script?", "gpu type", "pytorch xpu available",
    "using distributed or parallel set-up in script?", "running on google colab?",
    "accelerate bash location", "pytorch npu available", "system ram", "datasets version", "trl version",
    "jaxlib version", "running on a notebook?",
)  # fmt: skip
_NUMBER = re.compile(r"\W*GPU number: (\d{1,3})\s*$")


def _accelerator(pair: Pair) -> Iterator[Claim]:
    """What diffusers prints is what nvidia-smi answers: one ``name, memory`` per line."""
    for text in (pair.value, *pair.below(16)):
        if ", " not in text or "MiB" not in text:
            break
        if gpu := devices.device(text):
            yield Claim("gpus", gpu)


def _platform(pair: Pair) -> Iterator[Claim]:
    """Python's platform string; diffusers puts the distribution's name before it."""
    yield from values.platform_string(pair)
    name, dash, _ = pair.value.partition(" - Linux-")
    if dash:
        yield from values.system_claims(name)


def _gpus(pair: Pair) -> Iterator[Claim]:
    """One card's name, and how many there are of it where LLaMA-Factory says so on the next line."""
    below = next(iter(pair.below(1)), "")
    found = _NUMBER.match(below)
    count = min(int(found.group(1)), devices.MOST) if found else 1
    for claim in devices.named(pair):
        yield from (replace(claim, key=str(index)) for index in range(count)) if count > 1 else (claim,)


PROGRAM: Final = Program(
    name="transformers env",
    labels={
        **{f"{name} version": values.package(name) for name in _LIBRARIES},
        "huggingface_hub version": values.package("huggingface-hub"),
        "pytorch version": values.package("torch"),
        "tensorflow version": values.package("tensorflow"),
        "numpy version": values.package("numpy"),
        "platform": _platform,
        "python version": values.python,
        "gpu type": _gpus,
        "accelerator": _accelerator,
    },
    marks=_MARKS,
)
