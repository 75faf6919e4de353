"""A grid of images told to a person: the cells that can work, and why the others cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.render.ink import Ink, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.survey import Cell, Excluded


def text(cells: Sequence[Cell], excluded: Sequence[Excluded], *, pen: Ink | None = None) -> str:
    """A line per cell, those that work first, and how many there are of either kind."""
    pen = pen or Ink()
    lines: list[str] = []
    for cell in cells:
        lines += [
            pen("green", f"{pen.mark('fits')} ")
            + one_line(f"{cell.name}: {cell.plan.runtime}, Python {cell.plan.python}")
        ]
    for item in excluded:
        lines += pen.wrap(one_line(f"{item.name}: left out: {item.why}"), "- ", "    ")
    count = f"{len(cells)} cell{'' if len(cells) == 1 else 's'}, {len(excluded)} left out"
    return "\n".join([*lines, pen("bold", count)])
