"""NVIDIA fat binaries: which SASS and PTX they hold, by their headers.

NVIDIA does not document the container. What is used here was measured on the output of nvcc 13.0 and 13.5 for every
target those offer, with and without compression, and agrees with ``cuobjdump --list-elf --list-ptx`` on published
libraries (``scripts/check_kernels.py`` repeats that):

- container: magic 0xBA55ED50, u16 version, u16 header size, u64 size of what follows; containers lie one after
  another in ``.nv_fatbin``, each aligned to 8 bytes;
- entry: u16 kind, u16 version, u32 header size, u64 padded payload size, u32 compressed size, u32 offset of options,
  u16 minor and u16 major of the code's version (for PTX its ISA), u32 architecture, u32+u32 name, u64 flags;
- flags: 0x100000 for an architecture-specific target (``sm_90a``), 0x200000 for a family-specific one (``sm_100f``).

The payloads stay unread: a gigabyte is a few thousand headers.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.kernels.window import Problems, Window

MAGIC: Final = b"\x50\xed\x55\xba"

_CONTAINER: Final = Struct("<4sHHQ")
_ENTRY: Final = Struct("<HHIQIIHHIIIQ")
_ALIGN: Final = 8
_PADDING: Final = 4096  # zeros between two containers that are stepped over before searching

# Entry kind -> prefix of its target: PTX, cubin, NVVM for link-time optimisation, cubin in its newer wrapping.
KINDS: Final = {1: "compute", 2: "sm", 8: "lto", 16: "sm"}

_SUFFIXES: Final = ((0x100000, "a"), (0x200000, "f"))


class Image(NamedTuple):
    """One entry of a fat binary.

    Attributes:
        target: ``sm_90a``, ``compute_90`` or ``lto_80``.
        isa: PTX ISA version, ``8.7``; empty for other kinds.
    """

    target: str
    isa: str = ""


def binaries(window: Window, problems: Problems) -> Iterator[Iterator[Image]]:
    """Every container in a section or file, each as its images.

    ``problems``: gets a sentence for each place where the contents contradict themselves.
    """
    at = _next_container(window, 0)
    while at >= 0:
        _, _, header, size = window.unpack(_CONTAINER, at)
        end = at + header + size
        if header < _CONTAINER.size or end > window.size:
            problems.add(
                f"the fat binary at {window.start + at:#x} claims {header + size} bytes, of which not all are there"
            )
            end = window.size
        yield _entries(window, at + max(header, _CONTAINER.size), end, problems)
        at = _next_container(window, max(end, at + _CONTAINER.size))


def _next_container(window: Window, at: int) -> int:
    """Offset of the first whole container header at or after ``at``, or -1.

    Behind a well-formed container lie only zeros up to the next one; where anything else does, the rest of the
    section is searched, once, front to back.
    """
    at = -(-at // _ALIGN) * _ALIGN
    if window.head(len(MAGIC), at) == MAGIC:  # nearly always: four bytes are read, and not the padding too
        return at if at + _CONTAINER.size <= window.size else -1
    gap = window.head(_PADDING, at)
    skip = len(gap) - len(gap.lstrip(b"\0"))
    if skip == len(gap) < _PADDING:
        return -1
    at += skip // _ALIGN * _ALIGN
    if window.head(len(MAGIC), at) != MAGIC:
        at = window.find(MAGIC, at)
    return at if at >= 0 and at + _CONTAINER.size <= window.size else -1


def _entries(window: Window, at: int, end: int, problems: Problems) -> Iterator[Image]:
    """Images of one container.

    Each entry says where the next begins, and none begins within the header before it: the walk always gets on.
    """
    while at + _ENTRY.size <= end:
        kind, _, header, payload, _, _, minor, major, arch, _, _, flags = window.unpack(_ENTRY, at)
        where = f"the entry at {window.start + at:#x}"
        if header < _ENTRY.size:
            problems.add(f"{where} claims a header of {header} bytes; what follows it is unread")
            return
        if at + header + payload > end:
            problems.add(f"{where} claims {payload} bytes, of which not all are there")
        if kind in KINDS:
            yield from _image(kind, arch, flags, f"{major}.{minor}", where, problems)
        at += header + payload


class Headers:
    """The headers of fat binaries in a stream that goes by once, so that nobody has to go through it again for them.

    Where a library's containers lie is told at its end; a compressed one would have to be decompressed twice. What
    looks like a container on the way is followed, and its headers are kept: bytes at their offsets, no verdict on them.

    Attributes:
        kept: offset in the stream -> the header that stands there.
    """

    __slots__ = ("_ahead", "_end", "_rest", "_size", "kept")
    _MOST: Final = 1 << 17  # ten times what the largest published library has

    def __init__(self, size: int) -> None:
        self.kept: dict[int, bytes] = {}
        self._size = size
        self._ahead = self._end = 0  # where the next header may stand, and where the container around it ends
        self._rest = b""

    def pass_by(self, at: int, data: bytes) -> None:
        """Keep the headers in the next bytes of the stream, which start at ``at``."""
        if len(self.kept) >= self._MOST:
            self._rest = b""
            return
        at -= len(self._rest)
        data = self._rest + data
        while (place := self._ahead - at) < len(data) and len(self.kept) < self._MOST:
            inside = self._ahead + _ENTRY.size <= self._end
            if not inside and (place := data.find(MAGIC, place)) < 0:
                self._ahead = max(self._ahead, at + len(data) - len(MAGIC) + 1)
                break
            header = data[place : place + (_ENTRY if inside else _CONTAINER).size]
            self._ahead = at + place
            if len(header) < (_ENTRY if inside else _CONTAINER).size:
                break
            self.kept[self._ahead] = header
            self._ahead += self._step(header) if inside else self._enter(header)
        self._rest = data[max(self._ahead - at, 0) :]

    def _enter(self, header: bytes) -> int:
        """Bytes from a container's start to its first entry; over the magic alone if it cannot be one."""
        _, _, size, rest = _CONTAINER.unpack(header)
        end = self._ahead + size + rest
        if size < _CONTAINER.size or end > self._size:
            return len(MAGIC)
        self._end = end
        return int(size)

    def _step(self, header: bytes) -> int:
        """Bytes from an entry to the one behind it, or to the end of the container if there is none."""
        _, _, size, payload, *_ = _ENTRY.unpack(header)
        left = self._end - self._ahead
        return int(size + payload) if _ENTRY.size <= size <= left - payload - _ENTRY.size else left


def _image(kind: int, arch: int, flags: int, version: str, where: str, problems: Problems) -> Iterator[Image]:
    """The image of an entry, or nothing if it names an architecture that cannot be."""
    if not 10 <= arch <= 999:  # one digit of minor version and at least one of major: sm_10 was the first
        problems.add(f"{where} names the architecture {arch}, which is none")
        return
    suffix = next((letter for bit, letter in _SUFFIXES if flags & bit), "")
    yield Image(f"{KINDS[kind]}_{arch}{suffix}", version if kind == 1 else "")
