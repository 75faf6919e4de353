"""Builders of tiny binaries: every structure the package reads, whole or with any field lying."""

from __future__ import annotations

import struct
import zlib
from types import SimpleNamespace

import pytest

from compat.kernels.window import Memory, Window


class Strings:
    """A string table that grows: ``add`` gives the offset of a text."""

    def __init__(self):
        self.data = b"\0"

    def add(self, text):
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def elf(
    sections=(),
    *,
    kind=3,
    machine=62,
    flags=0,
    abi=0,
    bits=64,
    endian="<",
    needed=(),
    rpath=(),
    runpath=(),
    needs=(),
    symbols=(),
):
    """An ELF file: ``sections`` are (name, bytes) pairs, ``needs`` (library, [versions]), ``symbols`` (name, defined)."""
    wide = bits == 64
    header, row, dyn, sym = (
        ("HHIQQQIHHHHHH", "IIQQQQIIQQ", "qQ", "IBBHQQ") if wide else ("HHIIIIIHHHHHH", "10I", "iI", "IIIBBH")
    )
    texts = Strings()
    rows = [("", 0, b"", 0)]  # name, type, contents, link
    rows += [(name, 1, data, 0) for name, data in sections]
    dynamic = b"".join(
        struct.pack(endian + dyn, tag, texts.add(text))
        for tag, items in ((1, needed), (15, rpath), (29, runpath))
        for text in items
    )
    strtab = len(rows)
    rows.append((".dynstr", 3, None, 0))
    if dynamic:
        rows.append((".dynamic", 6, dynamic + struct.pack(endian + dyn, 0, 0), strtab))
    if needs:
        rows.append((".gnu.version_r", 0x6FFFFFFE, version_needs(needs, texts, endian), strtab))
    if symbols:
        rows.append((".dynsym", 11, b"".join(symbol(sym, endian, wide, texts, *item) for item in symbols), strtab))
    rows[strtab] = (".dynstr", 3, texts.data, 0)
    names = Strings()
    labels = [names.add(name) for name, *_ in rows] + [names.add(".shstrtab")]
    rows.append((".shstrtab", 3, names.data, 0))
    at = 16 + struct.calcsize(endian + header)
    body, table = b"", b""
    for label, (_, form, data, link) in zip(labels, rows, strict=True):
        table += struct.pack(endian + row, label, form, 0, 0, at + len(body), len(data), link, 0, 1, 0)
        body += data
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if endian == "<" else 2, 1, 0, abi]) + bytes(7)
    size = struct.calcsize(endian + row)
    head = struct.pack(
        endian + header, kind, machine, 1, 0, 0, at + len(body), flags, at, 0, 0, size, len(rows), len(rows) - 1
    )
    return ident + head + body + table


def version_needs(needs, texts, endian="<"):
    """Contents of ``.gnu.version_r``."""
    out = b""
    for number, (library, versions) in enumerate(needs):
        size = 16 + 16 * len(versions)
        last = number == len(needs) - 1
        out += struct.pack(endian + "HHIII", 1, len(versions), texts.add(library), 16, 0 if last else size)
        for index, version in enumerate(versions):
            out += struct.pack(endian + "IHHII", 0, 0, 2, texts.add(version), 0 if index == len(versions) - 1 else 16)
    return out


def symbol(layout, endian, wide, texts, name, defined):
    """One entry of ``.dynsym``."""
    where, at = (5 if defined else 0), texts.add(name)
    fields = (at, 0x12, 0, where, 0, 0) if wide else (at, 0, 0, 0x12, 0, where)
    return struct.pack(endian + layout, *fields)


def entry(kind, arch, *, flags=0, version=(0, 0), payload=b"\0" * 8, header=64, claim=None):
    """One entry of a fat binary; ``claim`` lies about the payload's size."""
    size = len(payload) if claim is None else claim
    fields = (kind, 0x101, header, size, 0, 0, version[1], version[0], arch, 0, 0, flags)
    return struct.pack("<HHIQIIHHIIIQ", *fields).ljust(max(header, 48), b"\0") + payload


def container(*entries, claim=None, header=16, magic=0xBA55ED50):
    """One fat binary; ``claim`` lies about its size."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", magic, 1, header, len(body) if claim is None else claim).ljust(header, b"\0") + body


def bundle(*ids, align=4096, count=None, code=b"CODE"):
    """A clang offload bundle with a piece of code per id, padded to a page as clang does."""
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(ids) if count is None else count)
    size = len(head) + sum(24 + len(name) for name in ids)
    start = -(-size // align) * align
    for number, name in enumerate(ids):
        head += struct.pack("<QQQ", start + number * align, len(code), len(name)) + name.encode()
    body = b"".join(code.ljust(align, b"\0") for _ in ids)
    return head.ljust(start, b"\0") + body


def compressed(plain, *, version=2, method=0, packed=None):
    """A ``CCOB`` bundle around ``plain``."""
    packed = zlib.compress(plain) if packed is None else packed
    sizes = {1: "<I", 2: "<II", 3: "<QQ"}[version]
    total = 4 + 4 + struct.calcsize(sizes) + 8 + len(packed)
    numbers = (len(plain),) if version == 1 else (total, len(plain))
    return b"CCOB" + struct.pack("<HH", version, method) + struct.pack(sizes, *numbers) + bytes(8) + packed


def archive(*members):
    """An ``ar`` file with GNU long names; ``members`` are (name, bytes)."""
    names, out = b"", b""
    for name, data in members:
        label = f"/{len(names)}" if len(name) > 15 else f"{name}/"
        names += name.encode() + b"/\n" if len(name) > 15 else b""
        out += f"{label:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    table = f"{'//':<48}{len(names):<10}`\n".encode() + names + b"\n" * (len(names) % 2) if names else b""
    return b"!<arch>\n" + table + out


def pe(sections=(), *, imports=(), machine=0x8664):
    """A PE32+ file: ``sections`` are (name, bytes) pairs."""
    rows = list(sections)
    texts, table = b"", b""
    base, room = 0x10000, 20 * (len(imports) + 1)
    for name in imports:
        table += struct.pack("<IIIII", 0, 0, 0, base + room + len(texts), 0)
        texts += name.encode() + b"\0"
    if imports:
        rows = [(".idata", table + bytes(20) + texts), *rows]
    directories = bytes(8) + struct.pack("<II", base if imports else 0, room)
    optional = struct.pack("<H", 0x20B).ljust(112, b"\0") + directories.ljust(128, b"\0")
    at = 0x40 + 24 + len(optional) + 40 * len(rows)
    body, headers = b"", b""
    for number, (name, data) in enumerate(rows):
        address = base + number * 0x100000
        headers += struct.pack("<8sIIII12xI", name.encode(), len(data), address, len(data) + 512, at + len(body), 0)
        body += data + bytes(512)
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", machine, len(rows), 0, 0, 0, len(optional), 0)
    return b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + coff + optional + headers + body


def kpack(*targets, key=b"\xaagfx_arches", at=None):
    """A kernel pack with one blob and a table of contents."""
    header = bytes([0x90 | len(targets)]) if len(targets) < 16 else b"\xdc" + len(targets).to_bytes(2, "big")
    items = b"".join(bytes([0xA0 | len(target)]) + target.encode() for target in targets)
    table = b"\x82" + b"\xa6scheme\xa4none" + key + header + items
    return b"KPAK" + struct.pack("<IQ", 1, 16 + 64 if at is None else at) + bytes(64) + table


class Guard:
    """A source that fails the test when it is read beyond its end, and counts what is read."""

    def __init__(self, data):
        self.data, self.size = data, len(data)
        self.reads = self.bytes = 0

    def read_at(self, offset, count):
        assert 0 <= offset <= offset + count <= self.size, f"{count} bytes read at {offset} of {self.size}"
        self.reads, self.bytes = self.reads + 1, self.bytes + count
        return self.data[offset : offset + count]


def window(data):
    """A plain window over bytes."""
    return Window(Memory(data))


@pytest.fixture(scope="session")
def make():
    """The builders, as one namespace."""
    return SimpleNamespace(
        elf=elf, entry=entry, container=container, bundle=bundle, compressed=compressed, archive=archive, pe=pe,
        window=window, guard=Guard, kpack=kpack, version_needs=version_needs, strings=Strings,
    )  # fmt: skip
