"""Accelerators that are known by name and for which the matrix has no builds: said as that, never as another card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.lazy import pattern

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.matrix.rows import Processor

_WORD: Final = pattern(r"[a-z0-9]+(?:[-_][a-z0-9]+){0,6}")
_LONGEST: Final = 200  # no name comes near


def find_processor(matrix: Matrix, text: str) -> Processor | None:
    """The maker's accelerators that a text names: ``MLU370-X8``, ``Hygon K100_AI``, ``MTT S4000``."""
    words = _WORD.findall(text[:_LONGEST].lower())
    return next(
        (
            row
            for row in matrix.table("processors")
            if any(_is_of(word, name.lower()) for word in words for name in row.names)
        ),
        None,
    )


def _is_of(word: str, name: str) -> bool:
    """Whether a word is a name or a variant of it: ``k100_ai`` of ``k100``, but not ``k1000``."""
    name = name.lower()
    return word.startswith(name) and not (name[-1].isdigit() and word[len(name) :][:1].isdigit())


def plugins(matrix: Matrix, row: Processor) -> tuple[str, ...]:
    """The packages by which frameworks drive a maker's accelerators."""
    rows = matrix.table("accelerators")
    return tuple(dict.fromkeys(one.package for one in rows if one.accelerator == row.accelerator and one.package))


def why(row: Processor) -> str:
    """Why no plan can be made for it: in the words of its row, where that has some."""
    return (
        row.note
        or f"is known as an accelerator of {row.maker}, and the matrix has no builds for it: they come from its maker"
    )


def hint(matrix: Matrix, row: Processor) -> str:
    """Where to look instead."""
    names = ", ".join(plugins(matrix, row))
    told = f"it is driven by {names}; " if names else ""
    return f"{told}`envcheck matrix show {row.accelerator}` tells what is known of it"
