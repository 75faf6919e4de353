"""A line for whoever waits at a terminal, for work that takes longer than a moment; nothing where none reads."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import environ
from typing import Final

PATIENCE: Final = 1.0  # seconds before anything is said


@contextmanager
def waiting(what: str, *, quiet: bool = False, patience: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Say on a terminal's standard error what is being done, if it takes longer than ``patience`` seconds.

    Gives a function that says how far it is, in the same line; any thread may call it. The line is taken away again at
    the end, so that nothing of it stands in the answer.
    """
    if quiet or not sys.stderr.isatty() or environ.get("TERM") == "dumb":
        yield lambda _far: None
        return
    from threading import Lock, Timer

    line, guard = {"far": "", "said": "", "done": ""}, Lock()

    def say(far: str | None = None) -> None:
        with guard:
            line["far"] = line["far"] if far is None else far
            text = f"{what}{line['far']} ..."
            if not line["done"] and (line["said"] or far is None) and text != line["said"]:
                sys.stderr.write(("\r\x1b[K" if line["said"] else "") + text)
                sys.stderr.flush()
                line["said"] = text

    timer = Timer(patience, say)
    timer.daemon = True
    timer.start()
    try:
        yield say
    finally:
        timer.cancel()
        timer.join()
        with guard:
            line["done"] = "yes"
        if line["said"]:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
