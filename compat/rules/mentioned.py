"""Which GPU a text names where no fact tells one: ``RTX 5090 not supported`` says what the machine has.

A name is no more than a hint: what rests on it is a warning at most. It counts where the text tells of something that
fails for the sake of a GPU, and where all that it names is of one target. Of a comparison (``it worked on my 4090, the
5090 fails``) the clause without praise counts; where that leaves several, the text says nothing of any.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.facts import Fact, Gpu
from compat.lazy import pattern
from compat.matrix.products import find_gpu

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.matrix.rows import Product
    from compat.rules.signals import Hearing

# Where a GPU comes from that only the text names.
NAMED: Final = "named in the error text"

# Codes whose messages turn on which GPU it is, and the row of the words for something that fails.
_TURNING: Final = frozenset({"arch-too-new-for-build", "arch-too-old-for-build", "rocm-gfx-unsupported"})
_FAILING: Final = "gpu-unused-said"

_LONGEST: Final = 2_000  # characters: a report in words; what is longer holds logs, and logs name other machines too
_MOST: Final = 8  # names that are looked up

# Cards as people write them: a family before the number, or the number alone with what only a card has.
_CARD: Final = pattern(
    r"(?<![\w./:-])(?:(?:(?:nvidia|geforce|rtx|gtx)[ -]?){1,3}\d{1,4}(?:xx)?[ -]?series"
    r"|\d{1,4}(?:xx)?[ -]?series(?=\s(?:gpu|card|graphics))"
    r"|(?:geforce\s?)?[rg]tx[ -]?\d{3,4}(?:[ -]?ti)?(?:[ -]?super)?(?![\w.]\w)"
    r"|(?:tesla\s|quadro\s|rtx\sa|rtx\spro\s)[a-z]{0,3}\d\w{0,4}|titan\s(?:xp|x|v|rtx|black|z)(?!\w)"
    r"|(?:radeon\s)?(?:rx[ -]?(?:vega\s?)?|vega\s?|r[79]\s)\d{2,4}(?:[ -]?(?:xtx|xt|gre))?"
    r"|radeon\s(?:vii|\d{3}m|pro\s\w{2,6})|(?:instinct\s)?mi\d{2,3}[ax]?|strix (?:halo|point)"
    r"|(?:[1-5]0[5-9]0|9[5-8]0|7[58]0)[ -]?ti(?:[ -]?super)?(?!\w)"
    r"|[345]0[5-9]0(?:[ -]?ti)?(?:[ -]?super)?(?![\w.:%]|\s?(?:[kmg]i?b\b|ms\b|steps?\b|images?\b|px\b)))(?![\w-])",
    re.IGNORECASE | re.ASCII,
)
_TI: Final = pattern(r"(\d)-?ti\b", re.IGNORECASE)  # written together, as few tables of products do
_SERIES: Final = pattern(r"(\d{1,2})(?:00|xx)?[ -]?series", re.IGNORECASE)  # 50, 50xx, 5000; 700

# Where one clause ends and the next thought begins, and what a clause about another card than the failing one says.
_CLAUSE: Final = pattern(r"[.,;:!?()\n]+(?!\d)|\s(?:but|now|to|whereas|while|however)\s|但", re.IGNORECASE)
_PRAISED: Final = pattern(
    r"\b(?:from|was|were|had|before|previous\w*|older?|works|worked|working|fine|no (?:issues?|problems?|errors?))\b",
    re.IGNORECASE,
)
_BLAMED: Final = pattern(
    r"\b(?:not|never|cannot|fail\w*|unsupported|unable|no longer|dropped)\b|n['’]t\b|不|无法", re.IGNORECASE
)


def mentioned(signals: Hearing, host: Host, matrix: Matrix) -> dict[str, Fact]:
    """The fact ``gpus`` as a text names it; nothing where one is known, or the text leaves open which it is."""
    if host.known("gpus") or len(signals.text) > _LONGEST or not _fails(signals, matrix):
        return {}
    product = _one(signals.text, matrix) or _one("\n".join(_blamed(signals.text)), matrix)
    if product is None:
        return {}
    return {"gpus": Fact((Gpu(name=product.name, vendor=product.vendor, target=product.target),), NAMED)}


def _fails(signals: Hearing, matrix: Matrix) -> bool:
    """Whether the text tells of a fault that may be a matter of the GPU."""
    if any(_TURNING & set(item.signal.candidates) for item in signals.harmful):
        return True
    row = next((row for row in matrix.table("signals") if row.signal == _FAILING), None)
    return row is not None and re.search(row.pattern, signals.text, re.IGNORECASE) is not None


def _one(text: str, matrix: Matrix) -> Product | None:
    """The product that all names in a text mean, or one of those that share their target; none if they differ."""
    names = list(dict.fromkeys(_CARD.findall(text)))[:_MOST]
    found = [_products(name, matrix) for name in names]
    same = all(found) and len({product.target for products in found for product in products}) == 1
    return found[0][0] if same else None


def _products(name: str, matrix: Matrix) -> tuple[Product, ...]:
    """What a name may mean; a series (``RTX 50 series``) means all cards of that number."""
    if series := _SERIES.search(name):
        number = re.compile(rf"GeForce [RG]TX {series[1]}[1-9]0\b")
        return tuple(product for product in matrix.table("gpus") if number.search(product.name))
    return find_gpu(matrix, _TI.sub(r"\1 ti", name))


def _blamed(text: str) -> list[str]:
    """The clauses of a text that do not tell of a card that works, or was there before."""
    clauses = _CLAUSE.split(text)
    return [clause for clause in clauses if _BLAMED.search(clause) or not _PRAISED.search(clause)]
