"""Names and versions that people write down without labels: one to a line, or several parted by commas.

::

    ubuntu server 18.04                  Environment: Ubuntu 20.04, Python 3.8, CUDA 11.3, RTX 3090
    cuda 9.0.176
    cudnn 7.0.5                          - PyTorch 1.12.1 + cu113
    pytorch 0.4.1

One such line proves nothing, for prose has them too; two next to each other, or two on one line, are a list. A line
must consist of nothing else (sentences are :mod:`~compat.reading.spoken`'s). A system's name alone counts beside a
program's output, above which people write it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.programs.names as names
from compat.reading.claims import Claim, Weight

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import compat.reading.values as values
    from compat.reading.page import Page, Pair, View

NAME: Final = "plain list"

LABELS: Final[Mapping[str, values.Reader]] = {}

# Lines between two items of one list, and between a system's name and the output that it is about.
NEAR: Final = 3

# The same between two items of one list with bullets, among which people set commands and explanations.
APART: Final = 12

# Characters of a line that can be such a list.
WIDEST: Final = 160

_NO_VERSION: Final = frozenset({names.SYSTEM, names.CARD})

# Lists that are read; a text with more is a log.
MOST: Final = 400

_LEAD = re.compile(r"^\W*(?:(?:操作系统|系统)\s+|[A-Za-z][\w /&-]{2,30}(?: is| are)?\s*:\s+)?")
_BULLET = re.compile(r"\s*(?:[-*+•·]|\d{1,2}[.)])\s")
_PARTS = re.compile(r"\s*(?:[,;|、]|\s\+\s(?!cu\d|rocm\d)|\s/\s|\s&\s)\s*")
_GLUED = re.compile(r"\s+(?=(?:python|cuda|cudnn|pytorch)[\s:=v]{0,3}\d)", re.IGNORECASE)
_ASIDE = re.compile(r"\s*\([^()]{0,100}\)\s*$")
_FIRST: Final = re.compile(
    r"\W*(?:[\w /&-]{2,34}:\s+|(?:操作系统|系统)\s+)?"
    r"(?:nvidia|paddle|linux|ubuntu|xubuntu|debian|centos|red ?hat|rhel|rocky|rocm|alma|fedora|win|mac|py|cuda|cudnn"
    r"|torch|tensorflow|tf\b|keras|jax|transformers|driver|vllm|mm|numpy|xformers|bitsandbytes|deepspeed|accelerate|triton"
    r"|onnxruntime|flash|sglang|diffusers|tensorrt|cupy|opensuse|[\dx× ]*(?:geforce|[rg]tx|tesla|quadro|titan))",
    re.IGNORECASE,
)


# A line above a list that says that it is somebody else's.
_ELSEWHERE: Final = re.compile(
    r"(?:\b(?:saw|see|read|found|says?)\b.{0,40}\b(?:your?|readme|paper|repo\w*|docs?|authors?)\b"
    r".{0,40}\b(?:env\w*|setup|config\w*|versions?|software|hardware|machine)\b"
    r"|\b(?:requirements?|requires?|recommend\w*|tested (?:on|with)|official\w*|works? (?:on|with))\b).{0,40}[:：]\W*$",
    re.IGNORECASE,
)


def recognise(page: Page, found: Mapping[str, list[Pair]]) -> list[int]:
    """None: such a list belongs to nobody, and labels near it are not its own."""
    del page, found
    return []


def facts(view: View) -> Iterator[Claim]:
    """What the lists state, as weakly as anything that people write."""
    lists = dict(_lists(view))
    for index in _elsewhere(view, lists):
        del lists[index]
    versions = {index for index, items in lists.items() if any(item.kind not in _NO_VERSION for item in items)}
    rows = set(lists)
    bullets = {index for index in lists if _BULLET.match(view.page.lines[index].text)}
    for index, items in lists.items():
        others = _within(rows, index, NEAR)
        if index in bullets:
            others |= _within(bullets, index, APART)
        near = others if index in versions else others & versions
        several = len({item.kind for item in items}) > 1 and index in versions
        if several or near or (items[0].kind == names.SYSTEM and len(items) == 1 and _beside_output(view, index)):
            for item in items:
                yield from view.stamp(index, names.claims(item, Weight.HAND))


def _elsewhere(view: View, lists: Mapping[int, object]) -> list[int]:
    """Those of the lists that are somebody else's: below a line that says so, and what follows them."""
    found: list[int] = []
    for index in sorted(lists):
        above = next((at for at in range(index - 1, max(-1, index - NEAR), -1) if view.page.text_at(at).strip()), -1)
        if above in found or _ELSEWHERE.search(view.page.text_at(above)):
            found.append(index)
    return found


def _within(places: set[int], index: int, reach: int) -> set[int]:
    """The other places at most ``reach`` lines from ``index``."""
    return {other for other in range(index - reach, index + reach + 1) if other in places and other != index}


def _lists(view: View) -> Iterator[tuple[int, list[names.Item]]]:
    """Lines that consist of items only, with their items; the first few hundred of a text."""
    found = 0
    for index, line in enumerate(view.page.lines):
        if 3 < len(line.text) < WIDEST and _FIRST.match(line.text) and (items := _items(line.text)):
            yield index, items
            found += 1
            if found > MOST:
                return


def _items(text: str) -> list[names.Item]:
    """The items of a line; none if there is anything else on it.

    Among four and more one may be unknown, if it has a number too: ``Windows 11, 4060ti, CUDA 11.8, Python 3.10``.
    """
    rest = _ASIDE.sub("", _LEAD.sub("", text, count=1))
    parts = [part for piece in _PARTS.split(rest) for part in _GLUED.split(piece)]
    items = {part: names.whole(part) for part in (part.strip(" .*_`'\"()") for part in parts) if part}
    unknown = [part for part, item in items.items() if item is None]
    odd = len(unknown) > len(items) // 4 or not all(re.fullmatch(r"(?=.*\d)\S+(?: \S+)?", part) for part in unknown)
    return [] if odd else [item for item in items.values() if item]


def _beside_output(view: View, index: int) -> bool:
    """Whether a program's output begins right below a line."""
    return any(0 < mark - index <= NEAR for marks in view.marks.values() for mark in marks)
