"""Symbols an extension takes from torch: its C++ string ABI, and what a given torch does not offer.

An extension names no version of torch in its file: it is linked against ``libtorch_cpu.so`` whatever the release. What
it imports is the only trace of the one it was built for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import compat.kernels.elf as elf
from compat.errors import CannotCheckError
from compat.kernels.window import CutShortError, opened
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_LARGEST: Final = 256 << 20  # bytes of a symbol table or its names; torch's largest library has a tenth
_TORCH: Final = (
    "_ZN3c10", "_ZNK3c10", "_ZN2at", "_ZNK2at", "_ZN5torch", "_ZNK5torch", "_ZN5caffe", "_ZTIN3c10", "_ZTVN3c10"
)  # fmt: skip
_LIBRARIES: Final = ("libc10*.so", "libtorch*.so")
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


def is_torch(name: str) -> bool:
    """Whether a mangled name lies in one of torch's namespaces."""
    return name.startswith(_TORCH)


def cxx11_abi(names: Iterable[str]) -> bool | None:
    """Which ``std::string`` the imports from torch are built with; ``None`` if none of them has a string.

    libstdc++'s dual ABI mangles the new string as ``std::__cxx11::basic_string`` and abbreviates the old one to ``Ss``
    (Itanium C++ ABI, "Compression"; libstdc++ manual, "Dual ABI"). Torch is built with one of them, and an extension
    built with the other fails with an undefined symbol.
    """
    old = False
    for name in names:
        if not is_torch(name):
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


def lacking_symbols(extension: Path, torch: Path) -> tuple[str, ...]:
    """What an extension needs and the torch of a folder does not offer: why its import fails, before it does.

    Args:
        extension: an extension module, ``flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so``.
        torch: the folder of the installed package; its ``lib`` is read.

    Returns:
        Mangled names, sorted; empty if nothing lacks.

    Raises:
        CannotCheckError: if either is no readable ELF file, or the folder has no library of torch.
    """
    libraries = sorted(path for name in _LIBRARIES for path in (torch / "lib").glob(name))
    if not libraries:
        raise CannotCheckError(f"there is no torch library in {torch / 'lib'}")
    try:
        with opened(extension) as window:
            wanted = {name for name in named(elf.read(window), defined=False) if is_torch(name)}
        for library in libraries:
            with opened(library) as window:
                wanted.difference_update(named(elf.read(window), defined=True) if wanted else ())
    except (OSError, CutShortError) as error:
        raise CannotCheckError(f"symbols could not be compared: {error}") from None
    return tuple(sorted(wanted))
