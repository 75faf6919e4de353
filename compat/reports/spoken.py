"""What a person says of the machine in a sentence: ``I get this on my Tesla K40c with PyTorch 2.0.1 and Ubuntu 20.04``.

Prose names many things that are not there: what is required, was tried before, or works for others. A name or version
counts where the sentence speaks of the writer's own machine, where nothing in it bars that (a question, a wish, a
comparison, advice, a command), and where the whole text names no second one of its kind. It weighs less than anything
a program printed or a template's field holds.

Left out on purpose is ``CUDA 12.1``: people say it of the toolkit, of the build and of what nvidia-smi shows.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import compat.reports.devices as devices
import compat.reports.values as values
from compat.reports.claims import Claim, Weight
from compat.reports.gpus import same
from compat.reports.merge import agree
from compat.reports.page import hint
from compat.reports.programs.plain import ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.reports.page import Page

NAME: Final = "prose"

# Characters of a line in which sentences are looked for; people break their lines or end their paragraphs before.
_LONGEST: Final = 600

# Lines that are looked into; people write first what their machine is, and what is longer is a log.
_MOST: Final = 2000

# Words by which a sentence speaks of the writer's machine.
_OWN: Final = re.compile(
    r"\b(?:[Ii]|I['’](?:m|ve)|[Mm]y|[Ww]e|[Ww]e['’](?:re|ve)|[Oo]ur|[Mm]ine)\b"
    r"|(?i:^\W*(?:on|using|with|running|under|env\w*|setup|hardware|system|machine|tested|installed|hi|hello)\b)"
    r"|\b(?:fails?|failed|crash(?:es|ed)?|happens?|errors?|issues?|problem|broken|works?)\s(?:\w+\s){0,3}(?:on|with|under)\b"
    r"|\bversion is\b|(?:我的?|我们|本机|使用)",
    re.MULTILINE,
)

# Words by which a sentence speaks of something else: what is needed, was before, would be, or runs elsewhere.
_BARRED: Final = re.compile(
    r"\?|？|\byour?\b|\b(?:require|need|support|recommend|should|would|could|might|want|wish|hope|plan|let['’]?s)"
    r"|\b(?:up|down)(?:grad|dat)|\bswitch|\bchang|\btr(?:y|ied|ying)\b|\binstead\b|\bif\b|\bwhether\b|\bprevious"
    r"|\bbefore\b|\bearlier\b|\bolder\b|\bnewer\b|\blatest\b|\bminimum\b|\bat least\b|\bused to\b|\bno longer\b"
    r"|\b(?:compiled|built|wheels?|releas\w*|since|until|prior)\b"
    r"|\bnot\s+(?:on|with|have|using|run)|\bdon['’]?t\b|\bdoesn['’]?t\s+(?:have|use)|\bwithout\b|\bexcept\b|\bother\b"
    r"|\banother\b|\bboth\b|\beither\b|\balso\b|\bsame (?:code|model|script)\b|\bworks? (?:fine|well|with|on|in)\b"
    r"|\bhad\b|\bworked\b|\bnormal|\bfriend|\bcolleague|\bcompar|\bvs\b|\bfrom\b.{1,40}\bto\b|[<>]=|→|->|https?://",
    re.IGNORECASE,
)

_SENTENCE: Final = re.compile(r"(?<=[.!;。！；])\s+|(?<=[?？])")

_PACKAGES: Final = {name: ALIASES.get(name, name) for name in (
    "pytorch", "torch", "torchvision", "torchaudio", "tensorflow", "tensorflow-gpu", "tf", "jax", "jaxlib",
    "paddlepaddle", "paddlepaddle-gpu", "vllm", "xformers", "flash-attn", "bitsandbytes", "triton", "numpy", "keras",
    "cupy", "onnxruntime-gpu", "deepspeed", "transformers",
)}  # fmt: skip
_BETWEEN: Final = r"(?:\s+version(?:\s+is)?)?[ -]v?"
_PACKAGE: Final = re.compile(
    rf"(?<![\w./-])({'|'.join(sorted(map(re.escape, _PACKAGES), key=len, reverse=True))}){_BETWEEN}"
    r"(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:(?:rc|post|a|b)\d+)?(?:\s?\+\s?[a-z]{2,5}\d[\w.]{0,8}|\+cpu)?)(?![\w+])(?!\.\d)",
    re.IGNORECASE,
)
_NUMBERED: Final = tuple(
    (kind, re.compile(rf"\b{word}{_BETWEEN}({number})(?![\w.]\d)", re.IGNORECASE))
    for kind, word, number in (
        ("python", "python", r"[23]\.\d{1,2}(?:\.\d{1,2})?"),
        ("driver", "drivers?", r"\d{3}\.\d{2,3}(?:\.\d{2})?"),
        ("rocm", "rocm", r"[3-9]\.\d{1,2}(?:\.\d{1,2})?"),
    )
)
_SYSTEM: Final = re.compile(
    r"\b(?:ubuntu(?: server)?|debian|centos|rhel|rocky linux|almalinux|fedora|opensuse leap|windows|macos)[ -]v?"
    r"\d{1,2}(?:\.\d{1,2})?(?:\.\d)?(?![\w.]\d)",
    re.IGNORECASE,
)
_CARD: Final = re.compile(
    r"(?<![\w-])(?:nvidia\s+|amd\s+)?(?:"
    r"(?:geforce\s+)?[rg]tx\s?\d{3,4}(?:\s?(?:ti|super|m|d))?(?:\s+super)?(?:\s+laptop(?: gpu)?)?"
    r"|geforce\s+(?:gt|mx)?\s?\d{3,4}m?|titan\s+(?:xp|x|v|rtx|black)|tesla\s+[kmptv]\d{1,3}[a-z]{0,2}"
    r"|quadro\s+(?:rtx\s+\d{4}|[kmptgv]{1,2}\d{3,4})|rtx\s+a\d{4}|rtx pro \d{4}"
    r"|(?:radeon\s+)?rx\s?\d{3,4}(?:\s?(?:xtx|xt|gre|m))?|radeon\s+(?:vii|pro\s+\w{2,6})|(?:instinct\s+)?mi\d{2,3}[ax]?"
    r"|[avh]100|h200|b200|gh200|gb200|a10g?|a30|a40|l4|l40s?|t4|p100|k80)(?![\w-])",
    re.IGNORECASE,
)
_COUNT: Final = re.compile(r"(?:(\d{1,2})\s?[x×*]?|\b(two|three|four|eight))\s*$", re.IGNORECASE)
_COUNTS: Final = {"two": 2, "three": 3, "four": 4, "eight": 8}
# What a line must hold to be looked into.
_NAMES: Final = re.compile(
    r"\d\.\d|[rg]tx|geforce|titan|tesla|quadro|radeon|\brx\b|\bmi\d\d|\b[avhltpkb]g?\d{1,3}\b|windows 1", re.IGNORECASE
)


class Word(NamedTuple):
    """One name or version in a sentence.

    ``kind`` is ``gpu``, ``system``, a fact's name or a package; ``many`` how many there are; ``is_own`` whether the
    sentence is about the writer's machine; ``line`` counts from 1.
    """

    kind: str
    text: str
    many: int
    is_own: bool
    line: int


def facts(page: Page, apart: frozenset[int]) -> Iterator[Claim]:
    """What sentences state of the writer's machine, each kind once or not at all.

    Args:
        page: the cleaned text.
        apart: numbers of the lines that are a program's or a template's, from 1.
    """
    said: dict[str, list[Word]] = {}
    for word in _words(page, apart):
        said.setdefault(word.kind, []).append(word)
    for words in said.values():
        own = next((word for word in words if word.is_own), None)
        if own and all(_agree(own, word) for word in words):
            for claim in _claims(own):
                yield replace(claim, weight=Weight.HINT, line=own.line, program=NAME)


def _words(page: Page, apart: frozenset[int]) -> Iterator[Word]:
    """The names and versions of all sentences."""
    for line in page.lines[:_MOST]:
        if line.number in apart or not _NAMES.search(line.text[:_LONGEST]):
            continue
        for sentence in _SENTENCE.split(line.text[:_LONGEST]):
            is_own = _OWN.search(sentence) is not None and _BARRED.search(sentence) is None
            yield from (Word(*found, is_own, line.number) for found in _named(sentence))


def _named(sentence: str) -> Iterator[tuple[str, str, int]]:
    """Kind, text and count of what a sentence names."""
    for found in _PACKAGE.finditer(sentence):
        yield _PACKAGES[found[1].lower()], "".join(found[2].split()), 1
    for kind, pattern in _NUMBERED:
        for found in pattern.finditer(sentence):
            yield kind, found[1], 1
    for found in _SYSTEM.finditer(sentence):
        yield "system", found[0], 1
    for found in _CARD.finditer(sentence):
        counted = _COUNT.search(sentence[: found.start()])
        number = counted and (_COUNTS.get((counted[2] or "").lower()) or int(counted[1] or 1))
        yield "gpu", found[0], min(number or 1, devices.MOST)


def _agree(one: Word, other: Word) -> bool:
    """Whether two mentions can mean one thing."""
    if one.kind == "gpu":
        return same(one.text, other.text)
    return one.text.lower() == other.text.lower() or agree(one.text, other.text)


def _claims(word: Word) -> Iterable[Claim]:
    """The claims of one mention."""
    if word.kind == "gpu":
        gpu = devices.device(word.text)
        return [Claim("gpus", gpu)] * word.many if gpu and gpu.vendor else ()
    if word.kind == "system":
        return hint(values.system_claims(word.text), Weight.HINT)
    if word.kind in {"python", "driver", "rocm"}:
        return [Claim(word.kind, word.text)]
    return [Claim("packages", word.text, key=word.kind)]
