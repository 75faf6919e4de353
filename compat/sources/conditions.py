"""Tests of the shell (``[``, ``[[``, ``test``) decided where their words are known: which arm the defaults take.

Source: POSIX, "test"; Bash manual, "Conditional Constructs" (``==`` and ``!=`` of ``[[`` match a pattern).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt, ne
from typing import Final

_JOINT: Final = re.compile(r"(&&|\|\|)")
_BRACKETS: Final = frozenset({"[", "[[", "]", "]]", "test"})
_NUMBERS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "-eq": eq, "-ne": ne, "-gt": gt, "-lt": lt, "-ge": ge, "-le": le,
}  # fmt: skip


def holds(text: str) -> bool | None:
    """Whether a condition is true; ``None`` where a variable, a file or a program decides it.

    >>> holds('[ "cpu" = "gpu" ]'), holds("[[ cu118 == cu* ]] && [ -n x ]"), holds('[ "$X" = 1 ]')
    (False, True, None)
    """
    first, *rest = _JOINT.split(text)
    found = _single(first)
    for joint, part in zip(rest[::2], rest[1::2], strict=True):
        if found is None:
            return None
        if found is (joint == "&&"):
            found = _single(part)
    return found


def matches(word: str, patterns: str) -> bool | None:
    """Whether an arm of a ``case`` takes a word; ``None`` where the word is not known."""
    if "$" in word or "`" in word:
        return None
    return any(fnmatchcase(word.strip("\"'"), one.strip().strip("\"'")) for one in patterns.split("|"))


def _single(text: str) -> bool | None:
    """One test, perhaps negated."""
    if "$" in text or "`" in text:
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    opposite = words.count("!") == 1
    kept = [word for word in words if word not in _BRACKETS | {"!"}]
    found = _words(kept) if kept != words or kept in (["true"], ["false"]) else None
    return found if found is None else found is not opposite


def _words(words: list[str]) -> bool | None:
    """The words between the brackets."""
    match words:
        case ["true" | "false" as word]:
            return word == "true"
        case ["-n" | "-z" as kind, word]:
            return bool(word) is (kind == "-n")
        case [left, "=" | "==" | "!=" as kind, right]:
            return fnmatchcase(left, right) is (kind != "!=")
        case [left, kind, right] if kind in _NUMBERS and left.isdecimal() and right.isdecimal():
            return _NUMBERS[kind](int(left), int(right))
        case _:
            return bool(words[0]) if len(words) == 1 and not words[0].startswith("-") else None
