"""What one line of a report says, before claims are weighed against each other."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from compat.lazy import dataclass


class Weight(IntEnum):
    """How directly a program knows what it prints; the heavier claim wins where two disagree."""

    HINT = 0  # a by-product: a file name, a warning, the distribution inside a platform string
    HAND = 1  # typed by a person into a template
    LISTED = 2  # found in a list of installed packages, which may be another environment's
    RUNNING = 3  # said by the running program of itself or of the machine it runs on


@dataclass(frozen=True, slots=True)
class Claim:
    """One value for one fact.

    Attributes:
        fact: a name of :data:`compat.facts.CATALOGUE`.
        value: a text, or a :class:`compat.facts.Gpu` when ``fact`` is ``gpus``.
        key: entry of a table (package, variable, build) or the device's index.
        weight: how directly it is known.
        line: number of the line in the pasted text, from 1.
        program: format that the line belongs to.
        last: whether it stood on the last line of the text, where a cut may have shortened it.
    """

    fact: str
    value: Any
    key: str = ""
    weight: Weight = Weight.RUNNING
    line: int = 0
    program: str = ""
    last: bool = False

    @property
    def source(self) -> str:
        """Program and line, as a verdict cites them."""
        return f"{self.program} line {self.line}"
