"""The glibc that the objects of a wheel ask for, read from the beginnings of its shared objects.

A library lists the versions that it takes from others in ``.gnu.version_r`` (Linux Standard Base, "Symbol Versioning"),
which linkers put before its code. Each record holds the hash of the version's name (System V gABI, "Hash Table"): so
neither the section table at the end nor the string table, which patchelf moves there, has to be fetched.
"""

from __future__ import annotations

import json
import struct
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_code import runtime_of

sys.path.insert(0, str(Path(__file__).parent.parent))

from compat.kernels import elf, names
from compat.kernels.linkage import floors
from compat.versions import release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from index_pages import File
    from simple_index import Index

NONE = "-"
"""All objects were read, and none asks for a glibc."""

_MACHINES = {"x86_64": elf.EM_X86_64, "aarch64": elf.EM_AARCH64, "i686": elf.EM_386}
_RECORD = 16
_PIECE, _BEYOND = 1 << 18, 1 << 16
"""Bytes of an object read at once, and how many are read behind the first record, for those that follow it."""


def asked(index: Index, file: File, platform: str) -> bytes:
    """What :func:`told` tells of the objects of a wheel, as JSON.

    Raises:
        UnreadableError: the wheel is broken.
    """
    found: dict[str, set[str]] = {}
    machine = _MACHINES.get(platform.partition("_")[2])
    with index.archive(file) as wheel:
        for name in filter(names.is_binary, wheel.namelist()):
            with wheel.open(name) as member:
                found[name] = of_object(iter(lambda member=member: member.read(_PIECE), b""), machine)
    return json.dumps(told(found)).encode()


def told(objects: dict[str, set[str]]) -> dict[str, Any]:
    """The greatest glibc that an object asks for: ``{"glibc": "2.14"}``, ``-`` if none asks for any.

    Of libraries for several runtimes only one is loaded: ``glibc_by`` has those that ask for more than all others do.
    """
    found: dict[str, set[str]] = defaultdict(set)
    several = len({runtime for path in objects if (runtime := runtime_of(path))}) > 1
    for path, versions in objects.items():
        found[runtime_of(path) if several else ""] |= versions
    least = floors(found.pop("", ())).get("GLIBC", NONE)
    greatest = {runtime: floors(versions).get("GLIBC", NONE) for runtime, versions in sorted(found.items())}
    more = {runtime: floor for runtime, floor in greatest.items() if _number(floor) > _number(least)}
    return {"glibc": least} | ({"glibc_by": more} if more else {})


def _number(floor: str) -> tuple[int, ...]:
    return () if floor == NONE else release(floor)


def of_object(pieces: Iterable[bytes], machine: int | None = None) -> set[str]:
    """Versions of glibc that an object asks for, ``{"GLIBC_2.2.5"}``; none for what is no object of the machine.

    Args:
        pieces: its bytes in order; no more are taken than are needed.
        machine: ``e_machine`` of the objects that count; any if None.
    """
    found: set[str] = set()
    rest, behind = b"", 0
    for number, piece in enumerate(pieces):
        if not number and (piece[:4] != elf.MAGIC or machine not in {None, *struct.unpack_from("<H", piece, 18)}):
            return found
        found |= set(_versions(rest + piece))
        behind += len(piece) if found else 0
        if behind > _PIECE + _BEYOND:
            break
        rest = piece[1 - 2 * _RECORD :]
    return found


def _versions(body: bytes) -> Iterator[str]:
    """Versions of glibc among the records of needed versions in some bytes."""
    for ending in _ENDINGS:
        at = body.find(ending) - 1
        while at >= -1:
            version = _HASHES.get(body[max(at, 0) : at + len(ending) + 1], "")
            if version and _is_record(body, at) and (_is_record(body, at - _RECORD) or _is_head(body, at - _RECORD)):
                yield version
            at = body.find(ending, at + 2) - 1


def _is_record(body: bytes, at: int) -> bool:
    """Whether a record of a needed version (``Vernaux``) may be here: numbers may happen to look like a hash."""
    if not 0 <= at <= len(body) - _RECORD:
        return False
    _, flags, number, name, following = _AUX.unpack_from(body, at)
    return flags in {0, 2} and 1 < number < _MOST and name < _NAMES and following in {0, _RECORD}


def _is_head(body: bytes, at: int) -> bool:
    """Whether the record of a library whose versions follow (``Verneed``) may be here."""
    if at < 0:
        return False
    version, count, name, _, _ = _NEED.unpack_from(body, at)
    return version == 1 and 0 < count < _MOST and name < _NAMES


_AUX, _NEED = struct.Struct("<IHHII"), struct.Struct("<HHIII")
_MOST, _NAMES = 1 << 11, 1 << 28
"""More versions than any library needs, and more bytes than the names of any take."""


def _hash(name: str) -> int:
    """The hash of a symbol's name (System V gABI, "Hash Table")."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value


def _known() -> list[str]:
    """Versions that glibc gives its symbols: every minor from 2.0 on, and the patches of the early ones."""
    patches = {"2.1": 3, "2.2": 6, "2.3": 4}
    early = [f"{minor}.{patch}" for minor, last in patches.items() for patch in range(1, last + 1)]
    return [*(f"2.{minor}" for minor in range(64)), *early]


_HASHES = {struct.pack("<I", _hash(f"GLIBC_{version}")): f"GLIBC_{version}" for version in _known()}
_ENDINGS = {mark[1:] for mark in _HASHES}
"""What their last three bytes may be: few, since a last character changes the first byte alone."""
