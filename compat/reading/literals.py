"""Which literal texts must occur wherever a regular expression matches: the cheap filter before the expression itself.

Read are the constructs that the signals use: literals, classes, groups, alternatives and repeats. A text that a
repeat makes optional does not count; a group counts if each of its alternatives has a literal.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from compat.lazy import pattern

SHORTEST: Final = 3  # a literal shorter than this filters nothing

_TOKEN: Final = pattern(
    r"[^\\\[()|?*+{}.^$]+(?![?*+{])|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<\w+>|\(\?<?[=!:]|[()|?*+.^$]|\{[\d,]+\}"
    r"|[^\\\[()|?*+{}.^$]|[{}]",
    re.DOTALL,
)
_GAPS: Final = frozenset("dDwWsSbBAZ")

# Texts of which one must occur; empty where nothing is known.
Options = tuple[str, ...]


@lru_cache(maxsize=4096)
def literals(pattern: str) -> Options:
    """Texts in small letters of which one occurs in whatever the pattern matches.

    Raises:
        ValueError: if an alternative has no literal piece of :data:`SHORTEST` characters.
    """
    tokens = _TOKEN.findall(pattern)
    found, _ = _alternatives(tokens, 0)
    if not found:
        raise ValueError(f"no literal text to look for in {pattern!r}")
    return tuple(dict.fromkeys(text.lower() for text in found))


def _alternatives(tokens: list[str], at: int) -> tuple[Options, int]:
    """What the alternatives up to the closing parenthesis need, and the place after it."""
    needs: list[Options] = []
    while True:
        need, at = _sequence(tokens, at)
        needs.append(need)
        if at >= len(tokens) or tokens[at] == ")":
            break
        at += 1
    return (tuple(text for need in needs for text in need) if all(needs) else ()), at + 1


def _sequence(tokens: list[str], at: int) -> tuple[Options, int]:
    """The best of the literal runs and groups of one alternative."""
    best: Options = ()
    run = ""
    while at < len(tokens) and tokens[at] not in {"|", ")"}:
        token = tokens[at]
        if token.startswith("("):
            need, at = _alternatives(tokens, at + 1)
            counts = not _optional(tokens, at) and not token.startswith(("(?=", "(?!", "(?<"))
            best, run = _better(_better(best, (run,)), need if counts else ()), ""
            at += _repeated(tokens, at)
            continue
        at += 1
        literal = "" if _optional(tokens, at) else _literal(token)
        run += literal
        if not literal or _repeated(tokens, at):
            best, run = _better(best, (run,)), ""
        at += _repeated(tokens, at)
    return _better(best, (run,)), at


def _better(left: Options, right: Options) -> Options:
    """The options whose shortest text is longer; those too short to filter count as none."""
    return right if _worth(right) > _worth(left) else left


def _worth(options: Options) -> int:
    shortest = min((len(text) for text in options), default=0)
    return shortest if shortest >= SHORTEST else 0


def _optional(tokens: list[str], at: int) -> bool:
    """Whether the token before ``at`` may be left out."""
    return at < len(tokens) and (tokens[at] in {"?", "*"} or tokens[at].startswith(("{0", "{,")))


def _repeated(tokens: list[str], at: int) -> int:
    """Number of tokens of the repeat at ``at``: 0 or 1 (a lazy mark counts as a gap of its own)."""
    return int(at < len(tokens) and (tokens[at] in {"?", "*", "+"} or (tokens[at][0] == "{" and tokens[at] != "{")))


def _literal(token: str) -> str:
    """The characters that a token stands for; empty for a class, a gap or a repeat."""
    if len(token) == 2 and token[0] == "\\":
        return "" if token[1] in _GAPS else {"n": "\n", "t": "\t"}.get(token[1], token[1])
    return "" if token[0] in ".^$?*+" or (token[0] in "[{" and len(token) > 1) else token
