"""``envcheck resolve``: builds that fit together, or why there are none."""

from typing import TYPE_CHECKING, Annotated

import typer

from compat.cli.options import Knowledge, Speech, TargetOptions, Texts

if TYPE_CHECKING:
    from compat.plan import Answer


def command(
    requirements: Annotated[
        Texts, typer.Argument(metavar="REQ...", help="What is wanted, such as torch==2.9.1 'jax>=0.6'.")
    ] = None,
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Tell for each choice what lost to it, and why.")] = False,
    target: TargetOptions,
    speech: Speech,
    knowledge: Knowledge,
) -> int:
    """Find a set of builds that fits a machine, or the smallest set of wishes that clash.

    Example: envcheck resolve torch==2.0.1 tensorflow==2.12.0 --gpu A100 --driver 525.85.12

    Example: envcheck resolve torch --host node7.json --format requirements
    """
    from compat import lock
    from compat.app.knowledge import load
    from compat.app.plans import answers

    format_ = speech.one_of(("text", "json", *lock.FORMATS, "pylock"))
    given = answers(tuple(requirements or ()), target.target(), load(knowledge.matrix))
    if format_ in {"text", "json"}:
        speech.say(told(given, format_, explain=explain, colored=speech.colored))
    else:
        speech.say(locked(given, format_))
    return int(any(answer.status != "plan" for answer in given))


def told(given: "tuple[Answer, ...]", format_: str, *, explain: bool = False, colored: bool = False) -> str:
    """Answers as text or as ``envcheck.resolve/1``; several machines that need several plans give a list."""
    from compat import plan
    from compat.render import document, ink
    from compat.render.plan import answer as as_text

    if format_ == "json":
        documents = [plan.dump(answer) for answer in given]
        return document.encode(documents[0] if len(documents) == 1 else documents)
    return "\n\n".join(as_text(answer, pen=ink.ink(colored=colored), explain=explain) for answer in given)


def locked(given: "tuple[Answer, ...]", format_: str) -> str:
    """The one plan in an installer's format.

    Raises:
        NoPlanError: with the explanation, if there is none or more than one: such a file must never be half an answer.
    """
    from compat.errors import NoPlanError

    plans = [answer.plan for answer in given if answer.plan]
    if len(given) != 1 or not plans:
        raise NoPlanError(told(given, "text"))
    if format_ == "pylock":
        from compat.registry import pylock

        return pylock(plans[0])
    from compat import lock

    return lock.write(plans[0], format_)
