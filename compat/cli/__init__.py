"""The command line: words in, exit code out.

Each command is a module with one function, named in :data:`COMMANDS`; only the module of the command that was typed is
imported. Errors end here: expected ones as a message and their exit code, an interrupt as 130.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from compat.errors import CannotCheckError, EnvcheckError, InputError

# Command -> module, in the order in which help lists them.
COMMANDS: Final = {
    "doctor": "compat.cli.doctor",
    "host": "compat.cli.host",
    "fleet": "compat.cli.fleet",
    "resolve": "compat.cli.resolve",
    "dockerfile": "compat.cli.dockerfile",
    "build": "compat.cli.build",
    "verify": "compat.cli.verify",
    "probe": "compat.cli.probe",
    "lint": "compat.cli.lint",
    "inspect": "compat.cli.inspect",
    "ci": "compat.cli.ci",
    "matrix": "compat.cli.matrix",
    "gpu": "compat.cli.gpu",
    "fit": "compat.cli.fit",
    "explain": "compat.cli.explain",
    "mcp": "compat.cli.mcp",
}

INTERRUPTED: Final = 130
_SHOWN: Final = 200  # characters of a path in a message
# What a process may run out of, by the system's number for it.
_SCARCE: Final = {
    errno.EMFILE: "open files",
    errno.ENFILE: "open files",
    errno.ENOMEM: "memory",
    errno.EAGAIN: "processes",
}


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; nothing but an exit code leaves here.

    A fault of ours is the exception: it keeps its traceback, because hiding it would hide the report of it.
    """
    import typer

    from compat.cli.application import application, overview
    from compat.render.language import speak

    pairs = zip(("", *arguments), arguments, strict=False)
    typed = next((word for before, word in pairs if not word.startswith("-") and before != "--lang"), "")
    names = [typed] if typed in COMMANDS else list(COMMANDS) if "_ENVCHECK_COMPLETE" in os.environ else []
    ready()
    try:
        _refuse_empty(arguments)
        speak(arguments, os.environ)
        app = application(names) if names else overview()
        code = app(args=list(arguments), prog_name="envcheck", standalone_mode=False)
        sys.stdout.flush()  # what cannot be written is told here, not by the interpreter on its way out
    except EnvcheckError as error:
        _complain(str(error))
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BrokenPipeError:
        sys.stdout = _nowhere()  # the reader has gone (head, less): nobody is left to tell
        return 0
    except (OSError, MemoryError) as error:
        return _unusable(error) if isinstance(error, OSError) else _lacking("memory")
    except Exception as error:  # noqa: BLE001 - Typer's usage errors have no importable base
        return _usage(error, typed)
    if code == INTERRUPTED:  # newer releases of Typer answer an interrupt themselves, without a word
        _complain("interrupted")
    return code if isinstance(code, int) else 0


def ready() -> None:
    """Make the streams fit to speak: all there, in UTF-8 as our documents say of themselves, whatever the locale."""
    sys.stdout = sys.stdout or _nowhere()  # None where the parent closed it
    sys.stderr = sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")


def _nowhere() -> TextIO:
    """A stream that swallows what nobody can read."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _unusable(error: OSError) -> int:
    """A path that cannot be used, standard output that takes no more, a machine that lacks something.

    Any other failure of the system is a fault of ours and keeps its traceback.
    """
    if error.errno in _SCARCE:
        return _lacking(_SCARCE[error.errno])
    if error.filename is not None:
        name = error.filename if isinstance(error.filename, str) else os.fsdecode(error.filename)
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
        _complain(f"{shown}: {error.strerror}; expected a path that can be read")
        return InputError.exit_code
    if error.errno not in {errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT}:
        raise error
    sys.stdout = _nowhere()
    _complain(f"standard output cannot be written: {error.strerror}")
    return InputError.exit_code


def _lacking(what: str) -> int:
    """This machine cannot answer now: nothing is said of the question itself."""
    _complain(f"this process may have no more {what}; raise its limit (ulimit -a shows them)")
    return CannotCheckError.exit_code


def _refuse_empty(arguments: Sequence[str]) -> None:
    """An empty word is an unset variable of somebody's script; taken as "not given", it would change the question."""
    for before, word in zip(("", *arguments), arguments, strict=False):
        name, mark, value = word.partition("=")
        if not word.strip() or (mark and name.startswith("--") and not value.strip()):
            place = name.strip() or (before if before.startswith("-") else "command line")
            raise InputError("an empty value", where=place, expected="a value", hint="leave it out if none is meant")


def _usage(error: Exception, typed: str) -> int:
    """Typer's own usage errors, known by their shape: its click is vendored and not for import."""
    show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if show is None or not isinstance(code, int):
        raise error
    show()
    if typed == "doctor" and getattr(error, "option_name", "") in {"--gpu", "--driver", "--cuda", "--rocm"}:
        _complain("the doctor looks at a machine (this one, --host FILE, --report FILE); for a GPU alone ask")
        _complain("envcheck resolve REQ --gpu NAME")
    return code


def _complain(message: str) -> None:
    """Say it on standard error, each line marked as ours: standard output carries the answer alone."""
    for line in message.splitlines():
        sys.stderr.write(f"envcheck: {line}\n")
