"""Text from outside, made safe for the place it goes to: the shell, a Dockerfile word, a JSON array.

A Dockerfile has two parsers one after the other: the builder's, which expands ``$`` in most instructions and joins
lines, and the shell's inside ``RUN``. Nothing may break out of either.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from shlex import quote as shell

__all__ = ["comment", "exec_form", "shell", "word"]


def word(text: str) -> str:
    r"""One word of ``ENV`` and ``LABEL``: double quotes, with what the builder would expand taken literally.

    >>> print(word('say "$HOME"'))
    "say \"\$HOME\""
    """
    for special in ("\\", '"', "$"):
        text = text.replace(special, "\\" + special)
    return f'"{text}"'


def exec_form(words: Sequence[str]) -> str:
    """The JSON array of ``CMD`` and ``ENTRYPOINT``, which neither the builder nor a shell expands."""
    return json.dumps(list(words))


def comment(text: str) -> str:
    """Text for a ``#`` line: one line, whatever it held."""
    return " ".join(text.split())
