"""``envcheck resolve``: builds that fit together, or why there are none."""

from typing import TYPE_CHECKING, Annotated

import typer

from compat.cli.options import Formats, IndexOptions, Overlay, Speech, TargetOptions, Texts, WishOptions, requested
from compat.lock import FORMATS

if TYPE_CHECKING:
    from compat.app.plans import Reply
    from compat.plan import Answer
    from compat.render.ink import Ink


def command(
    requirements: Annotated[Texts, requested("What is wanted, such as torch==2.9.1 'jax>=0.6'.")] = None,
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Tell for each choice what lost to it, and why.")] = False,
    dtype: Annotated[
        str, typer.Option("--dtype", metavar="FORMAT", help="Number format to compute in: bf16, fp8, int8, awq, gptq.")
    ] = "",
    wishing: WishOptions,
    index: IndexOptions,
    target: TargetOptions,
    speech: Annotated[Speech, Formats("text", "json", *FORMATS, "pylock")],
    overlay: Overlay,
) -> int:
    """Find a set of builds that fits a machine, or the smallest set of wishes that clash.

    Example: envcheck resolve torch==2.0.1 tensorflow==2.12.0 --gpu A100 --driver 525.85.12

    Example: envcheck resolve torch --host node7.json --format requirements
    """
    from compat.app.matrices import load
    from compat.app.plans import outdated, replies
    from compat.plan import dump

    rest = (*(("--explain",) if explain else ()), *(("--dtype", dtype) if dtype else ()))
    matrix, wishes = index.wanted(wishing, requirements, load(overlay.matrix), speech)
    if wishes.beside:
        speech.note(f"note: not weighed, for nothing is known of them: {', '.join(wishes.beside)}")
    given = replies(wishes.known, target.target("resolve", index, rest, speech, overlay), matrix)
    if dtype:
        from dataclasses import replace

        from compat.app.precision import format_of, weighed

        name = format_of(matrix, dtype)
        given = tuple(replace(one, answer=weighed(one.answer, wishes.known, name, matrix)) for one in given)
    for reply in given:
        if reply.answer.plan and (changed := outdated(reply.answer.plan, matrix)):
            speech.note(f"note: {changed}")
    if speech.format in {"text", "json"}:
        bodies = [{**dump(one.answer), **({"hosts": list(one.hosts)} if one.hosts else {})} for one in given]
        speech.tell(bodies[0] if len(bodies) == 1 else bodies, lambda pen: told(given, pen, explain=explain))
    else:
        speech.say(locked(given, speech.format))
    statuses = {reply.answer.status for reply in given}
    return 1 if "conflict" in statuses else 3 if "unknown" in statuses else 0


def told(given: "tuple[Reply, ...]", pen: "Ink", *, explain: bool = False) -> str:
    """Answers in words, one for each set of hosts that share a plan."""
    from compat.render.plan import answer as as_text

    heads = [f"for {', '.join(reply.hosts)}:\n" if reply.hosts else "" for reply in given]
    return "\n\n".join(
        head + as_text(reply.answer, pen=pen, explain=explain) + _install(reply.answer, pen)
        for head, reply in zip(heads, given, strict=True)
    )


def _install(answer: "Answer", pen: "Ink") -> str:
    """The commands that install a plan, behind its text; nothing where there is no plan."""
    from compat.commands import Place, installs, typed

    if answer.plan is None or answer.status != "plan":
        return ""
    lines = typed(installs(answer.plan.builds, (*answer.plan.constraints, *answer.plan.unjudged)), Place())
    head = pen("bold", f"Install it with Python {answer.plan.python}")
    return "\n".join(["", "", head, *(pen("cyan", f"  {pen.mark('command')} {text}") for text in lines)])


def locked(given: "tuple[Reply, ...]", format_: str) -> str:
    """The one plan in an installer's format.

    Raises:
        NoPlanError: with the explanation, if there is none or more than one: such a file must never be half an answer.
    """
    from compat.app.images import refusal
    from compat.render.ink import ink

    plans = [reply.answer.plan for reply in given if reply.answer.plan and reply.answer.status == "plan"]
    if len(given) != 1 or not plans:
        raise refusal([reply.answer for reply in given], told(given, ink()))
    if format_ == "pylock":
        from compat.registry.locking import pylock

        return pylock(plans[0])
    from compat import lock

    return lock.write(plans[0], format_)
