"""Build logs: the last one is kept when a build fails, and searched for the messages that the matrix knows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from compat.app.files import write_atomically
from compat.errors import InputError

if TYPE_CHECKING:
    from compat.matrix import Matrix


def keep(log: str) -> str:
    """Write the log of the last build that failed to the user's state folder; its path, or why there is none.

    Source: XDG base directory specification (``$XDG_STATE_HOME``, else ``~/.local/state``; a relative path is ignored).
    """
    home = os.environ.get("HOME", "")
    state = os.environ.get("XDG_STATE_HOME", "") or (f"{home}/.local/state" if home else "")
    if not Path(state).is_absolute():
        return "not kept, no home folder is known"
    path = Path(state, "envcheck", "build.log")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # a build prints what its steps print
        write_atomically(str(path), log)
    except OSError as error:
        return f"not kept, {error.strerror}"
    except InputError as error:
        return f"not kept, {error.what}"
    return str(path)


def cause(log: str, matrix: Matrix) -> tuple[str, ...]:
    """What the messages in a log say, without those that harm nothing."""
    from compat.reading import messages

    said = (item.signal.meaning for item in messages.recognise(log, matrix).harmful)
    return tuple(dict.fromkeys(said))[:3]
