"""Findings: what a rule says about a machine, an image, a file or a probe's result.

Severity tells how bad it is if true, confidence how sure the rule is: two axes, because a likely error and a certain
hint ask for different deeds.
"""

from __future__ import annotations

from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, Final, Literal

from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.changes import Change

Severity = Literal["error", "warning", "info"]
Threshold = Literal["certain", "error", "warning", "info", "never"]
Confidence = Literal["certain", "likely", "possible"]

RANK: Final = {"error": 0, "warning": 1, "info": 2}
SURENESS: Final = {"certain": 0, "likely": 1, "possible": 2}
_UNKNOWN: Final = " is unknown"  # ends the reason where a fact is wanting


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact that a verdict rests on: its name, its value, and where it was read."""

    fact: str
    value: Any
    source: str = ""


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do: a sentence, and the commands to type where there are any.

    Attributes:
        text: the deed.
        commands: what to type, in order.
        changes: the same as values, by which it can be tried.
        checked: whether, with these changes, the finding is gone and no new error appears.
        unchecked: why it was not tried, or what speaks against it; empty if nothing is known.
    """

    text: str
    commands: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    checked: bool = False
    unchecked: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file a finding applies; ``line`` counts from 1, 0 means the file as a whole.

    ``column`` counts from 1 too, ``end_column`` is the one behind the last character; 0 means the whole line.
    """

    file: str
    line: int = 0
    end_line: int = 0
    column: int = 0
    end_column: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One verdict.

    Attributes:
        code: the rule's code, ``driver-too-old-for-runtime``.
        title: the rule's title, one line.
        detail: what is wrong here, with this machine's values in it.
        evidence: the facts it rests on.
        fix: the deed that mends it.
        sources: where the rule's knowledge comes from (addresses, matrix rows).
        consequences: findings that follow from this one and vanish with it.
        place: for lint, where in the file.
    """

    code: str
    severity: Severity
    title: str
    detail: str
    confidence: Confidence = "certain"
    evidence: tuple[Evidence, ...] = ()
    fix: Fix = Fix("")
    sources: tuple[str, ...] = ()
    consequences: tuple[Finding, ...] = ()
    place: Place | None = None

    def at_least(self, threshold: Severity) -> bool:
        """Whether this is as severe as ``threshold`` or worse."""
        return RANK[self.severity] <= RANK[threshold]


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Something that was not judged, and why; never shown as fine."""

    what: str
    why: str
    code: str = ""  # of the finding that it leaves open

    @classmethod
    def wanting(cls, fact: str, codes: Iterable[str]) -> Unchecked:
        """The checks that could not run because a fact is not known, told together."""
        return cls(", ".join(codes), fact + _UNKNOWN)

    @property
    def fact(self) -> str:
        """The fact that is wanting; empty where there is another reason."""
        return self.why.removesuffix(_UNKNOWN) if self.why.endswith(_UNKNOWN) else ""

    @property
    def names(self) -> tuple[str, ...]:
        """What was not judged, one by one: the codes of checks that want the same fact, or the one thing."""
        return tuple(self.what.split(", ")) if self.fact else (self.what,)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the person: the command to ``run``, what its output ``decides``, and the findings' codes."""

    run: str
    decides: str
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All findings, worst and most certain first, so that ``findings[0]`` is the root cause to mend first.

    Attributes:
        findings: the verdicts.
        fine: what was checked and fits, one line each, for a reader who wants to know what is *not* the problem.
        unchecked: what could not be judged.
        judged: whether something relevant was judged beyond what the findings and ``fine`` tell.
        unanswered: what was asked for by name and could not be judged; it stands in ``unchecked`` with its reason.
        questions: what to run where causes are open, at most three.
        known: how many findings are left out because a baseline holds them.
    """

    findings: tuple[Finding, ...] = ()
    fine: tuple[str, ...] = ()
    unchecked: tuple[Unchecked, ...] = field(default=())
    judged: bool = False
    unanswered: tuple[str, ...] = ()
    questions: tuple[Ask, ...] = ()
    known: int = 0

    def count(self, severity: Severity) -> int:
        """Number of findings of this severity, consequences left out."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def ok(self) -> bool | None:
        """Whether nothing is in error; ``None`` where nothing relevant was checked, which is no praise."""
        if self.count("error"):
            return False
        return True if self.checked else None

    @property
    def checked(self) -> bool:
        """Whether anything relevant was judged, and all that was asked for by name: only then is silence fine."""
        return bool(self.findings or self.fine or self.judged) and not self.unanswered

    def fails(self, threshold: Threshold) -> bool:
        """Whether a finding reaches ``--fail-on``; ``certain`` stands for an error that is certain."""
        if threshold == "certain":
            return any(finding.severity == "error" and finding.confidence == "certain" for finding in self.findings)
        return threshold != "never" and any(finding.at_least(threshold) for finding in self.findings)

    def exit_code(self, threshold: Threshold) -> int:
        """1 if a finding reaches ``--fail-on``, else 3 where nothing relevant was checked, else 0."""
        return 1 if self.fails(threshold) else 0 if self.checked else 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Who says it, and when, so that answers of many machines can be merged.

    Attributes:
        version: release of envcheck.
        matrix: digest of the matrix.
        seconds: time of the answer, in seconds since 1970.
        node: name of the machine, where one was given.
    """

    version: str
    matrix: str
    seconds: int
    node: str = ""

    def plain(self) -> dict[str, str]:
        """The same in JSON, the time in UTC by ISO 8601."""
        from time import gmtime, strftime

        node = {"node": self.node} if self.node else {}
        at = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(self.seconds))
        return {**node, "checked_at": at, "version": self.version, "matrix": self.matrix}


def ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by severity, then certainty, otherwise in the order given (rules run from the hardware up)."""
    return tuple(sorted(findings, key=lambda finding: (RANK[finding.severity], SURENESS[finding.confidence])))


def plain(finding: Finding) -> dict[str, Any]:
    """A finding in JSON's own types, as ``envcheck.doctor/1`` has it.

    ``rows_evidence`` says what the measured builds among its sources rest on, as in a plan.
    """
    from compat.facts import plain as plain_value

    document = asdict(finding)
    document["evidence"] = [
        {"fact": item.fact, "value": plain_value(item.value), "source": item.source} for item in finding.evidence
    ]
    document["consequences"] = [plain(item) for item in finding.consequences]
    document["fix"] = plain_fix(finding.fix)
    document["sources"] = [str(source) for source in finding.sources]
    proofs = (getattr(source, "evidence", "") for source in finding.sources)
    document["rows_evidence"] = list(dict.fromkeys(filter(None, proofs)))
    if finding.place is None:
        del document["place"]
    return document


def plain_fix(fix: Fix) -> dict[str, Any]:
    """A fix in JSON's own types; each change says its kind."""
    from compat.facts import plain as plain_value

    changes = [{"kind": type(change).__name__.lower(), **plain_value(asdict(change))} for change in fix.changes]
    told = {"text": fix.text, "commands": list(fix.commands), "changes": changes, "checked": fix.checked}
    return {**told, "unchecked": fix.unchecked}
