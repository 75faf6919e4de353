"""Rows of messages that programs print."""

from __future__ import annotations

from compat.matrix.rows.base import Row, row


@row("signals", key="signal")
class Signal(Row):
    """A message that programs print in general (table ``signals``): what it is, never what caused it in one report.

    Attributes:
        signal: short id, ``no-kernel-image``.
        pattern: regular expression (case-insensitive, linear-time: no nested repeats) with named groups for facts.
        program: who prints it: ``cuda``, ``torch``, ``docker``, ...
        candidates: codes of the rules that it may point to, likeliest first when no fact decides; none where it tells
            why the build of an image failed (``build-...``), which no rule about a machine judges.
        says: what it means to rules that ask for a meaning and not for one message: ``no-gpu-seen``, ``no-code``.
        benign: whether it is noise that harms nothing.
        meaning: what the message says, in our words.
        example: the message as its program prints it; no sharper row matches it.
        mends: what to do where the message names its first candidate as the cause; ``{library}`` stands for its word.
        deed: the task of the system that does it (table ``commands``); ``types``: commands that are alike everywhere;
            ``sets``: the variable, ``NAME=value``; ``installs``: the requirement, which may name a word too.
    """

    signal: str
    pattern: str
    program: str = ""
    candidates: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    benign: bool = False
    meaning: str = ""
    example: str = ""
    mends: str = ""
    deed: str = ""
    types: tuple[str, ...] = ()
    sets: str = ""
    installs: str = ""
