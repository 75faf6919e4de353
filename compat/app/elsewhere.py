"""The way out that most people mean on a machine without a GPU: what they ask for is to run on another one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compat.facts import Fact, Host
from compat.plan import Answer, Ask, Plan, Remedy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.matrix import Matrix


def with_another_gpu(answer: Answer, requirements: Sequence[str], machine: Host, matrix: Matrix) -> Answer:
    """The answer with the ways out on a machine with a GPU as its first ones, where this one is known to have none.

    Where the wishes fit together it is ``--gpu NAME``, of a GPU that the plan for no GPU in particular serves by
    itself, and the plan for it was found; where they clash on any machine, it is what mends that.

    ``answer``: what the solver said of the machine.
    """
    from compat import resolve
    from compat.resolve.target import from_options

    gpus = machine.reading("gpus")
    if answer.status != "conflict" or not isinstance(gpus, Fact) or gpus.value:
        return answer
    stated = Host({name: reading for name, reading in machine.readings.items() if machine.is_option(name)})
    anywhere = resolve.resolve(requirements, stated, matrix)
    if anywhere.fixes:
        told = "no GPU is here: changes without --cpu are for a machine that has one"
        return replace(answer, fixes=anywhere.fixes, conditions=(*answer.conditions, told))
    name = _served(anywhere.plan, matrix) if anywhere.plan and anywhere.status == "plan" else ""
    there = resolve.resolve(requirements, from_options(matrix, gpus=[name]).over(stated), matrix) if name else answer
    if there.status != "plan":
        return answer
    python = (("python", machine.python or ""),) if stated.python else ()
    remedy = Remedy(
        text=f"if it is to run on another machine, name its GPU, such as {name}",
        changes={"gpu": name},
        asks=(Ask(tuple(requirements), (*python, ("gpu", name))),),
        plans=(there.plan,) if there.plan else (),
    )
    return replace(answer, fixes=(remedy, *answer.fixes))


def _served(plan: Plan, matrix: Matrix) -> str:
    """The fastest card that shops sell of the newest target that a plan serves and one has; else any product, or none.

    The example must be one that people know. Of datacenter's products the one with most names is.
    """
    served = {target: number for number, target in enumerate(plan.serves)}
    rows = [row for row in matrix.table("gpus") if row.target in served]
    sold = [row for row in rows if row.segment == "consumer"]
    if sold:
        best = max(sold, key=lambda row: (served[row.target], row.bandwidth_gbs or 0, -len(row.name)))
    else:
        best = max(rows, key=lambda row: (served[row.target], row.aliases.count(";"), -len(row.name)), default=None)
    return str(best.name) if best else ""
