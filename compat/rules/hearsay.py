"""Findings that rest on a message alone: what a text may mean where no rule's facts explain it.

Facts choose among the causes that a message may have; what they leave open is told as likely or possible, and a cause
that they refute only as a note.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.findings import RANK, SURENESS, Confidence, Evidence, Finding
from compat.rules.case import Asked, Case, evidence, statements
from compat.rules.deeds import spelled
from compat.rules.pages import page_of
from compat.rules.rule import Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compat.reading.messages import Heard

_VAGUE: Final = 4  # candidates from which on a message tells nothing beside a sharper one
_BELOW: Final = frozenset({"kernel-module", "driver", "health", "vgpu", "mig", "fabric"})  # what CUDA's start rests on
_DOORS: Final = frozenset({"container-no-gpu", "container-selinux", "device-permission"})  # and what keeps it out
_NOWHERE: Final = frozenset({"macos-no-cuda"})  # where it cannot start at all
_BLIND: Final = frozenset({"no-gpu-seen", "no-gpu-vague"})  # what a message says that such a cause explains
_MANY: Final = 3  # alternatives that are told when facts leave a message open; more would be noise


def by_messages(asked: Sequence[Asked], case: Case) -> list[Finding]:
    """Findings that rest on a message alone, where no rule's facts explain it."""
    by_code = {item.code: item for item in asked}
    answers = {item.code: item.answer for item in asked if isinstance(item.answer, Found)}
    mild = {code for code, one in answers.items() if (one.severity, one.confidence) == ("info", "possible")}
    told: dict[str, Finding] = {}
    sharp = any(len(heard.signal.candidates) <= _MANY for heard in case.signals.telling)
    explained = _explained(asked)
    own = frozenset(statements(case.host)) if explained else frozenset[str]()
    started = case.host.cuda_init == "ok" and not case.host.container  # a program here has started CUDA
    for heard in case.signals.telling:
        unfounded = started and "no-gpu-vague" in heard.signal.says
        if unfounded or (sharp and len(heard.signal.candidates) >= _VAGUE) or heard.line in own:
            continue
        if explained and _BLIND & {*heard.signal.says}:
            continue
        codes = [code for code in heard.signal.candidates if code in by_code and code not in mild]
        if not codes or answers.keys() & set(codes):
            continue
        for finding in _candidates(heard, [by_code[code] for code in codes], case):
            old = told.setdefault(finding.code, finding)
            told[finding.code] = min(old, finding, key=lambda one: (SURENESS[one.confidence], RANK[one.severity]))
    return list(told.values())


def _explained(asked: Iterable[Asked]) -> bool:
    """Whether facts tell for certain what keeps the driver from serving a GPU: its own words then add nothing."""
    return any(
        isinstance(item.answer, Found)
        and (item.rule.area in _BELOW or item.code in _DOORS | _NOWHERE)
        and (item.answer.severity or item.rule.severity) == "error"
        and item.answer.confidence == "certain"
        for item in asked
    )


def _candidates(heard: Heard, items: Sequence[Asked], case: Case) -> list[Finding]:
    """The candidates that facts leave open: the first as what it means, the next ones as what it may mean instead."""
    left = [item for item in items if not item.refuted]
    blind = case.host.container and "no-gpu-seen" in heard.signal.says
    if blind and left and left[0].code == "no-driver":  # which the container's host may well have
        left.sort(key=lambda item: item.code not in _DOORS)
    if not left and case.device_free:
        return []  # what the message mostly means is about a device that is not there
    if not left:
        return [replace(_told(heard, items[0], case, "possible"), severity="info")]
    sure: Confidence = "likely" if len(items) == 1 or (len(left) == 1 and len(items) == 2) else "possible"
    first = _told(heard, left[0], case, sure)
    if sure == "possible" and first.severity == "error":
        first = replace(first, severity="warning")  # what a mere possibility may claim at most
    others = ((_told(heard, item, case, "possible"), page_of(type(item.rule)).why) for item in left[1:_MANY])
    return [first, *(replace(one, severity="info", detail=why) for one, why in others)]


def _told(heard: Heard, item: Asked, case: Case, confidence: Confidence) -> Finding:
    """A finding that rests on a message: what the message means, with the facts that its rule would have weighed."""
    page = page_of(type(item.rule))
    facts = [name for name in item.facts if case.host.value(name) not in (None, {}, ())]
    why = "" if confidence == "possible" and heard.signal.meaning else page.why  # in general, it stays on the page
    return Finding(
        code=item.code,
        severity=item.rule.severity,
        title=page.title,
        detail=f"{heard.signal.meaning} {why}".strip(),
        confidence=confidence,
        evidence=(Evidence("error", heard.line, "error text"), *(evidence(case.host, name) for name in facts[:_MANY])),
        fix=spelled(item.rule.mend(case.host, case.matrix), case.host, case.matrix),
        sources=(*page.sources, *(case.matrix.citations.get(key, key) for key in heard.signal.source)),
    )
