"""Distribution names as installers compare them."""

from __future__ import annotations

import re


def normalise(name: str) -> str:
    """A name of a distribution or an extra as PEP 503 and PEP 685 compare it.

    >>> normalise("Torch_Geometric")
    'torch-geometric'
    """
    return re.sub(r"[-_.]+", "-", name).lower()
