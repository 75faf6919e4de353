"""What the engine passes around: the case that is judged, and what each rule answered to it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

import compat.rules.stack as stack
import compat.rules.together as together
from compat.facts import CATALOGUE
from compat.findings import Evidence
from compat.lazy import dataclass
from compat.rules.rule import Fits
from compat.rules.wanted import wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.rule import Outcome, Rule

# Parameter of ``check`` -> how it is made.
DERIVED: Final[Mapping[str, Callable[[Host, Matrix], Any]]] = {
    "distributions": lambda host, _: stack.packages_of(host),
    "cited": lambda host, _: stack.cited_of(host),
    "installed": stack.installed,
    "device_free": lambda host, _: stack.has_no_device(host),
    "vendors": lambda host, _: stack.vendors_of(host),
    "world": lambda host, _: stack.world(host),
    "pairs": together.pairs,
    "here": together.here,
}


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged: the machine, the message, and what the person wants to run."""

    host: Host
    matrix: Matrix
    signals: Hearing
    wishes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    derived: dict[str, Any] = field(default_factory=dict)

    def given(self, name: str) -> Any:
        """The value of a parameter of a rule's ``check``.

        A fact by its name, something derived from facts (:data:`DERIVED`), or a field of this case. ``KeyError`` if
        ``name`` is none of these.
        """
        if name in CATALOGUE:
            return self.host.value(name)
        if name == "wanted":
            return wanted(self.host, self.matrix, self.signals, self.commands, self.wishes)
        if name in DERIVED:
            if name not in self.derived:
                self.derived[name] = DERIVED[name](self.host, self.matrix)
            return self.derived[name]
        return {
            "host": self.host,
            "matrix": self.matrix,
            "signals": self.signals,
            "wishes": self.wishes,
            "commands": self.commands,
        }[name]


@dataclass(frozen=True, slots=True)
class Missing:
    """A rule could not be asked: the facts in ``names`` are unknown."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """One rule and its answer; ``facts`` are those that it needs, then those that it asks for."""

    code: str
    rule: Rule
    layer: int
    answer: Outcome | Missing
    facts: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether the facts were there and the fault is not; ``None`` as an answer is no verdict."""
        return isinstance(self.answer, Fits)


def statements(host: Host) -> tuple[str, ...]:
    """What the driver itself said when it was asked, in the words of messages (``CUDA_ERROR_NOT_INITIALIZED``).

    The kernel log is listened to only while CUDA does not start: it keeps lines of faults that are long mended.
    """
    said = [host.value(name) for name in ("nvml", "cuda_init")]
    logged = () if host.cuda_init == "ok" else host.driver_log or ()
    return (*(word for word in said if word and word != "ok"), *logged)


def evidence(host: Host, name: str) -> Evidence:
    """A fact as evidence; ``builds.torch`` cites one entry of a table."""
    table, _, entry = name.partition(".")
    value = host.value(table)
    if entry:
        value = value.get(entry) if isinstance(value, dict) else None
    return Evidence(name, value, host.source(table))
