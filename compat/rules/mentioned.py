"""Which GPU a text names where no fact tells one: ``RTX 5090 not supported`` says what the machine has.

A name is no more than a hint: what rests on it is a possible warning at most. It counts where the text tells of
something that fails for the sake of a GPU, and where all that it names is of one target; a comparison of two cards says
nothing of either.
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
    from compat.rules.signals import Hearing

# Where a GPU comes from that only the text names.
NAMED: Final = "named in the error text"

# Codes whose messages turn on which GPU it is.
_TURNING: Final = frozenset({"arch-too-new-for-build", "arch-too-old-for-build", "rocm-gfx-unsupported"})

_LONGEST: Final = 2_000  # characters: a report in words; what is longer holds logs, and logs name other machines too
_MOST: Final = 8  # names that are looked up

# Cards as people write them: a family before the number, or the number alone with what only a card has.
_CARD: Final = pattern(
    r"(?<![\w./:-])(?:(?:geforce\s?)?[rg]tx[ -]?\d{3,4}(?:[ -]?ti)?(?:[ -]?super)?(?![\w.]\w)"
    r"|(?:tesla\s|quadro\s|rtx\sa|rtx\spro\s)[a-z]{0,3}\d\w{0,4}|titan\s(?:xp|x|v|rtx|black|z)(?!\w)"
    r"|(?:radeon\s)?(?:rx[ -]?(?:vega\s?)?|vega\s?|r[79]\s)\d{2,4}(?:[ -]?(?:xtx|xt|gre))?"
    r"|radeon\s(?:vii|\d{3}m|pro\s\w{2,6})|(?:instinct\s)?mi\d{2,3}[ax]?|strix (?:halo|point)"
    r"|(?:[1-5]0[5-9]0|9[5-8]0|7[58]0)[ -]?ti(?:[ -]?super)?(?!\w)"
    r"|[345]0[5-9]0(?:[ -]?ti)?(?:[ -]?super)?(?![\w.:%]|\s?(?:[kmg]i?b\b|ms\b|steps?\b|images?\b|px\b)))(?![\w-])",
    re.IGNORECASE | re.ASCII,
)

_TI: Final = pattern(r"(\d)-?ti\b", re.IGNORECASE)  # written together, as few tables of products do


def mentioned(signals: Hearing, host: Host, matrix: Matrix) -> dict[str, Fact]:
    """The fact ``gpus`` as a text names it; nothing where one is known, or the text leaves open which it is."""
    if host.known("gpus") or len(signals.text) > _LONGEST:
        return {}
    if not any(_TURNING & set(item.signal.candidates) for item in signals.harmful):
        return {}
    names = list(dict.fromkeys(_CARD.findall(signals.text)))[:_MOST]
    found = [find_gpu(matrix, _TI.sub(r"\1 ti", name)) for name in names]
    if not all(found) or len({product.target for products in found for product in products}) != 1:
        return {}
    first = found[0][0]
    return {"gpus": Fact((Gpu(name=first.name, vendor=first.vendor, target=first.target),), NAMED)}
