"""Inputs, references and limits of the numerical checks.

Inputs are uniform in [-1, 1] and rounded to the tested format before the reference is computed, so that only the
accumulation and the rounding of the output remain. The measure is :func:`error` against float64.
"""

import math
import random
from typing import Dict, List, Sequence

# Rows, columns and depth of the matrices: large enough for the vendor's tuned kernels, small enough for any device.
SIZE = 256

# Highest relative error that passes, by format.
LIMITS = {
    # About c * u of the output format, with accumulation in float32: u is 6.0e-8 for float32, 4.9e-4 for tf32 and
    # float16, 3.9e-3 for bfloat16, 6.3e-2 for float8 e4m3 (IEEE 754; OCP 8-bit floating point specification).
    "float64": 1e-13,
    "float32": 1e-5,
    "tf32": 2e-3,
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float8": 2e-2,
}  # type: Dict[str, float]

# The same for processors, whose code may add up in the format itself: about sqrt(256) * u of the format.
HALF_SUMS = {"float16": 1e-2, "bfloat16": 8e-2}  # type: Dict[str, float]


def limit(format: str, device: str) -> float:
    """The highest relative error that passes for a product of :data:`SIZE` on this kind of device."""
    return HALF_SUMS.get(format, LIMITS[format]) if device == "cpu" else LIMITS[format]


# How many times a format's limit the worst single element may be off, in units of the root mean square.
SPREAD = 8.0


def error(got: Sequence[float], want: Sequence[float]) -> float:
    """The relative error in the Frobenius norm, or an eighth of the worst single element's, if that is larger.

    The norm alone would let one wrong element of 65536 pass in formats of few bits: it moves the norm by 0.4 %, less
    than their rounding may. Elements are measured by the root mean square, since those near zero are never right to a
    share of themselves; rounding leaves the worst one some ten times the mean, and the limits are ten times that mean.
    """
    if len(got) != len(want):
        return math.inf
    off = [have - aim for have, aim in zip(got, want)]
    scale = math.sqrt(math.fsum(aim * aim for aim in want))
    whole = math.sqrt(math.fsum(item * item for item in off)) / scale
    worst = max(map(abs, off)) * math.sqrt(len(want)) / scale / SPREAD
    return worst if worst > whole else whole  # NaN is in the norm, and stays


def uniform(count: int, seed: int) -> List[float]:
    """Pseudo-random numbers in [-1, 1], the same everywhere."""
    source = random.Random(seed)
    return [source.uniform(-1.0, 1.0) for _ in range(count)]


def entry(left: Sequence[Sequence[float]], right: Sequence[Sequence[float]], row: int, column: int) -> float:
    """One entry of a matrix product, correctly rounded: an anchor that owes nothing to any library."""
    return math.fsum(left[row][k] * right[k][column] for k in range(len(right)))


def spots(size: int, seed: int) -> List[List[int]]:
    """A few (row, column) places to check against :func:`entry`, corners included."""
    source = random.Random(seed)
    inner = [[source.randrange(size), source.randrange(size)] for _ in range(12)]
    return [[0, 0], [0, size - 1], [size - 1, 0], [size - 1, size - 1]] + inner


def mixed(index: int, seed: int) -> int:
    """What the integer kernel must compute for one index: multiply, shift and xor in 32 bits."""
    value = ((index ^ seed) * 0x9E3779B1) & 0xFFFFFFFF
    value ^= value >> 15
    value = (value * 0x85EBCA77) & 0xFFFFFFFF
    return value ^ (value >> 13)
