"""A line for whoever waits at a terminal, for work that takes longer than a moment; nothing where none reads."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

PATIENCE: Final = 1.0  # seconds before anything is said


@contextmanager
def waiting(what: str, *, quiet: bool = False, patience: float = PATIENCE) -> Iterator[None]:
    """Say on a terminal's standard error what is being done, if it takes longer than ``patience`` seconds.

    The line is taken away again at the end, so that nothing of it stands in the answer.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    from threading import Timer

    said: list[str] = []

    def say() -> None:
        said.append(what)
        sys.stderr.write(f"{what} ...")
        sys.stderr.flush()

    timer = Timer(patience, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
