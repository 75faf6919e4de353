"""How a probe tells what it found: JSON lines, flushed one by one."""

import json
import sys
import time
import traceback
from typing import Any, Callable, Dict, List, Tuple


class Failed(Exception):
    """A check did not hold.

    Args:
        code: the finding it points to.
        why: what was seen, in one sentence.
        figures: numbers that belong to it.
    """

    def __init__(self, code: str, why: str, **figures: Any) -> None:
        super().__init__(why)
        self.code, self.why, self.figures = code, why, figures


class Skipped(Exception):
    """A check could not be made, and why; a skip is never silent."""


class Report:
    """Runs checks by name and prints what came of each.

    Args:
        prefix: put before the name of each probe, ``torch``.
        guess: from the text of an unforeseen error to the finding it points to.
    """

    def __init__(self, prefix: str, guess: Callable[[str], str]) -> None:
        self.prefix, self.guess, self.failed = prefix, guess, False

    def check(self, name: str, function: Callable[..., Dict[str, Any]], *args: Any) -> bool:
        """Run one check; whether it passed. Nothing it raises goes further, save an interruption."""
        full = "%s.%s" % (self.prefix, name)
        say({"event": "start", "probe": full})
        began = time.time()
        status, why, code, figures = self._outcome(function, args)
        self.failed = self.failed or status == "fail"
        tell(full, status, why, code, figures, time.time() - began)
        return status == "pass"

    def skip(self, name: str, why: str) -> None:
        """Record something that was not tried."""
        tell("%s.%s" % (self.prefix, name), "skip", why)

    def _outcome(self, function: Callable[..., Dict[str, Any]], args: Tuple[Any, ...]) -> Tuple[str, str, str, Any]:
        try:
            return "pass", "", "", function(*args) or {}
        except Skipped as skip:
            return "skip", str(skip), "", {}
        except Failed as failure:
            return "fail", failure.why, failure.code, failure.figures
        except Exception as error:  # noqa: BLE001 - frameworks raise whatever they like
            text = _chain(error)
            return "fail", brief(text), self.guess(text), {"where": _last_frames()}


def tell(name: str, status: str, why: str, code: str = "", figures: Any = (), seconds: float = 0.0) -> None:
    """Print what became of a probe."""
    line = {"event": "probe", "name": name, "status": status, "why": why, "code": code, "figures": dict(figures)}
    say(dict(line, seconds=round(seconds, 3)))


def say(line: Dict[str, Any]) -> None:
    """Print one JSON object on a line of its own, at once."""
    sys.stdout.write(json.dumps(line, sort_keys=True, default=str) + "\n")
    sys.stdout.flush()


def _chain(error: BaseException) -> str:
    """An error and the errors that led to it: a wrapper such as "initialization failed" hides the one that tells why."""
    told = []  # type: List[str]
    link = error  # type: Any
    while link is not None and len(told) < 5:
        told.append("%s: %s" % (type(link).__name__, link))
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return ", caused by ".join(told)


def brief(text: str, limit: int = 600) -> str:
    """The text on one line, cut in the middle: errors say what at the start and why at the end."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit // 2] + " ... " + flat[-limit // 2 :]


def _last_frames() -> List[str]:
    return [line.strip().split("\n")[0] for line in traceback.format_exc().split("  File ")[-2:]]
