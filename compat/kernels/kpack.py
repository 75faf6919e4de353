"""AMD's kernel packs: device code that was taken out of its libraries, one archive per GPU target.

Since ROCm's packages are split by target, a library such as ``libtorch_hip.so`` may carry no device code: its section
``.rocm_kpack_ref`` names the archives to look in (``.kpack/torch_@GFXARCH@.kpack``), and a missing archive is what
"device kernel image is invalid" means there. An archive is the magic ``KPAK``, u32 version, u64 offset of its table of
contents, and that table as MessagePack, in which ``gfx_arches`` lists the targets (ROCm/TheRock, ``rocm-kpack``,
"Multi-Architecture Packaging with Kpack").
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from compat.kernels.window import CutShortError, Window
from compat.lazy import pattern

MAGIC: Final = b"KPAK"
MARKER: Final = ".rocm_kpack_ref"
PLACEHOLDER: Final = "@GFXARCH@"

_HEADER: Final = Struct("<4sIQ")
_LARGEST: Final = 64 << 20  # of a table of contents; rocBLAS's takes a hundredth
_KEY: Final = b"\xaagfx_arches"  # MessagePack: a text of ten bytes
_ITEM = pattern(rb"[\xa0-\xbf](gfx[0-9a-f]+(?:-[0-9]+)?(?:-generic)?(?::[a-z]+[+-])*)")
_PATTERN = pattern(rb"[\w@./+-]{1,255}\.kpack")


def targets(window: Window) -> list[str]:
    """Targets in an archive's table of contents.

    Raises:
        CutShortError: if the table is not there or does not list any.
    """
    _, _, at = window.unpack(_HEADER, 0)
    if at >= window.size:
        raise CutShortError(f"the table of contents at {at:#x} is not there")
    table = window.head(_LARGEST, at)
    start = table.find(_KEY) + len(_KEY)
    if start < len(_KEY):
        raise CutShortError("its table of contents names no gfx_arches")
    # An array of up to 15 items has one byte of header, a larger one three.
    start += 3 if table[start : start + 1] == b"\xdc" else 1
    found = []
    while item := _ITEM.match(table, start):
        found.append(item[1].decode())
        start += 1 + (table[start] & 31)
    return found


def archives(window: Window) -> tuple[str, ...]:
    """Patterns of archives that a library's marker names, relative to the library's folder."""
    return tuple(dict.fromkeys(item.decode() for item in _PATTERN.findall(window.head(1 << 16))))
