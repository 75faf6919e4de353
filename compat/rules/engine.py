"""Facts and messages in, a report out: asks every rule, lets facts choose among what a message may mean, folds.

The order of a report: worst first; what explains a message before what does not; certain before possible;
then from the hardware up. A finding whose cause is found too is told under that cause.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from compat.facts import CATALOGUE, Host, Unknown
from compat.findings import RANK, SURENESS, Evidence, Finding, Report, Unchecked
from compat.reading.messages import recognise
from compat.reading.preparation import prepared
from compat.rules.case import Asked, Case, Missing, evidence, statements
from compat.rules.deeds import spelled
from compat.rules.hearsay import by_messages
from compat.rules.pages import page_of
from compat.rules.rule import Fits, Found, Rule, Unsure
from compat.rules.stack import has_no_device
from compat.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from compat.matrix import Matrix


class Given(TypedDict, total=False):
    """What is known and asked beside the facts of a machine.

    Attributes:
        error: an error text or log, of any size, to explain with the facts.
        wishes: requirements that somebody wants to run (``torch==2.0.1``).
        commands: commands that somebody ran.
        select: codes to keep; empty for all.
        ignore: codes to leave out.
    """

    error: str
    wishes: Sequence[str]
    commands: Sequence[str]
    select: Iterable[str]
    ignore: Iterable[str]


def case_of(host: Host, matrix: Matrix, given: Given) -> Case:
    """What is judged: the facts, with those that the messages of the error text state laid under them."""
    commands = tuple(given.get("commands", ()))
    signals = recognise("\n".join((given.get("error", ""), *statements(host))), matrix)
    host = prepared(host, signals, matrix, commands)
    return Case(host, matrix, signals, tuple(given.get("wishes", ())), commands)


def weighed(rules: Mapping[str, type[Rule]], case: Case, given: Given) -> Report:
    """Judge a case by the rules of a table.

    Rules are asked once each, by facts; only then do messages speak, and only for causes that no fact has settled.
    So a known fact always outweighs what a text suggests.
    """
    asked = [_ask(code, rule, layer, case) for layer, (code, rule) in enumerate(rules.items())]
    wanted, unwanted = frozenset(given.get("select", ())), frozenset(given.get("ignore", ()))
    by_facts = [_finding(item, item.answer, case) for item in asked if isinstance(item.answer, Found)]
    findings = [*by_facts, *by_messages(asked, case)]
    kept = [item for item in findings if (not wanted or item.code in wanted) and item.code not in unwanted]
    ordered = _ordered(kept, asked, case)
    return Report(
        findings=_folded(ordered, {item.code: _causes(item) for item in asked}),
        fine=tuple(item.answer.text for item in asked if isinstance(item.answer, Fits) and item.answer.text),
        unchecked=(*_questions(asked, ordered, case), *_silent(case.host), *_unjudged(asked)),
    )


def _ask(code: str, rule: type[Rule], layer: int, case: Case) -> Asked:
    """Ask one rule, if the facts that its ``check`` names are known."""
    instance = rule()
    needed, facts = needed_of(rule), facts_of(rule)
    if not _concerns(rule, case):
        return Asked(code, instance, layer, Fits(""), facts)
    unknown = tuple(name for name in needed if not case.host.known(name))
    if rule.platforms and "linux" not in rule.platforms and not case.host.known("platform"):
        unknown = ("platform", *unknown)  # a machine that does not say what it is is most likely a Linux
    if unknown:
        return Asked(code, instance, layer, Missing(unknown), facts)
    if any(case.host.absent(name) for name in needed):
        return Asked(code, instance, layer, Fits(""), facts)
    return Asked(code, instance, layer, instance.check(**{name: case.given(name) for name in parameters(rule)}), facts)


def parameters(rule: type[Rule]) -> tuple[str, ...]:
    """Names of the parameters of a rule's ``check``."""
    code = rule.check.__code__
    return code.co_varnames[1 : code.co_argcount]


def needed_of(rule: type[Rule]) -> tuple[str, ...]:
    """Facts without which a rule cannot be asked."""
    return tuple(name for name in parameters(rule) if name in CATALOGUE)


def facts_of(rule: type[Rule]) -> tuple[str, ...]:
    """Facts that decide whether a rule's fault is there: those that it needs, then those that it asks for beside."""
    return (*needed_of(rule), *rule.asks)


def _concerns(rule: type[Rule], case: Case) -> bool:
    """Whether a rule is about this kind of machine, as far as that is known."""
    platform = case.host.platform
    if rule.platforms and platform and platform not in rule.platforms:
        return False
    apple = (platform, case.host.arch) == ("darwin", "arm64")  # whose processor has its own GPU, and no bus for others
    if rule.vendors and (apple or has_no_device(case.host)):
        return False
    vendors = case.given("vendors") if rule.vendors else frozenset[str]()
    return not (vendors and not vendors & set(rule.vendors))


# --- findings ---


def _finding(item: Asked, found: Found, case: Case) -> Finding:
    """Complete what a rule found: no finding lacks evidence, deed or source."""
    page = page_of(type(item.rule))
    heard = case.signals.pointing(item.code)
    quote = (Evidence("error", heard.line, "error text"),) if heard else ()
    own = needed_of(type(item.rule)) or item.facts
    facts = found.facts or tuple(name for name in own if case.host.value(name) is not None)
    own_fix = found.fix(case.host, case.matrix) if callable(found.fix) else found.fix
    return Finding(
        code=item.code,
        severity=found.severity or item.rule.severity,
        title=page.title,
        detail=found.detail,
        confidence=found.confidence,
        evidence=(*(evidence(case.host, name) for name in facts if _stands(case.host, name)), *found.extra, *quote),
        fix=spelled(own_fix or item.rule.mend(case.host, case.matrix), case.host, case.matrix),
        sources=tuple(dict.fromkeys((*found.sources, *page.sources))),
    )


def _stands(host: Host, name: str) -> bool:
    """Whether a fact was read, be it to a known absence; an entry of a table only if it is there."""
    table, _, entry = name.partition(".")
    return host.known(table) and (not entry or entry in (host.value(table) or {}))


# --- order and folding ---


def _ordered(findings: Sequence[Finding], asked: Sequence[Asked], case: Case) -> tuple[Finding, ...]:
    """Findings in the order of a report; see the module's first lines. A text's order, then the layer breaks ties."""
    layers = {item.code: item.layer for item in asked}
    said = bool(case.signals.telling)

    def key(finding: Finding) -> tuple[int, ...]:
        heard = case.signals.pointing(finding.code)
        place = heard.signal.candidates.index(finding.code) if heard else 0
        explains = 0 if heard or not said else 1
        return (
            RANK[finding.severity],
            explains,
            SURENESS[finding.confidence],
            len(heard.signal.candidates) if heard else 0,
            place,
            case.signals.text.find(heard.line) if heard else 0,
            layers[finding.code],
        )

    return tuple(sorted(findings, key=key))


def _causes(item: Asked) -> tuple[str, ...]:
    """The causes that a finding may have: those of its own, then those that its rule names."""
    return (*(item.answer.under if isinstance(item.answer, Found) else ()), *item.rule.requires)


def _folded(findings: Sequence[Finding], causes: Mapping[str, tuple[str, ...]]) -> tuple[Finding, ...]:
    """Each finding under the first of its causes that was found, if that is at least as sure."""
    by_code = {finding.code: finding for finding in findings}
    parents = {code: _parent(finding, by_code, causes[code]) for code, finding in by_code.items()}
    roots = {code: _root(code, parents) for code in by_code}
    folded = []
    for root in (finding for finding in findings if roots[finding.code] == finding.code):
        below = tuple(item for item in findings if roots[item.code] == root.code and item is not root)
        folded.append(replace(root, consequences=below))
    return tuple(folded)


def _parent(finding: Finding, by_code: Mapping[str, Finding], causes: tuple[str, ...]) -> str:
    """The first of its causes that was found and bears a finding; empty if there is none."""
    places = {code: place for place, code in enumerate(by_code)}
    for code in causes:
        if code in by_code and _bears(by_code[code], finding, earlier=places[code] < places[finding.code]):
            return code
    return ""


def _bears(cause: Finding, finding: Finding, *, earlier: bool) -> bool:
    """Whether a cause is sure and severe enough that the other may be told under it.

    A possibility that rests on a text alone bears only what stands after it: words that are sharper stand ``earlier``.
    """
    surer = SURENESS[cause.confidence] <= SURENESS[finding.confidence]
    merely = cause.confidence == "possible" and cause.evidence[:1] and cause.evidence[0].fact == "error"
    return surer and RANK[cause.severity] <= RANK[finding.severity] and (earlier or not merely)


def _root(code: str, parents: Mapping[str, str]) -> str:
    """The last cause of a chain; of a circle the member that stands first in the report."""
    chain = [code]
    while (back := parents[chain[-1]]) and back not in chain:
        chain.append(back)
    circle = chain[chain.index(back) :] if back else chain[-1:]
    return min(circle, key=list(parents).index)


# --- what was not judged: never shown as fine ---


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
            questions[item.code] = Unchecked(
                Sentence("whether it is {code}", code=item.code), _ask_for(names), item.code
            )
    return tuple(questions.values())


def _ask_for(names: Sequence[str]) -> str:
    """The facts that would decide, each with its meaning, so that the person knows what to look up."""
    facts = "; ".join(CATALOGUE[name].meaning.rpartition(" -> ")[2] for name in names)
    return Sentence("not known, and would decide it: {facts}", facts=facts)


def _unjudged(asked: Sequence[Asked]) -> tuple[Unchecked, ...]:
    """Rules that could not be asked, grouped by the fact that was missing, and those that do not know."""
    waiting: dict[str, list[str]] = {}
    for item in asked:
        if isinstance(item.answer, Missing):
            waiting.setdefault(item.answer.names[0], []).append(item.code)
    missing = [Unchecked.wanting(name, codes) for name, codes in waiting.items()]
    return (*missing, *(Unchecked(item.code, item.answer.why) for item in asked if isinstance(item.answer, Unsure)))
