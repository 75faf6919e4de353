"""``envcheck gpu``: GPU products, what serves them, and which of them run what."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from compat.cli import completion
from compat.cli.options import Formats, Overlay, Speech, Texts, requested
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from compat.app.hardware import Filter
    from compat.tables import Table

FORMATS = Formats("text", "json", "html")
TITLE = "GPU products, what serves them, and which of them run a requirement."

Named = Annotated[
    list[str],
    typer.Argument(metavar="NAME", help="GPU by name, PCI id or instance type.", autocompletion=completion.gpus),
]
Sources = Annotated[bool, typer.Option("--sources", help="Name the source of each line.")]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a GPU has to have, and the order that they are told in."""

    memory: Annotated[
        str, typer.Option("--memory", metavar="GIB", help="Memory, as in '>=24'; a number alone is the least.")
    ] = ""
    watts: Annotated[
        str, typer.Option("--watts", "--power", metavar="W", help="Power, as in '<=300'; a number alone is the most.")
    ] = ""
    precision: Annotated[str, typer.Option("--precision", metavar="FORMAT", help="bf16, fp8, fp4, int8, ...")] = ""
    vendor: Annotated[str, typer.Option("--vendor", metavar="NAME", help="nvidia, amd, intel, ...")] = ""
    sort: Annotated[
        str, typer.Option("--sort", metavar="BY", help="memory, bandwidth, watts, year, or a rate such as bf16.")
    ] = ""

    def serving(self, requirements: Texts) -> "Filter":
        """The same for GPUs that run these requirements."""
        from compat.app.hardware import Filter

        return Filter(**asdict(self), serves=tuple(requirements or ()))


def list_(
    *,
    bounds: Bounds,
    serves: Annotated[
        Texts,
        typer.Option(
            "--serves",
            metavar="REQ",
            help="Only GPUs that run a plan of it with machine code (repeatable).",
            autocompletion=completion.requirements,
        ),
    ] = None,
    sources: Sources = False,
    speech: Annotated[Speech, FORMATS],
    overlay: Overlay,
) -> int:
    """List GPUs, all or those that pass bounds; what is not known of a GPU passes none.

    Example: envcheck gpu list --memory '>=24' --precision fp8 --vendor amd --serves torch==2.9.1 --sort memory
    """
    from compat.app import hardware
    from compat.app.matrices import load

    matrix = load(overlay.matrix)
    rows = hardware.listed(matrix, bounds.serving(serves))
    _say(hardware.document(matrix, rows), hardware.listing(matrix, rows), speech, sources=sources)
    return 0


def recommend(
    requirements: Annotated[list[str], requested("Such as 'torch==2.9.1'.")],
    *,
    bounds: Bounds,
    most: Annotated[int, typer.Option("--limit", metavar="N", min=0, help="How many to show; 0 for all.")] = 20,
    sources: Sources = False,
    speech: Annotated[Speech, FORMATS],
    overlay: Overlay,
) -> int:
    """Name the GPUs that run requirements with machine code, and what each lacks of what else is wished.

    Example: envcheck gpu recommend torch==2.9.1 --memory 24 --precision fp8 --power 300
    """
    from compat.app import choosing
    from compat.app.matrices import load

    matrix = load(overlay.matrix)
    asked = bounds.serving(requirements)
    found = choosing.recommended(matrix, asked)
    shown = found[: most or None]
    if len(shown) < len(found):
        speech.note(f"note: {len(found) - len(shown)} more run it: --limit 0 shows all")
    if not found:
        speech.note(f"note: {choosing.why_none(matrix, asked)}")
    if found or speech.format != "text":
        _say(choosing.document(matrix, shown), choosing.listing(matrix, shown, asked), speech, sources=sources)
    return 0 if found else 1


def show(names: Named, *, sources: Sources = False, speech: Annotated[Speech, FORMATS], overlay: Overlay) -> int:
    """Show all that is known of a GPU: memory, rates, and what serves it from the first driver to the last.

    Example: envcheck gpu show "RTX 4090"
    """
    from compat.app import hardware
    from compat.app.matrices import load

    matrix = load(overlay.matrix)
    rows, notes = hardware.named(matrix, names)
    for note in notes:
        speech.note(f"note: {note}")
    _say(hardware.document(matrix, rows), hardware.compared(matrix, rows), speech, sources=sources)
    return 0


def compare(names: Named, *, sources: Sources = False, speech: Annotated[Speech, FORMATS], overlay: Overlay) -> int:
    """Show GPUs side by side.

    Example: envcheck gpu compare "RTX 4090" "RTX 5090" MI300X
    """
    return show(names, sources=sources, speech=speech, overlay=overlay)


def _say(body: "Mapping[str, Any]", table: "Table", speech: Speech, *, sources: bool) -> None:
    """Say products as ``envcheck.gpus/1``, as a table, or as a page."""
    from compat.render import html, tables

    if speech.format == "html":
        speech.say(html.table(table))
    else:
        speech.tell(body, lambda pen: tables.text((table,), pen=pen, sources=sources))


COMMANDS = {"list": list_, "recommend": recommend, "show": show, "compare": compare}
