"""ELF files: sections, dynamic entries and version needs (System V gABI, "Object Files" and "Dynamic Linking").

All differences between 32 and 64 bits, little and big endian are in one table of layouts; no code below it asks
which of the four it reads. Nothing here knows about GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from compat.kernels.window import CutShortError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.kernels.window import Window

MAGIC: Final = b"\x7fELF"

EM_386, EM_ARM, EM_X86_64, EM_AARCH64, EM_CUDA, EM_AMDGPU = 3, 40, 62, 183, 190, 224
MACHINES: Final = {EM_386: "i386", EM_ARM: "arm", EM_X86_64: "x86_64", EM_AARCH64: "aarch64", 21: "ppc64", 243: "riscv"}
"""``e_machine`` -> architecture; the GPU machines are no architecture of a host and are left out."""

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
    formats = ("HHIQQQIHHHHHH", "IIQQQQIIQQ", "qQ", "IBBHQQ") if wide else ("HHIIIIIHHHHHH", "10I", "iI", "IIIBBH")
    return Layout(*(Struct(endian + item) for item in (*formats, "I", "HHIII", "IHHII")))


_LAYOUTS: Final = {
    (kind, order): _layout(endian, kind == 2) for kind in (1, 2) for order, endian in ((1, "<"), (2, ">"))
}
"""(EI_CLASS, EI_DATA) -> layout."""


class Section(NamedTuple):
    """One section header; ``size`` is what it claims, ``window`` its contents as far as the file has them."""

    name: str
    kind: int
    link: int
    offset: int
    size: int
    file: Window

    @property
    def window(self) -> Window:
        """The contents, clipped to the file; empty for a section that takes no room in it."""
        return self.file.part(self.offset, 0 if self.kind == SHT_NOBITS else self.size)


@dataclass(frozen=True, slots=True)
class Elf:
    """An opened ELF file: its header's fields and its sections."""

    layout: Layout
    kind: int
    machine: int
    abi: int
    flags: int
    sections: tuple[Section, ...] = field(repr=False, default=())

    def named(self, *names: str) -> Iterator[Section]:
        """Sections with one of these names, in file order."""
        return (section for section in self.sections if section.name in names)

    def of_kind(self, kind: int) -> Section | None:
        """The first section of a type."""
        return next((section for section in self.sections if section.kind == kind), None)


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
    sections = _sections(window, layout, at, step, count, names) if at else ()
    return Elf(layout, kind, machine, ident[8], flags, sections)


def _sections(window: Window, layout: Layout, at: int, step: int, count: int, names: int) -> tuple[Section, ...]:
    if step < layout.section.size:
        raise CutShortError(f"section headers of {step} bytes")
    first = window.unpack(layout.section, at)
    count = count or first[5]  # gABI, "Section Header": with 0 here the count is in section 0's size, names in its link
    names = first[6] if names == _SHN_XINDEX else names
    if count > _MOST_SECTIONS:
        raise CutShortError(f"{count} sections claimed")
    table = window.read(at, count * step)
    rows = [layout.section.unpack_from(table, step * number) for number in range(count)]
    texts = window.head(min(rows[names][5], _MOST_NAMES), rows[names][4]) if names < len(rows) else b""
    return tuple(_section(window, row, texts) for row in rows)


def _section(window: Window, row: tuple[int, ...], texts: bytes) -> Section:
    name, kind, _, _, offset, size, link, *_ = row
    end = texts.find(b"\0", name)
    label = texts[name : end if end >= 0 else len(texts)][:256].decode("utf-8", "replace")
    return Section(label, kind, link, offset, size, window)


def strings(elf: Elf, section: Section) -> Window | None:
    """The string table that a section refers to."""
    return elf.sections[section.link].window if section.link < len(elf.sections) else None


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
    for _ in range(count):
        _, _, _, name, following = window.unpack(elf.layout.aux, at)
        yield texts.text(name)
        if not following:
            return
        at += following
