"""What every row has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.lazy import dataclass

if TYPE_CHECKING:
    from compat.plan import How


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What every row has.

    Attributes:
        source: ids of the citations that the row rests on.
        how: how it is known; where several fields differ in strength, the strength of those that decide.
        inferred: fields of this row that are weaker than ``how`` says: nobody saw them in a document.
        exempt: laws that this row is known to break (:mod:`compat.matrix.laws`); ``note`` says why the world does.
        note: what a reader should know, exceptions to a law included.
        origin: file it came from, set by the loader (overlays differ from our own).
    """

    source: tuple[str, ...]
    how: How
    inferred: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()
    note: str = ""
    origin: str = ""
