"""TOML read with a bound on its depth: a parser makes a table for each part of a dotted key, and walks them again."""

from __future__ import annotations

import re
import sys
from typing import Any, Final

from compat.errors import InputError

DEEPEST: Final = 64  # parts of a dotted key; documents that people write have five
_PART: Final = re.compile(r"""[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*""")


def loads(text: str) -> dict[str, Any]:
    """A document in TOML.

    Raises:
        ValueError: in the parser's words, which name the line; or that a key is too deep.
        RecursionError: if lists or tables are nested too deep.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    _demand_shallow(text)
    found: dict[str, Any] = tomllib.loads(text)
    return found


def parsed(text: str, where: str, fault: str = "not valid TOML") -> dict[str, Any]:
    """The same, for a file that somebody named.

    Raises:
        InputError: with the parser's own words, if it is none.
    """
    try:
        return loads(text)
    except (RecursionError, ValueError) as error:  # ValueError: bad TOML, or a number with thousands of digits
        raise InputError(f"{fault}: {error}", where=where) from None


def _demand_shallow(text: str) -> None:
    """Refuse what looks like a key of more parts than :data:`DEEPEST`, in one pass."""
    run = at = 0
    for part in text.split("."):
        run = run + 1 if _PART.fullmatch(part) else 0
        at += len(part) + 1
        if run > DEEPEST:
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"a key of more than {DEEPEST} parts (at line {line})")
