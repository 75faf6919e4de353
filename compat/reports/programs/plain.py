"""Names and versions that people write down without labels: one to a line, or several parted by commas.

::

    ubuntu server 18.04                  Environment: Ubuntu 20.04, Python 3.8, CUDA 11.3, RTX 3090
    cuda 9.0.176
    cudnn 7.0.5                          - PyTorch 1.12.1 + cu113
    pytorch 0.4.1

One such line proves nothing, for prose has them too; two next to each other, or two on one line, are a list. A line
must consist of nothing else. A system's name alone counts beside a program's output, above which people write it.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

import compat.reports.programs.hand as hand
import compat.reports.values as values
from compat.reports.claims import Claim, Weight
from compat.reports.page import hint
from compat.reports.systems import spelling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reports.page import Page, Pair, View

NAME: Final = "plain list"

LABELS: Final[Mapping[str, values.Reader]] = {}

# Lines between two items of one list, and between a system's name and the output that it is about.
NEAR: Final = 3

# The same between two items of one list with bullets, among which people set commands and explanations.
APART: Final = 12

# Characters of a line that can be such a list.
WIDEST: Final = 160

_KINDS: Final = (
    "python", "cuda", "cudnn", "pytorch", "torch", "torchvision", "torchaudio", "tensorflow", "tensorflow-gpu", "tf",
    "paddle", "paddle-gpu", "paddlepaddle", "paddlepaddle-gpu", "keras", "jax", "jaxlib", "transformers", "driver",
    "vllm", "mmcv", "mmcv-full", "mmdet", "numpy", "xformers", "bitsandbytes", "deepspeed", "accelerate", "triton",
    "onnxruntime", "onnxruntime-gpu", "flash-attn", "flash_attn", "sglang", "diffusers", "tensorrt", "cupy",
)  # fmt: skip
_ITEM = re.compile(
    r"(?:nvidia[- ])?(" + "|".join(re.escape(kind) for kind in sorted(_KINDS, key=len, reverse=True)) + r")"
    r"(?:[- ](?:toolkit|version|runtime|ver\.?)|版本)?\s{0,20}(?:[:=~]|==|-|\bv)?\s{0,20}"
    r"v?(\d{1,4}(?:\.\d{1,6}){1,3}(?:(?:rc|post|a|b)\d+)?(?:\+[\w.]{2,20})?)",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    r"(?:linux[- ])?(?:x?ubuntu|debian|centos|red ?hat|rhel|rocky|alma ?linux|fedora|windows|win|mac ?os)"
    r"[\w .\-]{0,24}\d[\w. ]{0,12}",
    re.IGNORECASE,
)
_LEAD = re.compile(r"^\W*(?:(?:操作系统|系统)\s+|[A-Za-z][\w /&-]{2,30}(?: is| are)?\s*:\s+)?")
_BULLET = re.compile(r"\s*(?:[-*+•·]|\d{1,2}[.)])\s")
_PARTS = re.compile(r"\s*(?:[,;|、]|\s\+\s|\s/\s|\s&\s)\s*")
_GLUED = re.compile(r"\s+(?=(?:" + "|".join(_KINDS[:4]) + r")[\s:=v]{0,3}\d)", re.IGNORECASE)
_ASIDE = re.compile(r"\s*\([^()]{0,100}\)\s*$")
_FIRST: Final = re.compile(
    r"\W*(?:[\w /&-]{2,34}:\s+|(?:操作系统|系统)\s+)?"
    r"(?:nvidia|paddle|linux|ubuntu|xubuntu|debian|centos|red ?hat|rhel|rocky|alma|fedora|win|mac|py|cuda|cudnn"
    r"|torch|tensorflow|tf\b|keras|jax|transformers|driver|vllm|mm|numpy|xformers|bitsandbytes|deepspeed|accelerate|triton"
    r"|onnxruntime|flash|sglang|diffusers|tensorrt|cupy|[\dx ]*(?:geforce|[rg]tx|tesla))",
    re.IGNORECASE,
)
# A person's own sentence up to the list that it ends with.
_OWN: Final = re.compile(
    r"\W*(?:i|i['’]m|my|we|our)\b[^,.;:]{0,60}?\s(?:with|using|use|on|under|is|are)\b:?\s+"
    r"(?=[a-z-]{2,12}[ :=-]{0,3}v?\d)",
    re.IGNORECASE,
)
_CARD = re.compile(
    r"(?:\d{1,2} ?[x×*] ?)?(?:nvidia )?(?:geforce|rtx|gtx|tesla|quadro|titan|[AVHLTP]\d{1,3})\b[\w ().-]{0,40}",
    re.IGNORECASE,
)
# What a driver and a Python version look like, whatever else a number behind the word may be.
_SHAPES: Final = {"driver": re.compile(r"\d{3}\."), "python": re.compile(r"[23]\.\d{1,2}(?:\.\d{1,2})?$")}
_ANY: Final = re.compile("")
_FACTS: Final = {"python": "python", "cuda": "cuda_toolkit", "cudnn": "cudnn", "driver": "driver"}
# What people call a package other than its distribution's name.
ALIASES: Final = {
    "pytorch": "torch", "tf": "tensorflow", "paddle": "paddlepaddle", "paddle-gpu": "paddlepaddle-gpu",
}  # fmt: skip


class Item(NamedTuple):
    """One name with its version: ``kind`` is a name of :data:`_KINDS`, ``system`` or ``card``."""

    kind: str
    text: str


def recognise(page: Page, found: Mapping[str, list[Pair]]) -> list[int]:
    """None: such a list belongs to nobody, and labels near it are not its own."""
    del page, found
    return []


def facts(view: View) -> Iterator[Claim]:
    """What the lists state, as weakly as anything that people write."""
    lists = {index: items for index, items in _lists(view) if items}
    versions = {index for index, items in lists.items() if any(item.kind not in {"system", "card"} for item in items)}
    rows = set(lists)
    bullets = {index for index in lists if _BULLET.match(view.page.lines[index].text)}
    for index, items in lists.items():
        others = _within(rows, index, NEAR)
        if index in bullets:
            others |= _within(bullets, index, APART)
        near = others if index in versions else others & versions
        several = len({item.kind for item in items}) > 1 and index in versions
        if several or near or (items[0].kind == "system" and len(items) == 1 and _beside_output(view, index)):
            for item in items:
                yield from view.stamp(index, _claims(item))


def _within(places: set[int], index: int, reach: int) -> set[int]:
    """The other places at most ``reach`` lines from ``index``."""
    return {other for other in range(index - reach, index + reach + 1) if other in places and other != index}


def _lists(view: View) -> Iterator[tuple[int, list[Item]]]:
    """Lines that consist of items only, with their items; the first few hundred of a text."""
    found = 0
    for index, line in enumerate(view.page.lines):
        text = line.text
        if not 3 < len(text) < WIDEST:
            continue
        items = _items(text) if _FIRST.match(text) else _ending(text)
        if items:
            yield index, items
            found += 1
            if found > 400:
                return


def _ending(text: str) -> list[Item]:
    """The list that a person's own sentence ends with, up to the first part that is none; three items at least."""
    own = _OWN.match(text)
    parts = [_item(part.strip(" .*_`'\"()")) for part in _PARTS.split(text[own.end() :])] if own else []
    items = [item for item in takewhile(bool, parts) if item]
    return items if len(items) > 2 else []


def _items(text: str) -> list[Item]:
    """The items of a line; none if there is anything else on it."""
    rest = _ASIDE.sub("", _LEAD.sub("", text, count=1))
    parts = [part for piece in _PARTS.split(rest) for part in _GLUED.split(piece)]
    items = [_item(part.strip(" .*_`'\"()")) for part in parts if part.strip(" .")]
    return [item for item in items if item] if all(items) else []


def _item(part: str) -> Item | None:
    """What one part of an enumeration names: a package with its version, a system, or a card; ``None`` for prose."""
    if found := _ITEM.fullmatch(part):
        return Item(found.group(1).lower(), found.group(2))
    if _SYSTEM.fullmatch(part) and spelling(part):
        return Item("system", part)
    return Item("card", part) if _CARD.fullmatch(part) and re.search(r"\d", part) else None


def _claims(item: Item) -> Iterator[Claim]:
    """The claims of one item."""
    if item.kind == "system":
        yield from hint(values.system_claims(item.text), Weight.HAND)
    elif item.kind == "card":
        yield from hand.cards(item.text)
    elif not _SHAPES.get(item.kind, _ANY).match(item.text):
        return
    elif fact := _FACTS.get(item.kind):
        yield Claim(fact, item.text, weight=Weight.HAND)
    else:
        yield Claim("packages", item.text, key=ALIASES.get(item.kind, item.kind), weight=Weight.HAND)


def _beside_output(view: View, index: int) -> bool:
    """Whether a program's output begins right below a line."""
    return any(0 < mark - index <= NEAR for marks in view.marks.values() for mark in marks)
