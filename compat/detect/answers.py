"""Asking the scripts in ``children``: run one in its own process, read one JSON object back, trust nothing in it.

The scripts load vendors' driver libraries. Such a library may hang in the kernel, crash on a broken installation or
return rubbish; in a process of its own none of that reaches the doctor. The cost is the start of one interpreter, and
only on machines that have the library.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from compat.facts import Unknown

if TYPE_CHECKING:
    from compat.detect.machine import Machine
    from compat.run import Outcome

# Key under which an answer carries the reason why it is not complete.
FAILED: Final = "failed"

_FOLDER: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "children")  # noqa: PTH100, PTH118, PTH120


def ask(machine: Machine, script: str) -> dict[str, Any] | Unknown:
    """The object that a script printed last, or why there is none: it hung, crashed or printed rubbish.

    Scripts print what they know before each call that may not return, so a hang costs only what comes after it.
    """
    outcome = machine.ask([sys.executable, os.path.join(_FOLDER, script)])  # noqa: PTH118 - no pathlib at start-up
    line = next((line for line in reversed(outcome.out.splitlines()) if line.startswith("{")), "")
    if not line:
        return Unknown(_failed(outcome) or f"the question ended with status {outcome.code} and no answer", script)
    answer = _object(line, script)
    return answer if isinstance(answer, Unknown) else {**answer, FAILED: _failed(outcome)}


def _failed(outcome: Outcome) -> str:
    """Why the process did not come to its end by itself; empty if it did."""
    if outcome.why:
        return f"the driver's library did not answer: {outcome.why}"
    return f"the driver's library crashed (signal {-outcome.code})" if outcome.code < 0 else ""


def _object(line: str, script: str) -> dict[str, Any] | Unknown:
    """A JSON object from one line of output."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else Unknown("the answer is not JSON", script)


def text(value: Any, longest: int) -> str:
    """A printable text of bounded length; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return "".join(each for each in value[:longest] if each.isprintable()).strip()


def items(value: Any) -> list[Any]:
    """The elements of a JSON list; none for anything else."""
    return value if isinstance(value, list) else []


def count(value: Any, most: int) -> int | None:
    """A whole number between 0 and ``most``; ``None`` for anything else: drivers return all ones for "not told"."""
    return value if type(value) is int and 0 <= value <= most else None
