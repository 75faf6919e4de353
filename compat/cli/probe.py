"""``envcheck probe``: the probes, run right here."""

from typing import Annotated

import typer

from compat.cli.options import Speech
from compat.cli.verify import FORMATS, ProbeOptions, contribute, outcome, told


def command(
    *,
    python: Annotated[str, typer.Option(metavar="PATH", help="Interpreter that has the frameworks.")] = "",
    probing: ProbeOptions,
    speech: Annotated[Speech, FORMATS],
) -> int:
    """Run the probes on this machine: does the device compute, and correctly?

    Example: envcheck probe --level driver
    """
    from compat import build

    done = build.probe(
        probing.level,
        python=python,
        expect=probing.runtime(),
        frameworks=probing.modules(),
        timeout=probing.timeout,
        seconds=probing.seconds,
    )
    speech.say(told(done, speech, title="envcheck probe"))
    contribute(done, probing.contribute, speech)
    return outcome(done)
