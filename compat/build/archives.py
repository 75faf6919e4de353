"""An image of the engine as the archive that ``docker save`` writes, streamed: nothing is kept on disk."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, cast

import compat.build.engine as engine
from compat.streams import Stream


@contextmanager
def saved(name: str, *, timeout: float = 600.0) -> Iterator[IO[bytes]]:
    """The archive of a local image.

    Raises:
        CannotCheckError: if no engine answers, or the image is not there.
    """
    client = engine.connect(timeout=timeout)
    try:
        chunks = engine.image_of(client, name).save()
        yield cast("IO[bytes]", io.BufferedReader(_Joined(chunks), 1 << 20))
    finally:
        client.close()


class _Joined(Stream):
    """Chunks of bytes as one stream."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        super().__init__()
        self._chunks, self._rest = iter(chunks), b""

    def part(self, count: int) -> bytes:
        """From the next chunk."""
        self._rest = self._rest or next(self._chunks, b"")
        part, self._rest = self._rest[:count], self._rest[count:]
        return part
