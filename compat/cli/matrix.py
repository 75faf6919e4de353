"""``envcheck matrix``: look at the data, check it, compare it."""

from typing import TYPE_CHECKING, Annotated

import typer

from compat.cli.options import Formats, Overlay, Speech, Texts

if TYPE_CHECKING:
    from compat.tables import Table

FORMATS = Formats("text", "json")
TITLE = "Look at the compatibility matrix and check it."


def list_(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="frameworks, cuda, rocm, gpus, images, ...")] = "",
    *,
    sources: Annotated[bool, typer.Option("--sources", help="Name the source of each row.")] = False,
    speech: Annotated[Speech, FORMATS],
    overlay: Overlay,
) -> int:
    """List a subject of the matrix; without one, the subjects.

    Example: envcheck matrix list cuda
    """
    from compat.app.matrices import load
    from compat.matrix import listing

    if not subject:
        from compat.render import ink

        known = listing.subjects()
        body = {"schema": "envcheck.matrix/1", "subjects": list(known)}
        speech.tell(body, lambda pen: "\n".join(ink.table(list(known.items()), pen)))
        return 0
    _say((listing.list_table(load(overlay.matrix), subject),), speech, sources=sources)
    return 0


def show(
    subject: Annotated[
        list[str], typer.Argument(metavar="SUBJECT", help='torch==2.9.1, sm_120, "RTX 4090", cuda 12.8, ...')
    ],
    *,
    sources: Annotated[bool, typer.Option("--sources", help="Name the source of each row.")] = False,
    speech: Annotated[Speech, FORMATS],
    overlay: Overlay,
) -> int:
    """Show all that is known of one thing.

    Example: envcheck matrix show torch==2.9.1 --sources
    """
    from compat.app.matrices import load
    from compat.app.showing import show as tables_of

    _say(tables_of(load(overlay.matrix), " ".join(subject)), speech, sources=sources)
    return 0


def check(
    files: Annotated[Texts, typer.Argument(metavar="FILE", help="Matrix files; the shipped ones by default.")] = None,
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Rewrite the files in their canonical spelling first.")] = False,
    speech: Annotated[Speech, FORMATS],
) -> int:
    """Check matrix files: schema, laws, spelling. Every fault is told at once.

    Example: envcheck matrix check my-rows.toml
    """
    from compat.app import matrices

    names = tuple(files or ())
    if fix:
        for path in matrices.mend(names):
            speech.note(f"rewritten: {path}")
    checked = matrices.check(names)
    said = f"{len(checked)} files are sound" if len(checked) != 1 else f"{checked[0].name} is sound"
    speech.tell({"schema": "envcheck.matrix-check/1", "files": [str(path) for path in checked]}, lambda _: said)
    return 0


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Folder or file of the older matrix.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Folder or file of the newer one.")],
    *,
    speech: Annotated[Speech, FORMATS],
) -> int:
    """Tell in words what changed between two matrices.

    Example: envcheck matrix diff ../before/matrix matrix
    """
    from dataclasses import asdict

    from compat.app.matrices import changes

    found = changes(old, new)
    body = {"schema": "envcheck.matrix-diff/1", "changes": [asdict(change) for change in found]}
    speech.tell(body, lambda _: "\n".join(str(change) for change in found) or "nothing changed")
    return 0


def html(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder to make, or one that this command made.")],
    *,
    speech: Annotated[Speech, Formats("text")],
    overlay: Overlay,
) -> int:
    """Write the matrix as pages to search in a browser, offline too.

    Example: envcheck matrix html pages
    """
    from compat.app.browsing import write
    from compat.app.matrices import load

    count = write(folder, load(overlay.matrix))
    speech.say(f"{count} pages: open {folder}/index.html")
    return 0


def _say(tables: "tuple[Table, ...]", speech: Speech, *, sources: bool) -> None:
    """Say tables as ``envcheck.matrix/1`` or for people."""
    from compat.render.tables import text
    from compat.tables import document

    speech.tell(document(tables), lambda pen: text(tables, pen=pen, sources=sources))


COMMANDS = {"list": list_, "show": show, "check": check, "diff": diff, "html": html}
