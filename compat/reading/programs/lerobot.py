"""``lerobot-info``, which took the list of ``transformers env`` and added what torch was built with.

::

    - PyTorch version: 2.7.1+cu126
    - Is PyTorch built with CUDA support?: True
    - Cuda version: 12.6
    - GPU model: NVIDIA GeForce RTX 4070 Laptop GPU

Its "Cuda version" is torch's own (``torch.version.cuda``), not that of a toolkit, as people mean by the same label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.reading.page import betrayed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reading.claims import Claim
    from compat.reading.page import Page, Pair, View

NAME: Final = "lerobot-info"

_MARK: Final = "is pytorch built with cuda support?"

LABELS: Final[Mapping[str, values.Reader]] = {
    _MARK: values.silent,
    "lerobot version": values.package("lerobot"),
    "cuda version": values.runtime("cuda"),
    "gpu model": devices.named,
}


def recognise(page: Page, found: Mapping[str, list[Pair]]) -> list[int]:
    """The question that only this program asks of torch."""
    return betrayed(page, found, (_MARK,))


def facts(view: View) -> Iterator[Claim]:
    """The labels that its relatives do not print."""
    return view.labelled(LABELS)
