"""Static archives (``ar``): their members, read in place (System V and GNU variants, ``man 5 ar``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.kernels.window import Problems, Window

MAGIC: Final = b"!<arch>\n"
_HEADER: Final = 60
_LONGEST_NAMES: Final = 16 << 20


class Member(NamedTuple):
    """One member and its contents, clipped to the archive."""

    name: str
    window: Window


def members(window: Window, problems: Problems) -> Iterator[Member]:
    """Members in order; symbol tables are left out.

    ``problems``: gets a sentence where the chain of headers breaks; what follows is unread.
    """
    at, names = len(MAGIC), b""
    while at + _HEADER <= window.size:
        header = window.read(at, _HEADER)
        size = header[48:58].strip()
        if header[58:] != b"`\n" or not size.isdigit():
            problems.add(f"the archive's header at {at:#x} is broken; what follows it is unread")
            return
        name, length = header[:16].rstrip(), int(size)
        body = window.part(at + _HEADER, length)
        if body.size < length:
            problems.add(f"the archive's member at {at:#x} claims {length} bytes, of which not all are there")
        if name == b"//":
            names = body.head(_LONGEST_NAMES)
        elif name not in {b"/", b"/SYM64/"} and not name.startswith(b"__.SYMDEF"):
            yield _member(name, names, body)
        at += _HEADER + length + length % 2  # members start at even offsets
    if window.head(_HEADER, at).strip(b"\n"):
        problems.add(f"the archive breaks off within the header at {at:#x}")


def _member(name: bytes, names: bytes, body: Window) -> Member:
    """BSD writes a long name (``#1/20``) in front of the contents."""
    if name.startswith(b"#1/") and name[3:].isdigit():
        length = int(name[3:])
        return Member(body.text(0, min(length, 1024)), body.part(length, body.size))
    return Member(_name(name, names), body)


def _name(name: bytes, names: bytes) -> str:
    """A name as written, or looked up in the table of long names (``/123``)."""
    if name.startswith(b"/") and name[1:].isdigit():
        start = int(name[1:])
        name = names[start : start + 1024].partition(b"\n")[0]
    return name.rstrip(b"/").decode("utf-8", "replace")
