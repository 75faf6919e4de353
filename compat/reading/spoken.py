"""What a person says of the machine in a sentence: ``I get this on my Tesla K40c with PyTorch 2.0.1 and Ubuntu 20.04``.

Prose names many things that are not there: what is required, was tried before, or works for others. A name or version
counts where the sentence speaks of the writer's own machine, where nothing in it bars that (a question, a wish, a
comparison, advice, a command), and where the whole text names no second one of its kind. It weighs less than anything
a program printed or a template's field holds.

Alone, ``CUDA 12.1`` is left out: people say it of the toolkit, of the build and of what nvidia-smi shows. In a list of
three and more (``with python3.9, cuda 11.3, torch 1.10.0``) it is the toolkit, as in lists without a sentence.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import compat.reading.programs.names as names
from compat.reading.claims import Weight
from compat.reading.gpus import same
from compat.reading.merge import agree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.claims import Claim
    from compat.reading.page import Page

NAME: Final = "prose"

# Characters of a line in which sentences are looked for; people break their lines or end their paragraphs before.
_LONGEST: Final = 600

# Lines that are looked into; people write first what their machine is, and what is longer is a log.
_MOST: Final = 2000

# Words by which a sentence speaks of the writer's machine.
_OWN: Final = re.compile(
    r"\b(?:[Ii]|I['’](?:m|ve)|[Mm]y|[Ww]e|[Ww]e['’](?:re|ve)|[Oo]ur|[Mm]ine)\b"
    r"|(?i:^\W*(?:on|using|with|running|under|env\w*|setup|hardware|system|machine|tested|installed|hi|hello)\b)"
    r"|\b(?:fails?|failed|crash(?:es|ed)?|happens?|errors?|issues?|problem|broken|works?)\s(?:\w+\s){0,6}(?:on|with|under|using)\b"
    r"|\b(?:version|card|gpu|system|os|driver|environment)s? (?:is|are)\b"
    r"|\b(?:server|machine|laptop|pc|host)\b(?: \w+){0,3} (?:is|has|runs?|running)\b|(?:我的?|我们|本机|使用)",
    re.MULTILINE,
)

# Words by which a sentence speaks of something else: what is needed, was before, would be, or runs elsewhere.
_BARRED: Final = re.compile(
    r"\?|？|\byour?\b|\b(?:require|need|support|recommend|should|would|could|might|want|wish|hope|plan|let['’]?s)"
    r"|\b(?:up|down)(?:grad|dat)|\bswitch|\bchang|\binstead\b|\bif\b|\bwhether\b|\bprevious"
    r"|\btr(?:y|ied|ying)\b(?! to (?:run|train|test|reproduce|start|execute)\b)"
    r"|\bbefore\b|\bearlier\b|\bolder\b|\bnewer\b|\blatest\b|\bminimum\b|\bat least\b|\bused to\b|\bno longer\b"
    r"|\b(?:compiled|built|wheels?|releas\w*|since|until|prior)\b"
    r"|\bnot\s+(?:on|with|have|using|run)|\bdon['’]?t\b|\bdoesn['’]?t\s+(?:have|use)|\bwithout\b|\bexcept\b|\bother\b"
    r"|\banother\b|\bboth\b|\beither\b|\balso\b|\bsame (?:code|model|script)\b|\bworks? (?:fine|well|with|on|in)\b"
    r"|\bhad\b|\bworked\b|\bnormal|\bfriend|\bcolleague|\bcompar|\bvs\b|\bfrom\b.{1,40}\bto\b|[<>]=|→|->|https?://",
    re.IGNORECASE,
)

_SENTENCE: Final = re.compile(r"(?<=[.!;。！；])\s+|(?<=[?？])")

# What a line must hold to be looked into.
_NAMES: Final = re.compile(
    r"\d\.\d|[rg]tx|geforce|titan|tesla|quadro|radeon|\brx\b|\bmi\d\d|\b[avhltpkb]g?\d{1,3}\b"
    r"|\b(?:fedora|debian|centos|rhel|rocky|macos|win(?:dows)?) ?\d",
    re.IGNORECASE,
)


# What stands between two names of one list.
_AND: Final = re.compile(r"\s*(?:[,;、/+&]|\band\b|\bon\b|\bwith\b|[()]|\s)*\s*", re.IGNORECASE)

# Names that a sentence states only among so many others: alone, people say CUDA of three different things.
_LISTED: Final = 3

# Where a sentence calls them an environment, one other name is enough.
_ENVIRONMENT: Final = re.compile(r"\b(?:environment|env|setup|configuration)\b|环境|環境|환경", re.IGNORECASE)
_UNSURE: Final = frozenset({"cuda_toolkit", "cudnn"})


class Word(NamedTuple):
    """A name in a sentence: ``is_own`` if that states it of the writer's machine; ``line`` counts from 1."""

    item: names.Item
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
        said.setdefault(word.item.kind, []).append(word)
    for words in said.values():
        own = next((word for word in words if word.is_own), None)
        if own and all(_agree(own.item, word.item) for word in words):
            for claim in names.claims(own.item, Weight.HINT):
                yield replace(claim, line=own.line, program=NAME)


def _words(page: Page, apart: frozenset[int]) -> Iterator[Word]:
    """The names in all sentences."""
    for line in page.lines[:_MOST]:
        if line.number in apart or not _NAMES.search(line.text[:_LONGEST]):
            continue
        for sentence in _SENTENCE.split(line.text[:_LONGEST]):
            enough = 2 if _ENVIRONMENT.search(sentence) else _LISTED
            is_own = _OWN.search(sentence) is not None and _BARRED.search(sentence) is None
            for run in _runs(sentence):
                for item in run:
                    yield Word(item, is_own and (len(run) >= enough or item.kind not in _UNSURE), line.number)


def _runs(sentence: str) -> list[list[names.Item]]:
    """The names of a sentence by the lists that they form; one that stands alone is a list of one."""
    runs: list[list[names.Item]] = []
    for item in names.within(sentence):
        if runs and _AND.fullmatch(sentence, runs[-1][-1].stop, item.start):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def _agree(one: names.Item, other: names.Item) -> bool:
    """Whether two mentions can mean one thing."""
    if one.kind == names.CARD:
        return same(one.text, other.text)
    return one.text.lower() == other.text.lower() or agree(one.text, other.text)
