"""The loader's cache file, read as data: soname -> file, in the order the loader tries them.

Formats (glibc, sysdeps/generic/dl-cache.h): the new one begins with ``glibc-ld.so.cache1.1``; old glibc puts a
``ld.so-1.7.0`` table in front of it. String offsets of the new table count from its own beginning.

Reading it costs a fraction of running ``ldconfig -p``, and works in images that have no ldconfig.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEW: Final = b"glibc-ld.so.cache1.1"
_OLD: Final = b"ld.so-1.7.0"
_HEADER: Final = 48  # magic and version, two counts, flags, extension offset, three unused words
_ENTRY: Final = struct.Struct("=iIIIQ")  # flags, offset of soname, offset of path, osversion, hwcap
_OLD_ENTRY: Final = 12
_MOST: Final = 100_000

# Upper byte of an entry's flags: which ABI the file is for (dl-cache.h, FLAG_*). 32-bit entries are left out.
_ABI: Final = {"x86_64": 0x0300, "aarch64": 0x0A00, "ppc64le": 0x0500, "s390x": 0x0400, "riscv64": 0x1000}


def entries(data: bytes, arch: str) -> Iterator[tuple[str, str]]:
    """Pairs of soname and path for an architecture; nothing if the data is no cache."""
    table = data[_new_table(data) :] if data.startswith(_OLD) else data
    if not table.startswith(_NEW) or len(table) < _HEADER:
        return
    count = min(struct.unpack_from("=I", table, 20)[0], _MOST, (len(table) - _HEADER) // _ENTRY.size)
    wanted = _ABI.get(arch)
    for flags, name, path, _, _ in _ENTRY.iter_unpack(table[_HEADER : _HEADER + count * _ENTRY.size]):
        if wanted is None or flags & 0xFF00 == wanted:
            yield _string(table, name), _string(table, path)


def _new_table(data: bytes) -> int:
    """Where the new table begins behind an old one: after its 12-byte entries, aligned to eight bytes."""
    if len(data) < 16:
        return len(data)
    count = struct.unpack_from("=I", data, 12)[0]
    return int(16 + count * _OLD_ENTRY + 7) & ~7


def _string(table: bytes, offset: int) -> str:
    """The NUL-terminated text at an offset; empty if the offset points outside."""
    end = table.find(b"\0", offset, offset + 4096)
    return table[offset:end].decode("utf-8", "replace") if 0 < offset < len(table) and end >= 0 else ""
