"""Opening what a person names: a file, ``/dev/stdin``, a pipe of the shell; a named pipe is not waited for for ever."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

from compat.errors import InputError

# Seconds for which a named pipe may be silent: a script may start its writer after the reader.
PATIENCE: Final = 10.0


def opened(name: str | Path, *, patience: float = PATIENCE) -> BinaryIO:
    """A file opened for reading its bytes.

    Plain ``open`` of a named pipe waits for a writer, who may never come; here it is given some seconds to say
    something. A pipe without a name (``--log <(program)``) has its writer from the start, and may take its time.

    Raises:
        OSError: if it cannot be opened.
        InputError: if it is a named pipe and nothing came out of it in ``patience`` seconds.
    """
    if not hasattr(os, "O_NONBLOCK"):  # Windows, whose pipes are no files
        return Path(name).open("rb")
    stream = open(name, "rb", opener=_at_once)  # noqa: SIM115 - Path.open has no opener; the caller closes it
    if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode) and _is_silent(stream.fileno(), patience):
        stream.close()
        why = f"is a pipe, and nothing came out of it in {patience:g} seconds"
        raise InputError(why, where=str(name), expected="a file, or a pipe that something writes to")
    os.set_blocking(stream.fileno(), True)
    return stream


def _at_once(name: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe."""
    return os.open(name, flags | os.O_NONBLOCK)


def _is_silent(handle: int, patience: float) -> bool:
    """Whether a pipe has a name and neither data nor an end; pipes without a name are of a file system of their own."""
    import select

    ours = os.pipe()
    named = os.fstat(handle).st_dev != os.fstat(ours[0]).st_dev
    for end in ours:
        os.close(end)
    return named and not select.select([handle], [], [], patience)[0]
