"""The first bytes of a ZSTD frame (RFC 8878), in plain Python.

Every HIP compiler compresses its bundles with ZSTD, and Python's own decompressor is too young to be relied on. The ids
of a bundle stand in its first kilobytes, so a decoder that works on demand and stops there is enough: it decodes
a few hundred sequences, whatever the size of the frame.
"""

from __future__ import annotations

from itertools import accumulate, chain, islice, repeat
from typing import TYPE_CHECKING, Final, NamedTuple

from compat.kernels.entropy import Backward, Fse, Huffman, ZstdError, constant, described, huffman, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.kernels.window import Window

__all__ = ["ZstdError", "head"]

MAGIC: Final = b"\x28\xb5\x2f\xfd"
_BLOCK: Final = 128 << 10  # the largest block there may be (3.1.1.2.4)
_MOST_BLOCKS: Final = 64
_RAW, _RLE, _COMPRESSED = 0, 1, 2


class _Code(NamedTuple):
    """How one kind of number in a sequence is coded: values of its codes, extra bits, largest and default table."""

    bases: tuple[int, ...]
    extra: tuple[int, ...]
    log: int
    default: Fse


def _code(plain: int, first: int, extra: str, log: int, default_log: int, counts: str) -> _Code:
    """Codes below ``plain`` stand for ``first`` and up; the others take extra bits, range after range."""
    bits = (*repeat(0, plain), *map(int, extra.split()))
    bases = tuple(accumulate((1 << count for count in bits[:-1]), initial=first))
    return _Code(bases, bits, log, table([int(count) for count in counts.split()], default_log))


# 3.1.1.3.2.1.1 (codes) and 3.1.1.3.2.2 (default distributions)
_LITERALS: Final = _code(
    16, 0, "1 1 1 1 2 2 3 3 4 6 7 8 9 10 11 12 13 14 15 16", 9, 6,
    "4 3 2 2 2 2 2 2 2 2 2 2 2 1 1 1 2 2 2 2 2 2 2 2 2 3 2 1 1 1 1 1 -1 -1 -1 -1",
)  # fmt: skip
_MATCHES: Final = _code(
    32, 3, "1 1 1 1 2 2 3 3 4 4 5 7 8 9 10 11 12 13 14 15 16", 9, 6,
    "1 4 3 2 2 2 2 2 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 -1 -1 -1 -1 -1 -1 -1",
)  # fmt: skip
_OFFSETS: Final = _Code(
    tuple(1 << code for code in range(32)), tuple(range(32)), 8, table([1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5, 5)
)


def head(window: Window, limit: int) -> bytes:
    """Up to ``limit`` bytes from the start of the frame in ``window``.

    Raises:
        ZstdError: if the frame is malformed.
        CutShortError: if it is not all there.
    """
    if window.head(4) != MAGIC:
        raise ZstdError("no ZSTD frame")
    at, state = _header_size(window.read(4, 1)[0]), _State()
    for _ in range(_MOST_BLOCKS):
        descriptor = int.from_bytes(window.read(at, 3), "little")
        last, kind, size = descriptor & 1, descriptor >> 1 & 3, descriptor >> 3
        if size > _BLOCK or kind > _COMPRESSED:
            raise ZstdError("a block of a size or kind that does not exist")
        body = window.read(at + 3, 1 if kind == _RLE else size)
        state.add(kind, body, size, limit)
        at += 3 + len(body)
        if last or len(state.out) >= limit:
            break
    return bytes(state.out[:limit])


def _header_size(descriptor: int) -> int:
    """Offset of the first block (3.1.1.1): magic, descriptor, window, dictionary id, content size."""
    single = descriptor >> 5 & 1
    content = (single, 2, 4, 8)[descriptor >> 6]
    return 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3] + content


class _State:
    """What one block leaves to the next: the output, three last offsets, and the tables that may be used again."""

    def __init__(self) -> None:
        self.out = bytearray()
        self._recent = [1, 4, 8]
        self._tree: Huffman | None = None
        self._tables: dict[int, Fse] = {}

    def add(self, kind: int, body: bytes, size: int, limit: int) -> None:
        """Append a block's contents, at least until ``limit`` bytes are there."""
        if kind == _RAW:
            self.out += body
        elif kind == _RLE:
            self.out += body * size
        else:
            literals, rest = self._literals(body)
            self._sequences(iter(literals), rest, limit)

    def _literals(self, body: bytes) -> tuple[Iterator[int], bytes]:
        """The literals of a block, decoded as they are asked for, and the bytes after them (3.1.1.3.1)."""
        if not body:
            raise ZstdError("an empty block")
        kind, form = body[0] & 3, body[0] >> 2 & 3
        if kind < _COMPRESSED:
            width, shift = ((1, 3), (2, 4), (1, 3), (3, 4))[form]
            size = int.from_bytes(body[:width], "little") >> shift
            packed = body[width : width + (size if kind == _RAW else 1)]
            return iter(packed if kind == _RAW else packed * size), body[width + len(packed) :]
        width, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
        header = int.from_bytes(body[:width], "little") >> 4
        size, packed_size = header & (1 << bits) - 1, header >> bits
        packed, rest = body[width : width + packed_size], body[width + packed_size :]
        if kind == _COMPRESSED:
            self._tree, used = huffman(packed)
            packed = packed[used:]
        if self._tree is None:
            raise ZstdError("a block that refers to a Huffman tree before there is one")
        return _streams(self._tree, packed, size, single=form == 0), rest

    def _sequences(self, literals: Iterator[int], body: bytes, limit: int) -> None:
        """Execute a block's sequences: so many literals, then a match so long and so far back (3.1.1.3.2, 3.1.1.4)."""
        count, at = _sequence_count(body)
        if count:
            modes = body[at : at + 1]
            rest = body[at + 1 :]
            tables = []
            for number, (code, shift) in enumerate(((_LITERALS, 6), (_OFFSETS, 4), (_MATCHES, 2))):
                chosen, rest = self._table(number, code, (modes or b"\0")[0] >> shift & 3, rest)
                tables.append(chosen)
            for run, value, length in islice(_triples(tables, rest), count):
                self.out += bytes(islice(literals, run))
                self._copy(self._offset(value, run), length)
                if len(self.out) >= limit:
                    return
        self.out += bytes(islice(literals, max(0, limit - len(self.out))))

    def _table(self, number: int, code: _Code, mode: int, data: bytes) -> tuple[Fse, bytes]:
        """The table that a mode chooses (default, one symbol, described, the last one), and the bytes after it."""
        used = 0
        if mode == 0:
            self._tables[number] = code.default
        elif mode == 1:
            self._tables[number], used = constant((data or b"\xff")[0]), 1
        elif mode == 2:
            self._tables[number], used = described(data, code.log, len(code.bases))
        if number not in self._tables:
            raise ZstdError("a block that refers to a table before there is one")
        return self._tables[number], data[used:]

    def _offset(self, value: int, run: int) -> int:
        """The distance a value stands for: 1 to 3 are recent distances, shifted by one after no literals (3.1.1.5)."""
        if value > 3:
            self._recent = [value - 3, *self._recent[:2]]
        else:
            index = value - 1 + (run == 0)
            distance = self._recent[index] if index < 3 else self._recent[0] - 1
            self._recent.pop(min(index, 2))
            self._recent.insert(0, distance)
        return self._recent[0]

    def _copy(self, distance: int, length: int) -> None:
        """Repeat what stands ``distance`` bytes back; a match longer than that repeats itself."""
        if not 0 < distance <= len(self.out):
            raise ZstdError("a match that reaches before the start")
        piece = bytes(self.out[-distance:][:length])
        self.out += (piece * (length // len(piece) + 1))[:length]


def _streams(tree: Huffman, packed: bytes, size: int, *, single: bool) -> Iterator[int]:
    """Literals of one stream, or of four whose sizes stand in front (4.2.2)."""
    if single:
        return tree.symbols(packed, size)
    if len(packed) < 6:
        raise ZstdError("literal streams without their sizes")
    ends = list(accumulate((int.from_bytes(packed[at : at + 2], "little") for at in (0, 2, 4)), initial=6))
    each = (size + 3) // 4
    pieces = [packed[start:end] for start, end in zip(ends, [*ends[1:], len(packed)], strict=True)]
    counts = [each, each, each, size - 3 * each]
    return chain.from_iterable(tree.symbols(piece, count) for piece, count in zip(pieces, counts, strict=True))


def _sequence_count(body: bytes) -> tuple[int, int]:
    """The number of sequences, and the bytes it takes."""
    first, second, third = (*body[:3], 0, 0, 0)[:3]
    if first < 128:
        return first, 1
    return ((first - 128 << 8) + second, 2) if first < 255 else (second + (third << 8) + 0x7F00, 3)


def _triples(tables: list[Fse], data: bytes) -> Iterator[tuple[int, int, int]]:
    """(literals, offset value, match length) of each sequence, without end: the caller knows their number."""
    stream = Backward(data)
    literal, offset, match = (stream.take(chosen.log) for chosen in tables)
    while stream.left >= 0:
        cells = tables[0].cells[literal], tables[1].cells[offset], tables[2].cells[match]
        value, length, run = (
            _number(code, cells[index].symbol, stream) for code, index in ((_OFFSETS, 1), (_MATCHES, 2), (_LITERALS, 0))
        )
        if stream.left < 0:
            break
        yield run, value, length
        literal = cells[0].base + stream.take(cells[0].bits)
        match = cells[2].base + stream.take(cells[2].bits)
        offset = cells[1].base + stream.take(cells[1].bits)
        literal, match, offset = max(literal, 0), max(match, 0), max(offset, 0)
    raise ZstdError("a sequence stream that is too short")


def _number(code: _Code, symbol: int, stream: Backward) -> int:
    """The number a code stands for, its extra bits taken from the stream."""
    if symbol >= len(code.bases):
        raise ZstdError(f"the code {symbol}, which stands for nothing")
    return code.bases[symbol] + stream.take(code.extra[symbol])
