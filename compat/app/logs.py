"""Build logs: kept when a build fails, and searched for the messages that the matrix knows."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat.matrix import Matrix


def keep(log: str) -> str:
    """Write a log to a file of its own, and return its path, or why there is none."""
    try:
        handle, name = tempfile.mkstemp(prefix="envcheck-build-", suffix=".log")
    except OSError as error:
        return f"not kept, {error.strerror}"
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as stream:
        stream.write(log)
    return name


def cause(log: str, matrix: Matrix) -> tuple[str, ...]:
    """What the messages in a log say, without those that harm nothing."""
    from compat.reading import messages

    said = (item.signal.meaning for item in messages.recognise(log, matrix).harmful)
    return tuple(dict.fromkeys(said))[:3]
