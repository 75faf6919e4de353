"""``envcheck probe``: the probes, run right here."""

from typing import Annotated

import typer

from compat.cli.options import ProbeOptions, Speech


def command(
    *,
    python: Annotated[str, typer.Option(metavar="PATH", help="Interpreter that has the frameworks.")] = "",
    probing: ProbeOptions,
    speech: Speech,
) -> int:
    """Run the probes on this machine: does the device compute, and correctly?

    Example: envcheck probe --level driver
    """
    from compat import build
    from compat.cli.verify import FORMATS, told

    format_ = speech.one_of(FORMATS)
    done = build.probe(
        probing.level,
        python=python,
        expect=probing.expect,
        frameworks=tuple(probing.framework or ()),
        timeout=probing.timeout,
        seconds=probing.seconds,
    )
    speech.say(told(done, format_, colored=speech.colored))
    return int(not done.ok)
