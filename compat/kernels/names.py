"""Files that tell their GPU target by their name alone: the kernel libraries of AMD's math stack, and binary suffixes.

Tensile (rocBLAS, hipBLASLt) writes ``TensileLibrary_..._gfx90a.co`` and ``Kernels.so-000-gfx90a-xnack-.hsaco``, MIOpen
``gfx90a6e.kdb`` (target, then the number of compute units in hex) and ``gfx942.db.txt``: see the data folders
``lib/rocblas/library``, ``lib/hipblaslt/library`` and ``share/miopen/db`` of a ROCm installation.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from compat.kernels.amdgpu import PROCESSORS
from compat.kernels.values import Code
from compat.lazy import pattern

_LOADED: Final = (".so", ".dll", ".pyd", ".exe", ".dylib", ".a", ".o")
_GPU: Final = (".cubin", ".fatbin", ".ptx", ".nvgpu", ".ltoir", ".hsaco", ".co", ".hipfb", ".kpack", ".nbc")
_SUFFIXES: Final = frozenset((*_LOADED, *_GPU))
_VERSIONED = pattern(r"\.so(?:\.\d+)+$")
_DATA: Final = frozenset([".co", ".hsaco", ".dat", ".kdb", ".db", ".fdb", ".hipfb"])
_GFX = pattern(r"(?<![a-z0-9])gfx(9-generic|[0-9]{1,2}-[0-9]-generic|[0-9]{1,2}-generic|[0-9a-f]{3,4})(?![a-z])")
_FEATURE = pattern(r"[-_:](sramecc|xnack)([+-])")
_LEADING = pattern(r"gfx([0-9a-f]{3,7})\.")


def is_binary(name: str) -> bool:
    """Whether a file of this name may hold GPU code and is worth opening."""
    dot = name.rfind(".")
    return name[dot:] in _SUFFIXES or (".so." in name and _VERSIONED.search(name) is not None)


def told(path: str) -> Code | None:
    """The object that a file is by its name alone; ``None`` if its name tells no target."""
    found = target(path.rpartition("/")[2])
    return Code(path=path, form="name", images={found: 1}, binaries={(found,): 1}) if found else None


def target(name: str) -> str:
    """The gfx target in a data file's name, features included; empty if there is none.

    >>> target("TensileLibrary_Type_HH_gfx90a.co"), target("Kernels.so-000-gfx90a-xnack+.hsaco"), target("gfx90a6e.kdb")
    ('gfx90a', 'gfx90a:xnack+', 'gfx90a')
    """
    if "gfx" not in name or not _DATA.intersection(PurePosixPath(name).suffixes):
        return ""
    if found := _LEADING.match(name):
        return _without_units(found[1])
    if found := _GFX.search(name):
        features = sorted(f":{feature}{state}" for feature, state in _FEATURE.findall(name, found.end()))
        return f"gfx{found[1]}{''.join(features)}"
    return ""


def _without_units(digits: str) -> str:
    """``942130`` -> ``gfx942``: the longest processor that leaves nothing, or two to three digits of compute units."""
    for length in (len(digits), 4, 3):
        if f"gfx{digits[:length]}" in PROCESSORS and len(digits) - length in {0, 2, 3}:
            return f"gfx{digits[:length]}"
    return ""
