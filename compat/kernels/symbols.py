"""Symbols an extension takes from torch, and the C++ string ABI that they tell.

An extension names no version of torch in its file: it is linked against ``libtorch_cpu.so`` whatever the release. What
it imports is the only trace of the one it was built for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import compat.kernels.elf as elf
from compat.lazy import pattern

_LARGEST: Final = 256 << 20  # bytes of a symbol table or its names; torch's largest library has a tenth
_TORCH: Final = (
    "_ZN3c10", "_ZNK3c10", "_ZN2at", "_ZNK2at", "_ZN5torch", "_ZNK5torch", "_ZN5caffe", "_ZTIN3c10", "_ZTVN3c10"
)  # fmt: skip
_NEW: Final = ("__cxx11", "B5cxx11")
# Substitution, template parameter and literal, whose digits count nothing; else the length of an identifier.
_TOKEN = pattern(r"S[0-9A-Z]*_|T[0-9]*_|L[a-z]\d+E|(\d+)")


def named(file: elf.Elf, *, defined: bool) -> Iterator[str]:
    """Names of dynamic symbols that a file defines, or that it takes from others."""
    section = file.of_kind(elf.SHT_DYNSYM)
    texts = elf.strings(file, section) if section else None
    if section is None or texts is None or max(section.window.size, texts.size) > _LARGEST:
        return
    layout = file.layout.symbol
    names = texts.head(texts.size)
    index = 3 if "Q" in layout.format else 5  # st_shndx is the fourth field of the wide layout, the last of the narrow
    for fields in layout.iter_unpack(section.window.head(section.window.size // layout.size * layout.size)):
        end = names.find(b"\0", fields[0], fields[0] + 65536)
        if fields[0] and end > fields[0] and (fields[index] != 0) == defined:
            yield names[fields[0] : end].decode("utf-8", "replace")


def cxx11_abi(names: Iterable[str]) -> bool | None:
    """Which ``std::string`` the imports from torch are built with; ``None`` if none of them has a string.

    libstdc++'s dual ABI mangles the new string as ``std::__cxx11::basic_string`` and abbreviates the old one to ``Ss``
    (Itanium C++ ABI, "Compression"; libstdc++ manual, "Dual ABI"). Torch is built with one of them, and an extension
    built with the other fails with an undefined symbol.
    """
    old = False
    for name in names:
        if not name.startswith(_TORCH):
            continue
        if any(mark in name for mark in _NEW):
            return True
        old = old or "Ss" in _without_identifiers(name)
    return False if old else None


def _without_identifiers(name: str) -> str:
    """A mangled name without its source identifiers (``5Error``), in which letters mean nothing."""
    kept, at = [], 0
    while found := _TOKEN.search(name, at):
        kept.append(name[at : found.start()])
        at = found.end() + (int(found[1][:6]) if found[1] else 0)
    return " ".join([*kept, name[at:]])
