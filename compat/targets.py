"""Kernel targets: which compiled GPU code runs on which device.

NVIDIA rules (CUDA C++ Programming Guide, "Binary compatibility" and "PTX compatibility"; "Family-specific" and
"Architecture-specific" targets in the same guide):

- SASS for X.Y runs on devices X.Z with Z >= Y, and on no other major;
- code for an integrated (Jetson) capability runs on that capability only, and no desktop code runs there;
- ``sm_XYa`` runs on X.Y alone; ``sm_XYf`` on X.Z with Z >= Y of the same family;
- PTX for X.Y is compiled by the driver for any device of capability >= X.Y; ``compute_XYa`` only for X.Y.

Intel rules (ocloc, table of binary compatibility in ``platforms.h`` of intel/compute-runtime): machine code runs on the
device it names and on those listed as its kin; SPIR-V (``spir64`` to SYCL) is compiled by the driver for any.

AMD rules (LLVM, "User Guide for AMDGPU Backend"): a code object runs on the target it names; a generic target
(``gfx11-generic``) runs on the members listed for it; a feature (``:xnack+``) must match where the code states one.

Which capabilities are integrated, which generic target a gfx belongs to and what code an Intel device runs are facts of
the matrix: they come in as :class:`Families`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import Final, Literal

from compat.lazy import dataclass, pattern

Kernels = Literal["native", "ptx", "none"]

_NVIDIA = pattern(r"(sm|compute)_([0-9]{1,3})([0-9])([af]?)")
_AMD = pattern(r"gfx(?:[0-9a-f]{3,4}|\d{1,2}(?:-\d)?-generic)(?::[a-z]+[+-]){0,4}")
_INTEL = pattern(r"(?!sm_?\d|compute|gfx)[a-z][a-z0-9]{1,11}(?:-[a-z0-9]{1,11}){0,3}")
# How targets begin of vendors whose compilers choose the code at run time, for the device itself: generations of the
# TPU, series of Ascend.
AT_RUN_TIME: Final = {"google": "tpu-", "huawei": "ascend-"}
_CAPABILITY = pattern(r"([0-9]{1,2})\.([0-9])")


# Intermediate code for Intel devices, by the name that SYCL compilers give it; the driver compiles it.
SPIRV: Final = "spir64"


@dataclass(frozen=True, slots=True, order=True)
class Sm:
    """One NVIDIA target: ``sm_90a`` is ``Sm(9, 0, "a", ptx=False)``."""

    major: int
    minor: int
    suffix: str = ""
    ptx: bool = False

    def __str__(self) -> str:
        return f"{'compute' if self.ptx else 'sm'}_{self.major}{self.minor}{self.suffix}"

    @property
    def capability(self) -> str:
        """The compute capability as NVIDIA prints it: ``"9.0"``."""
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, slots=True)
class Families:
    """What the matrix knows about kinship of devices.

    Attributes:
        integrated: capabilities of Jetson-class devices, as ``sm_XY``.
        generic: gfx target -> the generic target whose code it runs (``gfx1100`` -> ``gfx11-generic``).
        intel: Intel target -> names for which code that it runs is compiled (``lnl-m`` -> ``lnl-m xe2-lpg bmg``).
    """

    integrated: frozenset[str] = frozenset()
    generic: Mapping[str, str] = field(default_factory=dict)
    intel: Mapping[str, Collection[str]] = field(default_factory=dict)


def sm(text: str) -> Sm | None:
    """Read ``sm_90a``, ``compute_90``, ``9.0`` or ``9.0+PTX`` (the PTX part); ``None`` if it is none of these.

    >>> str(sm("sm_120f")), str(sm("8.9")), sm("gfx90a")
    ('sm_120f', 'sm_89', None)
    """
    if found := _NVIDIA.fullmatch(text):
        kind, high, low, suffix = found.groups()
        return Sm(int(high), int(low), suffix, ptx=kind == "compute")
    if found := _CAPABILITY.fullmatch(text.removesuffix("+PTX")):
        return Sm(int(found[1]), int(found[2]), ptx=text.endswith("+PTX"))
    return None


def is_gfx(text: str) -> bool:
    """Whether ``text`` names an AMD target, features and generic targets included."""
    return _AMD.fullmatch(text) is not None


def is_intel(text: str) -> bool:
    """Whether ``text`` may name an Intel target or code for one (``pvc``, ``spir64``); which there are, rows say."""
    return _INTEL.fullmatch(text) is not None


def is_target(text: str) -> bool:
    """Whether ``text`` is a device target in canonical spelling (``sm_89``, ``gfx1100``)."""
    found = _NVIDIA.fullmatch(text)
    return (found is not None and found[1] == "sm" and not found[4]) or (is_gfx(text) and "generic" not in text)


def kernels_for(device: str, code: Iterable[str], families: Families) -> Kernels:
    """How a device runs a build that carries ``code``: natively, through PTX (or SPIR-V), or not at all.

    ``device``: the device's target, ``sm_89`` or ``gfx1100`` (features allowed: ``gfx90a:xnack+``). ``code``: the
    targets the build carries (``sm_80 compute_90 gfx90a:xnack- ...``).
    """
    ptx = False
    for target in code:
        how = _runs(device, target, families)
        if how == "native":
            return "native"
        ptx = ptx or how == "ptx"
    return "ptx" if ptx else "none"


def _runs(device: str, target: str, families: Families) -> Kernels:
    """How a device runs code for a target; code of the other vendor does not run at all."""
    want, have = sm(device), sm(target)
    if want is not None and have is not None:
        return _runs_ptx(want, have) if have.ptx else _runs_sass(want, have, families)
    if device == target and device.startswith(tuple(AT_RUN_TIME.values())):
        return "native"
    if device in families.intel:
        return "native" if target in families.intel[device] else "ptx" if target == SPIRV else "none"
    return "native" if is_gfx(target) and _runs_gfx(device, target, families) else "none"


def _runs_sass(want: Sm, have: Sm, families: Families) -> Kernels:
    """Machine code runs on its own capability and on higher minors of the same major.

    Code for ``a`` targets runs on exactly one capability, and that of integrated GPUs (Jetson, ``families``) does
    not mix with that of discrete ones. Source: CUDA C++ Programming Guide, "Binary Compatibility"; NVIDIA's notes
    on architecture-specific and family-specific targets of CUDA 12.9.
    """
    exact = (want.major, want.minor) == (have.major, have.minor)
    apart = str(want) in families.integrated or f"sm_{have.major}{have.minor}" in families.integrated
    if exact or (have.suffix != "a" and not apart and want.major == have.major and want.minor >= have.minor):
        return "native"
    return "none"


def _runs_ptx(want: Sm, have: Sm) -> Kernels:
    """PTX is compiled by the driver for its own capability and every later one, ``f`` within a major, ``a`` for one.

    Source: CUDA C++ Programming Guide, "PTX Compatibility", and the PTX ISA's ``.target`` directive.
    """
    if have.suffix == "a":
        fits = (want.major, want.minor) == (have.major, have.minor)
    elif have.suffix == "f":
        fits = want.major == have.major and want.minor >= have.minor
    else:
        fits = (want.major, want.minor) >= (have.major, have.minor)
    return "ptx" if fits else "none"


def _runs_gfx(device: str, target: str, families: Families) -> bool:
    """AMD code runs on its own processor or its family's generic one, unless a feature of it is switched.

    A feature that the code does not name fits either setting. Source: LLVM's AMDGPU usage guide, "Target ID" and
    "Generic processors".
    """
    name, *features = device.split(":")
    code, *needed = target.split(":")
    if code != name and families.generic.get(name) != code:
        return False
    opposite = {"+": "-", "-": "+"}
    return not any(feature[:-1] + opposite[feature[-1]] in features for feature in needed)
