"""Compressed layers of images as plain streams: gzip and ZSTD, with a bound on what a few bytes may grow to.

What unpacks ZSTD (:mod:`compat.kernels.zstd`) is imported only where a layer needs it. A layer of zeros shrinks
ten-thousandfold: what claims to be gigabytes and is not is refused while it is unpacked, before it has cost minutes.

Sources: RFC 1952 (gzip) and RFC 8878 (ZSTD), the numbers that their frames begin with; OCI image specification 1.1,
media types of layers.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Final, cast

from compat.streams import Stream

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_FREE: Final = 1 << 30  # bytes that a layer may unpack to whatever its size
_RATIO: Final = 200  # to one, above which it may not: gzip reaches 1032, and layers of programs stay below ten


def unpacked(head: bytes, stream: IO[bytes]) -> IO[bytes]:
    """The bytes of a layer without the compression that its first bytes name; of another one as they are.

    Raises:
        OSError: while reading, if it grows beyond all reason, or is of ZSTD and nothing here unpacks that.
    """
    packed = _Rejoined(head, stream)
    opener = _gzip if head.startswith(_GZIP) else _zstd() if head == _ZSTD else None
    if opener is None:
        return cast("IO[bytes]", io.BufferedReader(packed))
    return cast("IO[bytes]", io.BufferedReader(_Bounded(opener(io.BufferedReader(packed)), packed), 1 << 20))


def _gzip(packed: io.BufferedReader) -> IO[bytes]:
    import gzip

    return cast("IO[bytes]", gzip.GzipFile(fileobj=packed))


def _zstd() -> Callable[[io.BufferedReader], IO[bytes]]:
    """What opens ZSTD here.

    Raises:
        OSError: if neither this Python nor an installed package does.
    """
    from compat.kernels import zstd

    known = zstd.library()
    if known is None:
        raise OSError(f"it is {zstd.MISSING}")
    return cast("Callable[[io.BufferedReader], IO[bytes]]", known.ZstdFile)


class _Rejoined(Stream):
    """A stream with the bytes already taken put back in front; ``taken`` counts what was read from it."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        super().__init__()
        self._head, self._stream, self.taken = head, stream, 0

    def part(self, count: int) -> bytes:
        """The head first."""
        part = self._head[:count] if self._head else self._stream.read(count)
        self._head = self._head[len(part) :]
        self.taken += len(part)
        return part


class _Bounded(Stream):
    """An unpacked stream that ends with an error where it outgrows what it was unpacked from."""

    def __init__(self, plain: IO[bytes], packed: _Rejoined) -> None:
        super().__init__()
        self._plain, self._packed, self._given = plain, packed, 0

    def part(self, count: int) -> bytes:
        """What is unpacked next.

        Raises:
            OSError: if what was given is far more than what it came from can hold; or if that is damaged.
        """
        try:
            part = self._plain.read(count)
        except (OSError, EOFError):
            raise
        except Exception as error:  # noqa: BLE001 - ZstdError is of one of two modules, of which none may be there
            raise OSError(str(error)) from None
        self._given += len(part)
        if self._given > _FREE and self._given > _RATIO * self._packed.taken:
            raise OSError(f"it unpacks to more than {_RATIO} times its size")
        return part
