"""Where the matrix, the templates and the published schemas are.

A wheel carries them in ``compat/_data``; an editable install or a checkout reads the live top-level folders, so
that an edited row counts at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parent
_INSTALLED: Final = _PACKAGE / "_data"


def root() -> Path:
    """The folder that holds ``matrix/`` and ``dockerfiles/``."""
    return _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent


def matrix_dir() -> Path:
    """The matrix files: TOML in a checkout, TOML beside compiled JSON in a wheel."""
    return root() / "matrix"


def compiled_dir() -> Path | None:
    """The compiled matrix of a wheel, one JSON per table; ``None`` in a checkout."""
    folder = _INSTALLED / "compiled"
    return folder if folder.is_dir() else None


def templates_dir() -> Path:
    """The Dockerfile templates."""
    return root() / "dockerfiles"
