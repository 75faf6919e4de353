"""``envcheck inspect``: which GPU code a library, wheel or package carries."""

from typing import Annotated

import typer

from compat.cli.options import Formats, Overlay, Speech, Texts


def command(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="PATH|PACKAGE",
            help="Library, wheel (file or address), folder, package; NAME==VERSION is published.",
        ),
    ],
    *,
    against: Annotated[str, typer.Option(metavar="FILE", help="Host file whose GPUs are to be judged.")] = "",
    gpu: Annotated[
        Texts, typer.Option(metavar="NAME", help="GPU to judge, by name, sm_XX or gfxNNN (repeatable).")
    ] = None,
    python: Annotated[str, typer.Option(metavar="PATH", help="Interpreter or environment that has the package.")] = "",
    index: Annotated[
        str, typer.Option(metavar="URL", help="Index of a published wheel.  [default: the configured one]")
    ] = "",
    speech: Annotated[Speech, Formats("text", "json")],
    overlay: Overlay,
) -> int:
    """Show which SM, PTX and gfx targets a library, wheel or installed package carries.

    Example: envcheck inspect torch --gpu "RTX 5090"

    Example: envcheck inspect torch==2.9.1 --gpu V100
    """
    from compat.app.inspection import inspected
    from compat.app.matrices import load
    from compat.cli.progress import waiting
    from compat.render import inspection

    matrix = load(overlay.matrix)
    if "==" in subject or "://" in subject:
        speech.note(f"reading {subject} in parts; a wheel of a gigabyte takes a quarter of a minute or more")
    with waiting(f"reading {subject}", quiet=speech.quiet) as say:
        seen = inspected(
            subject, matrix, gpus=tuple(gpu or ()), host=against, python=python, index=index,
            tell=lambda here, asked: say(f", {here} of {asked} MiB"),
        )  # fmt: skip
    body = seen.plain()
    speech.tell(body, lambda pen: inspection.text(body, body["verdicts"], pen=pen))
    return int(any(verdict.kernels == "none" for _, verdict in seen.verdicts))
