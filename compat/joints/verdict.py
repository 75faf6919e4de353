"""What a joint answers. No verdict is surer than the weakest row it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.matrix.rows import Row


@dataclass(frozen=True, slots=True)
class Fits:
    """The two fit; ``note`` says how, where it is not plainly so ("by minor-version compatibility")."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class Clash:
    """The two do not fit.

    Attributes:
        why: one sentence without a full stop.
        rows: the rows of the matrix that it rests on.
        wants: what the other side would have to be, ``==2.8.0`` or ``>=525.60.13``; empty where that is not one thing.
    """

    why: str
    rows: tuple[Row, ...] = ()
    wants: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The matrix cannot say.

    Attributes:
        why: what is missing.
        rows: what was looked at.
        clash: the clash that it would be, were its rows surer: who must say something says "likely".
    """

    why: str
    rows: tuple[Row, ...] = ()
    clash: Clash | None = None


Verdict = Fits | Clash | Unknown

FITS: Final = Fits()


def is_inferred(row: Row, *fields: str) -> bool:
    """Whether nobody saw in a document what these fields of a row say."""
    return row.how == "inferred" or not set(fields).isdisjoint(row.inferred)


def sure(verdict: Verdict, *fields: str) -> Verdict:
    """A verdict no surer than its rows: a clash that rests on an inferred row is not known.

    ``fields``: the fields of its rows that decided.
    """
    if isinstance(verdict, Clash) and any(is_inferred(row, *fields) for row in verdict.rows):
        return Unknown(f"{verdict.why}, but that is only inferred", verdict.rows, verdict)
    return verdict


def clash_of(verdict: Verdict) -> Clash | None:
    """Why the two do not fit, for certain or likely; ``None`` where they fit or nobody knows."""
    return verdict if isinstance(verdict, Clash) else getattr(verdict, "clash", None)


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict where all must fit: the first clash, else the first that is not known, else how they fit."""
    found = list(verdicts)
    for kind in (Clash, Unknown):
        if worst := next((one for one in found if isinstance(one, kind)), None):
            return worst
    return next((one for one in found if one != FITS), FITS)


def any_of(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict where one that fits is enough: the first that does, else one not known, else the first clash."""
    found = list(verdicts)
    for kind in (Fits, Unknown, Clash):
        if best := next((one for one in found if isinstance(one, kind)), None):
            return best
    return Unknown("there is nothing to judge")
