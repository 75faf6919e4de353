"""Disagreements between the matrix and a second source, and the decisions about them in ``matrix/disagreements.json``.

A decision names a kind of difference by globs over its parts, says which side is followed and why. One that no
difference needs any more is stale, and as bad as a difference that nobody decided.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SETTLED = Path(__file__).parent.parent / "matrix" / "disagreements.json"

PARTS = ("package", "field", "version", "ours", "theirs", "source")
"""What a decision may give a glob for."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One cell on which the matrix and a second source differ.

    Attributes:
        package: distribution of a build, or name of another table (``cuda``, ``gpus``).
        version: release, or key of the row.
        field: the cell; ``release`` or ``row`` where one side lacks the whole row.
        ours: what the matrix says; empty if nothing. ``theirs`` likewise.
        source: id of the second source (``matrix/claims/sources.csv``); ``wheels`` for what was measured.
    """

    package: str
    version: str
    field: str
    ours: str
    theirs: str
    source: str = "wheels"

    def __str__(self) -> str:
        sides = f"matrix {self.ours or '-'}, {self.source} {self.theirs or '-'}"
        return f"{self.package} {self.version}: {self.field}: {sides}"


@dataclass(slots=True)
class Settlement:
    """A decision about a kind of difference: globs over its parts, the side followed, and the reason."""

    package: str
    field: str
    version: str = "*"
    ours: str = "*"
    theirs: str = "*"
    source: str = "*"
    followed: str = ""
    why: str = ""
    used: int = 0

    def settles(self, found: Difference) -> bool:
        """Whether the decision is about this difference."""
        return all(fnmatchcase(getattr(found, part), getattr(self, part)) for part in PARTS)


def load(path: Path | None = None) -> list[Settlement]:
    """All decisions.

    Raises:
        ValueError: a decision without the side followed or without its reason.
    """
    found = [Settlement(**raw) for raw in json.loads((path or SETTLED).read_text("utf-8"))]
    for item in found:
        if not item.followed or not item.why:
            raise ValueError(f"{item.package} {item.field}: a settlement says which side is followed and why")
    return found


def settle(found: Difference, settlements: list[Settlement]) -> bool:
    """Whether some decision is about this difference; the first that is counts it."""
    for item in settlements:
        if item.settles(found):
            item.used += 1
            return True
    return False


def tell(found: Iterable[Difference], settlements: list[Settlement], *, each: bool = False) -> list[str]:
    """Settled differences by decision, with the verdict, in the order of the decisions: an example, or each of them."""
    lines, left = [], list(found)
    for item in settlements:
        examples = [one for one in left if item.settles(one)]
        left = [one for one in left if not item.settles(one)]
        if examples:
            lines.append(f"followed: {item.followed}, {len(examples)} x {item.field} of {item.package}: {item.why}")
            lines += [f"    {one}" for one in examples] if each else [f"    e.g. {examples[0]}"]
    return lines
