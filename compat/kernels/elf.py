"""ELF files: sections, dynamic entries and version needs (System V gABI, "Object Files" and "Dynamic Linking").

All differences between 32 and 64 bits, little and big endian are in one table of layouts; no code below it asks
which of the four it reads. Nothing here knows about GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from struct import Struct
from typing import Final, NamedTuple

from compat.kernels.window import CutShortError, Window
from compat.lazy import dataclass

MAGIC: Final = b"\x7fELF"

EM_386, EM_ARM, EM_X86_64, EM_AARCH64, EM_CUDA, EM_AMDGPU = 3, 40, 62, 183, 190, 224
# ``e_machine`` -> architecture; the GPU machines are no architecture of a host and are left out.
MACHINES: Final = {EM_386: "i386", EM_ARM: "arm", EM_X86_64: "x86_64", EM_AARCH64: "aarch64", 21: "ppc64", 243: "riscv"}

ET_REL = 1  # an object file, still to be linked
SHT_DYNAMIC, SHT_NOBITS, SHT_DYNSYM, SHT_VERNEED = 6, 8, 11, 0x6FFFFFFE
DT_NULL, DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH = 0, 1, 14, 15, 29
_SHN_XINDEX = 0xFFFF  # "see section 0": more sections than 16 bits count

_MOST_SECTIONS: Final = 1 << 20  # ten times what the largest relocatable objects have
_MOST_NAMES: Final = 64 << 20  # bytes of a string table that are read at once


@dataclass(frozen=True, slots=True)
class Layout:
    """Structures of one kind of ELF file."""

    header: Struct
    section: Struct
    dynamic: Struct
    symbol: Struct
    word: Struct
    need: Struct
    aux: Struct


def _layout(endian: str, wide: bool) -> Layout:
    """Structures of one width and byte order."""
    formats = ("HHIQQQIHHHHHH", "IIQQQQIIQQ", "qQ", "IBBHQQ") if wide else ("HHIIIIIHHHHHH", "10I", "iI", "IIIBBH")
    return Layout(*(Struct(endian + item) for item in (*formats, "I", "HHIII", "IHHII")))


# (EI_CLASS, EI_DATA) -> layout.
_LAYOUTS: Final = {
    (kind, order): _layout(endian, kind == 2) for kind in (1, 2) for order, endian in ((1, "<"), (2, ">"))
}


class Section(NamedTuple):
    """One section header; ``size`` is what it claims, ``window`` its contents as far as the file has them."""

    name: str
    kind: int
    link: int
    size: int
    window: Window


@dataclass(frozen=True, slots=True)
class Elf:
    """An opened ELF file: its header's fields and its section table.

    The table stays packed: a static archive has a hundred thousand sections, of which nobody asks for one.
    """

    window: Window = field(repr=False)
    layout: Layout
    kind: int
    machine: int
    abi: int
    flags: int
    table: bytes = field(repr=False, default=b"")
    step: int = 1
    names: bytes = field(repr=False, default=b"")

    def named(self, *names: str) -> Iterator[Section]:
        """Sections with one of these names, in file order."""
        places = {place: name for name in names for place in _places(self.names, name.encode() + b"\0")}
        if places:
            yield from (self._section(row, places[row[0]]) for row in self._rows() if row[0] in places)

    def of_kind(self, kind: int) -> Section | None:
        """The first section of a type."""
        return next((self._section(row) for row in self._rows() if row[1] == kind), None)

    def at(self, number: int) -> Section | None:
        """The section of a number."""
        start = number * self.step
        row = self.layout.section.unpack_from(self.table, start) if start < len(self.table) else None
        return self._section(row) if row else None

    def _rows(self) -> Iterator[tuple[int, ...]]:
        """Every section header, unpacked one at a time."""
        unpack, table = self.layout.section.unpack_from, self.table
        return (unpack(table, start) for start in range(0, len(table), self.step))

    def _section(self, row: tuple[int, ...], name: str = "") -> Section:
        """A header as a value, its contents clipped to the file."""
        _, kind, _, _, offset, size, link, *_ = row
        return Section(name, kind, link, size, self.window.part(offset, 0 if kind == SHT_NOBITS else size))


def _places(names: bytes, name: bytes) -> Iterator[int]:
    """Every offset at which a name stands; it may be the end of a longer one, as linkers share tails."""
    place = names.find(name)
    while place >= 0:
        yield place
        place = names.find(name, place + 1)


def read(window: Window) -> Elf:
    """Read the header and the section table.

    Raises:
        CutShortError: if this is no ELF file, or its header or section table is not all there.
    """
    ident = window.read(0, 16)
    layout = _LAYOUTS.get((ident[4], ident[5]))
    if ident[:4] != MAGIC or layout is None:
        raise CutShortError("not an ELF file of a known class and byte order")
    kind, machine, _, _, _, at, flags, _, _, _, step, count, names = window.unpack(layout.header, 16)
    if not at:
        return Elf(window, layout, kind, machine, ident[8], flags)
    if step < layout.section.size:
        raise CutShortError(f"section headers of {step} bytes")
    first = window.unpack(layout.section, at)
    count = count or first[5]  # gABI, "Section Header": with 0 here the count is in section 0's size, names in its link
    names = first[6] if names == _SHN_XINDEX else names
    if count > _MOST_SECTIONS:
        raise CutShortError(f"{count} sections claimed")
    table = window.read(at, count * step)
    bare = Elf(window, layout, kind, machine, ident[8], flags, table, step)
    texts = bare.at(names)
    return replace(bare, names=texts.window.head(_MOST_NAMES)) if texts else bare


def strings(elf: Elf, section: Section) -> Window | None:
    """The string table that a section refers to."""
    found = elf.at(section.link)
    return found.window if found else None


def dynamic(elf: Elf) -> Iterator[tuple[int, str]]:
    """Texts of the dynamic section: (tag, text) for NEEDED, SONAME, RPATH and RUNPATH, in order."""
    section = elf.of_kind(SHT_DYNAMIC)
    texts = strings(elf, section) if section else None
    if section is None or texts is None:
        return
    step = elf.layout.dynamic
    for tag, value in step.iter_unpack(section.window.head(section.window.size // step.size * step.size)):
        if tag == DT_NULL:
            return
        if tag in {DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH}:
            yield tag, texts.text(value)


def version_needs(elf: Elf) -> Iterator[tuple[str, str]]:
    """(library, version) of each version need: ``("libc.so.6", "GLIBC_2.28")``.

    The records are two nested chains of relative offsets (gABI extension, Linux Standard Base, "Symbol Versioning").
    Offsets only lead forward, and no more records are followed than the section has room for: a chain that is
    woven so as to be walked over and over ends.
    """
    section = elf.of_kind(SHT_VERNEED)
    texts = strings(elf, section) if section else None
    if section is None or texts is None:
        return
    steps = section.window.size // elf.layout.need.size
    at = 0
    while steps > 0:
        _, count, name, aux, following = section.window.unpack(elf.layout.need, at)
        library, steps = texts.text(name), steps - 1
        for version in _versions(elf, section.window, texts, at + aux, min(count, steps)):
            steps -= 1
            yield library, version
        if not following:
            return
        at += following


def _versions(elf: Elf, window: Window, texts: Window, at: int, count: int) -> Iterator[str]:
    """Versions needed of one library: the inner chain, at most ``count`` records of it."""
    for _ in range(count):
        _, _, _, name, following = window.unpack(elf.layout.aux, at)
        yield texts.text(name)
        if not following:
            return
        at += following
