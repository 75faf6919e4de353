"""CUDA toolkit x the GPU that it compiles for. Source: the release notes, targets added and dropped (rows)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.joints.verdict import FITS, Clash, Unknown, Verdict
from compat.targets import sm

if TYPE_CHECKING:
    from compat.matrix import Matrix


def verdict(matrix: Matrix, cuda: str, target: str) -> Verdict:
    """Whether a toolkit compiles for a GPU.

    Args:
        matrix: what is true.
        cuda: the toolkit with its minor, ``12.8``; empty if not known.
        target: ``sm_120``.
    """
    device = sm(target)
    row = matrix.capability(device.capability) if device else None
    if row is None or "." not in cuda or not versions.is_release(cuda):
        return Unknown(f"whether CUDA {cuda or 'of this machine'} compiles for {target} is not known")
    have = versions.release(versions.minor(cuda))
    if row.first_cuda and have < versions.release(versions.minor(row.first_cuda)):
        return Clash(f"CUDA {row.first_cuda} is the first that compiles for {target}", (row,), f">={row.first_cuda}")
    if row.last_cuda and have > versions.release(versions.minor(row.last_cuda)):
        return Clash(f"CUDA {row.last_cuda} is the last that compiles for {target}", (row,), f"<={row.last_cuda}")
    return FITS
