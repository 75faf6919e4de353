"""GPU x the kernels that a package has for a number format (rows of ``formats``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.joints.verdict import FITS, Clash, Unknown, Verdict, sure
from compat.targets import is_gfx, sm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compat.matrix import Matrix
    from compat.matrix.rows import Format

_ALIASES: Final = {"bfloat16": "bf16", "fp8_e4m3": "fp8"}


def named(text: str) -> str:
    """The name that rows have for a number format."""
    name = text.lower().replace("float8", "fp8")
    return _ALIASES.get(name, name)


def of_release(matrix: Matrix, package: str, version: str) -> tuple[Format, ...]:
    """The rows of a package's release; those of all its releases where the version is empty."""
    rows = matrix.select("formats", package=package)
    return tuple(row for row in rows if not version or not row.versions or versions.meets(row.versions, version))


def computing(rows: Iterable[Format]) -> tuple[Format, ...]:
    """The rows of arithmetic in a format; all rows of a format that only weights are in."""
    known = tuple(rows)
    return tuple(row for row in known if not row.weights) or known


def runs(row: Format, target: str) -> bool:
    """Whether a row says that a GPU runs its kernels."""
    device = sm(target)
    if device is not None:
        own = (device.major, device.minor)
        ended = row.last_cc and own > versions.release(f"{row.last_cc}.1")[:2]
        return bool(row.first_cc) and not ended and own >= versions.release(f"{row.first_cc}.1")[:2]
    return is_gfx(target) and target.partition(":")[0] in row.gfx


def verdict(rows: Sequence[Format], build: str, target: str) -> Verdict:
    """Whether a GPU runs one of these kernels.

    Args:
        rows: kernels of one package for one format.
        build: the package with its version, ``vllm 0.11.0``.
        target: of the GPU, ``sm_75``; rows name not every target of AMD's, so that an absent one is not known.
    """
    if any(runs(row, target) for row in rows):
        return FITS
    if sm(target) is None or not rows or not all(row.first_cc for row in rows):
        return Unknown(f"whether {build} has such kernels for {target} is not known", tuple(rows))
    row = min(rows, key=lambda one: versions.release(f"{one.first_cc}.1"))
    until = f"to {row.last_cc}" if row.last_cc else "on"
    return sure(Clash(f"{build} has {row.format} kernels from compute capability {row.first_cc} {until}", (row,)))


def weights_alone(rows: Iterable[Format], name: str, target: str) -> str:
    """How a GPU that does not compute in a format still takes weights in it; empty where it does not."""
    found = next((row for row in rows if row.format == name and row.weights and runs(row, target)), None)
    if found is None:
        return ""
    return f"keep the weights alone in {name}: {found.package} does so with {found.options} ({found.note})"
