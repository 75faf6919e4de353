"""The two entropy codes of ZSTD (RFC 8878, sections 4.1 "FSE" and 4.2 "Huffman Coding"), decoding on demand.

Only the first kilobytes of a frame are ever wanted (:mod:`compat.kernels.zstd`), so symbols are decoded one at a time
as they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class ZstdError(Exception):
    """A frame that is malformed."""


class Backward:
    """A bit stream that is read from its end: the highest set bit of the last byte marks where it begins."""

    __slots__ = ("_data", "left")

    def __init__(self, data: bytes) -> None:
        if not data or not data[-1]:
            raise ZstdError("a bit stream without its end mark")
        self._data = data
        self.left = len(data) * 8 - 9 + data[-1].bit_length()

    def peek(self, count: int) -> int:
        """The next ``count`` bits; zeros follow when there are no more."""
        low = self.left - count
        if low < 0:
            return (
                int.from_bytes(self._data[: (max(self.left, 0) + 7) // 8], "little") & (1 << max(self.left, 0)) - 1
            ) << -low
        piece = int.from_bytes(self._data[low // 8 : (self.left + 7) // 8], "little")
        return piece >> low % 8 & (1 << count) - 1

    def take(self, count: int) -> int:
        """The next ``count`` bits, consumed; ``left`` falls below zero when more are taken than there are."""
        value = self.peek(count) if self.left >= 0 else 0
        self.left -= count
        return value


class Cell(NamedTuple):
    """One state of an FSE decoding table: the symbol it stands for, and how the next state is found."""

    symbol: int
    bits: int
    base: int


class Fse(NamedTuple):
    """An FSE decoding table; ``log`` is the number of bits of a state."""

    log: int
    cells: Sequence[Cell]


def table(counts: Sequence[int], log: int) -> Fse:
    """Build the decoding table of a distribution (4.1.1): counts per symbol, -1 for "less than one"."""
    size = 1 << log
    symbols, high = [0] * size, size
    for symbol, count in enumerate(counts):
        if count == -1:
            high -= 1
            symbols[high] = symbol
    at, step = 0, (size >> 1) + (size >> 3) + 3
    for symbol, count in enumerate(counts):
        for _ in range(max(count, 0)):
            symbols[at] = symbol
            at = (at + step) & size - 1
            while at >= high:
                at = (at + step) & size - 1
    following = [abs(count) for count in counts]
    cells = []
    for symbol in symbols:
        state = following[symbol]
        following[symbol] += 1
        bits = log + 1 - state.bit_length()
        cells.append(Cell(symbol, bits, (state << bits) - size))
    return Fse(log, cells)


def constant(symbol: int) -> Fse:
    """The table of a single symbol, which takes no bits."""
    return Fse(0, [Cell(symbol, 0, 0)])


def described(data: bytes, most: int, symbols: int) -> tuple[Fse, int]:
    """Read a table's description from the start of ``data`` (4.1.1), and the number of bytes it takes.

    Args:
        data: the description and what follows it.
        most: the largest ``log`` allowed here.
        symbols: the number of symbols there are.
    """
    value = int.from_bytes(data[:256], "little")  # a distribution of 256 symbols at 9 bits would fit twice
    log, at = (value & 15) + 5, 4
    if log > most:
        raise ZstdError(f"an FSE table of {log} bits")
    counts: list[int] = []
    left = 1 << log
    while left > 0:
        count, at = _count(value, at, left)
        left -= abs(count)
        counts.append(count)
        while count == 0:  # runs of further zeros, three at a time
            run = value >> at & 3
            at += 2
            counts.extend([0] * run)
            if run != 3:
                break
        if len(counts) > symbols or at > 2048:
            raise ZstdError("an FSE table with more symbols than there are")
    if left or at > len(data) * 8:
        raise ZstdError("an FSE table whose counts do not add up")
    return table(counts, log), (at + 7) // 8


def _count(value: int, at: int, left: int) -> tuple[int, int]:
    """One count, in as few bits as what is left to distribute allows, and the bit after it."""
    bits = (left + 1).bit_length()
    raw = value >> at & (1 << bits) - 1
    low = (1 << bits - 1) - 1
    threshold = (1 << bits) - 1 - (left + 1)
    if raw & low < threshold:
        return (raw & low) - 1, at + bits - 1
    return (raw - threshold if raw > low else raw) - 1, at + bits


class Huffman(NamedTuple):
    """A Huffman decoding table: ``log`` bits of lookahead -> symbol and its number of bits."""

    log: int
    cells: Sequence[tuple[int, int]]

    def symbols(self, data: bytes, count: int) -> Iterator[int]:
        """Symbols of one stream, as they are asked for."""
        stream = Backward(data)
        for _ in range(count):
            symbol, bits = self.cells[stream.peek(self.log)]
            stream.left -= bits
            if stream.left < 0:
                raise ZstdError("a literal stream that is too short")
            yield symbol


def huffman(data: bytes) -> tuple[Huffman, int]:
    """Read a Huffman tree's description from the start of ``data`` (4.2.1), and the number of bytes it takes."""
    if not data:
        raise ZstdError("no Huffman tree")
    head = data[0]
    if head >= 128:  # four bits per weight
        count = head - 127
        packed = data[1 : 1 + (count + 1) // 2]
        weights = [half for byte in packed for half in (byte >> 4, byte & 15)][:count]
        return _tree(weights), 1 + (count + 1) // 2
    codes, used = described(data[1 : 1 + head], 6, 16)
    return _tree(_weights(codes, data[1 + used : 1 + head])), 1 + head


def _weights(codes: Fse, data: bytes) -> list[int]:
    """Weights from two FSE states that take turns until the stream is used up (4.2.1.2)."""
    stream = Backward(data)
    states = [stream.take(codes.log), stream.take(codes.log)]
    weights: list[int] = []
    while len(weights) < 256:
        turn = len(weights) % 2
        cell = codes.cells[states[turn]]
        weights.append(cell.symbol)
        states[turn] = cell.base + stream.take(cell.bits)
        if stream.left < 0:
            weights.append(codes.cells[states[1 - turn]].symbol)
            return weights
    raise ZstdError("a Huffman tree with more symbols than there are")


def _tree(weights: list[int]) -> Huffman:
    """The table of a list of weights; the last symbol's is what completes the sum to a power of two (4.2.1.3)."""
    total = sum(1 << weight >> 1 for weight in weights)
    log = total.bit_length()
    rest = (1 << log) - total
    if not 0 < log <= 11 or rest & rest - 1 or max(weights, default=0) > log or len(weights) > 255:
        raise ZstdError("a Huffman tree whose weights do not add up")
    weights = [*weights, rest.bit_length()]
    cells: list[tuple[int, int]] = []
    for weight, symbol in sorted((weight, symbol) for symbol, weight in enumerate(weights) if weight):
        cells += [(symbol, log + 1 - weight)] * (1 << weight - 1)
    return Huffman(log, cells)
