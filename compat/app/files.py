"""Reading what people name and writing what they asked for, without ever losing or half-writing anything."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from compat import tomls
from compat.errors import InputError
from compat.inputs import opened

LIMIT: Final = 64 * 1024 * 1024  # bytes; far above any log worth pasting
ENDS: Final = 16 * 1024 * 1024  # bytes read from the start and from the end of a log above that
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")  # what marks a text in UTF-16
_LONGEST_DOCUMENT: Final = 8 * 1024 * 1024  # bytes


def read_text(name: str, *, limit: int = LIMIT) -> str:
    """The text of a file, or of standard input for ``-`` (which can be read once), in UTF-8 or marked UTF-16.

    Undecodable bytes are replaced.

    Raises:
        InputError: if it cannot be read or is larger than ``limit`` bytes.
    """
    with _stream(name) as stream:
        large = _size(stream) > limit
        raw = b"" if large else stream.read(limit + 1)
    if large or len(raw) > limit:
        raise InputError(f"is larger than {limit // 1024 // 1024} MiB", where=shown(name))
    return _decoded(raw)


def read_log(name: str) -> tuple[str, int]:
    """The text of a log or a report, and its size in bytes; of a file over :data:`LIMIT` the :data:`ENDS`.

    Raises:
        InputError: if it cannot be read, if it holds null bytes as programs and archives do, or if what a pipe gives is
            larger than that: nobody knows where it ends.
    """
    with _stream(name) as stream:
        size, tail = _size(stream), b""
        raw = stream.read(ENDS if size > LIMIT else LIMIT + 1)
        if size > LIMIT:
            stream.seek(-ENDS, os.SEEK_END)
            tail = stream.read(ENDS)
    if len(raw) > LIMIT:
        hint = "give its last part: tail -c 60M shows it"
        raise InputError(f"is larger than {LIMIT // 1024 // 1024} MiB", where=shown(name), hint=hint)
    mark = raw[:2] if raw.startswith(_WIDE) else b""
    text = "\n".join(_decoded(part) for part in (raw, mark + tail) if part)
    if "\x00" in text and not is_text(text):
        raise InputError("is a binary file", where=shown(name), expected="a log or a report, as text")
    return text, max(size, len(raw))


@contextmanager
def _stream(name: str) -> Iterator[BinaryIO]:
    """A file, or standard input for ``-``, open to be read."""
    try:
        if name != "-":
            with opened(name) as stream:
                yield stream
        elif sys.stdin is None:
            raise InputError("is closed", where=shown(name), expected="something to read")
        else:
            yield sys.stdin.buffer
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=shown(name)) from None
    except ValueError:  # a null byte in the name
        raise InputError("is no name of a file", where=repr(name)) from None


def _size(stream: BinaryIO) -> int:
    """The size of a file in bytes; 0 for a pipe, and for what is read from standard input."""
    return 0 if stream is getattr(sys.stdin, "buffer", None) else os.fstat(stream.fileno()).st_size


def _decoded(raw: bytes) -> str:
    """A text in UTF-8, or in UTF-16 where it is marked so: PowerShell redirects (``program > log.txt``) in that."""
    return raw.decode("utf-16" if raw.startswith(_WIDE) else "utf-8-sig", "replace")


def is_text(text: str) -> bool:
    """Whether decoded bytes were a text: what is not has control characters and undecodable bytes everywhere.

    A share of a tenth leaves room for a log with a torn block in it; programs and archives are far above.
    """
    head = text[:65536]
    odd = sum(mark == "\N{REPLACEMENT CHARACTER}" or (mark < " " and mark not in "\t\n\r\f\x1b\b") for mark in head)
    return odd * 10 <= len(head)


def shown(name: str) -> str:
    """What to call an input in a message."""
    return "standard input" if name == "-" else name


def only_once(names: Iterable[str]) -> None:
    """Refuse that standard input, which can be read once, is named twice.

    Raises:
        InputError: if it is.
    """
    if sum(name == "-" for name in names) > 1:
        raise InputError("named twice, but can be read only once", where="standard input (-)", hint="name a file")


def read_document(name: str, *, lists: bool = False) -> Any:
    """A JSON or TOML object from a file or ``-``; JSON if it starts with a brace, as no TOML does.

    With ``lists`` a JSON list passes too.

    Raises:
        InputError: naming file, line and column of the fault.
    """
    return document_of(read_text(name, limit=_LONGEST_DOCUMENT), name, lists=lists)


def document_of(text: str, name: str, *, lists: bool = False) -> Any:
    """The same from the text of the file called ``name``."""
    start = text.lstrip()[:2]
    is_json = start[:1] == "{" or (lists and start[:1] == "[" and (start[1:].isspace() or start[1:] == "{"))
    document = _json(text, shown(name)) if is_json else tomls.parsed(text, shown(name), "neither JSON nor valid TOML")
    if not isinstance(document, dict) and not (lists and isinstance(document, list)):
        raise InputError("is not a JSON object", where=shown(name), expected="{...}")
    return document


def _json(text: str, name: str) -> Any:
    """A document in JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg}", where=f"{name}:{error.lineno}:{error.colno}") from None
    except RecursionError:
        raise InputError("not usable JSON: nested too deep", where=name) from None
    except ValueError:  # the interpreter's bound on digits, told in its own terms
        raise InputError("not usable JSON: a number has thousands of digits", where=name) from None


# The folder takes no new file, or another file system's file is mounted there: a container's /dev/termination-log.
_IN_PLACE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY})


_MARK: Final = "Written by envcheck"


def demand_ours(name: str, option: str) -> None:
    """Refuse to put what we write in the place of a file that a person wrote.

    ``name``: the file that is to be written; it need not exist, and ``-`` or nothing is no file.

    Raises:
        InputError: if the file is there without the words that stand in every file of ours, or is a folder.
    """
    if name and Path(name).is_dir():
        raise InputError("is a folder", where=f"{option} {name}", expected="a file name")
    if name in {"", "-"} or not Path(name).is_file():
        return
    if _MARK not in read_text(name):
        hint = "remove or rename it first, or name another file"
        raise InputError("is there already, and envcheck did not write it", where=f"{option} {name}", hint=hint)


def write_atomically(name: str, text: str, option: str = "--output ") -> None:
    """Write a file so that it is whole or not there: to a temporary neighbour, then renamed over it.

    A file that may be written but not replaced is written in place; one that is replaced keeps its mode and owner.
    ``option``: what stands before the name in a message.

    Raises:
        InputError: if its folder does not exist or cannot be written to.
    """
    try:
        path = Path(os.path.realpath(name))  # a link stays one: what it points to is written
        if path.is_symlink():
            raise InputError("is a link that leads round in a circle", where=f"{option}{name}")
        if path.is_dir():
            raise InputError("is a folder", where=f"{option}{name}", expected="a file name")
        if not path.parent.is_dir():
            raise InputError(f"folder {path.parent} does not exist", where=f"{option}{name}", hint="make it first")
        try:
            _replace(path, text)
        except OSError as error:
            if error.errno not in _IN_PLACE or not path.is_file():
                raise
            with path.open("w", encoding="utf-8", errors="replace", newline="") as stream:
                stream.write(text)
    except OSError as error:
        why = "it is a pipe that nothing reads" if error.errno == errno.ENXIO else error.strerror
        raise InputError(f"cannot be written: {why}", where=f"{option}{name}") from None
    except ValueError:
        raise InputError("is no name of a file", where=f"{option}{name!r}") from None


def write_tree(folder: str, files: Mapping[str, str], head: str) -> tuple[str, ...]:
    """Write files below a folder, and make the folders between; the names of what was written.

    ``head``: how a file of ours begins: another one of the same name is somebody's own, and stays.

    Raises:
        InputError: if such a file stands there, before anything is written.
    """
    for name, text in files.items():
        path = Path(folder, name)
        if text.startswith(head) and path.is_file() and not path.read_text("utf-8", "replace").startswith(head):
            raise InputError("is there already and not of our making", where=str(path), hint="move it away first")
    for name, text in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(str(path), text)
    return tuple(files)


def _unless_unread(name: str, flags: int) -> int:
    """Open for writing; a named pipe that nobody reads is an error (ENXIO) instead of a wait for ever."""
    handle = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
    os.set_blocking(handle, True)
    return handle


def replace_folder(folder: str, files: Mapping[str, str], head: str, mark: str) -> None:
    """Put a folder of files in the place of one of ours, so that it is whole or as it was.

    Args:
        folder: the folder; the one above it exists.
        files: path below it -> text.
        head: the file that says whose the folder is.
        mark: words in the first 2000 characters of that file, where the folder is ours.

    Raises:
        InputError: if something else stands there, or it cannot be written.
    """
    import shutil
    import tempfile

    path = Path(os.path.realpath(folder))
    if path.exists() and not path.is_dir():
        raise InputError("is there already, and no folder", where=folder, expected="a new folder")
    if path.is_dir() and any(path.iterdir()):
        ours = path / head
        if not ours.is_file() or mark not in ours.read_text("utf-8", "replace")[:2000]:
            hint = "remove or rename it first, or name another folder"
            raise InputError("is there already, and envcheck did not write it", where=folder, hint=hint)
    try:
        scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=folder) from None
    try:
        made = scratch / "new"
        for name, text in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(text, "utf-8")
        if path.exists():
            path.rename(scratch / "old")
        made.rename(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", where=folder) from None
    finally:
        if (scratch / "old").exists() and not path.exists():
            (scratch / "old").rename(path)
        shutil.rmtree(scratch, ignore_errors=True)


def _replace(path: Path, text: str) -> None:
    """Write beside the file and rename: a reader sees the old text or the new one, whatever interrupts."""
    import tempfile  # with it come random numbers, which no command needs that only prints

    if path.exists() and not path.is_file():  # /dev/stdout, a pipe: nothing to rename over
        with open(path, "w", encoding="utf-8", errors="replace", opener=_unless_unread) as stream:
            stream.write(text)
        return
    mask = os.umask(0)
    os.umask(mask)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as stream:
            stream.write(text)
        old = path.stat() if path.exists() else None
        if old and hasattr(os, "chown"):
            with suppress(OSError):  # who may not give it to its owner leaves it to who writes
                os.chown(temporary, old.st_uid, old.st_gid)
        Path(temporary).chmod(stat.S_IMODE(old.st_mode) if old else 0o666 & ~mask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
