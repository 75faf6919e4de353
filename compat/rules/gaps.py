"""What was not judged, and what would decide it: never shown as fine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.facts import CATALOGUE, Unknown
from compat.findings import Unchecked
from compat.rules.case import Missing
from compat.rules.rule import Unsure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.facts import Host
    from compat.findings import Finding
    from compat.rules.case import Asked, Case


def not_judged(asked: Sequence[Asked], findings: Sequence[Finding], case: Case) -> tuple[Unchecked, ...]:
    """Questions that a message leaves open first, then what hung, then the rules that could not be asked."""
    return (*_questions(asked, findings, case), *_silent(case.host), *_unjudged(asked))


def _silent(host: Host) -> Iterator[Unchecked]:
    """Facts whose source hung: that nobody answered is worth more than a rule left out."""
    for name in host:
        reading = host.reading(name)
        if isinstance(reading, Unknown) and "did not answer" in reading.why:
            yield Unchecked(name, reading.why)


def _questions(asked: Sequence[Asked], findings: Sequence[Finding], case: Case) -> tuple[Unchecked, ...]:
    """For a message that facts leave open: exactly the facts that would decide it."""
    unsure = {finding.code for finding in findings if finding.confidence != "certain"}
    questions = {}
    if case.signals.text and not any(heard.signal.benign for heard in case.signals) and not case.signals.telling:
        questions[""] = Unchecked("the error text", "no message in it is known; the findings rest on the facts alone")
    for item in asked:
        wanted = item.answer.names if isinstance(item.answer, Missing) else ()
        names = [name for name in dict.fromkeys((*wanted, *item.facts)) if not case.host.known(name)]
        if item.code in unsure and case.signals.pointing(item.code) and names:
            questions[item.code] = Unchecked(f"whether it is {item.code}", _ask_for(names))
    return tuple(questions.values())


def _ask_for(names: Sequence[str]) -> str:
    """The facts that would decide, each with its meaning, so that the person knows what to look up."""
    return "would be decided by: " + "; ".join(f"{name} ({CATALOGUE[name].meaning})" for name in names)


def _unjudged(asked: Sequence[Asked]) -> tuple[Unchecked, ...]:
    """Rules that could not be asked, grouped by the fact that was missing, and those that do not know."""
    waiting: dict[str, list[str]] = {}
    for item in asked:
        if isinstance(item.answer, Missing):
            waiting.setdefault(item.answer.names[0], []).append(item.code)
    missing = [Unchecked.wanting(name, codes) for name, codes in waiting.items()]
    return (*missing, *(Unchecked(item.code, item.answer.why) for item in asked if isinstance(item.answer, Unsure)))
