"""``envcheck verify``: the probes, run in a container of an image."""

from typing import TYPE_CHECKING, Annotated

import typer

from compat.cli.options import ProbeOptions, Speech

if TYPE_CHECKING:
    from compat.build import Verification

FORMATS = ("text", "json", "junit", "markdown", "github", "sarif", "html")


def command(
    image: Annotated[str, typer.Argument(metavar="IMAGE", help="Name or id of a local image.")],
    *,
    gpus: Annotated[str, typer.Option(metavar="GPUS", help="all, none, or device ids with commas.")] = "all",
    memory: Annotated[int, typer.Option(metavar="MIB", min=64, help="Memory limit of the container.")] = 8192,
    probing: ProbeOptions,
    speech: Speech,
) -> int:
    """Prove inside a container of an image that it computes, and correctly, on the device it was planned for.

    Example: envcheck verify mine:1 --level framework
    """
    from compat import build

    format_ = speech.one_of(FORMATS)
    done = build.verify(
        image,
        level=probing.level,
        gpus=gpus,
        memory=memory * 1024 * 1024,
        expect=probing.expect,
        frameworks=tuple(probing.framework or ()),
        timeout=probing.timeout,
        seconds=probing.seconds,
    )
    speech.say(told(done, format_, colored=speech.colored))
    return int(not done.ok)


def told(done: "Verification", format_: str, *, colored: bool) -> str:
    """A verification in one of the formats."""
    from compat import render
    from compat.build.outcome import dump
    from compat.render import document, ink, verification

    body = dump(done)
    if format_ == "json":
        return document.encode(body)
    if format_ == "text":
        return verification.text(body, done.findings, pen=ink.ink(colored=colored))
    return render.report(verification.as_report(done.findings, body), verification.NOWHERE, format_)
