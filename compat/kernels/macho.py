"""Mach-O files: architecture and libraries of macOS binaries (Apple, ``<mach-o/loader.h>`` and ``<mach-o/fat.h>``).

A universal file holds one binary for each architecture. There is no CUDA or ROCm for macOS on Apple silicon, and none
has been released for Intel Macs since CUDA 10.2; code for Apple's GPUs is compiled through the Metal framework.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from compat.kernels.window import CutShortError, Window

MAGIC: Final = b"\xcf\xfa\xed\xfe"
"""A binary of 64 bits, little endian."""
FAT: Final = b"\xca\xfe\xba\xbe"
"""A universal file; a Java class begins so too."""

_MACHINES: Final = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
_HEADER: Final = Struct("<4sIIIIIII")
_COMMAND: Final = Struct("<II")
_NAME: Final = Struct("<I")
_SLICES: Final = Struct(">4sI")
_SLICE: Final = Struct(">IIIII")
_MOST_COMMANDS: Final = 1 << 12
_MOST_SLICES: Final = 16  # the first Java class file has version 45 where a universal file counts
_LIBRARIES: Final = frozenset({0xC, 0x18 | 1 << 31, 0x1F | 1 << 31, 0x20, 0x23 | 1 << 31})
"""LC_LOAD_DYLIB, and the same weakly, re-exported, lazily and upward."""


class MachO(NamedTuple):
    """An opened file: its first architecture, and the libraries that any of its architectures loads, by file name."""

    machine: str
    needed: tuple[str, ...]


def read(window: Window) -> MachO:
    """Read the headers and load commands.

    Raises:
        CutShortError: if they are not all there, or this is no Mach-O file.
    """
    slices = list(_slices(window)) if window.head(len(FAT)) == FAT else [window]
    opened = [_binary(one) for one in slices]
    return MachO(opened[0].machine, tuple(dict.fromkeys(name for one in opened for name in one.needed)))


def _slices(window: Window) -> Iterator[Window]:
    """The binaries of a universal file."""
    _, count = window.unpack(_SLICES, 0)
    if not 0 < count <= _MOST_SLICES:
        raise CutShortError("it begins like a universal file of macOS and is none")
    for number in range(count):
        _, _, offset, size, _ = window.unpack(_SLICE, _SLICES.size + number * _SLICE.size)
        yield window.part(offset, size)


def _binary(window: Window) -> MachO:
    """The binary of one architecture."""
    magic, machine, _, _, count, _, _, _ = window.unpack(_HEADER, 0)
    if magic != MAGIC:
        raise CutShortError("a Mach-O file that is not one of 64 bits")
    needed, at = [], _HEADER.size
    for _ in range(min(count, _MOST_COMMANDS)):
        kind, size = window.unpack(_COMMAND, at)
        if size < _COMMAND.size:
            raise CutShortError(f"load command at {at} claims {size} bytes")
        if kind in _LIBRARIES:
            (offset,) = window.unpack(_NAME, at + _COMMAND.size)
            needed.append(window.part(at, size).text(offset).rpartition("/")[2])
        at += size
    return MachO(_MACHINES.get(machine, ""), tuple(needed))
