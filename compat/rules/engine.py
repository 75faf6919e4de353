"""Facts and messages in, a report out: asks every rule, lets facts choose among what a message may mean, folds.

The order of a report: worst first; what explains the given error text before what does not; certain before possible;
then from the hardware up. A finding whose cause is found too is told under that cause.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from compat.facts import CATALOGUE, Unknown
from compat.findings import RANK, SURENESS, Evidence, Finding, Report, Unchecked
from compat.lazy import dataclass
from compat.rules.pages import page_of
from compat.rules.preparation import prepared
from compat.rules.prose import heeded
from compat.rules.remedies import spelled
from compat.rules.rule import Fits, Found, Outcome, Rule, Unsure
from compat.rules.signals import WORDS, Hearing, recognise
from compat.rules.stack import vendors_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from compat.facts import Host
    from compat.findings import Confidence, Severity
    from compat.matrix import Matrix
    from compat.rules.signals import Heard

_VAGUE: Final = 5  # candidates from which on a message tells nothing beside a sharper one
_BELOW: Final = frozenset({"kernel-module", "driver", "health", "vgpu", "mig", "fabric"})  # what CUDA's start rests on
_DOORS: Final = frozenset({"container-no-gpu", "container-selinux", "device-permission"})  # and what keeps it out
_MANY: Final = 3  # alternatives that are told when facts leave a message open; more would be noise


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged: the machine, the message, and what the person wants to run."""

    host: Host
    matrix: Matrix
    signals: Hearing
    wishes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    def special(self, name: str) -> Any:
        """The value of a parameter that is no fact; ``KeyError`` if ``name`` is none of these."""
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
    """One rule and its answer."""

    code: str
    rule: Rule
    layer: int
    answer: Outcome | Missing
    facts: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether the facts were there and the fault is not; ``None`` as an answer is no verdict."""
        return isinstance(self.answer, Fits)


def judge_with(
    rules: Mapping[str, type[Rule]],
    host: Host,
    matrix: Matrix,
    *,
    error: str = "",
    wishes: Sequence[str] = (),
    commands: Sequence[str] = (),
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
) -> Report:
    """Judge a machine by the rules of a table; see :func:`compat.rules.judge`.

    Rules are asked once each, by facts; only then do messages speak, and only for causes that no fact has settled.
    So a known fact always outweighs what a text suggests.
    """
    signals = recognise("\n".join((error, *statements(host))), matrix)
    host = prepared(host, signals, matrix, tuple(commands))
    signals = heeded(signals, host, matrix)
    case = Case(host, matrix, signals, tuple(wishes), tuple(commands))
    asked = [_ask(code, rule, layer, case) for layer, (code, rule) in enumerate(rules.items())]
    wanted, unwanted = frozenset(select), frozenset(ignore)
    findings = [*_by_facts(asked, case), *_by_messages(asked, case)]
    kept = [item for item in findings if (not wanted or item.code in wanted) and item.code not in unwanted]
    ordered = _ordered(kept, asked, case)
    return Report(
        findings=_folded(ordered, rules),
        fine=tuple(item.answer.text for item in asked if isinstance(item.answer, Fits) and item.answer.text),
        unchecked=(*_questions(asked, ordered, case), *_silent(host), *_unjudged(asked)),
    )


def statements(host: Host) -> tuple[str, ...]:
    """What the driver itself said when it was asked, in the words of messages (``CUDA_ERROR_NOT_INITIALIZED``).

    The kernel log is listened to only while CUDA does not start: it keeps lines of faults that are long mended.
    """
    said = [host[name] for name in ("nvml", "cuda_init")]
    logged = () if host["cuda_init"] == "ok" else host["driver_log"] or ()
    return (*(word for word in said if word and word != "ok"), *logged)


def _silent(host: Host) -> Iterator[Unchecked]:
    """Facts whose source hung: that nobody answered is worth more than a rule left out."""
    for name in host:
        reading = host.reading(name)
        if isinstance(reading, Unknown) and "did not answer" in reading.why:
            yield Unchecked(name, reading.why)


def _ask(code: str, rule: type[Rule], layer: int, case: Case) -> Asked:
    """Ask one rule, if the facts that its ``check`` names are known."""
    instance = rule()
    names, required = parameters(rule)
    facts = tuple(name for name in names if name in CATALOGUE)
    if not _concerns(rule, case.host):
        return Asked(code, instance, layer, Fits(""), facts)
    unknown = tuple(name for name in facts if name in required and not case.host.known(name))
    if unknown:
        return Asked(code, instance, layer, Missing(unknown), facts)
    if any(name in required and case.host.absent(name) for name in facts):
        return Asked(code, instance, layer, Fits(""), facts)
    values = {name: case.host[name] if name in CATALOGUE else case.special(name) for name in names}
    given = {name: value for name, value in values.items() if value is not None or name in required}
    return Asked(code, instance, layer, instance.check(**given), facts)


def parameters(rule: type[Rule]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Names of the parameters of a rule's ``check``, and which of them have no default."""
    code = rule.check.__code__
    names = code.co_varnames[1 : code.co_argcount]
    return names, frozenset(names[: len(names) - len(rule.check.__defaults__ or ())])


def _concerns(rule: type[Rule], host: Host) -> bool:
    """Whether a rule is about this kind of machine, as far as that is known."""
    if rule.platforms and host["platform"] and host["platform"] not in rule.platforms:
        return False
    vendors = vendors_of(host) if rule.vendors else frozenset[str]()
    return not (vendors and not vendors & set(rule.vendors))


# --- findings ---


def _by_facts(asked: Iterable[Asked], case: Case) -> list[Finding]:
    """Findings of the rules that found their fault in the facts."""
    return [_finding(item, item.answer, case) for item in asked if isinstance(item.answer, Found)]


def _finding(item: Asked, found: Found, case: Case) -> Finding:
    """Complete what a rule found: no finding lacks evidence, deed or source."""
    page = page_of(type(item.rule))
    heard = case.signals.pointing(item.code)
    quote = (Evidence("error", heard.line, "error text"),) if heard else ()
    facts = found.facts or tuple(name for name in item.facts if case.host[name] is not None)
    return Finding(
        code=item.code,
        severity=found.severity or item.rule.severity,
        title=page.title,
        detail=found.detail,
        confidence=found.confidence,
        evidence=(*(evidence(case.host, name) for name in facts if _stands(case.host, name)), *found.extra, *quote),
        fix=spelled(found.fix or item.rule.mend(case.host, case.matrix), case.host, case.matrix),
        sources=tuple(dict.fromkeys((*found.sources, *page.sources))),
    )


def _stands(host: Host, name: str) -> bool:
    """Whether a fact was read, be it to a known absence; an entry of a table only if it is there."""
    table, _, entry = name.partition(".")
    return host.known(table) and (not entry or entry in (host[table] or {}))


def evidence(host: Host, name: str) -> Evidence:
    """A fact as evidence; ``builds.torch`` cites one entry of a table."""
    table, _, entry = name.partition(".")
    value = host[table]
    if entry:
        value = value.get(entry) if isinstance(value, dict) else None
    return Evidence(name, value, host.source(table))


def _by_messages(asked: Sequence[Asked], case: Case) -> list[Finding]:
    """Findings that rest on a message alone, where no rule's facts explain it."""
    by_code = {item.code: item for item in asked}
    found = {item.code for item in asked if isinstance(item.answer, Found)}
    told: dict[str, Finding] = {}
    sharp = any(len(heard.signal.candidates) <= _MANY for heard in case.signals.telling)
    own = frozenset(statements(case.host)) if _explained(asked) else frozenset[str]()
    for heard in case.signals.telling:
        if (sharp and len(heard.signal.candidates) >= _VAGUE) or heard.line in own:
            continue
        codes = [code for code in heard.signal.candidates if code in by_code]
        if not codes or found & set(codes):
            continue
        for finding in _candidates(heard, [by_code[code] for code in codes], case):
            old = told.get(finding.code)
            if old is None or _weight(finding) < _weight(old):
                told[finding.code] = finding
    return list(told.values())


def _explained(asked: Iterable[Asked]) -> bool:
    """Whether facts tell for certain what keeps the driver from serving a GPU: its own words then add nothing."""
    return any(
        isinstance(item.answer, Found)
        and (item.rule.area in _BELOW or item.code in _DOORS)
        and (item.answer.severity or item.rule.severity) == "error"
        and item.answer.confidence == "certain"
        for item in asked
    )


def _weight(finding: Finding) -> tuple[int, int]:
    """What a finding by message weighs against another of its code; less is more."""
    return SURENESS[finding.confidence], RANK[finding.severity]


def _candidates(heard: Heard, items: Sequence[Asked], case: Case) -> list[Finding]:
    """The candidates that facts leave open: the first as what it means, the next ones as what it may mean instead."""
    left = [item for item in items if not item.refuted]
    if not left:
        return [replace(_told(heard, items[0], case, "possible"), severity="info")]
    if heard.signal.program == WORDS:
        return [
            replace(_told(heard, item, case, "possible"), severity="warning" if item is left[0] else "info")
            for item in left[:_MANY]
        ]
    sure: Confidence = "likely" if len(items) == 1 or (len(left) == 1 and len(items) == 2) else "possible"
    first = _told(heard, left[0], case, sure)
    first = first if sure == "likely" else replace(first, severity=_milder(first.severity))
    others = [replace(_told(heard, item, case, "possible"), severity="info") for item in left[1:_MANY]]
    return [first, *others]


def _milder(severity: Severity) -> Severity:
    """What a mere possibility may claim at most."""
    return "warning" if severity == "error" else severity


def _told(heard: Heard, item: Asked, case: Case, confidence: Confidence) -> Finding:
    """A finding that rests on a message: what the message means, with the facts that its rule would have weighed."""
    page = page_of(type(item.rule))
    facts = [name for name in dict.fromkeys((*item.facts, *item.rule.asks)) if case.host[name] not in (None, {}, ())]
    return Finding(
        code=item.code,
        severity=item.rule.severity,
        title=page.title,
        detail=f"{heard.signal.meaning} {page.why}".strip(),
        confidence=confidence,
        evidence=(Evidence("error", heard.line, "error text"), *(evidence(case.host, name) for name in facts[:_MANY])),
        fix=spelled(item.rule.mend(case.host, case.matrix), case.host, case.matrix),
        sources=(*page.sources, *(case.matrix.citations.get(key, key) for key in heard.signal.source)),
    )


# --- order and folding ---


def _ordered(findings: Sequence[Finding], asked: Sequence[Asked], case: Case) -> tuple[Finding, ...]:
    """Findings in the order of a report; see the module's first lines. The layer, from the hardware up, breaks ties."""
    layers = {item.code: item.layer for item in asked}

    def key(finding: Finding) -> tuple[int, int, int, int, int, int]:
        heard = case.signals.hinting(finding.code)
        place = heard.signal.candidates.index(finding.code) if heard else 0
        explains = 0 if heard or not case.signals.telling else 1
        return (
            RANK[finding.severity],
            explains,
            SURENESS[finding.confidence],
            _vagueness(heard, case.signals),
            place,
            layers[finding.code],
        )

    return tuple(sorted(findings, key=key))


def _vagueness(heard: Heard | None, signals: Hearing) -> int:
    """How little a message tells: its candidates counted; of mere words their place, as their table is sorted."""
    if heard is None:
        return 0
    return list(signals).index(heard) if heard.signal.program == WORDS else len(heard.signal.candidates)


def _folded(findings: Sequence[Finding], rules: Mapping[str, type[Rule]]) -> tuple[Finding, ...]:
    """Each finding under the cause that its rule names, if that cause was found and is at least as sure."""
    by_code = {finding.code: finding for finding in findings}
    parents = {code: _parent(finding, by_code, rules) for code, finding in by_code.items()}
    roots = {code: _root(code, parents) for code in by_code}
    return tuple(
        replace(
            root, consequences=tuple(item for item in findings if roots[item.code] == root.code and item is not root)
        )
        for root in findings
        if roots[root.code] == root.code
    )


def _parent(finding: Finding, by_code: Mapping[str, Finding], rules: Mapping[str, type[Rule]]) -> str:
    """The first cause named by a finding's rule that was found and bears it; empty if there is none."""
    causes = (by_code[code] for code in rules[finding.code].requires if code in by_code)
    fits = (cause.code for cause in causes if _bears(cause, finding))
    return next(fits, "")


def _bears(cause: Finding, finding: Finding) -> bool:
    """Whether a cause is sure and severe enough that the other may be told under it."""
    surer = SURENESS[cause.confidence] <= SURENESS[finding.confidence]
    return surer and RANK[cause.severity] <= RANK[finding.severity]


def _root(code: str, parents: Mapping[str, str]) -> str:
    """The last cause of a chain; of a circle the member that stands first in the report."""
    chain = [code]
    while parents[chain[-1]] and parents[chain[-1]] not in chain:
        chain.append(parents[chain[-1]])
    back = parents[chain[-1]]
    circle = chain[chain.index(back) :] if back else chain[-1:]
    return min(circle, key=list(parents).index)


# --- what was not judged ---


def _questions(asked: Sequence[Asked], findings: Sequence[Finding], case: Case) -> tuple[Unchecked, ...]:
    """For a message that facts leave open: exactly the facts that would decide it."""
    unsure = {finding.code for finding in findings if finding.confidence != "certain"}
    questions = {}
    if case.signals.text and not any(heard.signal.benign for heard in case.signals) and not case.signals.telling:
        questions[""] = Unchecked("the error text", "no message in it is known; the findings rest on the facts alone")
    for item in asked:
        wanted = item.answer.names if isinstance(item.answer, Missing) else ()
        names = [name for name in dict.fromkeys((*wanted, *item.rule.asks)) if not case.host.known(name)]
        if item.code in unsure and case.signals.hinting(item.code) and names:
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
