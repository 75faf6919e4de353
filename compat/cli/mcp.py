"""``envcheck mcp``: a server for coding assistants."""

from typing import Annotated

import typer


def command(
    *, root: Annotated[str, typer.Option("--root", metavar="DIR", help="Folder whose files may be read.")] = "."
) -> int:
    """Serve doctor, resolve, explain, inspect, lint and matrix as read-only tools over standard input and output.

    Example: envcheck mcp
    """
    import os
    from pathlib import Path
    from threading import Thread

    from compat.errors import CannotCheckError, InputError
    from compat.serving import serve

    if not Path(root).is_dir():
        raise InputError("is no folder", where=f"--root {root}", expected="the folder of a project")
    try:
        Thread(target=int).start()  # the SDK needs some, and without them ends in the middle of its own
    except RuntimeError:
        raise CannotCheckError("this process may have no more threads", hint="raise its limit (ulimit -u)") from None
    os.chdir(root)  # relative paths are those of the project
    serve(Path())
    return 0
