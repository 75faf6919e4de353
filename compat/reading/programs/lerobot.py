"""``lerobot-info``, which took the list of ``transformers env`` and added what torch was built with.

::

    - PyTorch version: 2.7.1+cu126
    - Is PyTorch built with CUDA support?: True
    - Cuda version: 12.6
    - GPU model: NVIDIA GeForce RTX 4070 Laptop GPU

Its "Cuda version" is torch's own (``torch.version.cuda``), not that of a toolkit, as people mean by the same label.
"""

from __future__ import annotations

from typing import Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.reading.program import Program

PROGRAM: Final = Program(
    name="lerobot-info",
    labels={
        "lerobot version": values.package("lerobot"),
        "cuda version": values.runtime("cuda"),
        "gpu model": devices.named,
    },
    marks=("is pytorch built with cuda support?",),
)
