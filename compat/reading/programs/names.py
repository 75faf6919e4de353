"""Names with versions as people write them: the one grammar of lists without labels and of sentences.

``PyTorch 1.12.1 + cu113``, ``python3.8``, ``CUDA toolkit v11.3``, ``Ubuntu server 18.04``, ``2x RTX 3090``. A part of
an enumeration is such a name and nothing else (:func:`whole`); a sentence has them among its words (:func:`within`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import compat.reading.devices as devices
import compat.reading.programs.hand as hand
import compat.reading.values as values
from compat.reading.claims import Claim, Weight
from compat.reading.page import hint
from compat.reading.systems import architecture, spelling

if TYPE_CHECKING:
    from collections.abc import Iterator

SYSTEM: Final = "system"
CARD: Final = "gpus"

_KINDS: Final = (
    "python", "py", "cuda", "cudnn", "driver", "drivers", "rocm", "pytorch", "torch", "torchvision", "torchaudio",
    "tensorflow", "tensorflow-gpu", "tf", "paddle", "paddle-gpu", "paddlepaddle", "paddlepaddle-gpu", "keras", "jax",
    "jaxlib", "transformers", "vllm", "mmcv", "mmcv-full", "mmdet", "numpy", "xformers", "bitsandbytes", "deepspeed",
    "accelerate", "triton", "onnxruntime", "onnxruntime-gpu", "flash-attn", "flash_attn", "sglang", "diffusers",
    "tensorrt", "cupy",
)  # fmt: skip
# What people call a fact or a package other than its own name.
_ALIASES: Final = {
    "py": "python", "cuda": "cuda_toolkit", "drivers": "driver", "pytorch": "torch", "tf": "tensorflow",
    "paddle": "paddlepaddle", "paddle-gpu": "paddlepaddle-gpu", "flash_attn": "flash-attn",
}  # fmt: skip
# What the versions of facts look like, whatever else a number behind the word may be.
_SHAPES: Final = {
    "python": re.compile(r"[23]\.\d{1,2}(?:\.\d{1,2})?"),
    "driver": re.compile(r"\d{3}\.\d{2,3}(?:\.\d{2,3})?"),
    "cuda_toolkit": re.compile(r"\d{1,2}\.\d{1,2}(?:\.\d{1,3})?"),
    "cudnn": re.compile(r"\d{1,2}(?:\.\d{1,3}){1,3}"),
    "rocm": re.compile(r"\d{1,2}\.\d{1,2}(?:\.\d{1,2})?"),
}
_ANY: Final = re.compile(r".+")
_NAME: Final = rf"(?:nvidia[- ])?({'|'.join(sorted(map(re.escape, _KINDS), key=len, reverse=True))})"
_VERSION: Final = (
    r"v?(\d{1,4}(?:\.\d{1,6}){1,3}(?:(?:rc|post|a|b)\d+)?"
    r"(?:\s?\+\s?(?:cu|rocm)\d{1,3}(?:\.\d){0,2}|\+\w{2,16}(?:\.\w{1,16}){0,3})?)"
)
_WORD: Final = r"(?:[- ](?:toolkit|version|runtime|ver\.?)|版本)?"
_PART: Final = re.compile(rf"{_NAME}{_WORD}\s{{0,20}}(?:[:=~]|==|-|\bv)?\s{{0,20}}{_VERSION}", re.IGNORECASE)
# In a sentence what is equated is a command's argument, and what follows a slash or a dash belongs to a file's name.
_SAID: Final = re.compile(
    rf"(?<![\w./\\-])(?<!install ){_NAME}{_WORD}(?:\s+is)?[ -]?{_VERSION}(?![\w+])(?!\.\d)", re.IGNORECASE
)
_SYSTEM_NAME: Final = (
    r"(?:linux[- ])?(?:x?ubuntu(?: server)?|debian(?: gnu/linux)?|centos(?: linux| stream)?|rhel"
    r"|red ?hat(?: enterprise linux)?|rocky(?: linux)?|alma ?linux|fedora|opensuse leap|windows?|win|mac ?os)"
)
_SYSTEM_PART: Final = re.compile(rf"{_SYSTEM_NAME}[\w .\-]{{0,24}}\d[\w. ]{{0,12}}", re.IGNORECASE)
_SYSTEM_SAID: Final = re.compile(
    rf"\b{_SYSTEM_NAME}(?: release)?[ -]?v?\d{{1,2}}(?:\.\d{{1,2}})?(?:\.\d)?(?![\w.]\d)", re.IGNORECASE
)
_CARD_PART: Final = re.compile(
    r"(?:\d{1,2} ?[x×*] ?)?(?:nvidia )?(?:geforce|rtx|gtx|tesla|quadro|titan|[AVHLTP]\d{1,3})\b[\w ().-]{0,40}",
    re.IGNORECASE,
)
_CARD_SAID: Final = re.compile(
    r"(?:(?<![\w.])(\d{1,2})\s?[x×*]?\s?|\b(two|three|four|eight)\s)?(?<![\w-])((?:nvidia\s+|amd\s+)?(?:"
    r"(?:geforce\s+)?[rg]tx\s?\d{3,4}(?:\s?(?:ti|super|m|d))?(?:\s+super)?(?:\s+(?:laptop|mobile)(?: gpu)?)?"
    r"|geforce\s+(?:gt|mx)?\s?\d{3,4}m?|(?:gtx\s+)?titan\s+(?:xp|x|v|rtx|black)|tesla\s+[kmptv]\d{1,3}[a-z]{0,2}"
    r"|quadro\s+(?:rtx\s+\d{4}|[kmptgv]{1,2}\d{3,4})|rtx\s+a\d{4}|rtx pro \d{4}"
    r"|(?:radeon\s+)?rx\s?\d{3,4}(?:\s?(?:xtx|xt|gre|m))?|radeon\s+(?:vii|pro\s+\w{2,6})|(?:instinct\s+)?mi\d{2,3}[ax]?"
    r"|[avh]100|h200|b200|gh200|gb200|a10g?|a30|a40|l4|l40s?|t4|p100|k80))(?![\w-])",
    re.IGNORECASE,
)
_COUNTS: Final = {"two": 2, "three": 3, "four": 4, "eight": 8}


class Item(NamedTuple):
    """One name with its version.

    Attributes:
        kind: :data:`SYSTEM`, :data:`CARD`, a fact's name or a package.
        text: the version, or the name of a system or card.
        many: how many there are.
        start, stop: where a sentence has it.
    """

    kind: str
    text: str
    many: int = 1
    start: int = 0
    stop: int = 0


def whole(part: str) -> Item | None:
    """What one part of an enumeration names; ``None`` if it is anything else."""
    if found := _PART.fullmatch(part):
        return _versioned(found)
    if _SYSTEM_PART.fullmatch(part) and spelling(part):
        return Item(SYSTEM, part)
    if arch := architecture(part):
        return Item("arch", arch)
    return Item(CARD, part) if _CARD_PART.fullmatch(part) and re.search(r"\d", part) else None


def within(sentence: str) -> list[Item]:
    """What a sentence names, in its order."""
    items = [item for found in _SAID.finditer(sentence) if (item := _versioned(found))]
    items += [Item(SYSTEM, found[0], 1, *found.span()) for found in _SYSTEM_SAID.finditer(sentence)]
    for found in _CARD_SAID.finditer(sentence):
        many = _COUNTS.get((found[2] or "").lower()) or int(found[1] or 1)
        items.append(Item(CARD, found[3], min(max(many, 1), devices.MOST), *found.span()))
    return sorted(items, key=lambda item: item.start)


def _versioned(found: re.Match[str]) -> Item | None:
    """A name and its version, unless no version of it looks so: no driver has the number 1.2."""
    kind, version = found[1].lower(), "".join(found[2].split())
    kind = _ALIASES.get(kind, kind)
    return Item(kind, version, 1, *found.span()) if _SHAPES.get(kind, _ANY).fullmatch(version) else None


def claims(item: Item, weight: Weight) -> Iterator[Claim]:
    """The claims of one item; none if it names nothing that exists."""
    if item.kind == SYSTEM:
        yield from hint(values.system_claims(item.text), weight)
    elif item.kind == CARD:
        yield from hint([*hand.cards(item.text)] * item.many, weight)
    elif item.kind in _SHAPES or item.kind == "arch":
        yield Claim(item.kind, item.text, weight=weight)
    else:
        yield Claim("packages", item.text, key=item.kind, weight=weight)
