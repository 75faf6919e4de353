"""``envcheck explain``: a finding's page, or what an error text means."""

from typing import Annotated

import typer

from compat.cli import completion
from compat.cli.options import Formats, Overlay, Speech


def command(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="CODE|TEXT",
            help="A finding's code, or an error message in quotes; none lists codes.",
            autocompletion=completion.codes,
        ),
    ] = "",
    *,
    assistant: Annotated[
        bool, typer.Option("--assistant", help="What a coding assistant should run before it installs a framework.")
    ] = False,
    speech: Annotated[Speech, Formats("text", "json")],
    overlay: Overlay,
) -> int:
    """Explain a finding's code or an error text; without one, list the codes.

    Example: envcheck explain driver-library-mismatch

    Example: envcheck explain "no kernel image is available for execution on the device"
    """
    from compat.app.explain import advice, codes, explain
    from compat.app.matrices import load
    from compat.render.explanation import Explanation, listing, text

    if assistant:
        speech.tell({**Explanation().plain(), "assistant": advice()}, lambda _: advice())
        return 0
    told = explain(subject, load(overlay.matrix)) if subject else codes()
    speech.tell(told.plain(), lambda pen: text(told, pen=pen) if subject else listing(told, pen=pen))
    return 0
