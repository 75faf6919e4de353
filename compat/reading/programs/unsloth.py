r"""Unsloth's banner, which it prints before it patches a model.

::

    ==((====))==  Unsloth 2025.3.14: Fast Llama patching. Transformers: 4.49.0. vLLM: 0.7.3.
       \\   /|    NVIDIA GeForce RTX 4090. Num GPUs = 2. Max memory: 23.621 GB. Platform: Linux.
    O^O/ \_/ \    Torch: 2.5.1+cu124. CUDA: 8.9. CUDA Toolkit: 12.4. Triton: 3.1.0
    \        /    Bfloat16 = TRUE. FA [Xformers = 0.0.28.post3. FA2 = False]

In its words (unslothai/unsloth, models/loader and llama) "CUDA" is the card's compute capability and "CUDA Toolkit" is
the CUDA that torch was built for. Releases of 2024 print equals signs, ``GPU:`` before the name and no count of cards.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.reading.claims import Claim
from compat.reading.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.program import View

_CARD = re.compile(r"(?:^|\|)\s*(?:GPU: )?([A-Za-z][^|]{2,60}?)\. (?:Num GPUs = (\d{1,3})\. )?Max memory: ")
_FIELD = re.compile(r"\b([A-Za-z][A-Za-z ]{3,26}?)(?: version)?\s?[:=] (\d[\w+]*(?:\.\w[\w+]*){1,5})")
_PACKAGES: Final = {
    "torch": "torch", "pytorch": "torch", "transformers": "transformers", "vllm": "vllm", "triton": "triton",
    "xformers": "xformers",
}  # fmt: skip
# Lines of the banner below the card's.
_REST: Final = 3


def _banners(view: View) -> Iterator[Claim]:
    """Each banner's lines; the card's is the second."""
    for start in view.own:
        lines = [*view.span(start, start + 2 + _REST)]
        said = {name.strip().lower(): value for _, line in lines for name, value in _FIELD.findall(line)}
        for index, line in lines:
            yield from view.stamp(index, _fields(line))
            if found := _CARD.search(line):
                target = devices.capability(next((said[name] for name in _CAPABILITY if name in said), ""))
                gpu = devices.device(found.group(1), target=target)
                count = min(int(found.group(2) or 1), devices.MOST)
                yield from view.stamp(index, [Claim("gpus", gpu, key=str(at)) for at in range(count) if gpu])


_CAPABILITY: Final = ("cuda", "cuda capability", "cuda compute capability")


def _fields(line: str) -> Iterator[Claim]:
    """The versions of one line."""
    for name, value in _FIELD.findall(line):
        if package := _PACKAGES.get(name.strip().lower()):
            yield Claim("packages", values.package_version(value), key=package)
        elif name == "CUDA Toolkit" and (claim := values.build_claim("cuda", value)):
            yield claim


PROGRAM: Final = Program(name="unsloth", phrases=("==((====))==  Unsloth",), beyond=_banners)
