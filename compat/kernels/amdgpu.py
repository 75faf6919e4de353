"""AMD code objects: which gfx target an ELF file of machine 224 is for.

The numbers are the ABI that LLVM documents ("User Guide for AMDGPU Backend", "ELF Code Object", tables of
``e_flags`` and ``EF_AMDGPU_MACH``) and that its test ``elf-header-flags-mach.ll`` lists one by one. gfx940 and gfx941
have been reserved numbers since LLVM 20; binaries built before carry them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from compat.kernels.elf import Elf

# Names behind ``gfx`` in the order of their numbers, from 0x20 on without gaps; ``-`` is a reserved number.
_NUMBERED: Final = (
    "600 601 700 701 702 703 704 - 801 802 803 810 900 902 904 906 908 909 90c 1010 1011 1012 1030 1031 1032 1033 "
    "602 705 805 1035 1034 90a 940 1100 1013 1150 1103 1036 1101 1102 1200 1250 1151 941 942 - 1201 950 1310 9-generic "
    "10-1-generic 10-3-generic 11-generic 1152 - 1154 1153 12-generic 1251 12-5-generic 1172 1170 1171 9-4-generic "
    "- - 11-7-generic 13-generic"
)

# ``e_flags & 0xff`` -> target.
_MACH: Final = {0x20 + number: f"gfx{name}" for number, name in enumerate(_NUMBERED.split()) if name != "-"}

# Every target that has a number.
PROCESSORS: Final = frozenset(_MACH.values())

_V2, _V3 = 0, 1  # EI_ABIVERSION: code object V2 is 0, V3 is 1, V4 to V6 are 2 to 4
# V4 on: two bits per feature: 0 unsupported, 1 any, 2 off, 3 on.
_SETTING: Final = {2: "-", 3: "+"}


def target(elf: Elf) -> str:
    """The target id, ``gfx90a:sramecc+:xnack-``; empty if the processor's number is unknown or not stated (V2)."""
    name = _MACH.get(elf.flags & 0xFF, "")
    if not name or elf.abi == _V2:
        return ""
    return name + (_features_v3(elf.flags) if elf.abi == _V3 else _features_v4(elf.flags))


def _features_v3(flags: int) -> str:
    """V3 has a bit per feature, and no way to say "any": unset may mean off or unsupported, so only "on" is told."""
    return (":sramecc+" if flags & 0x200 else "") + (":xnack+" if flags & 0x100 else "")


def _features_v4(flags: int) -> str:
    """Features that the code insists on; "any" and "unsupported" both leave the name bare, as LLVM prints it."""
    found = {"sramecc": flags >> 10 & 3, "xnack": flags >> 8 & 3}
    return "".join(f":{feature}{_SETTING[state]}" for feature, state in found.items() if state in _SETTING)
