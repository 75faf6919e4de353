"""What ``--gpu`` names: one GPU, a slice of one, or the GPUs of a cloud's instance type."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.errors import InputError
from compat.facts import Gpu
from compat.lazy import dataclass, pattern
from compat.matrix.instances import find_instance, is_instance
from compat.matrix.processors import find_processor, hint, why
from compat.resolve.devices import vendor_of
from compat.targets import is_gfx, sm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.matrix import Matrix
    from compat.matrix.rows import Product

# A MIG slice behind the name of its card: ``H100:1g.10gb``, or ``... MIG 1g.10gb`` as CUDA names it.
_SLICE: Final = pattern(r"(.{1,200}?)(?::|\s(?:MIG\s)?)([1-7]g\.[0-9]{1,3}gb(?:[+-][a-z.]{2,8})?)", re.IGNORECASE)
_RUNTIME: Final = pattern(r"(?i:cu|cuda|rocm)[ _-]?[0-9][0-9.]{0,7}")


@dataclass(frozen=True, slots=True)
class Named:
    """The GPUs that a name stands for, and the architecture of the machine where the name tells it too."""

    gpus: tuple[Gpu, ...]
    arch: str = ""


def named(matrix: Matrix, text: str) -> Named:
    """The GPUs that a name, alias, PCI id, target, slice (``H100:1g.10gb``) or instance type stands for.

    Raises:
        InputError: if it is not known, or names products of several targets.
    """
    if found := _SLICE.fullmatch(text.strip()):
        return Named((_sliced(matrix, found[1], found[2].lower()),))
    if not is_instance(text):
        return Named((gpu(matrix, text),))
    row = find_instance(matrix, text)
    one = gpu(matrix, row.gpu)
    if row.part:
        one = replace(one, name=f"{one.name} ({row.part})", virtual="vgpu")
    return Named((one,) * row.count, row.arch)


def _sliced(matrix: Matrix, name: str, profile: str) -> Gpu:
    """A MIG slice of a card, named as CUDA names it.

    Raises:
        InputError: if the card is not known, or if no card of that name has the profile, with those that it has.
    """
    from compat.matrix.products import find_gpu

    rows = find_gpu(matrix, name)
    fitting = [row for row in rows if profile in _profiles(row)]
    if fitting:
        return replace(gpu(matrix, fitting[0].name), name=f"{fitting[0].name} MIG {profile}", mig="enabled")
    whole = gpu(matrix, name) if not rows else rows[0]
    known = next((row for row in rows if row.mig), None)
    raise InputError(
        f"no MIG profile {profile} of {whole.name} is known",
        where="--gpu",
        expected=f"{known.name} with one of {', '.join(_profiles(known))}" if known else "a card that has MIG profiles",
        hint="" if known else "the rows have none for it: `envcheck matrix show A30` lists those of an A30",
    )


def _profiles(row: Product) -> list[str]:
    """The MIG profiles of a product, without their numbers."""
    return [word.partition(":")[0] for word in row.mig]


def arch_of(found: Sequence[Named], stated: str) -> str:
    """The architecture that names and ``--arch`` agree on; empty where none tells it.

    Raises:
        InputError: if they contradict each other.
    """
    told = sorted({one.arch for one in found if one.arch} | ({stated} if stated else set()))
    if len(told) > 1:
        what = f"an instance type is {told[0]} and another, or --arch, is {told[1]}"
        raise InputError(what, where="--gpu", expected="one architecture", hint="leave --arch out")
    return told[0] if told else ""


def gpu(matrix: Matrix, text: str) -> Gpu:
    """The GPU that a name, alias, PCI id or target means.

    Raises:
        InputError: if it is not known, or names products of several targets.
    """
    from compat.matrix.products import find_gpu, nearest_gpus, spelled

    wanted = text.strip()
    number = sm(spelled(wanted))
    if number is not None:
        _demand_capability(matrix, f"sm_{number.major}{number.minor}")
        return Gpu(name=f"sm_{number.major}{number.minor}", vendor="nvidia", target=f"sm_{number.major}{number.minor}")
    if is_gfx(wanted.lower()):
        return Gpu(name=wanted.lower(), vendor="amd", target=wanted.lower())
    rows = find_gpu(matrix, wanted)
    if not rows and (other := find_processor(matrix, wanted)):
        raise InputError(f"{wanted[:60]!r} {why(other)}", where="--gpu", hint=hint(matrix, other))
    if not rows:
        near = nearest_gpus(matrix, wanted)
        advice = f"did you mean {' or '.join(near)}?" if near else "`envcheck matrix list gpus` lists them"
        if _RUNTIME.fullmatch(wanted):
            advice = f"a runtime is asked for by --cuda or --rocm: --{'rocm' if wanted[0] in 'rR' else 'cuda'} {wanted}"
        raise InputError(
            f"unknown GPU {wanted[:60]!r}", where="--gpu", expected="a product, sm_XY, gfxNNN or a PCI id", hint=advice
        )
    rows = tuple(row for row in rows if wanted.lower() in {row.name.lower(), row.target}) or rows
    row = rows[0]
    if len({row.target for row in rows}) > 1:
        meant = ", ".join(f"{row.name} ({row.target})" for row in rows[:6])
        raise InputError(
            f"GPU {wanted[:60]!r} may be of several kinds",
            where="--gpu",
            expected=f"one of {meant}, by its PCI id or target",
        )
    return Gpu(
        name=row.name, vendor=row.vendor or vendor_of(row.target), target=row.target, pci=row.pci[0] if row.pci else ""
    )


def _demand_capability(matrix: Matrix, target: str) -> None:
    """Refuse a target that no row of the matrix knows: nearest plans for it would be nonsense.

    Raises:
        InputError: with the targets that exist.
    """
    rows = matrix.table("capabilities")
    if rows and matrix.capability(target) is None:
        known = ", ".join(f"sm_{row.cc.replace('.', '')}" for row in rows)
        raise InputError(f"unknown GPU {target!r}", where="--gpu", expected=f"one of {known}")
