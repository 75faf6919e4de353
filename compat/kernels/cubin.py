"""Stand-alone NVIDIA machine code and PTX text: which target a ``.cubin`` or ``.ptx`` file is for.

``e_flags`` of a cubin changed with its ELF ABI version (LLVM, ``llvm/include/llvm/BinaryFormat/ELF.h``,
``EF_CUDA_*``): up to ABI 7 the SM number is the low byte and 0x800 marks an architecture-specific target; from ABI 8
on the number is the second byte, and the mark is an attribute of the section ``.nv.compat`` (measured: attribute 9 is 1
for ``sm_90a`` and 0 for ``sm_90``). Nothing but the recorded command line tells ``sm_100f`` from ``sm_100``; cuobjdump
calls both ``sm_100``, and so does this module: both run on the same devices.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.kernels.fatbin import Image
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.kernels.elf import Elf
    from compat.kernels.window import Window

_ABI_MOVED: Final = 8
_ACCELERATED: Final = 0x800
_ARCH_SPECIFIC: Final = 9
_HEAD: Final = 64 << 10  # directives come first in PTX, behind a comment of a few lines

_TARGET = pattern(rb"^[ \t]*\.target[ \t]+sm_(\d{2,3}[af]?)", re.MULTILINE)
_VERSION = pattern(rb"^[ \t]*\.version[ \t]+(\d{1,2}\.\d{1,2})", re.MULTILINE)


def image(elf: Elf) -> Image | None:
    """The target of a cubin; ``None`` if its flags name none."""
    moved = elf.abi >= _ABI_MOVED
    number = elf.flags >> 8 & 0xFF if moved else elf.flags & 0xFF
    specific = _is_specific(elf) if moved else bool(elf.flags & _ACCELERATED)
    return Image(f"sm_{number}{'a' if specific else ''}") if number >= 10 else None


def _is_specific(elf: Elf) -> bool:
    """Whether attribute 9 of ``.nv.compat`` is 1; the section repeats the options of a fat binary's entry."""
    for section in elf.named(".nv.compat"):
        attributes = section.window.head(4096)
        at = 0
        # Each attribute: format byte, number, then one byte and padding (2), a half (3) or a sized block (4).
        while at + 4 <= len(attributes):
            if attributes[at + 1] == _ARCH_SPECIFIC and attributes[at] in {2, 3}:
                return attributes[at + 2] == 1
            at += 4 + (int.from_bytes(attributes[at + 2 : at + 4], "little") if attributes[at] == 4 else 0)
    return False


def ptx(window: Window) -> Iterator[Image]:
    """The target and ISA version of PTX text (PTX ISA, "PTX Module Directives"); nothing if it is not PTX."""
    head = window.head(_HEAD)
    version, target = _VERSION.search(head), _TARGET.search(head)
    if version and target:
        yield Image(f"compute_{target[1].decode()}", version[1].decode())
