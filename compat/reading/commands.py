"""Command lines that stand in a pasted text: behind a prompt, or beginning with a program that only a shell calls.

What such a line installs or starts is read by the readers of commands; a line that merely names a program is none.
"""

from __future__ import annotations

import re
from typing import Final

# Command lines of one text that are read.
MOST: Final = 200

_PROMPT: Final = re.compile(
    r"\s{0,8}(?:(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,40}@[\w.-]{1,60}[:\s][^\s$#>]{0,80}[$#]|\$) "
    r"|PS [A-Z]:\\[^>\n]{0,120}> ?)(\S.{0,2000})"
)
_CALLED: Final = re.compile(
    r"\s{0,8}(?:sudo )?((?:docker|podman|nerdctl) (?:run|build|compose|exec)\b.{0,2000}"
    r"|(?:python3? -m )?pip3? install .{1,2000}"
    r"|uv (?:pip install|add) .{1,2000}|(?:conda|mamba|micromamba) (?:install|create) .{1,2000}"
    r"|(?:singularity|apptainer) (?:run|exec|shell) .{1,2000})"
)
# A sentence that goes on behind a command is prose; a shell has no full stop before its next word.
_PROSE: Final = re.compile(r"[a-z]\. [A-Z]|[?!]$|\b(?:works|worked|fails|failed|fixed|solved|instead)\b")


def typed(text: str) -> tuple[str, ...]:
    r"""The command lines of a text, continued lines joined; the first :data:`MOST`.

    >>> typed("$ docker run --rm \\\n  --gpus all IMAGE\\nit fails")
    ('docker run --rm --gpus all IMAGE',)
    """
    found: list[str] = []
    for line in re.sub(r" ?\\\n\s{0,40}", " ", text).split("\n"):
        match = _PROMPT.match(line[:2200]) or _CALLED.match(line[:2200])
        if match and not _PROSE.search(match[1]):
            found.append(match[1].strip().strip("`"))
            if len(found) == MOST:
                break
    return tuple(dict.fromkeys(found))
