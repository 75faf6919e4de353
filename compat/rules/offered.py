"""What an installer said that it could have had: ``(from versions: 1.15.0, 1.16.3)`` beside the release asked for.

pip lists every release that has a file for the interpreter and the system at hand. Where the wanted one lies beside
them tells which end fails: the interpreter is too new for old releases, while newer ones have dropped the system.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.lazy import pattern
from compat.rules.knowledge import is_version

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing

# pip's sentence (pip/_internal/resolution/resolvelib/factory.py): the release wanted and the list of those there.
_SAID: Final = pattern(
    r"satisfies the requirement [A-Za-z][\w.-]{0,60}(?:\[[^\]\n]{0,60}\])?\s?"
    r"(?:==|~=|>=|<=?)?[^(\n]{0,80}?(\d[\w.]{0,30})[^(\n]{0,80}\(from versions: ([^)\n]{1,20000})",
    re.IGNORECASE,
)


def standing(signals: Hearing) -> str:
    """Where the release asked for lies among those offered: ``newer`` than all, ``older`` than all, or ``between``.

    Empty if the text names no release, or no release is offered.
    """
    if "pip-none-found" not in signals or not (said := _SAID.search(signals.text[:200_000])):
        return ""
    offered = [text for text in re.findall(r"\d[\w.]*", said[2]) if is_version(text)]
    if not offered or not is_version(said[1]):
        return ""
    wanted = versions.release(said[1])
    there = [versions.release(text) for text in offered]
    return "newer" if wanted > max(there) else "older" if wanted < min(there) else "between"


def modern(python: str, matrix: Matrix) -> bool:
    """Whether an interpreter is new enough for the newest PyTorch, and so for nearly everything published of late."""
    rows = matrix.builds("torch")
    if not rows or not is_version(python):
        return False
    newest = max((row.version for row in rows if is_version(row.version)), key=versions.release, default="")
    served = [text for row in rows if row.version == newest for text in row.python if is_version(text)]
    return bool(served) and versions.release(python)[:2] >= min(versions.release(text)[:2] for text in served)


def left_behind(python: str, matrix: Matrix, signals: Hearing) -> bool:
    """Whether releases are offered, only not the wanted one, to an interpreter that is not what is too old."""
    return standing(signals) in {"newer", "between"} and (not python or modern(python, matrix))
