"""Which Jetson release a machine has, where only its system's name, its kernel or the text say so.

People write "JetPack 5.1.2" or "L4T R36.4.0" where others write Ubuntu's version, and the release decides what can
run: on these boards the driver belongs to the system. What was read on the board itself stands before all this.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from compat.facts import Fact, Host
from compat.lazy import pattern

if TYPE_CHECKING:
    from compat.matrix import Matrix

_L4T: Final = pattern(
    r"\b(?:L4T(?:-[a-z]{2,12})?|Linux for Tegra)\W{0,3}(?:version\W{0,2})?R?(\d{2}(?:\.\d{1,2}){1,2})", re.IGNORECASE
)
_JETPACK: Final = pattern(r"\bJet\s?Pack\W{0,2}(\d(?:\.\d){0,2})\b", re.IGNORECASE)
_IMAGE: Final = pattern(r"[:/-]r(\d{2}(?:\.\d{1,2}){1,2})")
_TEGRA: Final = pattern(r"(\d{1,2}\.\d{1,3})\.\d{1,3}[\w.-]{0,20}-tegra\b")
_LONGEST: Final = 20_000  # characters of a text that are looked at: who names the board does so in a sentence


def stated_l4t(text: str, matrix: Matrix) -> str:
    """The L4T release that a text names, as ``36.4.0`` or only ``36``; empty if none, or several that differ.

    A JetPack release stands for the L4T of its rows in the matrix; of several (``JetPack 6``) what they have in common.
    """
    text = text[:_LONGEST]
    named: set[str] = set(_L4T.findall(text))
    named = named or {l4t for jetpack in _JETPACK.findall(text) for l4t in _of_jetpack(jetpack, matrix)}
    numbers = (one.split(".") for one in named)
    alike = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*numbers, strict=False))
    return ".".join(column[0] for column in alike)


def _of_jetpack(jetpack: str, matrix: Matrix) -> set[str]:
    """L4T releases of a JetPack: of just this one, else of all that refine it (``6`` is 6.0, 6.1, ...)."""
    rows = matrix.table("jetpack")
    exact = {row.l4t for row in rows if row.jetpack == jetpack}
    return exact or {row.l4t for row in rows if row.jetpack.startswith(f"{jetpack}.")}


def image_l4t(image: str) -> str:
    """The L4T release in an image's tag (``dustynv/l4t-ml:r35.4.1`` -> ``35.4.1``); empty if it names none."""
    found = _IMAGE.search(image)
    return found[1] if found else ""


def board(host: Host, error: str, matrix: Matrix) -> dict[str, Fact]:
    """The fact ``l4t`` from the system's name, the text, or its kernel; nothing where it was read, or none is named."""
    if host.known("l4t") or host.platform not in {None, "linux"}:
        return {}
    jetpack = (f"JetPack {host.jetpack}", host.source("jetpack"))
    for text, source in ((host.os_name or "", host.source("os_name")), jetpack, (error, "error text")):
        release = stated_l4t(text, matrix)
        if release:
            return {"l4t": Fact(release, source)}
    series = _by_kernel(host.kernel or "", matrix)
    return {"l4t": Fact(series, host.source("kernel"))} if series else {}


def _by_kernel(kernel: str, matrix: Matrix) -> str:
    """The L4T major whose kernel this is (``5.15.148-tegra`` -> ``36``); empty if it is none, or several have it."""
    found = _TEGRA.match(kernel)
    rows = [row for row in matrix.table("jetpack") if row.kernel and not row.preview] if found else []
    majors = {row.l4t.partition(".")[0] for row in rows if found and row.kernel == found[1]}
    return majors.pop() if len(majors) == 1 else ""
