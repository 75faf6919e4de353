"""CUDA toolkit x the GPU that it compiles for, and x the framework that an extension is compiled against.

Sources: the toolkit's release notes, targets added and dropped (rows); torch.utils.cpp_extension, which refuses a
toolkit of another CUDA major than torch's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.joints.build import split_runtime
from compat.joints.verdict import FITS, Clash, Unknown, Verdict
from compat.targets import Sm, sm

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.matrix.rows import Build


def verdict(matrix: Matrix, cuda: str, target: str) -> Verdict:
    """Whether a toolkit compiles for a GPU.

    ``cuda``: the toolkit with its minor, ``12.8``; empty if not known.
    """
    row = matrix.capability(target)
    if row is None or "." not in cuda or not versions.is_release(cuda):
        return Unknown(f"whether CUDA {cuda or 'of this machine'} compiles for {target} is not known")
    have = versions.release(versions.minor(cuda))
    if row.first_cuda and have < versions.release(versions.minor(row.first_cuda)):
        return Clash(f"CUDA {row.first_cuda} is the first that compiles for {target}", (row,), f">={row.first_cuda}")
    if row.last_cuda and have > versions.release(versions.minor(row.last_cuda)):
        return Clash(f"CUDA {row.last_cuda} is the last that compiles for {target}", (row,), f"<={row.last_cuda}")
    return FITS


def host_compiler(matrix: Matrix, cuda: str, gcc: str, limit: str = "") -> Verdict:
    """Whether a toolkit's headers accept a host compiler; by the ``limit`` that nvcc itself told, where it did.

    Source: the check of the compiler's major in crt/host_config.h, which is a column of the rows.
    """
    row = None if limit or not versions.is_release(cuda) else matrix.cuda(cuda)
    best = (limit or (row.gcc if row else "")).partition(".")[0]
    if not best or not gcc:
        return Unknown(f"which compilers CUDA {cuda or 'of this machine'} accepts is not known")
    if versions.major(gcc) <= int(best):
        return FITS
    return Clash(f"gcc is {gcc}; the toolkit accepts gcc up to {best}", (row,) if row else (), best)


def extends(label: str, runtime: str, cuda: str, *rows: Build) -> Verdict:
    """Whether a toolkit compiles extensions for a framework's build; any does for one that is not for CUDA.

    ``cuda``: CUDA of the toolkit, ``12.8``; empty if not known.
    """
    kind, number = split_runtime(runtime)
    if kind != "cuda" or (cuda and versions.major(cuda) == versions.major(number)):
        return FITS
    why = f"{label} is of CUDA {number}, nvcc of {cuda or 'a release that is not known'}"
    return Clash(why, rows, number) if cuda else Unknown(why, rows)


def listed(matrix: Matrix, word: str) -> Sm | None:
    """A word of TORCH_CUDA_ARCH_LIST: a number with or without +PTX, or an architecture, whose last one counts."""
    plain = word.partition("+")[0]
    named = [row for row in matrix.table("capabilities") if row.architecture.lower() == plain.lower()]
    desktop = [found for row in named if not row.integrated and (found := sm(row.cc))]
    return max(desktop) if desktop else sm(plain) if plain else None
