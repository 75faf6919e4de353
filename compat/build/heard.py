"""What a framework's own words say about a failure whose cause its probe does not know."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.build.outcome import Probe

_OPEN: Final = {"probe-failed", "probe-cpu-fallback"}
# Codes that say what was seen and not why.


def explained(probes: Iterable[Probe]) -> tuple[Probe, ...]:
    """Results with the meaning of the message that the matrix knows best (fewest causes) beside their own words.

    Where all that is known of the messages points to one finding, a probe that merely failed gets its code; between
    several nothing is chosen, for only facts of the host could. A fallback stays what it is.
    """
    return tuple(_explained(item) if item.status == "fail" and item.code in _OPEN else item for item in probes)


def _explained(item: Probe) -> Probe:
    from compat.matrix import matrix
    from compat.reading import messages

    heard = messages.recognise("\n".join([item.why, *_said(item)]), matrix()).harmful
    known = [found.signal for found in heard if found.signal.candidates]
    if not known:
        return item
    codes = {code for row in known for code in row.candidates}
    meaning = min(known, key=lambda row: len(row.candidates)).meaning.rstrip(".")
    code = codes.pop() if item.code == "probe-failed" and len(codes) == 1 else item.code
    return replace(item, why=f"{item.why} ({meaning})", code=code)


def _said(item: Probe) -> list[str]:
    """The last lines on standard error, as the scripts hand them on; an image may write anything in their place."""
    lines = item.figures.get("stderr")
    return [line[:2000] for line in lines[-20:] if isinstance(line, str)] if isinstance(lines, list) else []
