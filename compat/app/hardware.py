"""``envcheck gpu``: what is known of GPU products, side by side, and which of them serve a requirement.

Rates are of dense matrices. Where two of four values are zero, hardware with sparse matrix instructions is twice as
fast in tf32, fp16, bf16 and fp8: https://www.nvidia.com/en-us/data-center/a100/, section "Specifications".
"""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from compat import targets, versions
from compat.errors import InputError
from compat.lazy import dataclass, pattern
from compat.matrix.listing import by_release, cell, table
from compat.tables import Line, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from compat.matrix import Matrix
    from compat.matrix.rows import Build, Product, Row

RATES: Final = ("fp32", "tf32", "fp16", "bf16", "fp8")
FORMATS: Final = ("fp64", "tf32", "bf16", "fp16", "fp8", "fp4", "int8")
MARK: Final = " ?"
LEGEND: Final = f"{MARK.strip()}: fewer than two sources"
_COLUMNS: Final = ("name", "target", "memory_gib", "bandwidth_gbs", "watts", "features", "segment", "year")
_NUMBERS: Final = ("memory_gib", "bandwidth_gbs", "watts")
HEADINGS: Final = {"memory_gib": "GiB", "bandwidth_gbs": "GB/s", "watts": "W", "features": "computes in"}
# What a line of a product is called; the others have their names in JSON.
_LABELS: Final = {
    "arch": "processor beside it",
    "memory_gib": "memory (GiB)",
    "unified_memory": "memory shared with it",
    "bandwidth_gbs": "memory bandwidth (GB/s)",
    "watts": "power (W)",
    "pcie": "PCI Express",
    "links": "links to other GPUs",
    "links_gbs": "links, both ways (GB/s)",
    "features": "computes in",
    "sparsity": "rate with 2:4 sparsity",
    "mig": "MIG profiles",
    "cuda first": "first CUDA",
    "cuda last": "last CUDA",
    "driver first": "first driver",
    "driver last": "last driver branch",
    "driver end of life": "end of that branch",
    "sharing mig": "shared by MIG",
    "sharing mps": "shared by MPS",
    "sharing time-slicing": "shared by time slicing",
    "rocm first": "first ROCm",
    "rocm last": "last ROCm",
    "pci": "PCI ids",
}
_UNTOLD: Final = frozenset({"how", "source", "inferred", "brand"})  # in JSON alone
_SPARSE: Final = "sparse"
_OTHERS: Final = 6  # further products of a name that a note tells
_SHARED: Final = frozenset({"jetson", "apu"})
_BOUND: Final = pattern(r"(>=|<=|==|>|<)?\s{0,3}(\d{1,6}(?:\.\d{1,3})?)")
_SIGNS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_ORDERS: Final = {"memory": "memory_gib", "bandwidth": "bandwidth_gbs", "year": "year", "watts": "watts"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which GPUs are asked for; an empty field asks for nothing.

    Attributes:
        memory: bound in GiB, ``>=24``; a plain number is the least.
        watts: bound in W; a plain number is the most.
        precision: a format that the hardware multiplies matrices in, one of :data:`FORMATS`.
        vendor: ``nvidia``, ``amd``, ...
        serves: requirements that have a plan with machine code for the GPU.
        sort: the number by which the best come first: ``memory``, ``bandwidth``, ``year``, ``watts`` or a rate.
    """

    memory: str = ""
    watts: str = ""
    precision: str = ""
    vendor: str = ""
    serves: tuple[str, ...] = ()
    sort: str = ""


def listed(matrix: Matrix, asked: Filter) -> tuple[Product, ...]:
    """The products that pass a filter, in the matrix's order or the one asked for.

    A product of which a number is not known passes no bound on it, and comes last in an order.

    Raises:
        InputError: for a bound, format, vendor, order or requirement that cannot be read.
    """
    vendors = list(dict.fromkeys(row.vendor for row in matrix.table("gpus")))
    if asked.vendor.lower() not in {"", *vendors}:
        raise InputError(f"no GPU of {asked.vendor[:40]!r} is known", where="--vendor", expected=", ".join(vendors))
    if asked.precision.lower() not in {"", *FORMATS}:
        raise InputError(f"format {asked.precision[:40]!r}", where="--precision", expected=", ".join(FORMATS))
    number = _number_of(asked.sort)
    has_memory, has_watts = _bound(asked.memory, "--memory", ">="), _bound(asked.watts, "--watts", "<=")
    found = [
        row
        for row in matrix.table("gpus")
        if asked.vendor.lower() in {"", row.vendor}
        and has_memory(row.memory_gib)
        and has_watts(row.watts)
        and (not asked.precision or asked.precision.lower() in features(matrix, row))
    ]
    if asked.serves:
        found = _serving(matrix, found, asked.serves)
    if number:
        least = number == "watts"
        found.sort(key=lambda row: (not getattr(row, number), getattr(row, number) * (1 if least else -1)))
    return tuple(found)


def _bound(text: str, option: str, default: str) -> Callable[[float], bool]:
    """What a number must be, read from ``>=24``."""
    if not text:
        return lambda _: True
    found = _BOUND.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{text[:40]!r} is not a bound", where=option, expected=f"a number, as in '{default}24'")
    holds, limit = _SIGNS[found[1] or default], float(found[2])
    return lambda value: bool(value) and holds(value, limit)


def _number_of(order: str) -> str:
    """The field of an order; empty for none."""
    known = _ORDERS | {rate: f"{rate}_tflops" for rate in RATES}
    if order.lower() not in {"", *known}:
        raise InputError(f"no order {order[:40]!r}", where="--sort", expected=", ".join(known))
    return known.get(order.lower(), "")


def _serving(matrix: Matrix, rows: Sequence[Product], requirements: Sequence[str]) -> list[Product]:
    """The products on which a plan of the requirements runs its own machine code; each kind of GPU is asked once."""
    from compat import resolve
    from compat.resolve.target import from_options

    served: dict[tuple[str, str], bool] = {}
    for row in rows:
        kind = (row.target, row.arch)
        if kind not in served:
            target = from_options(matrix, gpus=[row.target], arch=row.arch or None)
            answer = resolve.resolve(requirements, target, matrix)
            native = answer.plan is not None and all(gpu.kernels == "native" for gpu in answer.plan.gpus)
            served[kind] = answer.status == "plan" and native
    return [row for row in rows if served[row.target, row.arch]]


def device(matrix: Matrix, target: str) -> Row | None:
    """The row of a kernel target of any vendor."""
    return matrix.capability(target) or matrix.gfx(target) or matrix.intel(target)


def features(matrix: Matrix, row: Product) -> tuple[str, ...]:
    """The formats that a product has units for; nothing where that is not known."""
    return tuple(name for name in getattr(device(matrix, row.target), "features", ()) if name != _SPARSE)


def record(matrix: Matrix, row: Product) -> dict[str, Any]:
    """A product as an object of ``envcheck.gpus/1``; what is not known is left out, or null of its main numbers.

    Rates are peaks in dense TFLOP/s, memory is in GiB, bandwidth in GB/s, power in W. ``inferred`` names the fields
    that fewer than two sources tell. ``frameworks`` has the newest release with machine code for the GPU.
    """
    about = device(matrix, row.target)
    body = {
        **{name: getattr(row, name) for name in ("name", "vendor", "target")},
        "architecture": getattr(about, "architecture", ""),
        "aliases": [name.strip() for name in row.aliases.split(";") if name.strip()],
        **{name: getattr(row, name) for name in ("chip", "brand", "segment", "arch", "year", "memory_gib")},
        "unified_memory": row.unified or row.segment in _SHARED or getattr(about, "integrated", False),
        **{name: getattr(row, name) for name in _NUMBERS[1:]},
        "rates": {rate: getattr(row, f"{rate}_tflops") for rate in RATES},
        "sparsity": "twice the dense one" if _SPARSE in getattr(about, "features", ()) else "",
        "features": list(features(matrix, row)),
        "form": row.form,
        "pcie": row.pcie,
        "links": row.links,
        "links_gbs": row.links_gbs,
        "mig": list(row.mig),
        "cuda": {"first": getattr(about, "first_cuda", ""), "last": getattr(about, "last_cuda", "")},
        "driver": _drivers(matrix, about),
        "rocm": {"first": getattr(about, "first_rocm", ""), "last": getattr(about, "last_rocm", "")},
        "frameworks": _newest(matrix, row.target),
        "pci": list(row.pci),
        "sharing": _sharing(matrix, row),
        "notes": [note for note in (row.note, getattr(about, "note", "")) if note],
        "how": row.how,
        "inferred": list(row.inferred),
        "source": list(row.source),
    }
    known = {key: _stated(value) if isinstance(value, dict) else value for key, value in body.items()}
    always = {name: known[name] or None for name in _NUMBERS} | {"rates": known["rates"]}
    return {key: always.get(key, value) for key, value in known.items() if key in always or value or value is False}


def _sharing(matrix: Matrix, row: Product) -> dict[str, str]:
    """The ways in which programs share a GPU, and what each of them has then; slices where the card has profiles."""
    own = targets.sm(row.target)
    return {
        one.way: f"memory: {one.memory}; a fault ends {one.faults}"
        for one in matrix.table("sharing")
        if own and (own.major, own.minor) >= versions.release(one.first_cc or "0.0") and (row.mig or one.way != "mig")
    }


def _stated(body: dict[str, Any]) -> dict[str, Any]:
    """What is known of it; that something is not so is known too."""
    return {key: value for key, value in body.items() if value or value is False}


def _drivers(matrix: Matrix, about: Row | None) -> dict[str, str]:
    """The driver of the first toolkit for a capability, and the last branch that serves it with the end of its life."""
    first = getattr(about, "first_cuda", "")
    cuda = matrix.cuda(first) if first else None
    last = getattr(about, "last_driver", "")
    row = next((one for one in matrix.table("drivers") if one.branch == last), None)
    return {"first": cuda.driver_linux if cuda else "", "last": last, "end of life": row.eol if row else ""}


@lru_cache(maxsize=1024)
def _newest(matrix: Matrix, target: str) -> dict[str, str]:
    """Each framework with its newest final release that has machine code for a target."""
    found = {}
    for package in matrix.packages.values():
        if package.kind == "framework":
            fits = [build for build in matrix.builds(package.name) if _is_native(matrix, target, build)]
            for version, builds in [*by_release(fits).items()][-1:]:
                found[package.name] = f"{version} ({', '.join(dict.fromkeys(one.runtime for one in builds))})"
    return found


def _is_native(matrix: Matrix, target: str, build: Build) -> bool:
    """Whether a final release has code that a GPU runs as it is."""
    if targets.kernels_for(target, build.kernels, matrix.families) != "native":
        return False
    version = versions.public(build.version)
    return version is not None and not version.is_prerelease


def document(matrix: Matrix, rows: Sequence[Product]) -> dict[str, Any]:
    """Products as ``envcheck.gpus/1``, with the citations of their sources."""
    ids = sorted({key for row in rows for key in row.source})
    cited = {key: matrix.citations.get(key, key) for key in ids}
    return {"schema": "envcheck.gpus/1", "gpus": [record(matrix, row) for row in rows], "sources": cited}


def compared(matrix: Matrix, rows: Sequence[Product]) -> Table:
    """Products side by side, one line for each thing that is known of one of them; one alone is told like a row.

    A value that fewer than two sources tell is marked; where there is but one product, its line says so.
    """
    several = len(rows) > 1
    told = [
        {name: text for name, text in _cells(record(matrix, row)) if not several or not name.startswith("sharing ")}
        for row in rows
    ]
    lines = [
        _line(rows, [one.get(name, "") for one in told], name) for name in dict.fromkeys(n for one in told for n in one)
    ]
    title = f"GPUs side by side ({LEGEND})" if several else rows[0].name
    return table(matrix, title, ("field", *(_told_apart(rows) if several else ("value",))), lines)


def _cells(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The lines of a record: name and value, those of an inner object each on its own line."""
    for key, value in body.items():
        if isinstance(value, dict):
            yield from ((f"{key} {name}", cell(one)) for name, one in value.items())
        elif value is not None and key not in _UNTOLD:
            yield key, _cell(key, value)


def _cell(key: str, value: Any) -> str:
    """A value of a record as a cell."""
    if key == "features":
        return " ".join(name for name in value if name in FORMATS)
    if isinstance(value, list):
        return ("; " if key in {"aliases", "notes"} else " ").join(value)
    return "no" if value is False else cell(value)


def _line(rows: Sequence[Product], cells: Sequence[str], name: str) -> Line:
    """A line of a comparison: each value marked where it is weaker than the rest of its row."""
    field = f"{name.partition(' ')[2]}_tflops" if name.startswith("rates ") else name
    weak = [field in row.inferred for row in rows]
    marked = tuple(
        text + MARK if text and is_weak and len(rows) > 1 else text for text, is_weak in zip(cells, weak, strict=True)
    )
    how = "inferred" if any(weak) else rows[0].how
    label = _LABELS.get(name, name.replace("rates ", "dense TFLOP/s, ").replace("frameworks ", "newest "))
    return Line((label, *marked), how, tuple(dict.fromkeys(key for row in rows for key in row.source)))


def listing(matrix: Matrix, rows: Sequence[Product]) -> Table:
    """Products one below the other."""
    lines = [Line(marked(matrix, row, _COLUMNS), row.how, row.source) for row in rows]
    heads = (HEADINGS.get(name, name) for name in _COLUMNS)
    return table(matrix, f"{len(rows)} GPUs ({LEGEND})", heads, lines)


def marked(matrix: Matrix, row: Product, columns: Iterable[str]) -> tuple[str, ...]:
    """Cells of a product; a value that fewer than two sources tell is marked."""
    cells = (
        _cell(name, features(matrix, row)) if name == "features" else cell(getattr(row, name, "")) for name in columns
    )
    return tuple(
        text + MARK if text and name in row.inferred else text for name, text in zip(columns, cells, strict=True)
    )


def named(matrix: Matrix, names: Sequence[str]) -> tuple[tuple[Product, ...], tuple[str, ...]]:
    """One product for each name, and for each name of several products what the others are.

    Raises:
        InputError: for a name that is not known, and for one of several kinds of GPUs.
    """
    from compat.matrix.instances import find_instance, is_instance
    from compat.matrix.products import find_gpu
    from compat.resolve import target

    rows: list[Product] = []
    notes = []
    for name in (target.counted(matrix, one)[0] for one in names):
        kind = find_instance(matrix, name) if is_instance(name) else None
        wanted = kind.gpu if kind else name
        if kind:
            size = f"{kind.part} of one" if kind.part else str(kind.count)
            brings = f"; {kind.image} brings driver {kind.driver}" if kind.driver else ""
            notes.append(f"{kind.name} has {size} {kind.gpu}{f': {kind.note}' if kind.note else ''}{brings}")
        one = target.named(matrix, wanted).gpus[0]
        if one.name == one.target:
            hint = f"`envcheck matrix show {one.name}` tells of it, and of its products"
            raise InputError(f"{one.name} is a target of many products", expected="a product", hint=hint)
        card, _, profile = one.name.partition(" MIG ")
        found = find_gpu(matrix, card if profile else wanted)
        own = next(row for row in found if row.name == card)
        rows.append(_slice(own, profile) if profile else own)
        exact = own.name.lower() == wanted.strip().lower()
        rest = [row for row in found if row is not own and (row.name == own.name or not exact)]
        if rest and not profile:
            shown, *others = _told_apart((own, *rest))
            more = ", ".join(others[:_OTHERS]) + (", ..." if len(others) > _OTHERS else "")
            notes.append(f"{wanted} is the name of {len(rest) + 1} products: {shown} is shown, not {more}")
    return tuple(dict.fromkeys(rows)), tuple(notes)


def _told_apart(rows: Sequence[Product]) -> list[str]:
    """The names of products, with target and memory where several have one name."""
    names = [row.name for row in rows]
    return [
        f"{row.name} ({row.target}{f', {row.memory_gib:g} GiB' if row.memory_gib else ''})"
        if names.count(row.name) > 1
        else row.name
        for row in rows
    ]


def _slice(row: Product, profile: str) -> Product:
    """A MIG slice as a product: its memory, and of the card what it has too; its rates and power are in no document."""
    count = next(text.rpartition(":")[2] for text in row.mig if text.startswith(f"{profile}:"))
    gib = float(profile.partition(".")[2].partition("gb")[0])
    note = f"{profile[0]}/7 of the card's processors; a card has at most {count} of them, on one link to the host"
    lost: dict[str, Any] = dict.fromkeys(
        ("bandwidth_gbs", "watts", "links_gbs", *(f"{rate}_tflops" for rate in RATES)), 0
    )
    kept = replace(row, aliases="", pci=(), links=0, mig=(), **lost)
    return replace(kept, name=f"{row.name} MIG {profile}", memory_gib=gib, note=note)
