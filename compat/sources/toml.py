"""TOML documents and where in their text something stands: the parser keeps no lines, so they are looked up again."""

from __future__ import annotations

from typing import Final

# Searches in vain after which a finder gives the last line it knows: a text of escapes alone must not cost a square.
_PATIENCE: Final = 100


class Finder:
    r"""Finds texts in a document one after the other: each search begins where the last one ended.

    >>> Finder('a = ["x"]\nb = [\n "x"]').after("b").line('"x"')
    3
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._counted = (0, 1)
        self._misses = 0

    def after(self, *keys: str) -> Finder:
        """Begin behind these words, each behind the one before it; what is not there is passed over."""
        for key in keys:
            found = self._text.find(key, self._place)
            self._place = found + len(key) if found >= 0 else self._place
        return self

    def line(self, needle: str) -> int:
        """The line (from 1) of the next place that holds ``needle``; of the first one if there is none; else 0."""
        if self._misses > _PATIENCE:
            return self._counted[1]
        found = self._text.find(needle, self._place)
        if found < 0:
            self._misses += 1
            found = self._text.find(needle)
            return self._text.count("\n", 0, found) + 1 if found >= 0 else 0
        self._place = found + len(needle)
        start, line = self._counted if self._counted[0] <= found else (0, 1)
        self._counted = (found, line + self._text.count("\n", start, found))
        return self._counted[1]
