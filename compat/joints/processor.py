"""Processor features x build. Source: what the makers state of their builds (TensorFlow: AVX from 1.6 on), rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.joints.verdict import FITS, Clash, Unknown, Verdict, sure

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from compat.matrix.rows import Build


def verdict(build: Build, flags: AbstractSet[str] | None) -> Verdict:
    """Whether a processor has what a build needs; ``flags`` are its features (``avx``), ``None`` if not known."""
    missing = sorted({*build.cpu} - (flags or frozenset()))
    if not missing:
        return FITS
    why = f"{build.package} {build.full_version} needs the processor features {' '.join(missing)}"
    return Unknown(why, (build,)) if flags is None else sure(Clash(why, (build,), " ".join(missing)), "cpu")
