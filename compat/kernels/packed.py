"""Wheels and image layers: members read in place, without extraction to disk.

The standard library reads the directories of archives; the members' bytes are read here, as windows (stored) or
through :class:`~compat.kernels.inflate.Inflater` (deflated), so that their headers can be visited in any order.
Nothing is written, and what a member may inflate to is bounded by what it takes in the archive.
"""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Final

import compat.kernels.elf as elf
import compat.kernels.names as names
from compat.kernels.inflate import GZIP, Inflater
from compat.kernels.values import Code
from compat.kernels.window import CutShortError, Window
from compat.streams import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compat.kernels.window import Source

    # Reads a member, given its bytes and its name; an archive within the archive is a member too.
    Read = Callable[[Window, str], Iterator[Code]]

_LOCAL: Final = struct.Struct("<4s22xHH")  # PKWARE APPNOTE 4.3.7: signature ... name length, extra length
_LARGEST: Final = 16 << 30
_RATIO: Final = 300  # real libraries stay below 100; deflate's most is 1032
_FREE: Final = 64 << 20  # a member of up to this size may be as repetitive as it likes
# What the standard library raises for hostile archives.
_BROKEN: Final = (
    CutShortError, zipfile.BadZipFile, tarfile.TarError, OSError, ValueError, EOFError, RuntimeError, IndexError,
    OverflowError, MemoryError, struct.error,
)  # fmt: skip


class Reader(Stream):
    """A window as a file object, for the standard library's readers of archives."""

    def __init__(self, window: Window) -> None:
        self._window, self._at = window, 0

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The current offset."""
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to an offset, as ``io`` defines it."""
        start = (0, self._at, self._window.size)[whence]
        self._at = max(0, start + offset)
        return self._at

    def part(self, count: int) -> bytes:
        """The bytes at the offset, as far as there are any."""
        data = self._window.head(count, self._at)
        self._at += len(data)
        return data


def members(window: Window, name: str, kind: str, read: Read) -> Iterator[Code]:
    """Objects in an archive of a kind that :mod:`compat.kernels.places` recognised, each member read by ``read``."""
    if kind == "zip":
        return _wheel(window, read)
    return _layer(window, read) if kind == "tar" else _zipped_layer(window, name, read)


def _wheel(window: Window, read: Read) -> Iterator[Code]:
    """Objects of a wheel or other zip file; over HTTP only the directory and the binaries are fetched."""
    try:
        with zipfile.ZipFile(io.BufferedReader(Reader(window), 1 << 16)) as archive:
            worth = [item for item in archive.infolist() if _tells(item.filename)]
    except _BROKEN as error:
        yield Code(path="", unread=(f"the zip file's directory cannot be read: {error}",))
        return
    sums = accumulate(item.compress_size for item in worth)  # members of an honest archive do not overlap
    honest = [item for item, total in zip(worth, sums, strict=True) if total <= window.size]
    pool = ThreadPoolExecutor(2)
    mapped = pool.map if _announce(window, honest) else map
    try:
        yield from chain.from_iterable(mapped(lambda item: tuple(_zip_member(window, item, read)), honest))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    why = "the members claim more bytes than the archive has; the rest is unread"
    yield from (Code(path=item.filename, unread=(why,)) for item in worth[len(honest) :][:1])


def _announce(window: Window, members: list[zipfile.ZipInfo]) -> bool:
    """Tell a source which compressed members will be gone through: those of ELF, whose section table is at the end.

    Whether it fetches them: then two are decompressed at once, or that would take longer than their way here.
    """
    libraries = [item for item in members if item.compress_type == zipfile.ZIP_DEFLATED and ".so" in item.filename]
    try:
        if not libraries or _zip_source(window, libraries[0]).read_at(0, len(elf.MAGIC)) != elf.MAGIC:
            return False
    except _BROKEN:
        return False
    places = ((item.header_offset, _LOCAL.size + len(item.filename) + item.compress_size) for item in libraries)
    return all(window.expect(*place) for place in places)


def _zip_member(window: Window, item: zipfile.ZipInfo, read: Read) -> Iterator[Code]:
    """Objects of one member, by its name alone where that says it all."""
    if not names.is_binary(item.filename) and (code := names.told(item.filename)):
        yield code
        return
    try:
        yield from read(Window(_zip_source(window, item), 0, item.file_size), item.filename)
    except _BROKEN as error:
        yield Code(path=item.filename, unread=(f"could not be read: {error}",))


def _zip_source(window: Window, item: zipfile.ZipInfo) -> Source:
    """A member's contents as a source: in place if stored, resumable if deflated.

    Raises:
        CutShortError: if the local header is not there, or the member is encrypted or compressed otherwise.
    """
    signature, name, extra = window.unpack(_LOCAL, item.header_offset)
    if item.flag_bits & 1:
        raise CutShortError("an encrypted member")
    if signature != b"PK\x03\x04":
        raise CutShortError("its local header is not where the directory says")
    body = window.part(item.header_offset + _LOCAL.size + name + extra, item.compress_size)
    if item.compress_type == zipfile.ZIP_STORED:
        return body
    if item.compress_type != zipfile.ZIP_DEFLATED:
        raise CutShortError(f"compression method {item.compress_type} is not one that wheels use")
    return Inflater(body, item.file_size, limit=_limit(item.compress_size))


def _limit(compressed: int) -> int:
    """The most bytes that so many compressed ones may become."""
    return min(_LARGEST, max(_FREE, compressed * _RATIO))


def _layer(window: Window, read: Read) -> Iterator[Code]:
    """Objects of an image layer or saved image (a tar file); layers within it are read too."""
    try:
        with tarfile.open(fileobj=io.BufferedReader(Reader(window), 1 << 16), mode="r:") as archive:
            for item in archive:
                if item.isreg() and _is_candidate(item):
                    yield from _tar_member(window, item, read)
    except _BROKEN as error:
        yield Code(path="", unread=(f"the tar file breaks off: {error}",))


def _is_candidate(item: tarfile.TarInfo) -> bool:
    """Whether a layer's file is worth opening; layers within a saved image have digests for names."""
    blob = item.name.endswith(".tar") or "blobs/sha256/" in item.name
    program = bool(item.mode & 0o111) and "." not in item.name.rpartition("/")[2]
    return blob or program or _tells(item.name)


def _tells(name: str) -> bool:
    """Whether a file of this name may hold GPU code, or tells its target by its name."""
    return names.is_binary(name) or names.told(name) is not None


def _tar_member(window: Window, item: tarfile.TarInfo, read: Read) -> Iterator[Code]:
    """Objects of one file of a layer; a sparse one is no plain run of bytes and no compiler makes it."""
    if not names.is_binary(item.name) and (code := names.told(item.name)):
        yield code
        return
    if item.sparse is None:
        yield from read(window.part(item.offset_data, item.size), item.name)


def _zipped_layer(window: Window, name: str, read: Read) -> Iterator[Code]:
    """Objects of a gzipped layer; any other gzip file has nothing to say."""
    try:
        plain = Window(Inflater(window, None, limit=_limit(window.size), form=GZIP))
        if plain.head(5, 257) == b"ustar":
            yield from _layer(plain, read)
    except CutShortError as error:
        yield Code(path=name, unread=(f"the gzip file cannot be read: {error}",))
