"""The shape that every detector module has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine
    from compat.facts import Reading


class Detector(Protocol):
    """A module that looks for one subject. It states facts; it never judges them.

    Where its subject is not there, every name in ``FACTS`` is a known absence with ``SOUGHT`` as the place that was
    looked at.
    """

    @property
    def NAME(self) -> str:  # noqa: N802 - a module's constant
        """Name of the subject, for messages."""
        ...

    @property
    def FACTS(self) -> tuple[str, ...]:  # noqa: N802
        """Catalogue names that are unknown if this detector fails."""
        ...

    @property
    def SYSTEMS(self) -> frozenset[str]:  # noqa: N802
        """Systems it can look at: ``linux``, ``darwin``, ``windows``."""
        ...

    @property
    def SOUGHT(self) -> str:  # noqa: N802
        """Where it looks, as the source of an absence."""
        ...

    def facts(self, machine: Machine) -> Mapping[str, Reading]:
        """What was read, by name of the catalogue; a name may be left out if another detector knows better."""
        ...


# For detectors that read Linux's /proc and /sys.
LINUX = frozenset({"linux"})

# For detectors whose subject is the same on every system.
ANYWHERE = frozenset({"linux", "darwin", "windows"})
