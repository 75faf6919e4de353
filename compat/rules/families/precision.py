"""Number formats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.lazy import pattern
from compat.rules.rule import Found, Outcome, Rule, family
from compat.targets import sm

if TYPE_CHECKING:
    from compat.facts import Gpu
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing


# Options of vLLM, SGLang and Hugging Face's trainers that ask for a number format to compute in.
_ASKED: Final = pattern(r"(?:^|\s)--(?:(?:torch[-_])?dtype[= ])?(bf16|bfloat16|fp8)(?![\w-])", re.IGNORECASE)
_FORMATS: Final = {"bf": "bf16", "fp": "fp8"}


class PrecisionUnsupported(Rule):
    """The number format has no hardware support on this GPU.

    Why:
        bfloat16 came with capability 8.0, FP8 with 8.9, FP4 with 10.0; emulated formats are slow or have no kernels.
    Fix:
        Choose a format that the device has: float16 below capability 8.0. From 8.0 on there is bfloat16.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#features-and-technical-specifications
    """

    area = "precision"
    commands = ("--dtype half",)
    _TOLD: Final = {"bf16": "bf16", "fp8": "fp8"}

    def check(self, gpus: tuple[Gpu, ...], matrix: Matrix, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """A program or a command asks for bfloat16, FP8 or another format that the device has no units for."""
        heard = signals.get("bf16", "fp8", "half-not-implemented")
        typed = next((found[1] for line in commands if (found := _ASKED.search(line))), "")
        wanted = self._TOLD.get(heard.signal.signal, "") if heard else _FORMATS.get(typed[:2].lower(), "")
        for gpu in gpus:
            device = sm(gpu.target)
            row = matrix.capability(device.capability) if device else matrix.gfx(gpu.target) if gpu.target else None
            if row and wanted and wanted not in row.features:
                return Found(
                    detail=f"{gpu.name or gpu.target} has no {wanted}.",
                    sources=(matrix.cite(row),),
                    severity=None if heard else "warning",
                )
        if not heard:
            return None
        return Found(detail=heard.signal.meaning, facts=("gpus",) if gpus else (), confidence="likely")


RULES = family(PrecisionUnsupported)
