"""``envcheck host``: the facts of this machine."""

from typing import Annotated

import typer

from compat.cli.options import Deadline, Formats, Overlay, Speech


def command(
    *,
    python: Annotated[str, typer.Option(metavar="PATH", help="Another interpreter or virtual environment.")] = "",
    full: Annotated[bool, typer.Option("--full", help="Keep UUIDs and names of people, never secrets.")] = False,
    timeout: Deadline = 5.0,
    speech: Annotated[Speech, Formats("text", "json")],
    overlay: Overlay,
) -> int:
    """Print the facts of this machine, for --host elsewhere.

    Example: envcheck host > node7.json
    """
    from compat import facts
    from compat.app.hosts import this_machine
    from compat.app.matrices import load
    from compat.cli.progress import waiting
    from compat.render import document

    with waiting("looking at the machine", quiet=speech.quiet):
        machine = this_machine(load(overlay.matrix), python=python, timeout=timeout, full=full)
    if full:
        speech.note("--full: UUIDs, and the names of people in paths, are in it; secrets never are")
    speech.say(document.encode(facts.dump(machine, full=full)))
    return 0
