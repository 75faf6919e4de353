"""Windows binaries: sections and imported libraries (Microsoft, "PE Format").

Section names are cut at eight bytes there: ``.nv_fatb``, ``.nvFatBi``, ``.hip_fat``.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from compat.kernels.window import CutShortError, Window

MAGIC: Final = b"MZ"
MACHINES: Final = {0x14C: "i386", 0x8664: "x86_64", 0xAA64: "aarch64"}

_COFF: Final = Struct("<4sHHIIIHH")
_SECTION: Final = Struct("<8sIIII12xI")
_IMPORT: Final = Struct("<IIIII")
_U32: Final = Struct("<I")
_PE32, _PE32_PLUS = 0x10B, 0x20B
# Optional header's magic -> offset of its data directories; the second of them is the import table.
_DIRECTORIES: Final = {_PE32: 96, _PE32_PLUS: 112}
_MOST_IMPORTS: Final = 4096


class Section(NamedTuple):
    """One section: where it is loaded, and its raw contents."""

    name: str
    address: int
    window: Window


class Pe(NamedTuple):
    """An opened PE file."""

    machine: int
    sections: tuple[Section, ...]
    imports: tuple[str, ...]


def read(window: Window) -> Pe:
    """Read headers, section table and import table.

    Raises:
        CutShortError: if this is no PE file or its headers are not all there.
    """
    (at,) = window.unpack(_U32, 0x3C)
    magic, machine, count, _, _, _, optional, _ = window.unpack(_COFF, at)
    if magic != b"PE\0\0":
        raise CutShortError("a DOS program, not a PE file")
    table = at + _COFF.size + optional
    sections = tuple(_section(window, table + number * _SECTION.size) for number in range(count))
    return Pe(machine, sections, tuple(_imports(window, at + _COFF.size, sections)))


def _section(window: Window, at: int) -> Section:
    """One row of the section table."""
    name, virtual, address, size, offset, _ = window.unpack(_SECTION, at)
    # Raw data is padded to the file's alignment, virtual size is the exact one where it is smaller.
    exact = min(size, virtual) if virtual else size
    return Section(name.rstrip(b"\0").decode("latin-1"), address, window.part(offset, exact))


def _imports(window: Window, optional: int, sections: tuple[Section, ...]) -> Iterator[str]:
    """Names in the import table: rows end with an empty one, or where the section does."""
    kind = int.from_bytes(window.head(2, optional), "little")
    if kind not in _DIRECTORIES:
        return
    (table,) = window.unpack(_U32, optional + _DIRECTORIES[kind] + 8)
    for number in range(_MOST_IMPORTS if table else 0):
        row = _at(sections, table + number * _IMPORT.size)
        if row is None or row.size < _IMPORT.size:
            return
        name = row.unpack(_IMPORT, 0)[3]
        text = _at(sections, name) if name else None
        if text is None:
            return
        yield text.text(0, 256)


def _at(sections: tuple[Section, ...], address: int) -> Window | None:
    """What is loaded at an address, up to its section's end."""
    for section in sections:
        if section.address <= address < section.address + section.window.size:
            return section.window.part(address - section.address, section.window.size)
    return None
