"""Which words a long text has, so that a message whose words are not there is not searched for.

Searching ten megabytes for each of a thousand literals takes seconds; a log of that size has some thousand different
words. Digits and the letters a to f count as one character here, in text and literals alike: the addresses, hashes and
UUIDs of a log would otherwise each be a word of its own. What is refused is not in the text; what is let through may
not be either.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from compat.lazy import dataclass

# Characters up to which a vocabulary costs more than it saves.
SHORT: Final = 200_000

# Different words of what is no log but data; ten megabytes of logs that were tried have fewer than 60,000.
MANY: Final = 250_000

# Bytes of a word that can be part of a message; what is longer is data.
LONGEST: Final = 200

_CODES: Final = bytes(
    48 if chr(code) in "0123456789abcdef" else code if 97 <= code <= 122 or code == 95 else 32 for code in range(256)
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The different words of a text in small letters.

    Attributes:
        words: each as :func:`coded` spells it.
        joined: the same with spaces between.
    """

    words: frozenset[bytes]
    joined: bytes

    @classmethod
    def of(cls, lowered: str) -> Vocabulary:
        """The vocabulary of a text that is in small letters already."""
        words = frozenset(word for word in set(coded(lowered).split()) if len(word) <= LONGEST)
        return cls(words, b" ".join(words))

    @property
    def is_of_data(self) -> bool:
        """Whether no log has so many different words."""
        return len(self.words) > MANY

    def may_hold(self, literal: str) -> bool:
        """Whether the text can contain ``literal``: never wrong when it says no."""
        parts = _parts(literal)
        return self.words.issuperset(parts.whole) and (not parts.torn or parts.torn in self.joined)


class _Parts(NamedTuple):
    """Words that stand whole inside a literal, and the longest at its edges, which may go on in the text."""

    whole: frozenset[bytes]
    torn: bytes


@lru_cache(maxsize=4096)
def _parts(literal: str) -> _Parts:
    """A literal's words: those between two of its blanks stand whole in the text, the outer ones may be torn off."""
    code = coded(literal)
    words = code.split()
    first = 0 if code[:1].isspace() else 1
    last = len(words) if code[-1:].isspace() else len(words) - 1
    torn = [word for at, word in enumerate(words) if not first <= at < last]
    return _Parts(frozenset(words[first:last]), max(torn, key=len, default=b""))


def coded(text: str) -> bytes:
    """Letters, digits and underscores; anything else becomes a space, and what hashes are made of becomes ``0``."""
    return text.encode("utf-8", "replace").translate(_CODES)
