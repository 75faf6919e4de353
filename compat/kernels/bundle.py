"""Offload bundles of clang: the AMD targets in ``.hip_fatbin`` and in bundled ``.hsaco``/``.co`` files.

Layout: Clang documentation, "Clang Offload Bundler": the magic, a count, then per entry offset, size and id
(``hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+``), all little endian. A compressed bundle is a header with the magic ``CCOB``
(versions 1 to 3 differ in the width and number of its sizes) before the same thing compressed with zlib or
ZSTD. The ids stand in front, so only the first kilobytes of a body are ever decompressed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from compat.kernels.window import CutShortError, Memory, Problems, Window
from compat.kernels.zstd import head
from compat.lazy import pattern

MAGIC: Final = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED: Final = b"CCOB"

_COUNT: Final = Struct("<Q")
_ENTRY: Final = Struct("<QQQ")
_PAGE: Final = 4096  # clang aligns bundles in a section to a page (--bundle-align, HIP's default)
_MOST_ENTRIES: Final = 4096  # LLVM names fewer than a hundred processors
_LONGEST_ID: Final = 512
_BODY: Final = 16 << 10  # bytes of a decompressed body that its ids are looked for in: room for 200 of them

_TARGET = pattern(r"-(gfx[0-9a-f]+(?:-\d)?(?:-generic|-strict)?(?::[a-z]+[+-])*)$")


class _Header(NamedTuple):
    """Fields of a ``CCOB`` header; ``size`` is 0 in version 1, which does not say it: the next magic ends it."""

    layout: Struct
    size: int
    method: int


# Version -> magic, version, method, [total size,] uncompressed size, hash.
_HEADERS: Final = {1: Struct("<4sHHIQ"), 2: Struct("<4sHHIIQ"), 3: Struct("<4sHHQQQ")}

# ``llvm::compression::Format``.
_ZLIB, _ZSTD = 0, 1


class _Places:
    """Where bundles start: found in order, each byte being searched at most once per magic."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._ahead = dict.fromkeys((MAGIC, COMPRESSED), -1)  # first place known to lie ahead, per magic

    def after(self, at: int) -> int:
        """The first start at or after ``at``, or the window's end."""
        page = -(-at // _PAGE) * _PAGE
        starts = (at,) if self._window.head(page - at, at).strip(b"\0") else (at, page)  # only padding is stepped over
        for start in starts:
            if self._window.head(len(MAGIC), start).startswith((MAGIC, COMPRESSED)):
                return start
        for magic, place in self._ahead.items():
            if place < at:
                found = self._window.find(magic, at)
                self._ahead[magic] = found if found >= 0 else self._window.size
        return min(self._ahead.values())


def targets(window: Window, problems: Problems) -> Iterator[list[str]]:
    """Every bundle in a section or file, each as its target ids.

    ``problems``: gets a sentence for each bundle that contradicts itself or cannot be read.
    """
    places = _Places(window)
    at = places.after(0)
    while at < window.size:
        where = f"the bundle at {window.start + at:#x}"
        size = len(COMPRESSED)
        try:
            rest = window.part(at, window.size)
            found, size = _read_compressed(rest) if rest.head(4) == COMPRESSED else _read_plain(rest)
            yield list(_named(found, where, problems))
        except (CutShortError, zlib.error) as error:
            problems.add(f"{where} could not be read: {error}")
        if size > window.size - at:
            problems.add(f"{where} claims {size} bytes, of which not all are there")
        at = places.after(at + max(size, len(COMPRESSED)))


def _named(ids: list[str], where: str, problems: Problems) -> Iterator[str]:
    """Targets among the ids; the host's entry is empty by design, any other without a target is told."""
    for name in ids:
        if found := _TARGET.search(name):
            yield found[1]
        elif "spirv" in name:
            problems.add(f"{where} holds AMD SPIR-V, which is compiled at load; the file does not say for which GPUs")
        elif not name.startswith("host-"):
            problems.add(f"{where} has an entry {name[:80]!r}, which names no target")


def _read_plain(window: Window) -> tuple[list[str], int]:
    """Ids of one bundle, and its size."""
    (count,) = window.unpack(_COUNT, len(MAGIC))
    if count > _MOST_ENTRIES:
        raise CutShortError(f"{count} entries claimed")
    at, size, found = len(MAGIC) + _COUNT.size, 0, []
    for _ in range(count):
        offset, length, name = window.unpack(_ENTRY, at)
        if name > _LONGEST_ID:
            raise CutShortError(f"an id of {name} bytes claimed")
        found.append(window.read(at + _ENTRY.size, name).decode("utf-8", "replace"))
        at += _ENTRY.size + name
        size = max(size, offset + length)
    return found, max(size, at)


def _read_compressed(window: Window) -> tuple[list[str], int]:
    """Ids of a compressed bundle, from the first kilobytes of its body, and its size (0 if it does not say)."""
    header = _header(window)
    body = window.part(header.layout.size, header.size - header.layout.size if header.size else window.size)
    if header.method == _ZLIB:
        plain = zlib.decompressobj().decompress(body.head(_BODY), _BODY)
    elif header.method == _ZSTD:
        plain = head(body, _BODY)
    else:
        raise CutShortError(f"compression method {header.method} is none that clang had")
    inner = Window(Memory(plain))
    if inner.head(len(MAGIC)) != MAGIC:
        raise CutShortError("its compressed body is no bundle")
    return _read_plain(inner)[0], header.size


def _header(window: Window) -> _Header:
    """The fields of a header of any version."""
    version = int.from_bytes(window.read(4, 2), "little")
    layout = _HEADERS.get(version)
    if layout is None:
        raise CutShortError(f"version {version} of compressed bundles is not known")
    fields = window.unpack(layout, 0)
    return _Header(layout, 0 if version == 1 else fields[3], fields[2])
