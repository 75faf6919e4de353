"""Which file the dynamic loader would pick for a library, without loading anything (ld.so(8)).

Order: ``LD_LIBRARY_PATH``, the cache of ``ldconfig``, the built-in folders. A program's own RPATH comes before all of
these and is the business of the package that carries it.

The cache file is read as data, which costs a fraction of running ``ldconfig -p`` and works in images without it. Its
formats (glibc, sysdeps/generic/dl-cache.h): the new one begins with ``glibc-ld.so.cache1.1``; old glibc puts a
``ld.so-1.7.0`` table in front of it. String offsets of the new table count from its own beginning.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from typing import Final

from compat.detect.machine import Machine, once
from compat.lazy import pattern

CACHE: Final = "/etc/ld.so.cache"
_CACHE_LIMIT: Final = 16 << 20

# Built-in folders: upstream's two, their 64-bit forms, and Debian's multiarch folders
_FOLDERS: Final = ("/lib64", "/usr/lib64", "/lib/{arch}-linux-gnu", "/usr/lib/{arch}-linux-gnu", "/lib", "/usr/lib")
_MUSL_FOLDERS: Final = ("/lib", "/usr/local/lib", "/usr/lib")  # musl, ldso/dynlink.c, unless its path file says else

_SUFFIX: Final = pattern(r"\.so\.(\d[\d.]*)$")
_NEW: Final = b"glibc-ld.so.cache1.1"
_OLD: Final = b"ld.so-1.7.0"
_HEADER: Final = 48  # magic and version, two counts, flags, extension offset, three unused words
_ENTRY: Final = struct.Struct("=iIIIQ")  # flags, offset of soname, offset of path, osversion, hwcap
_OLD_ENTRY: Final = 12
_MOST: Final = 100_000

# Upper byte of an entry's flags: which ABI the file is for (dl-cache.h, FLAG_*). 32-bit entries are left out.
_ABI: Final = {"x86_64": 0x0300, "aarch64": 0x0A00, "ppc64le": 0x0500, "s390x": 0x0400, "riscv64": 0x1000}


def find(machine: Machine, soname: str) -> str:
    """Path of the file that the loader would open for ``soname``; empty if there is none."""

    def within(places: Iterable[str]) -> str:
        return next((path for folder in places if _usable(machine, path := f"{folder}/{soname}")), "")

    cached = next((path for path in cache(machine).get(soname, ()) if machine.exists(path)), "")
    return within(library_path(machine)) or cached or within(folders(machine))


def driver_library(machine: Machine, soname: str, windows: str) -> str:
    """Path of a library of NVIDIA's driver as programs find it, under Windows its fixed place; empty without it."""
    if machine.system.name == "windows":
        return windows if machine.exists(windows) else ""
    return find(machine, soname)


def compat_libcuda(machine: Machine) -> str:
    """The real path of the libcuda in front, where that is a forward-compatibility copy, which answers for itself."""
    path = find(machine, "libcuda.so.1")
    return machine.real(path) if "/compat" in machine.real(path) else ""


@once
def cache(machine: Machine) -> dict[str, list[str]]:
    """Soname -> paths of the loader's cache, in its order; empty where there is none (musl, slim images)."""
    found: dict[str, list[str]] = {}
    for soname, path in entries(machine.data(CACHE, _CACHE_LIMIT), machine.system.machine):
        found.setdefault(soname, []).append(path)
    return found


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


def library_path(machine: Machine) -> tuple[str, ...]:
    """Folders of ``LD_LIBRARY_PATH``, in order; an empty part means the working folder, as ld.so(8) says."""
    value = machine.env.get("LD_LIBRARY_PATH", "")
    if not value:
        return ()
    parts = re.split("[:;]", value)[:200]
    return tuple(dict.fromkeys(part.rstrip("/") or ("/" if part else machine.root.folder()) for part in parts))


def folders(machine: Machine) -> tuple[str, ...]:
    """Folders searched without being told."""
    arch = machine.system.machine
    musl = machine.text(f"/etc/ld-musl-{arch}.path")
    if machine.exists(f"/lib/ld-musl-{arch}.so.1"):
        return tuple(re.split(r"[:\n]", musl)) if musl else _MUSL_FOLDERS
    return tuple(folder.format(arch=arch) for folder in _FOLDERS)


def version_of(machine: Machine, path: str) -> str:
    """Version in the name of the real file, ``libcuda.so.535.54.03`` -> ``535.54.03``; empty if it has none."""
    suffix = _SUFFIX.search(machine.real(path))
    return suffix[1] if suffix else ""


def _usable(machine: Machine, path: str) -> bool:
    """Whether the loader would take the file: it skips ELF files of another word size and goes on (ld.so(8))."""
    if not machine.exists(path):
        return False
    head = machine.data(path, 5)
    return not head.startswith(b"\x7fELF") or len(head) < 5 or (head[4] == 2) == ("64" in machine.system.machine)
