"""What the engine passes around: the case that is judged, and what each rule answered to it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import compat.rules.stack as stack
import compat.rules.together as together
from compat.facts import CATALOGUE, Host
from compat.findings import Evidence
from compat.lazy import dataclass
from compat.rules.rule import Fits, Outcome, Rule
from compat.rules.wanted import wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from compat.matrix import Matrix
    from compat.reading.messages import Hearing

_Made = TypeVar("_Made")


class _Derived(Generic[_Made]):
    """An attribute of a case that a function makes from the host's facts, and from the matrix if it takes that; once.

    The function's own docstring says what it is.
    """

    def __init__(self, make: Callable[[Host], _Made] | Callable[[Host, Matrix], _Made]) -> None:
        self._make: Callable[..., _Made] = make
        self._takes: int = make.__code__.co_argcount

    def __get__(self, case: Case, owner: type[Case] | None = None) -> _Made:
        if self._make not in case.derived:
            case.derived[self._make] = self._make(*(case.host, case.matrix)[: self._takes])
        return cast("_Made", case.derived[self._make])


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged: the machine, the message, and what the person wants to run."""

    host: Host
    matrix: Matrix
    signals: Hearing
    wishes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    derived: dict[Callable[..., Any], Any] = field(default_factory=dict)

    distributions = _Derived(stack.packages_of)
    cited = _Derived(stack.cited_of)
    device_free = _Derived(stack.has_no_device)
    vendors = _Derived(stack.vendors_of)
    world = _Derived(stack.world)
    installed = _Derived(stack.installed)
    pairs = _Derived(together.pairs)
    here = _Derived(together.here)

    @property
    def wanted(self) -> dict[str, str]:
        """See :func:`compat.rules.wanted.wanted`."""
        return wanted(self.host, self.matrix, self.signals, self.commands, self.wishes)

    def given(self, name: str) -> Any:
        """The value of a parameter of a rule's ``check``: a fact, this ``case``, or an attribute of it by its name."""
        if name in CATALOGUE:
            return self.host.value(name)
        return self if name == "case" else getattr(self, name)


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
