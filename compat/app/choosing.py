"""``envcheck gpu recommend``: the GPUs that run requirements with machine code, each with what else it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compat.app import hardware
from compat.matrix.listing import table
from compat.tables import Line, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.matrix import Matrix
    from compat.matrix.rows import Product

_COLUMNS: Final = ("name", "target", "memory_gib", "bandwidth_gbs", "watts", "segment", "year")
_WISHES: Final = (("memory", "memory_gib", "GiB", ">="), ("watts", "watts", "W", "<="))


def recommended(matrix: Matrix, asked: hardware.Filter) -> tuple[tuple[Product, tuple[str, ...]], ...]:
    """Products that run ``asked.serves`` with machine code, and what each lacks of the other wishes.

    Those that lack least come first, and among equals those with the most of ``asked.sort`` (memory, if it is empty;
    of watts the least). A number that is not known counts as lacking.

    Raises:
        InputError: for a wish that cannot be read, as :func:`compat.app.hardware.listed` does.
    """
    order = asked.sort or "memory"
    serving = hardware.listed(matrix, hardware.Filter(vendor=asked.vendor, serves=asked.serves, sort=order))
    wishes = {name: hardware.Filter(**{name: getattr(asked, name)}) for name in ("memory", "watts", "precision")}
    meets = {name: {id(row) for row in hardware.listed(matrix, one)} for name, one in wishes.items()}

    def lacks(row: Product) -> tuple[str, ...]:
        found = []
        for name, field, unit, sign in _WISHES:
            wish, has = getattr(asked, name), getattr(row, field)
            if id(row) not in meets[name]:
                bound = sign + wish if wish[0].isdigit() else wish
                found.append(f"{has:g} {unit}, not {bound}" if has else f"{name} is not known")
        if id(row) not in meets["precision"]:
            known = hardware.features(matrix, row)
            found.append(f"no {asked.precision}" if known else f"whether it computes in {asked.precision} is not known")
        return tuple(found)

    return tuple(sorted(((row, lacks(row)) for row in serving), key=lambda pair: len(pair[1])))


def listing(matrix: Matrix, found: Sequence[tuple[Product, tuple[str, ...]]], asked: hardware.Filter) -> Table:
    """Recommended products one below the other."""
    lines = [
        Line((*hardware.marked(matrix, row, _COLUMNS), "; ".join(lacks)), row.how, row.source) for row, lacks in found
    ]
    order = "the least W" if asked.sort == "watts" else f"the most {asked.sort or 'memory'}"
    wanted = " ".join(asked.serves)
    title = f"GPUs that run {wanted} with machine code: those that lack least, then {order} ({hardware.LEGEND})"
    return table(matrix, title, (*(hardware.HEADINGS.get(name, name) for name in _COLUMNS), "lacks"), lines)


def why_none(matrix: Matrix, asked: hardware.Filter) -> str:
    """Why no product runs the requirements: what stands against a plan of them on the one with the most memory."""
    from compat import resolve
    from compat.resolve.target import from_options

    row = hardware.listed(matrix, hardware.Filter(vendor=asked.vendor or "nvidia", sort="memory"))[0]
    answer = resolve.resolve(asked.serves, from_options(matrix, gpus=[row.name], arch=row.arch or "x86_64"), matrix)
    clashes = [member.text for conflict in answer.conflicts for member in conflict.members if member.kind == "matrix"]
    told = clashes or answer.conditions or ["no reason is known"]
    return f"nothing runs {' '.join(asked.serves)}; of {row.name} for one: {'; '.join(told)}"


def document(matrix: Matrix, found: Sequence[tuple[Product, tuple[str, ...]]]) -> dict[str, Any]:
    """Recommended products as ``envcheck.gpus/1``, each with what it ``lacks``."""
    body = hardware.document(matrix, [row for row, _ in found])
    for one, (_, lacks) in zip(body["gpus"], found, strict=True):
        one["lacks"] = list(lacks)
    return body
