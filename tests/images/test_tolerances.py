"""What the limits of the numerical checks let pass: right results of each format as hardware makes them, no wrong ones.

Formats are emulated from their definitions, number by number, and products of the probes' own size are summed as
different devices do; only a few rows of each product are made, which is all that plain Python has the patience for.
"""

from __future__ import annotations

import functools
import math
import random
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.build import parcel


def load(name):
    sys.path.insert(0, str(parcel.FOLDER))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(parcel.FOLDER))


numerics = load("numerics")
SIZE, ROWS = numerics.SIZE, 4


def nearest(bits, lowest):
    """Rounding to a significand of so many bits (the hidden one counts), ties to even; subnormal below 2**lowest."""

    def rounded(value):
        if value == 0 or not math.isfinite(value):
            return value
        step = 2.0 ** (max(math.frexp(value)[1] - 1, lowest) - bits + 1)
        return round(value / step) * step

    return rounded


def cut(bits):
    """The same, towards zero: what tensor cores do with the low bits of a float32."""

    def truncated(value):
        if value == 0:
            return value
        step = 2.0 ** (math.frexp(value)[1] - bits)
        return math.trunc(value / step) * step

    return truncated


FORMATS = {
    "float64": float,
    "float32": nearest(24, -126),
    "tf32": nearest(11, -126),
    "float16": nearest(11, -14),
    "bfloat16": nearest(8, -126),
    "float8": nearest(4, -6),  # e4m3
}


def test_the_emulation_rounds_as_the_language_does():
    source = random.Random(5)
    for _ in range(500):
        value = source.uniform(-1, 1) * 2.0 ** source.randint(-20, 10)
        assert FORMATS["float16"](value) == struct.unpack("<e", struct.pack("<e", value))[0]
        assert FORMATS["float32"](value) == struct.unpack("<f", struct.pack("<f", value))[0]
    assert [FORMATS["float8"](value) for value in (1.0625, 1.1875, 0.3, 2.0**-9)] == [1.0, 1.25, 0.3125, 2.0**-9]
    assert FORMATS["bfloat16"](1 + 2**-8) == 1.0
    assert cut(11)(-1.9999) == -2 + 2**-10


@functools.lru_cache
def matrices(name):
    """The first rows of one input and all of the other, as the probe rounds them."""
    rounded = FORMATS["float32" if name == "tf32" else name]
    left, right = (list(map(rounded, numerics.uniform(SIZE * SIZE, seed))) for seed in (10, 11))
    return [left[row * SIZE :][:SIZE] for row in range(ROWS)], [right[column::SIZE] for column in range(SIZE)]


@functools.lru_cache
def reference(name):
    rows, columns = matrices(name)
    return [math.fsum(map(float.__mul__, row, column)) for row in rows for column in columns]


def product(name, *, into, adding, taking=float):
    """The product: inputs taken in somehow, sums rounded after each addition, the result rounded once more."""
    rows, columns = ([list(map(taking, line)) for line in side] for side in matrices(name))
    found = []
    for row in rows:
        for column in columns:
            total = 0.0
            for a, b in zip(row, column, strict=True):
                total = adding(total + a * b)
            found.append(into(total))
    return found


single, half, brain = FORMATS["float32"], FORMATS["float16"], FORMATS["bfloat16"]
RIGHT = {
    "float64": ("gpu", {"into": float, "adding": float}),
    "float32": ("gpu", {"into": single, "adding": single}),
    "tf32, rounded": ("gpu", {"into": single, "adding": single, "taking": FORMATS["tf32"]}),
    "tf32, cut": ("gpu", {"into": single, "adding": single, "taking": cut(11)}),
    "float16": ("gpu", {"into": half, "adding": single}),
    "float16, summed in itself": ("cpu", {"into": half, "adding": half}),
    "bfloat16": ("gpu", {"into": brain, "adding": single}),
    "bfloat16, cut": ("gpu", {"into": cut(8), "adding": cut(24)}),
    "bfloat16, summed in itself": ("cpu", {"into": brain, "adding": brain}),
    "float8": ("gpu", {"into": brain, "adding": single}),
    "float8, summed in 14 bits": ("gpu", {"into": brain, "adding": cut(14)}),  # as Hopper's tensor cores add
}


@functools.lru_cache
def made(case):
    return product(case.partition(",")[0], **RIGHT[case][1])


def judged(case, got):
    """Whether the probe would pass it."""
    name, device = case.partition(",")[0], RIGHT[case][0]
    return numerics.error(got, reference(name)) <= numerics.limit(name, device)


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_result_passes_with_room_to_spare(case):
    name, device = case.partition(",")[0], RIGHT[case][0]
    error = numerics.error(made(case), reference(name))
    assert error < numerics.limit(name, device) / 1.5
    if name != "float64":
        assert error > 0


def swapped(values):
    return values[1:] + values[:1]


WRONG = {
    "zeros": lambda got: [0.0] * len(got),
    "one NaN": lambda got: [math.nan, *got[1:]],
    "one infinity": lambda got: [*got[:-1], math.inf],
    "all NaN": lambda got: [math.nan] * len(got),
    "off by one place": swapped,
    "another scale": lambda got: [item * 1.1 for item in got],
    "another sign": lambda got: [-item for item in got],
    "turned": lambda got: [
        got[column * SIZE + row] if column < ROWS else 0.0 for row in range(ROWS) for column in range(SIZE)
    ],
    "a row from elsewhere": lambda got: got[SIZE : 2 * SIZE] + got[SIZE:],
    "short": lambda got: got[:-1],
    "one element of zero": lambda got: [0.0 if item == max(got) else item for item in got],
    "one element doubled": lambda got: [2 * item if item == max(got) else item for item in got],
    "a tile left out": lambda got: [
        0.0 if place % SIZE < 16 and place < 4 * SIZE else item for place, item in enumerate(got)
    ],
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("case", RIGHT)
def test_a_wrong_result_never_passes(case, wrong):
    assert not judged(case, WRONG[wrong](made(case)))


@pytest.mark.parametrize("case", ["tf32, rounded", "tf32, cut"])
def test_a_float32_product_that_was_made_in_tf32_is_told(case):
    assert numerics.error(made(case), reference("tf32")) > 10 * numerics.limit("float32", "gpu")


@pytest.mark.parametrize(("name", "coarser"), [("float16", "bfloat16"), ("float32", "float16"), ("tf32", "bfloat16")])
def test_a_format_of_fewer_bits_in_place_of_the_planned_one_is_told(name, coarser):
    """Inputs taken in a coarser format than was asked for, as a library with a fast path would."""
    got = product(name, into=FORMATS["float32"], adding=single, taking=FORMATS[coarser])
    assert numerics.error(got, reference(name)) > numerics.limit(name, "gpu")


def test_one_wrong_element_of_a_whole_product_is_seen_although_the_norm_is_within_the_limit():
    """In 65536 elements of bfloat16 one that is wrong moves the norm by less than rounding may."""
    source = random.Random(7)
    want = [source.gauss(0.0, 5.3) for _ in range(SIZE * SIZE)]
    got = [*want[:-1], want[-1] + 8.0]
    norm = math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(got, want, strict=True))) / math.sqrt(
        math.fsum(item * item for item in want)
    )
    assert norm < numerics.limit("bfloat16", "gpu") < numerics.error(got, want)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0.001, 1000.0))
def test_the_measure_has_no_unit(values, factor):
    want = [item + 2e6 for item in values]
    got = [item * 1.01 for item in want]
    assert numerics.error(got, want) == pytest.approx(0.01, rel=1e-6) or len(values) == 1
    scaled = numerics.error([item * factor for item in got], [item * factor for item in want])
    assert scaled == pytest.approx(numerics.error(got, want), rel=1e-6)
