"""A pasted text as cleaned lines, with the ``label: value`` pairs among them found once for all readers.

Labels decide nearly everything, so they are found once: each line is parted at its first colon outside parentheses, at
an equals sign, or (in tables of a known first word) at blanks; the label is brought into one spelling; what no reader
knows is dropped at once. A label that several programs print belongs to the one whose unmistakable lines ("marks") are
nearest; far from every program it is taken for a person's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from compat.lazy import dataclass
from compat.reading.claims import Claim, Weight
from compat.reading.damage import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from compat.reading.wraps import Line

_Item = TypeVar("_Item")

# Characters before a colon that can still be a label; templates put whole examples into theirs.
LONGEST_LABEL: Final = 120

# Occurrences of one phrase that are read from either end of the text; a report has at most some hundred, a log that
# repeats itself millions.
READ: Final = 1000

# The same for one label, which a report prints once per device at most.
PAIRS: Final = 100

_TRIM: Final = " \t-*+•·●#>|_'\"~=,;.✅❌🤗⚡🚀"
_ASIDE = re.compile(r"\([^()]*\)?")
_INDEXES = re.compile(r"\b(gpu|device|gpus) ?\[?\d+(?:[,\-] ?\d+)*\]?")
_NUMBER = re.compile(r"\d+(?:[,\-] ?\d+)*")
_AROUND: Final = " \t*_'\","

# Labels whose value may stand on the next line: its shape cannot be mistaken for prose.
WRAPPED: Final = frozenset({
    "python platform", "platform", "python version", "libc version", "cuda runtime version", "nvidia driver version",
    "os", "uname",
})  # fmt: skip
_CHECKBOX = re.compile(r"^\s*(?:[-*+]|\d{1,2}[.)、])\s*(?:\[[ xX]?\]\s*)?")
# An example that a form gives in its field, before the answer or in its place.
_EXAMPLE = re.compile(
    r"[\[(<]\s*(?:e\.?g\b|例如|如)[^\])>]*[\])>]?|\[[^\[\]]{0,60}\be\.g\.[^\[\]]{0,80}\]", re.IGNORECASE
)
_COLUMNS = re.compile(r"\s{2,}")
_WORDS = re.compile(r"\S+")
# ``OS - Windows 11``: what people write where a colon belongs.
_DASH = re.compile(r"(\W{0,4}[A-Za-z][\w /]{1,30}?) [-–—] (\S.{0,200})")
_CELLS = re.compile(r"\s{0,40}\|\s*([^|\s][^|]{0,100})\|\s*([^|\s][^|]{0,400})\|\s*$")


@dataclass(frozen=True, slots=True)
class Pair:
    """A label and its value.

    Attributes:
        label: lower case, blanks collapsed, examples in parentheses dropped, device numbers as ``#``.
        value: what follows, trimmed.
        index: position of its line on the page.
        devices: the numbers that ``#`` stands for (``"0,1"``).
        head: the label as printed, examples and all.
        blank: whether only blanks part it from its value, as in a table; prose looks the same ("Python 3.8 is").
        page: the page it stands on.
    """

    label: str
    value: str
    index: int
    devices: str
    head: str
    blank: bool
    page: Page = field(repr=False, compare=False)

    def below(self, count: int) -> list[str]:
        """The next ``count`` lines."""
        return [line.text for line in self.page.lines[self.index + 1 : self.index + 1 + count]]


def label_of(head: str) -> str:
    """A label as tables of readers spell it: ``"- **GPU 0,1 (count)**"`` -> ``"gpu #"``."""
    if "__" in head:
        return head  # conda's virtual packages and numba's titles share their words with labels
    if "(" in head:
        head = _ASIDE.sub(" ", head)
    label = " ".join(_CHECKBOX.sub("", head).strip(_TRIM).lower().split())
    return _INDEXES.sub(r"\1 #", label) if label.startswith(("gpu", "device", "- gpu")) else label


@dataclass(frozen=True, slots=True)
class Page:
    """Cleaned lines of one text.

    Attributes:
        lines: in order, blank ones too.
        text: the same lines in one string, for fast searches.
        starts: offset of each line in ``text``.
        last: index of a line in which the text ends; -1 where it ends with a line's end.
    """

    lines: tuple[Line, ...]
    text: str
    starts: tuple[int, ...]
    last: int

    @classmethod
    def of(cls, text: str) -> Page:
        """Clean ``text`` and lay it out."""
        lines = clean(text)
        starts, offset = [], 0
        for line in lines:
            starts.append(offset)
            offset += len(line.text) + 1
        last = len(lines) - 1 if lines and lines[-1].text.strip() and not text.endswith("\n") else -1
        return cls(lines, "\n".join(line.text for line in lines), tuple(starts), last)

    def index_at(self, offset: int) -> int:
        """The line that holds ``offset`` of :attr:`text`."""
        return bisect_right(self.starts, offset) - 1

    def text_at(self, index: int) -> str:
        """One line's text; empty beyond the page."""
        return self.lines[index].text if 0 <= index < len(self.lines) else ""

    def find(self, needle: str) -> list[int]:
        """Indexes of the lines that contain ``needle``, each once; of very many the first and last :data:`READ`."""
        found: list[int] = []
        at = self.text.find(needle)
        while at >= 0:
            index = self.index_at(at)
            found.append(index)
            if len(found) == READ:
                return found + self._last(needle, index)
            at = self.text.find(needle, self.starts[index] + len(self.lines[index].text) + 1)
        return found

    def _last(self, needle: str, before: int) -> list[int]:
        """Indexes of the last :data:`READ` lines after line ``before`` that contain ``needle``."""
        found: list[int] = []
        floor = self.starts[before] + len(self.lines[before].text) + 1
        at = self.text.rfind(needle, floor)
        while at >= 0 and len(found) < READ:
            index = self.index_at(at)
            found.append(index)
            at = self.text.rfind(needle, floor, self.starts[index])
        return found[::-1]

    def pairs(self, known: frozenset[str], columns: Mapping[str, tuple[str, ...]]) -> dict[str, list[Pair]]:
        """Every pair whose label is in ``known``.

        ``columns``: first word -> labels that may be parted from their value by blanks alone.
        """
        found: dict[str, list[Pair]] = {}
        for index, line in enumerate(self.lines):
            text = line.text
            if not text:
                continue
            for head, value, blank in _splits(text, columns):
                label = label_of(head)
                if label in known:
                    digits = _NUMBER.search(head) if "#" in label else None
                    answer = _EXAMPLE.sub("", value).strip(_AROUND) or (
                        self._next_value(index) if label in WRAPPED else ""
                    )
                    pair = Pair(label, answer, index, digits.group() if digits else "", head, blank, self)
                    found.setdefault(label, []).append(pair)
                    break
        return found

    def _next_value(self, index: int) -> str:
        """The next line, if it can be a value that a wrap moved there: not blank, no label or item of its own."""
        text = self.text_at(index + 1).strip()
        return "" if ":" in text or "=" in text or text.startswith(("-", "*", "#", "[")) else text


def _splits(text: str, columns: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str, bool]]:
    """The ways to part a line into label and value, likeliest first, and whether only blanks parted them."""
    if "|" in text and (row := _CELLS.match(text)):
        yield row.group(1), row.group(2), False  # a person's table of two columns; programs draw more
    colon = _colon(text)
    if 0 < colon <= LONGEST_LABEL:
        yield text[:colon], text[colon + 1 :], False
        if "   " in text[:colon].strip():  # neofetch draws the system's logo left of its labels
            yield text[:colon].rpartition("   ")[2], text[colon + 1 :], False
    equals = text.find("=", 0, LONGEST_LABEL)
    if equals > 0 and text[equals + 1 : equals + 2] != "=":
        yield text[:equals], text[equals + 1 :], False
    elif colon < 0 and (dash := _DASH.match(text)):
        yield dash.group(1), dash.group(2), False
    word = _WORDS.search(text)
    if word and (labels := columns.get(word.group().lower())):
        yield from _columned(text[word.start() :], labels)
    if colon < 0 and text.lstrip().startswith("#"):
        yield text, "", False


def _columned(row: str, labels: tuple[str, ...]) -> Iterator[tuple[str, str, bool]]:
    """The ways to part a row of a table whose first word is known."""
    for label in labels:
        if row[: len(label)].lower() == label and row[len(label) : len(label) + 1].isspace():
            yield row[: len(label)], row[len(label) :], True
    parts = _COLUMNS.split(row.strip(), maxsplit=1)
    if len(parts) == 2:
        yield parts[0], parts[1], True


def _colon(text: str) -> int:
    """Offset of the colon that ends the label: not one inside its parentheses."""
    colon = text.find(":", 0, LONGEST_LABEL + 1)
    opened = text.find("(", 0, colon) if colon > 0 else -1
    if opened >= 0 and text.find(")", opened, colon) < 0:
        closed = text.find(")", colon, LONGEST_LABEL)
        later = text.find(":", closed, closed + 8) if closed > 0 else -1
        return later if later > 0 else colon
    return colon


def ends(items: Sequence[_Item], most: int = READ) -> Sequence[_Item]:
    """All of ``items``, or the first and last ``most`` of very many."""
    return items if len(items) <= 2 * most else [*items[:most], *items[-most:]]


def hint(claims: Iterable[Claim], weight: Weight = Weight.HINT) -> Iterator[Claim]:
    """The same claims at another weight."""
    return (replace(claim, weight=weight) for claim in claims)
