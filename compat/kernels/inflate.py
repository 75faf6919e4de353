"""Random access to a deflated stream without a temporary file.

A section table stands at the end of a library and the headers of its kernels in the middle, so a wheel's member must
be read at arbitrary offsets. The decompressor's state is kept every few megabytes; reading at an offset resumes from
the state before it. A gigabyte costs 11 MB of states, and one pass to reach its end. The headers of CUDA kernels that
pass by on the way are kept: thousands of them lie over the whole of a library, and would cost a second pass.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

from compat.kernels.fatbin import Headers
from compat.kernels.window import CutShortError, Window

CHUNK: Final = 256 << 10
_STATES: Final = 16  # chunks between two kept states: 4 MiB
_KEPT: Final = 16  # chunks that stay decompressed
_INPUT: Final = 256 << 10

# ``wbits`` of zlib for a zip member and for a gzip file.
RAW, GZIP = -15, 31


class Inflater:
    """A source over a deflated stream.

    ``size``: decompressed size, or ``None`` to find it by one pass over the stream. ``limit``: the most bytes that may
    come out of the stream.

    Raises:
        CutShortError: from the pass for the size or from reading: the stream is malformed, too short or too long.
    """

    __slots__ = ("_body", "_chunks", "_engine", "_fed", "_headers", "_next", "_seen", "_states", "size")

    def __init__(self, body: Window, size: int | None, *, limit: int, form: int = RAW) -> None:
        self._body = body
        self._engine: Any = zlib.decompressobj(form)
        self._fed, self._next = 0, 0  # compressed bytes consumed; number of the chunk that comes next
        self._states: list[tuple[Any, int]] = []
        self._chunks: dict[int, bytes] = {}
        self.size = limit if size is None else size
        self._seen, self._headers = 0, Headers(self.size)  # chunks decompressed at least once
        if size is None:
            self.size = self._measure(limit)
        elif size > limit:
            raise CutShortError(f"a stream that claims to inflate to {size} bytes is not read")

    def read_at(self, offset: int, count: int) -> bytes:
        """``count`` bytes from ``offset``; fewer if the stream ends before."""
        if len(kept := self._headers.kept.get(offset, b"")) >= count:
            return kept[:count]
        first, last = offset // CHUNK, (offset + count - 1) // CHUNK
        data = b"".join(self._chunk(number) for number in range(first, last + 1)) if count else b""
        return data[offset - first * CHUNK :][:count]

    def _measure(self, limit: int) -> int:
        """The decompressed size, by going through it once; the states on the way are kept."""
        total = 0
        while piece := self._chunk(self._next):
            total += len(piece)
            if total > limit:
                raise CutShortError(f"a stream that inflates to more than {limit} bytes is not read")
        return total

    def _chunk(self, number: int) -> bytes:
        """One decompressed chunk, shorter at the end and empty behind it."""
        if number not in self._chunks:
            self._seek(number)
            while self._next <= number:
                self._step()
        return self._chunks[number]

    def _seek(self, number: int) -> None:
        """Go back to the last state before a chunk, or ahead to it where that saves work."""
        best = min(number // _STATES, len(self._states) - 1)
        if best >= 0 and not best * _STATES <= self._next <= number:
            engine, self._fed = self._states[best]
            self._engine, self._next = engine.copy(), best * _STATES

    def _step(self) -> None:
        """Decompress the next chunk and keep it, and the state before it if it is due."""
        if self._next == len(self._states) * _STATES:
            self._states.append((self._engine.copy(), self._fed))
        self._chunks[self._next] = piece = self._inflate()
        if self._next == self._seen:
            self._headers.pass_by(self._seen * CHUNK, piece)
            self._seen += 1
        self._next += 1
        if len(self._chunks) > _KEPT:
            del self._chunks[next(iter(self._chunks))]

    def _inflate(self) -> bytes:
        """Decompress up to a chunk from where the engine stands."""
        pieces, missing = [], CHUNK
        try:
            while missing and not self._engine.eof:
                feed = self._engine.unconsumed_tail
                if not feed:
                    feed = self._body.head(_INPUT, self._fed)
                    self._fed += len(feed)
                piece = self._engine.decompress(feed, missing)
                if not piece and not feed:
                    break
                pieces.append(piece)
                missing -= len(piece)
        except zlib.error as error:
            raise CutShortError(f"the compressed data is damaged: {error}") from None
        return b"".join(pieces)
