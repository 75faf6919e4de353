"""Where GPU code is looked for: a file, a directory, a wheel, an image layer.

In a directory only files whose names are those of binaries are opened: a site-packages holds a hundred thousand others.
A file that is named is opened whatever its name. Links are not followed: what they lead to is met by itself or lies
outside of what was asked about.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import compat.kernels.contents as contents
import compat.kernels.names as names
from compat.errors import InputError
from compat.kernels.values import Code, Inspection
from compat.kernels.window import CutShortError, Window, opened

_USTAR_AT: Final = 257
# Kind of archive -> where its magic stands, and the magic.
_PACKED: Final = {"zip": (0, b"PK\x03\x04"), "tar": (_USTAR_AT, b"ustar"), "gzip": (0, b"\x1f\x8b\x08")}
_DEEPEST: Final = 3  # a saved image, its layer, a wheel in it; an archive that contains itself has no end
_MOST_FILES: Final = 1 << 21
_EXECUTABLE: Final = 0o111


def inspect(path: Path | str) -> Inspection:
    """Inspect a file, wheel, layer or directory.

    Raises:
        InputError: if there is nothing at ``path``, or it is no file or directory that may be read.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return gather(str(path), _tree(path))
        if not stat.S_ISREG(mode):
            raise InputError("neither a file nor a directory", where=str(path))
        with opened(path) as window:
            return inspect_file(window, path.name, where=str(path))
    except OSError as error:
        raise InputError(
            error.strerror or str(error), where=str(path), expected="a file or directory to inspect"
        ) from None


def inspect_file(window: Window, name: str, *, where: str = "") -> Inspection:
    """Inspect one file that is already open, a remote one too.

    ``window``: its bytes: ``Window(Stream(file))`` over anything that can seek and read. ``where``: what to call it in
    the result; the name if empty.
    """
    return gather(where or name, contained(window, name, whole=True))


def contained(window: Window, name: str, *, whole: bool = False, depth: int = 0) -> Iterator[Code]:
    """Objects of one file, those inside of a wheel or layer included.

    ``whole``: whether to yield an object even if there is nothing to tell.
    """
    try:
        head = window.head(_USTAR_AT + 5)
        kind = next((kind for kind, (at, magic) in _PACKED.items() if head[at : at + len(magic)] == magic), "")
        if not kind:
            yield from _single(window, name, whole=whole)
        elif depth == _DEEPEST:
            yield Code(path=name, unread=(f"it lies {depth} archives deep",))
        else:
            import compat.kernels.packed as packed

            yield from packed.members(window, name, kind, partial(contained, depth=depth + 1))
    except CutShortError as error:  # from a source that does not keep its promise: damaged, or shrinking
        yield Code(path=name, unread=(str(error),))


def _single(window: Window, name: str, *, whole: bool) -> Iterator[Code]:
    """Objects of a file that is no archive of files."""
    found = False
    for code in contents.read(window, name):
        found = True
        yield code
    if not found and (by_name := names.told(name)):
        yield by_name
    elif not found and whole:
        yield Code(path=name, unread=("not a kind of file that holds GPU code",))


def _tree(root: Path) -> Iterator[Code]:
    """Objects of every binary below a directory; links are not followed, so nothing is met twice."""
    for count, file in enumerate(files(root)):
        if count == _MOST_FILES:
            yield Code(path=".", unread=(f"there are more than {_MOST_FILES} files; the rest was not looked at",))
            return
        yield from read_path(file, file.relative_to(root).as_posix())


def files(root: Path) -> Iterator[Path]:
    """Files below ``root`` that are worth opening, or that tell a target by name, in a stable order."""
    waiting = [str(root)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue  # vanished or forbidden: a tree is read as far as it may be
        waiting.extend(entry.path for entry in reversed(found) if entry.is_dir(follow_symlinks=False))
        yield from (Path(entry.path) for entry in found if _is_candidate(entry))


def _is_candidate(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a directory is a file worth opening."""
    if names.is_binary(entry.name) or names.target(entry.name):
        return entry.is_file(follow_symlinks=False)
    if "." in entry.name:
        return False
    try:  # programs and an image's blobs have no suffix
        runs = bool(entry.stat().st_mode & _EXECUTABLE)
        return entry.is_file(follow_symlinks=False) and (runs or len(entry.name) == 64)
    except OSError:
        return False


def read_path(path: Path, name: str) -> Iterator[Code]:
    """Objects of a file on disk under the name ``name``; what cannot be opened becomes a sentence."""
    if not names.is_binary(name) and (code := names.told(name)):
        yield code
        return
    try:
        with opened(path) as window:
            yield from contained(window, name)
    except OSError as error:
        yield Code(path=name, unread=(f"could not be read: {error}",))


def gather(path: str, found: Iterable[Code]) -> Inspection:
    """An inspection of what has something to say; a single object always has."""
    codes = list(found)
    kept = codes if len(codes) == 1 else [code for code in codes if code.matters]
    return Inspection(path=path, objects=tuple(sorted(kept, key=lambda code: code.path)), scanned=len(codes))
