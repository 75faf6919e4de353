"""How often each code was found: one line for each, the most frequent first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat.findings import Report


def report(found: Report) -> str:
    """The table: number, level, code, title; a code that is told at two levels has two lines."""
    counts = Counter((one.code, one.severity) for one in found.findings)
    titles = {one.code: one.title for one in found.findings}
    wide = max((len(code) for code, _ in counts), default=0)
    lines = [
        f"{count:>6}  {severity:<7}  {code.ljust(wide)}  {titles[code]}"
        for (code, severity), count in counts.most_common()
    ]
    return "\n".join([*lines, f"{sum(counts.values()):>6}  in all"])
