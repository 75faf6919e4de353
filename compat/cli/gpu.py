"""``envcheck gpu``: GPU products, what serves them, and which of them run what."""

from typing import TYPE_CHECKING, Annotated

import typer

from compat.cli import completion
from compat.cli.options import Formats, Knowledge, Speech, Texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.matrix import Matrix
    from compat.matrix.listing import Table
    from compat.matrix.rows import Product

FORMATS = Formats("text", "json")
TITLE = "GPU products, what serves them, and which of them run a requirement."

Named = Annotated[
    list[str],
    typer.Argument(metavar="NAME", help="GPU by name, PCI id or instance type.", autocompletion=completion.gpus),
]
Sources = Annotated[bool, typer.Option("--sources", help="Name the source of each line.")]


def list_(
    *,
    memory: Annotated[str, typer.Option("--memory", metavar="GIB", help="Memory, as in '>=24'; 24 is the least.")] = "",
    watts: Annotated[str, typer.Option("--watts", metavar="W", help="Power, as in '<=300'; 300 is the most.")] = "",
    precision: Annotated[str, typer.Option("--precision", metavar="FORMAT", help="bf16, fp8, fp4, int8, ...")] = "",
    vendor: Annotated[str, typer.Option("--vendor", metavar="NAME", help="nvidia, amd, intel, ...")] = "",
    serves: Annotated[
        Texts,
        typer.Option(
            "--serves",
            metavar="REQ",
            help="Only GPUs that run a plan of it with machine code (repeatable).",
            autocompletion=completion.requirements,
        ),
    ] = None,
    sort: Annotated[
        str, typer.Option("--sort", metavar="BY", help="memory, bandwidth, watts, year, or a rate such as bf16.")
    ] = "",
    sources: Sources = False,
    speech: Annotated[Speech, FORMATS],
    knowledge: Knowledge,
) -> int:
    """List GPUs, all or those that pass bounds; what is not known of a GPU passes none.

    Example: envcheck gpu list --memory '>=24' --precision fp8 --vendor amd --serves torch==2.9.1 --sort memory
    """
    from compat.app import hardware
    from compat.app.knowledge import load

    matrix = load(knowledge.matrix)
    rows = hardware.listed(
        matrix,
        hardware.Filter(
            memory=memory, watts=watts, precision=precision, vendor=vendor, serves=tuple(serves or ()), sort=sort
        ),
    )
    _say(matrix, rows, hardware.listing(matrix, rows), speech, sources=sources)
    return 0


def show(names: Named, *, sources: Sources = False, speech: Annotated[Speech, FORMATS], knowledge: Knowledge) -> int:
    """Show all that is known of a GPU: memory, rates, and what serves it from the first driver to the last.

    Example: envcheck gpu show "RTX 4090"
    """
    from compat.app import hardware
    from compat.app.knowledge import load

    matrix = load(knowledge.matrix)
    rows, notes = hardware.named(matrix, names)
    for note in notes:
        speech.note(f"note: {note}")
    _say(matrix, rows, hardware.compared(matrix, rows), speech, sources=sources)
    return 0


def compare(names: Named, *, sources: Sources = False, speech: Annotated[Speech, FORMATS], knowledge: Knowledge) -> int:
    """Show GPUs side by side.

    Example: envcheck gpu compare "RTX 4090" "RTX 5090" MI300X
    """
    return show(names, sources=sources, speech=speech, knowledge=knowledge)


def _say(matrix: "Matrix", rows: "Sequence[Product]", table: "Table", speech: Speech, *, sources: bool) -> None:
    """Say products as ``envcheck.gpus/1`` or as a table."""
    from compat.app import hardware
    from compat.render import document, ink
    from compat.render.tables import text

    if speech.format == "json":
        speech.say(document.encode(hardware.document(matrix, rows)))
    else:
        speech.say(text((table,), pen=ink.ink(colored=speech.colored), sources=sources))


COMMANDS = {"list": list_, "show": show, "compare": compare}
