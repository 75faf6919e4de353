"""Streams that are made as they are read."""

from __future__ import annotations

import io
from typing import Any


class Stream(io.RawIOBase):
    """A stream whose bytes :meth:`part` gives."""

    def part(self, count: int) -> bytes:
        """The next bytes, at most ``count``; none at the end."""
        raise NotImplementedError

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what comes next."""
        data = self.part(len(buffer))
        buffer[: len(data)] = data
        return len(data)
