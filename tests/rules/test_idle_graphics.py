"""A processor's own graphics beside a card: that no build serves it is no error of a machine that computes on the card."""

from __future__ import annotations

from functools import cache

import pytest

from compat.facts import load
from compat.matrix import Matrix, matrix
from compat.rules import judge

BUILD = {"torch": {"runtime": "rocm7.2", "kernels": ["gfx1030", "gfx1100", "gfx1102"]}}
CARD = {"name": "AMD Radeon PRO W7600", "vendor": "amd", "target": "gfx1102"}
INSIDE = {"name": "AMD Radeon Graphics (Granite Ridge)", "vendor": "amd", "target": "gfx1036"}


@cache
def real() -> Matrix:
    return matrix()


def severity(*gpus: dict) -> str:
    host = load({"gpus": list(gpus), "builds": BUILD, "platform": "linux", "arch": "x86_64"}, "host")
    found = [one for one in judge(host, real()).findings if one.code == "rocm-gfx-unsupported"]
    return found[0].severity if found else ""


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([CARD], ""),
        ([CARD, INSIDE], "warning"),  # known by its product
        ([CARD, {**INSIDE, "integrated": True}], "warning"),
        ([CARD, {**INSIDE, "integrated": False}], "error"),  # the machine's own word counts
        ([CARD, {"name": "AMD Radeon RX 580", "vendor": "amd", "target": "gfx803"}], "error"),
        ([INSIDE], "error"),  # nothing else could compute
    ],
)
def test_how_grave_an_unserved_gpu_is(gpus: list[dict], expected: str) -> None:
    assert severity(*gpus) == expected
