"""``resolve --dtype``: whether the packages that were asked for have kernels of a number format for a plan's GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.errors import InputError
from compat.plan import Answer, Conflict, Member, Remedy
from compat.targets import is_gfx, sm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.matrix import Matrix
    from compat.matrix.rows import Format
    from compat.plan import GpuVerdict, Plan, PlannedBuild

_ALIASES = {"bfloat16": "bf16", "float8": "fp8", "fp8_e4m3": "fp8", "float8_e4m3fn": "fp8"}


def format_of(matrix: Matrix, text: str) -> str:
    """The name that rows have for a number format.

    Raises:
        InputError: if no row names it.
    """
    name = _ALIASES.get(text.lower(), text.lower())
    known = sorted({row.format for row in matrix.table("formats")})
    if name not in known:
        raise InputError(f"nothing is known of the format {text[:40]!r}", where="--dtype", expected=", ".join(known))
    return name


def weighed(answer: Answer, requirements: Sequence[str], name: str, matrix: Matrix) -> Answer:
    """An answer that is a plan no longer where a GPU has no kernels of a format, or where that is not known.

    Args:
        answer: of the resolver.
        requirements: what was asked for: the packages that are to compute in the format.
        name: the format, as :func:`format_of` gives it.
        matrix: what is true.
    """
    if answer.plan is None or answer.status != "plan":
        return answer
    plan = answer.plan
    asked = {line.name for text in requirements if (line := versions.requirement(text))}
    rows = matrix.select("formats", format=name)
    told = [one for one in plan.builds if one.name in asked and any(row.package == one.name for row in rows)]
    if not told:
        why = f"no row tells on which GPUs {', '.join(sorted(asked))} computes in {name}"
        return Answer(status="unknown", plan=plan, conditions=(why, *answer.conditions))
    clashes: list[tuple[Conflict, Remedy | None]] = []
    unknown: list[str] = []
    kinds = {gpu.target: gpu for gpu in plan.gpus if gpu.kernels != "none"}
    for build in told:
        own = [row for row in rows if row.package == build.name and versions.meets(row.versions, build.version)]
        for gpu in kinds.values():
            if any(_runs(row, gpu.target) for row in own if not row.weights) or _by_weights(own, gpu):
                continue
            if sm(gpu.target) is None:
                unknown.append(f"whether {build.name} {build.version} computes in {name} on {gpu.name} is not known")
            else:
                clashes += _clashes(matrix, plan, build, gpu, own)
    if clashes:
        fixes = tuple(dict.fromkeys(remedy.text for _, remedy in clashes if remedy))
        remedies = tuple(next(one for _, one in clashes if one and one.text == text) for text in fixes)
        return Answer(status="conflict", conflicts=tuple(one for one, _ in clashes), fixes=remedies)
    if unknown or not kinds:
        reasons = unknown or ["the plan has no GPU that it could compute on"]
        return Answer(status="unknown", plan=plan, conditions=(*reasons, *answer.conditions))
    return answer


def _by_weights(rows: Sequence[Format], gpu: GpuVerdict) -> bool:
    """Whether a format that is one of weights alone runs on a GPU."""
    return all(row.weights for row in rows) and any(_runs(row, gpu.target) for row in rows)


def _runs(row: Format, target: str) -> bool:
    """Whether a row says that a GPU runs its kernels."""
    device = sm(target)
    if device is not None:
        own = (device.major, device.minor)
        ended = row.last_cc and own > versions.release(f"{row.last_cc}.1")[:2]
        return bool(row.first_cc) and not ended and own >= versions.release(f"{row.first_cc}.1")[:2]
    return is_gfx(target) and target.partition(":")[0] in row.gfx


def _clashes(
    matrix: Matrix, plan: Plan, build: PlannedBuild, gpu: GpuVerdict, rows: Sequence[Format]
) -> Iterator[tuple[Conflict, Remedy | None]]:
    """That a package does not compute in the format on an NVIDIA GPU of that age, and what it can instead."""
    for row in [row for row in rows if not row.weights or all(one.weights for one in rows)][:1]:
        until = f"to {row.last_cc}" if row.last_cc else "on"
        said = f"{build.name} {build.version} has {row.format} kernels from compute capability {row.first_cc} {until}"
        members = (
            Member("option", f"--dtype {row.format}"),
            Member("option", f"{gpu.name} ({gpu.target})"),
            Member("matrix", said, matrix.cite(row), likely=row.how == "inferred"),
        )
        other = next((one for one in rows if one.weights and _runs(one, gpu.target)), None)
        yield Conflict(members, f"{gpu.name} does not compute in {row.format}: {said}"), _instead(plan, row, other)


def _instead(plan: Plan, row: Format, weights: Format | None) -> Remedy | None:
    """To have only the weights in the format, or what the row names."""
    if weights is not None:
        text = f"keep the weights alone in {row.format}: {row.package} does so with {weights.options} ({weights.note})"
        return Remedy(text=text, changes={"quantization": row.format}, plans=(plan,))
    return Remedy(text=row.instead, changes={"dtype": ""}, plans=(plan,)) if row.instead else None
