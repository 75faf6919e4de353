"""``resolve --dtype``: whether the packages that were asked for have kernels of a number format for a plan's GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.errors import InputError
from compat.joints import formats
from compat.joints.verdict import Clash, Unknown, clash_of
from compat.matrix.rows import Format
from compat.plan import Answer, Conflict, GpuVerdict, Member, Plan, Remedy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.matrix import Matrix


def format_of(matrix: Matrix, text: str) -> str:
    """The name that rows have for a number format.

    Raises:
        InputError: if no row names it.
    """
    name = formats.named(text)
    known = sorted({row.format for row in matrix.table("formats")})
    if name not in known:
        raise InputError(f"nothing is known of the format {text[:40]!r}", where="--dtype", expected=", ".join(known))
    return name


def weighed(answer: Answer, requirements: Sequence[str], name: str, matrix: Matrix) -> Answer:
    """An answer that is a plan no longer where a GPU has no kernels of a format, or where that is not known.

    ``requirements``: what was asked for: the packages that are to compute in the format.
    """
    if answer.plan is None or answer.status != "plan":
        return answer
    plan = answer.plan
    asked = {_package(matrix, line.name) for text in requirements if (line := versions.requirement(text))}
    known = asked & {row.package for row in matrix.select("formats", format=name)}
    told = [one for one in plan.builds if _package(matrix, one.name) in known]
    if not told:
        why = f"no row tells on which GPUs {', '.join(sorted(asked))} computes in {name}"
        return Answer(status="unknown", plan=plan, conditions=(why, *answer.conditions))
    clashes: list[tuple[Conflict, Remedy | None]] = []
    unknown: list[str] = []
    kinds = {gpu.target: gpu for gpu in plan.gpus if gpu.kernels != "none"}
    for build in told:
        rows = formats.of_release(matrix, _package(matrix, build.name), build.version)
        own = [row for row in rows if row.format == name]
        for gpu in kinds.values():
            found = formats.verdict(formats.computing(own), f"{build.name} {build.version}", gpu.target)
            clash = clash_of(found)
            if clash is not None:
                clashes.append((_conflict(matrix, gpu, clash), _instead(plan, clash, own, gpu)))
            elif isinstance(found, Unknown):
                unknown.append(f"whether {build.name} {build.version} computes in {name} on {gpu.name} is not known")
    if clashes:
        fixes = tuple(dict.fromkeys(remedy.text for _, remedy in clashes if remedy))
        remedies = tuple(next(one for _, one in clashes if one and one.text == text) for text in fixes)
        return Answer(status="conflict", conflicts=tuple(one for one, _ in clashes), fixes=remedies)
    if unknown or not kinds:
        reasons = unknown or ["the plan has no GPU that it could compute on"]
        return Answer(status="unknown", plan=plan, conditions=(*reasons, *answer.conditions))
    return answer


def _package(matrix: Matrix, name: str) -> str:
    """The package of a distribution, which can have several: ``transformer-engine`` of ``transformer-engine-cu13``."""
    row = matrix.package(name)
    return row.name if row else name


def _conflict(matrix: Matrix, gpu: GpuVerdict, clash: Clash) -> Conflict:
    """That a package does not compute in the format on an NVIDIA GPU of that age."""
    row = clash.rows[0]
    assert isinstance(row, Format)
    members = (
        Member("option", f"--dtype {row.format}"),
        Member("option", f"{gpu.name} ({gpu.target})"),
        Member("matrix", clash.why, matrix.cite(row), likely=row.how == "inferred"),
    )
    return Conflict(members, f"{gpu.name} does not compute in {row.format}: {clash.why}")


def _instead(plan: Plan, clash: Clash, rows: Sequence[Format], gpu: GpuVerdict) -> Remedy | None:
    """To have only the weights in the format, or what the row names."""
    row = clash.rows[0]
    assert isinstance(row, Format)
    if text := formats.weights_alone(rows, row.format, gpu.target):
        return Remedy(text=text, changes={"quantization": row.format}, plans=(plan,))
    return Remedy(text=row.instead, changes={"dtype": ""}, plans=(plan,)) if row.instead else None
