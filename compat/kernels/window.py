"""Bounded, read-only views of a file: the only way this package reads bytes.

Every offset and size in a binary is a claim that may be a lie. A :class:`Window` cannot be read outside of its
bounds, so a parser may follow any claim and gets :class:`CutShortError` instead of somebody else's bytes.
"""

from __future__ import annotations

import mmap
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from struct import Struct

_CHUNK: Final = 1 << 20
_FIRST_STEP: Final = 256


class CutShortError(Exception):
    """A structure reaches beyond the end of what holds it; says where and by how much."""


class Problems:
    """What could not be read and why: the first few sentences, however often a hostile file asks for more."""

    __slots__ = ("_more", "_texts")
    _MOST: Final = 8

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self._more = 0

    def add(self, text: str) -> None:
        """Note a sentence."""
        if len(self._texts) < self._MOST:
            self._texts[text] = None
        else:
            self._more += 1

    def texts(self) -> tuple[str, ...]:
        """The sentences, and how many more there were."""
        return (*self._texts, *([f"and {self._more} more such places"] if self._more else []))


class Source(Protocol):
    """Bytes at an offset, and their number. Anything with these two can be inspected, a remote file too."""

    @property
    def size(self) -> int:
        """Total number of bytes."""
        ...

    def read_at(self, offset: int, count: int) -> bytes:
        """``count`` bytes from ``offset``; both are within bounds."""
        ...


class Memory:
    """A source over bytes or a memory-mapped file."""

    __slots__ = ("_data", "size")

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data = data
        self.size = len(data)

    def read_at(self, offset: int, count: int) -> bytes:
        """``count`` bytes from ``offset``."""
        return self._data[offset : offset + count]

    def find(self, needle: bytes, start: int, stop: int) -> int:
        """Where ``needle`` first lies within ``start`` to ``stop``, or -1."""
        return self._data.find(needle, start, stop)


class Stream:
    """A source over a seekable binary file object, such as a registry's ranged download or a temporary file.

    ``file``: an object with ``seek(offset, whence)``, ``tell()`` and ``read(count)``.
    """

    __slots__ = ("_file", "size")

    def __init__(self, file: Any) -> None:
        self._file = file
        self.size = int(file.seek(0, 2))

    def read_at(self, offset: int, count: int) -> bytes:
        """``count`` bytes from ``offset``; fewer if the file has shrunk meanwhile."""
        self._file.seek(offset)
        pieces = []
        while count > 0 and (piece := self._file.read(count)):  # a raw file may give less than is asked for
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


class Window:
    """The part of a source from ``start``, ``size`` bytes long; never more than the source has."""

    __slots__ = ("_source", "size", "start")

    def __init__(self, source: Source, start: int = 0, size: int | None = None) -> None:
        self._source = source
        self.start = min(max(start, 0), source.size)
        rest = source.size - self.start
        self.size = rest if size is None else min(max(size, 0), rest)

    def read(self, offset: int, count: int) -> bytes:
        """Exactly ``count`` bytes from ``offset``.

        Raises:
            CutShortError: if they are not all there.
        """
        if offset < 0 or count < 0 or offset + count > self.size:
            raise CutShortError(f"{count} bytes at {offset:#x} reach beyond the {self.size} that there are")
        data = self._source.read_at(self.start + offset, count)
        if len(data) != count:
            raise CutShortError(f"the file ended while {count} bytes were read at {self.start + offset:#x}")
        return data

    read_at = read  # a window is a source too, for windows of its own

    def head(self, count: int, offset: int = 0) -> bytes:
        """Up to ``count`` bytes from ``offset``: as many as there are."""
        return self.read(offset, max(0, min(count, self.size - offset))) if offset < self.size else b""

    def expect(self, offset: int, count: int) -> bool:
        """Tell a source that has to fetch its bytes which of them will be read; whether it is such a one."""
        if expect := getattr(self._source, "expect", None):
            expect(self.start + offset, min(count, self.size - offset))
        return expect is not None

    def unpack(self, layout: Struct, offset: int) -> tuple[Any, ...]:
        """The fields of ``layout`` at ``offset``.

        Raises:
            CutShortError: if they are not all there.
        """
        return layout.unpack(self.read(offset, layout.size))

    def part(self, offset: int, size: int) -> Window:
        """A window within this one, clipped to it; compare ``size`` to see whether it was cut."""
        offset = min(max(offset, 0), self.size)
        return Window(self._source, self.start + offset, min(max(size, 0), self.size - offset))

    def find(self, needle: bytes, start: int = 0) -> int:
        """Where ``needle`` first lies at or after ``start``, or -1; in memory at once, else in growing steps."""
        if isinstance(self._source, Memory):
            found = self._source.find(needle, self.start + start, self.start + self.size)
            return found - self.start if found >= 0 else -1
        overlap, step = len(needle) - 1, _FIRST_STEP
        while start < self.size:
            found = self.head(step + overlap, start).find(needle)
            if found >= 0:
                return start + found
            start += step
            step = min(2 * step, _CHUNK)  # so that a search reads no more than a few times what it passes over
        return -1

    def text(self, offset: int, limit: int = 1 << 16) -> str:
        """The NUL-terminated text at ``offset``, cut at ``limit`` bytes."""
        return self.head(limit, offset).partition(b"\0")[0].decode("utf-8", "replace")


class File:
    """A source over an open file, read at offsets.

    Not a memory map: on libtorch_cuda (3000 scattered headers) reading takes two thirds of the time of page faults,
    and a file that is truncated meanwhile gives a short read, where a map would kill the process with SIGBUS.
    """

    __slots__ = ("_number", "size")

    def __init__(self, number: int) -> None:
        self._number = number
        self.size = os.fstat(number).st_size
        if hasattr(os, "posix_fadvise"):  # headers lie far apart: reading ahead would load the kernels between them
            os.posix_fadvise(number, 0, 0, os.POSIX_FADV_RANDOM)

    def read_at(self, offset: int, count: int) -> bytes:
        """``count`` bytes from ``offset``; fewer if the file has shrunk meanwhile."""
        return os.pread(self._number, count, offset)


@contextmanager
def opened(path: Path) -> Iterator[Window]:
    """Open a file and give a window over the whole of it; mapped where there is no reading at offsets (Windows).

    Raises:
        OSError: if it cannot be opened.
    """
    with path.open("rb") as file:
        if hasattr(os, "pread"):
            yield Window(File(file.fileno()))
        elif file.seek(0, 2) == 0:
            yield Window(Memory(b""))  # nothing to map
        else:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                yield Window(Memory(mapped))
