"""The first bytes of a ZSTD frame: there stand the ids of a compressed HIP bundle, whose code itself is not needed.

The decoder comes with Python from 3.14 on (``compression.zstd``) and from the package backports.zstd before; it is
loaded only where something is compressed so. What a frame can make it keep is the window that the frame names: up to
128 MiB, of which only what is written counts, and beyond that it is refused. The compilers' frames stay below (LLVM's
``Compression.cpp`` leaves the window to the level, and level 22 takes 128 MiB).
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import Any, Final

from compat.kernels.window import CutShortError, Window

MAGIC: Final = b"\x28\xb5\x2f\xfd"
MISSING: Final = "compressed with ZSTD, which this Python cannot unpack: pip install backports.zstd"

_INPUT: Final = 16 << 10  # compressed bytes a step: a damaged one takes those before it along no further than this


def library() -> Any | None:
    """The module that knows ZSTD here, or ``None`` where neither this Python nor a package does."""
    for name in ("compression.zstd", "backports.zstd"):
        with suppress(ImportError):
            return importlib.import_module(name)
    return None


def head(window: Window, limit: int) -> bytes:
    """The first ``limit`` bytes of the frame at the start of ``window``; fewer where the frame has fewer.

    Raises:
        CutShortError: if it is no frame, is damaged, or breaks off before; or if nothing here unpacks it.
    """
    known = library()
    if known is None:
        raise CutShortError(f"it is {MISSING}")
    engine, plain, at = known.ZstdDecompressor(), b"", 0
    try:
        while len(plain) < limit and not engine.eof:
            feed = window.head(_INPUT, at) if engine.needs_input else b""
            if engine.needs_input and not feed:
                raise CutShortError(f"the ZSTD frame breaks off after {at} bytes")
            plain += engine.decompress(feed, limit - len(plain))
            at += len(feed)
    except known.ZstdError as error:
        raise CutShortError(f"the ZSTD frame is damaged: {error}") from None
    return plain
