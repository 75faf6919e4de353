"""``envcheck fleet``: what many machines have in common, and what they cannot run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compat.cli.options import Formats, Overlay, Speech, Texts, WishOptions

if TYPE_CHECKING:
    from compat.matrix import Matrix


def command(
    words: Annotated[
        Texts,
        typer.Argument(metavar="[SOURCE|REQ]...", help="Files, folders or - with what nodes report; requirements."),
    ] = None,
    *,
    image: Annotated[
        str, typer.Option(metavar="IMAGE", help="Will this image (archive, engine or registry) run there?")
    ] = "",
    wishing: WishOptions,
    speech: Annotated[Speech, Formats("text", "json", "markdown", "html", "prometheus")],
    overlay: Overlay,
) -> int:
    """Tell groups of alike machines, what is wrong on which, and what cannot run where.

    Reads JSON lines of `doctor` and `host`, host files, `kubectl get nodes -o json`, `scontrol show node --json`,
    `sinfo --json`, results of Prometheus, facts of Ansible.

    Example: clush -L -w n[1-4] envcheck doctor -f jsonl | envcheck fleet - torch

    Example: envcheck fleet nodes.json torch==2.9.1 --format json

    Example: envcheck fleet nodes.json --image image.tar
    """
    from compat.app.fleet import survey
    from compat.app.matrices import load, stamp
    from compat.errors import InputError
    from compat.render import fleet
    from compat.survey import dump

    matrix = load(overlay.matrix)
    sources = [word for word in words or () if _is_source(word, matrix)]
    wishes = wishing.wanted([word for word in words or () if word not in sources], matrix)
    if not sources:
        what = f"no file or folder is named {words[0]!r}" if words else "no source"
        raise InputError(what, expected="a file, a folder or -", hint="kubectl get nodes -o json > nodes.json")
    if wishes.beside:
        speech.note(f"note: not weighed, for nothing is known of them: {', '.join(wishes.beside)}")
    found = survey(sources, wishes.known, matrix, image=image)
    made, asked, body = stamp(matrix), wishes.known or (image,) * bool(image), dump(found)
    body = {"schema": body.pop("schema"), **made.plain(), **body}
    speech.tell(body, lambda pen: fleet.told(found, asked, speech.format, stamp=made, pen=pen))
    return found.exit_code


def _is_source(word: str, matrix: "Matrix") -> bool:
    """Whether a word names a file or folder; a package of that name is a requirement, its file is ``./NAME``."""
    if word == "-" or "/" in word.partition("@")[0] or word.endswith((".json", ".jsonl", ".toml", ".prom")):
        return True
    return Path(word).exists() and matrix.package(word) is None
