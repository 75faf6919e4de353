"""Asking the scripts in ``children``: run one in its own process, read one JSON object back, trust nothing in it.

The scripts load vendors' driver libraries. Such a library may hang in the kernel, crash on a broken installation or
return rubbish; in a process of its own none of that reaches the doctor. The cost is the start of one interpreter, and
only on machines that have the library.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

from compat.facts import Fact, Reading, Unknown
from compat.untrusted import json_of

if TYPE_CHECKING:
    from compat.detect.machine import Machine
    from compat.run import Outcome

# Key under which an answer carries the reason why it is not complete.
FAILED: Final = "failed"

_FOLDER: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "children")  # noqa: PTH100, PTH118, PTH120


def ask(machine: Machine, script: str, library: str) -> dict[str, Any] | Unknown:
    """The object that a script printed last, or why there is none: it hung, crashed or printed rubbish.

    Scripts print what they know before each call that may not return, with ``more`` in it, so a hang costs only what
    comes after it, and an end before the last line is known for what it is.

    ``library``: path of the library that it loads, for the reasons.
    """
    outcome = machine.ask([sys.executable, os.path.join(_FOLDER, script)])  # noqa: PTH118 - no pathlib at start-up
    line = next((line for line in reversed(outcome.out.splitlines()) if line.startswith("{")), "")
    found = json_of(line)
    answer = found if isinstance(found, dict) else Unknown("the answer is not JSON", script)
    whole = outcome.out.strip() != "" if isinstance(answer, Unknown) else "more" not in answer
    failed = _failed(outcome, library, whole=whole)
    if isinstance(answer, Unknown):
        return Unknown(failed or answer.why, script)
    return {**answer, FAILED: failed}


def _failed(outcome: Outcome, library: str, *, whole: bool) -> str:
    """Why the process did not come to its end by itself; empty if it did."""
    for words in ("did not answer", "printed more"):  # the runner's own, which name our interpreter before
        if words in outcome.why:
            return f"the driver's library {library} {outcome.why[outcome.why.index(words) :]}"
    if outcome.why:
        return f"the driver's library {library} could not be asked: {outcome.why}"
    if outcome.code < 0:
        return f"the driver's library {library} crashed (signal {-outcome.code})"
    return "" if whole else f"the driver's library {library} ended the program that asked it (status {outcome.code})"


def faults(failed: str, library: str) -> dict[str, Reading]:
    """What a library did to the program that asked it, as a fact for the rules; none for one that only hung."""
    what = failed.partition(f"{library} ")[2]
    ours = what.startswith(("did not", "could not"))
    return {"driver_faults": Fact({library: what}, "asked in a process of its own")} if what and not ours else {}


def text(value: Any, longest: int) -> str:
    """A printable text of bounded length; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return "".join(each for each in value[:longest] if each.isprintable()).strip()


def count(value: Any, most: int) -> int | None:
    """A whole number between 0 and ``most``; ``None`` for anything else: drivers return all ones for "not told"."""
    return value if type(value) is int and 0 <= value <= most else None
