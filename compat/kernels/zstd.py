"""The first bytes of a ZSTD frame, through whichever decompressor there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat.kernels.window import Window


class ZstdError(Exception):
    """A frame that is malformed, or that nothing here can decompress."""


def head(window: Window, limit: int) -> bytes:
    """Up to ``limit`` bytes from the start of the frame in ``window``.

    Raises:
        ZstdError: if it is malformed or no decompressor is installed.
    """
    raise ZstdError("it is compressed with ZSTD, which this Python cannot decompress")
