"""``transformers env``, ``accelerate env``, ``diffusers-cli env``, ``datasets-cli env``, ``trl env`` and their like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.reports import devices, values
from compat.reports.claims import Claim
from compat.reports.page import betrayed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reports.page import Page, Pair, View

NAME: Final = "transformers env"

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
_FRAMEWORK: Final = {"+cpu": "cpu"}
_ACCELERATOR = re.compile(r"\((cpu|cuda|xpu|npu|mps)\)", re.IGNORECASE)


def _accelerator(pair: Pair) -> Iterator[Claim]:
    """What diffusers prints is what nvidia-smi answers: one ``name, memory`` per line."""
    for text in (pair.value, *pair.below(16)):
        if ", " not in text or "MiB" not in text:
            break
        if gpu := devices.device(text):
            yield Claim("gpus", gpu)


LABELS: Final[Mapping[str, values.Reader]] = {
    **dict.fromkeys(_MARKS, values.silent),
    **{f"{name} version": values.package(name) for name in _LIBRARIES},
    "huggingface_hub version": values.package("huggingface-hub"),
    "pytorch version": values.package("torch"),
    "tensorflow version": values.package("tensorflow"),
    "numpy version": values.package("numpy"),
    "platform": values.platform_string,
    "python version": values.python,
    "gpu type": devices.named,
    "accelerator": _accelerator,
}


def recognise(page: Page, found: Mapping[str, list[Pair]]) -> list[int]:
    """Lines with a label that only this family prints."""
    return betrayed(page, found, _MARKS)


def facts(view: View) -> Iterator[Claim]:
    """Everything these programs print stands behind a label."""
    return view.labelled(LABELS)
