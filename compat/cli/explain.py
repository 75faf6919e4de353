"""``envcheck explain``: a finding's page, or what an error text means."""

from typing import Annotated

import typer

from compat.cli.options import Knowledge, Speech


def command(
    subject: Annotated[
        str, typer.Argument(metavar="CODE|TEXT", help="A finding's code, or an error message in quotes.")
    ],
    *,
    speech: Speech,
    knowledge: Knowledge,
) -> int:
    """Explain a finding's code or an error text.

    Example: envcheck explain driver-library-mismatch

    Example: envcheck explain "no kernel image is available for execution on the device"
    """
    from compat.app.explain import explain
    from compat.app.knowledge import load
    from compat.render import document, ink
    from compat.render.explanation import text

    format_ = speech.one_of(("text", "json"))
    told = explain(subject, load(knowledge.matrix))
    speech.say(document.encode(told.plain()) if format_ == "json" else text(told, pen=ink.ink(colored=speech.colored)))
    return 0
