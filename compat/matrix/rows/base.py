"""What every row has, and how a type of rows is told apart from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import dataclass_transform

    from compat.plan import How
else:

    def dataclass_transform(**_: bool) -> Callable[[Any], Any]:
        """Tells type checkers alone what :func:`row` makes of a class."""
        return lambda decorator: decorator


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What every row has.

    Attributes:
        source: ids of the citations that the row rests on.
        how: how it is known; where several fields differ in strength, the strength of those that decide.
        inferred: fields of this row that are weaker than ``how`` says: no document, or but one, tells them.
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


TABLES: Final[dict[str, type[Row]]] = {}
"""Table name -> row type; ``builds.<package>`` tables hold rows of a type of their own."""
KEYS: Final[dict[type[Row], tuple[str, ...]]] = {}
"""Fields that tell two rows of a table apart; an overlay's row with the same key replaces ours."""

_Type = TypeVar("_Type", bound=Row)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def row(tables: str, *, key: str) -> Callable[[type[_Type]], type[_Type]]:
    """A type of rows: a frozen value, with the tables that hold such rows and the fields of their key."""

    def made(kind: type[_Type]) -> type[_Type]:
        kind = dataclass(frozen=True, slots=True, kw_only=True)(kind)
        TABLES.update(dict.fromkeys(tables.split(), kind))
        KEYS[kind] = tuple(key.split())
        return kind

    return made
