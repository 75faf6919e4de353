"""Readers of GPUs: names, kernel targets and counts as programs and people write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.facts import Gpu
from compat.reading.claims import Claim, Weight
from compat.reading.values import empty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compat.reading.page import Pair

# Devices that one line can state; no machine has more, and a count is outside input.
MOST: Final = 64

_TAIL = re.compile(
    r"\s*(?:\(UUID:.*|\(0x[0-9a-fA-F]{4}[:)].*|\(rev [0-9a-f]+\).*|:\s*(?:(?:cuda|hip)Malloc(?:Async)?|native)\b.*"
    r"|/PCIe/SSE\d.*|,\s*\d+\s*Mi?B.*|\bGPU-[0-9a-f-]{8,}.*)$"
)
_HEAD = re.compile(r"^(?:\d+ ?Mi?B \| |(?:cuda|xpu):\d{1,2} )")
_ARCH = re.compile(r"\s*\((?:arch=|[sS][mM][_ ]?|compute capability:? ?)(\d+)\.?(\d+)[^)]*\)")
_GFX = re.compile(r"\b(gfx[0-9a-f]{3,5})\b")
_GFX_ASIDE = re.compile(r"\s*\((?:amdgcn-amd-amdhsa--)?gfx[^)]*\)?\s*$")
_BYTES = re.compile(r"^b'([^']*)'?")  # Python's bytes; their last quote may be trimmed already
_LETTER = re.compile(r"[A-Za-z]{2}|\d{3}|^[A-Za-z]\d{1,2}[A-Za-z]?$")
_NOT_A_NAME = re.compile(
    r"(?i)^(?:no\b|not\b|none|n/?a\b|cpu\b|could not|unknown|yes|true|false|0x|\[|<|/|\$|available|error|failed"
    r"|invalid|\w+(?:Error|Exception):)"
    r"|\b(?:is|are|was|has|have|that|this|there|says?|saying|the|my|your|for|because|when)\b"
    r"|nvidia-smi|\bgpus?\b.*[?]$|X\s+NODE|^X\b|[={}]|\.\w+\(|^(?:import|from|print|def|return)\b"
)
# Series names, and the bare models people write: A100, L4, V100, K80, T4, H200, B200, GB200.
_NVIDIA: Final = (
    r"nvidia|geforce|quadro|tesla|titan|[rg]tx|\bgrid\b|jetson|xavier|orin|\b[aplvkthbg]\d{1,3}0?0?[sg]?\b|\bGB?\d+"
    r"|\b(?:9[5-8]0|1[06][5-8]0|20[5-8]0|[3-5]0[5-9]0)(?: ?ti| ?super|m)?\b"
)
_VENDORS: Final = (
    (re.compile(r"radeon|\brx ?\d{3,4}|instinct|firepro|\bamd\b|vega|navi|gfx|\bati\b", re.IGNORECASE), "amd"),
    (re.compile(r"\bmi\d{2,3}[ax]?\b|\bw[5-9]\d00x?\b|\b[4-9]\d{2}0 ?(?:xtx?|gre)\b", re.IGNORECASE), "amd"),
    (re.compile(r"\bintel\b|\barc\b|iris|uhd (?:graphics|\d{3})|data center gpu (?:max|flex)", re.IGNORECASE), "intel"),
    (re.compile(r"\b[Aa]pple\b|(?<!Tesla )(?<!GRID )\bM[1-9]\b"), "apple"),
    (re.compile(r"ascend|\b910[AB]|\b310[BP]", re.IGNORECASE), "huawei"),
    (re.compile(r"\btpu\b", re.IGNORECASE), "google"),
    (re.compile(r"\bMLU\d|\bcambricon\b", re.IGNORECASE), "cambricon"),
    (re.compile(r"\biluvatar\b|\bBI-V\d", re.IGNORECASE), "iluvatar"),
    (re.compile(r"\bHL-[23]\d\d|\bgaudi", re.IGNORECASE), "habana"),
    (re.compile(r"\bMetaX\b|\bMXC\d", re.IGNORECASE), "metax"),
    (re.compile(r"\bkunlun|\bP800\b", re.IGNORECASE), "kunlunxin"),
    (re.compile(r"\bMTT S\d|\bmoore threads\b", re.IGNORECASE), "mthreads"),
    (re.compile(r"\bhygon\b", re.IGNORECASE), "hygon"),
    (re.compile(_NVIDIA, re.IGNORECASE), "nvidia"),
)

# Makers whose tools print tables like nvidia-smi's.
OTHERS: Final = frozenset({"huawei", "cambricon", "iluvatar", "habana", "metax", "kunlunxin", "mthreads", "hygon"})


def vendor(name: str) -> str:
    """Who makes a product of this name; empty if the name does not tell."""
    return next((maker for pattern, maker in _VENDORS if pattern.search(name)), "")


def sm(major: str | int, minor: str | int) -> str:
    """The kernel target of an NVIDIA compute capability: 8, 6 -> ``sm_86``; empty for numbers no GPU has had."""
    major, minor = int(major), int(minor)
    return f"sm_{major}{minor}" if 1 <= major <= 15 and 0 <= minor <= 9 else ""


def capability(value: str) -> str:
    """``"8.6"``, ``"(8, 6)"`` or ``"86"`` -> ``sm_86``; empty if it is none."""
    found = re.match(r"\D{0,2}(\d{1,2})\s*[.,]\s*(\d)(?!\d)", value) or re.match(r"(\d{1,2})(\d)\b", value)
    return sm(*found.groups()) if found else ""


def gfx(value: str) -> str:
    """The gfx target in ``value`` without its features; gfx000 and the like stand for CPUs."""
    found = _GFX.search(value)
    return found.group(1) if found and found.group(1) not in {"gfx000", "gfx0000"} else ""


def device(value: str, **known: str) -> Gpu | None:
    """A GPU from its printed name and what stands in parentheses behind it; ``None`` if that is no name."""
    name = _HEAD.sub("", _BYTES.sub(r"\1", value.strip(" \"'|,;#")))
    target = known.get("target", "")
    if found := _ARCH.search(name):
        target = target or sm(*found.groups())
        name = name[: found.start()]
    if aside := _GFX_ASIDE.search(name):
        target = target or gfx(aside.group())
        name = name[: aside.start()]
    name = " ".join(_TAIL.sub("", name).split()).strip(" \"'|,;:")
    if empty(name) or len(name) > 80 or not _LETTER.search(name) or _NOT_A_NAME.search(name):
        return None
    told = vendor(name)  # makers whose tools print tables like nvidia-smi's are never the one that it would be
    maker = "amd" if target.startswith("gfx") else told if told in OTHERS else known.get("vendor") or told
    return Gpu(name=name, target=target, vendor=maker)


def card(pattern: str, *, maker: str = "", weight: Weight = Weight.RUNNING) -> Callable[[str], Iterator[Claim]]:
    """A reader of a card that a line names.

    ``pattern``: its groups are ``name``, ``key`` (its number or UUID), and ``target`` or ``major`` and ``minor``; each
    may be missing, but not name and target both.
    """
    shape = re.compile(pattern)

    def read(line: str) -> Iterator[Claim]:
        told = {key: value or "" for key, value in found.groupdict().items()} if (found := shape.search(line)) else {}
        numbered = told.get("major") and vendor(told.get("name", "")) != "amd"  # older llama.cpp: 11.0 for gfx1100
        target = sm(told["major"], told["minor"]) if numbered else told.get("target", "")
        nameless = Gpu(target=target, vendor=maker) if target else None
        if gpu := device(told["name"], target=target, vendor=maker) if told.get("name") else nameless:
            yield Claim("gpus", gpu, key=told.get("key", ""), weight=weight)

    return read


def indexed(pair: Pair) -> Iterator[Claim]:
    """``GPU 0,1,2: NVIDIA A100``: one claim per device number."""
    gpu = device(pair.value)
    if gpu is not None:
        for index in numbers(pair.devices):
            yield Claim("gpus", gpu, key=index)


def numbers(text: str) -> list[str]:
    """``"0,1,2"`` or ``"0-3"`` -> device numbers; ``[""]`` if there is none."""
    if found := re.fullmatch(r"(\d{1,3})-(\d{1,3})", text):
        low, high = map(int, found.groups())
        return [str(index) for index in range(low, min(high + 1, low + MOST))]
    return [part.strip() for part in text.split(",")][:MOST]


def named(pair: Pair) -> Iterator[Claim]:
    """A device named without a number, or several (``GPU 0: X``) on the label's own line."""
    found = re.match(r"GPU (\d+(?:,\d+)*): ?(.*)", pair.value)
    if found:
        gpu = device(found.group(2))
        indexes = numbers(found.group(1))
    else:
        gpu, indexes = device(pair.value), [""]
    if gpu is not None:
        yield from (Claim("gpus", gpu, key=index) for index in indexes)
    elif (aside := _GFX_ASIDE.fullmatch(pair.value)) and (target := gfx(aside.group())):
        yield Claim("gpus", Gpu(target=target, vendor="amd"))  # torch knows no name of a card newer than its tables


def highest(pair: Pair) -> Iterator[Claim]:
    """A compute capability alone: a device without a name."""
    if target := capability(pair.value):
        yield Claim("gpus", Gpu(target=target, vendor="nvidia"), key=pair.devices.split(",")[0], weight=Weight.LISTED)


def capabilities(pair: Pair) -> Iterator[Claim]:
    """``GPU 0,1 Compute Capability: 8.9``: one nameless claim per device number, joined to its name later."""
    if target := capability(pair.value):
        for index in numbers(pair.devices):
            yield Claim("gpus", Gpu(target=target, vendor="nvidia"), key=index)
