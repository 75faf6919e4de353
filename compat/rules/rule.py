"""What a rule is, and what it may answer.

A rule is a class named by its code (``DriverTooOldForRuntime`` is ``driver-too-old-for-runtime``). Its docstring is
its page: the title, then the headings *Why*, *Fix* and *Sources*; the docstring of its ``check`` says *what* is
checked. The parameters of ``check`` name the facts it needs, and what is derived from facts; the engine reads them from
there, so that a rule cannot use a fact it did not ask for. See :meth:`compat.rules.case.Case.given`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from compat.findings import Confidence, Evidence, Fix, Severity
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from compat.changes import Change
    from compat.facts import Host
    from compat.matrix import Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The fault is there.

    Attributes:
        detail: what is wrong, with this machine's values in it.
        facts: names of the facts it rests on, if not those that ``check`` needs; ``builds.torch`` or ``env.PATH`` name
            one entry of a table.
        extra: evidence that is no fact of the catalogue, such as a line of the error text.
        fix: the deed, where it is more exact than the rule's own; or what writes it for the machine.
        sources: matrix rows and addresses beyond those of the rule's page.
        severity: where this instance is milder or worse than the rule's usual one.
        under: codes of causes of this instance, before those of its rule; see :attr:`Rule.requires`.
    """

    detail: str
    facts: tuple[str, ...] = ()
    extra: tuple[Evidence, ...] = ()
    fix: Fix | Callable[[Host, Matrix], Fix | None] | None = None
    sources: tuple[str, ...] = ()
    confidence: Confidence = "certain"
    severity: Severity | None = None
    under: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fits:
    """It was checked and is in order; ``text`` says what fits, for the reader's peace of mind."""

    text: str


@dataclass(frozen=True, slots=True)
class Unsure:
    """The facts are there but nothing known decides; ``why`` is shown under "not checked"."""

    why: str


# Parts of a rule's docstring, in this order.
HEADINGS: Final = ("Why", "Fix", "Sources")

# What ``check`` may answer; ``None`` is "does not apply here".
Outcome = Found | Fits | Unsure | None


class Rule:
    """Base of all rules.

    Attributes:
        severity: how bad the fault is when it is there.
        area: the layer it belongs to, as the page groups it.
        requires: codes of causes; when one of them is found, this finding is told as its consequence.
        vendors: vendors of GPU it is about; it does not apply where all GPUs are known and none is theirs.
        platforms: values of the fact ``platform`` it applies to; empty for all.
        asks: facts beside those that it needs which would decide when only a message points here.
        changes: what mends it in general.
    """

    severity: ClassVar[Severity] = "error"
    area: ClassVar[str] = ""
    requires: ClassVar[tuple[str, ...]] = ()
    vendors: ClassVar[tuple[str, ...]] = ()
    platforms: ClassVar[tuple[str, ...]] = ()
    asks: ClassVar[tuple[str, ...]] = ()
    changes: ClassVar[tuple[Change, ...]] = ()
    check: Callable[..., Outcome]

    def mend(self, host: Host, matrix: Matrix) -> Fix:  # noqa: ARG002 - rules whose deed depends on the machine use it
        """The deed on this machine."""
        return self.remedy()

    @classmethod
    def remedy(cls, *changes: Change) -> Fix:
        """The first sentence of the docstring's ``Fix``, with these changes or else the rule's own."""
        return Fix(re.split(r"(?<=\.) (?=[A-Z])", sections(cls)["Fix"])[0], changes=changes or cls.changes)


class NvidiaRule(Rule):
    """Base of the rules on NVIDIA GPUs."""

    vendors = ("nvidia",)


class AmdRule(Rule):
    """Base of the rules on AMD GPUs."""

    vendors = ("amd",)


def sections(rule: type[Rule]) -> dict[str, str]:
    """The parts of a rule's docstring under their headings, each on one line; what stands before them under ``""``."""
    parts = re.split(rf"^\s*({'|'.join(HEADINGS)}):", rule.__doc__ or "", flags=re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in zip(["", *parts[1::2]], parts[::2], strict=True)}


def assumed(found: Found) -> Found:
    """What is found of a build that a bare version only suggests: possible, and no error."""
    detail = f"{found.detail} That holds if it is the build of the default index, which its bare version leaves open."
    return replace(found, detail=detail, confidence="possible", severity="warning")


def told(**facts: object) -> tuple[str, ...]:
    """The names of those facts that have a value, for what a finding cites."""
    return tuple(name for name, value in facts.items() if value)


def code_of(rule: type[Rule]) -> str:
    """The code of a rule: its name in small letters with hyphens.

    >>> class ArchTooNewForBuild(Rule): ...
    >>> code_of(ArchTooNewForBuild)
    'arch-too-new-for-build'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "-", rule.__name__).lower()


def family(*rules: type[Rule]) -> dict[str, type[Rule]]:
    """Rules by their codes, in the order given (the hardware first)."""
    return {code_of(rule): rule for rule in rules}
