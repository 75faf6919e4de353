"""The matrix a command asks: the shipped one under the user's own rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from compat.errors import InputErrors
from compat.matrix import Matrix, matrix

if TYPE_CHECKING:
    from collections.abc import Sequence


def load(overlays: Sequence[str] | None = None) -> Matrix:
    """The shipped matrix, the user's configuration folder over it, the files named over both.

    Raises:
        InputErrors: listing every fault of the files laid over it.
    """
    paths = [*user_overlays(), *(Path(name) for name in overlays or ())]
    if paths:
        from compat.matrix.check import check

        faults = check(paths)
        if faults:
            raise InputErrors(faults)
    return matrix(*paths)


def user_overlays() -> list[Path]:
    """``envcheck/matrix/*.toml`` in the user's configuration folder (XDG Base Directory Specification)."""
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return sorted((base / "envcheck" / "matrix").glob("*.toml"))
