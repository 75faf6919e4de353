"""Soft constraints as they are gathered: each new one gets the next bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.resolve.situation import Soft

if TYPE_CHECKING:
    from typing import Literal

    from compat.facts import Host


class Constraints:
    """Soft constraints so far, what had to be assumed (``conditions``), and why nothing can be said (``unknowns``)."""

    __slots__ = ("conditions", "softs", "unknowns")

    def __init__(self) -> None:
        self.softs: list[Soft] = []
        self.conditions: list[str] = []
        self.unknowns: list[str] = []

    def add(
        self, kind: Literal["wish", "host", "option"], subject: str, value: str, text: str, source: str = ""
    ) -> int:
        """A new soft constraint; its bit."""
        bit = 1 << len(self.softs)
        self.softs.append(Soft(bit, kind, subject, value, text, source))
        return bit

    def fact(self, subject: str, value: str, text: str, host: Host, name: str) -> int:
        """A soft constraint from the fact ``name`` of a host, which an option may have stated."""
        return self.add("option" if host.is_option(name) else "host", subject, value, text, host.source(name))
