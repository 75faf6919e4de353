"""Sets of Python minor versions as bit sets, and the Pythons for which a requirement counts.

Minor versions are numbered as they are met; a number decides nothing by itself, so that answers do not depend on the
order of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.resolve.options import ANY_PYTHON
from compat.versions import Environment, holds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.versions import Line


class Pythons:
    """The minor versions that one matrix and its questions speak of (``3.12``, ``3.13t``)."""

    def __init__(self) -> None:
        self._minors: list[str] = []
        self._markers: dict[tuple[str, str, tuple[str, ...], int], int] = {}

    def bits(self, minors: Iterable[str]) -> int:
        """The bit set of some minor versions."""
        bits = 0
        for minor in minors:
            if minor not in self._minors:
                self._minors.append(minor)
            bits |= 1 << self._minors.index(minor)
        return bits

    def of(self, bits: int) -> tuple[str, ...]:
        """The minor versions in a bit set, newest first; free-threaded ones last, since nobody means them unasked."""
        found = [minor for place, minor in enumerate(self._minors) if bits >> place & 1]
        return tuple(sorted(found, key=lambda text: (text.endswith("t"), *(-part for part in versions.release(text)))))

    def applying(self, line: Line, place: str, extras: tuple[str, ...]) -> int:
        """The Pythons for which a line counts on ``place`` (``linux_x86_64``), with these extras asked for."""
        if not line.marker:
            return ANY_PYTHON
        key = (line.marker, place, extras, len(self._minors))
        if key not in self._markers:
            worlds = [(one, Environment(place, one, extras)) for one in self._minors]
            self._markers[key] = self.bits([one for one, world in worlds if holds(line.marker, world) is not False])
        return self._markers[key]
