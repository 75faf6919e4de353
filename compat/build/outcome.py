"""What the probes said, and the findings that follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final, Literal, cast

from compat.build.codes import rule_of
from compat.findings import Evidence, Finding, Fix, ranked
from compat.lazy import dataclass
from compat.untrusted import json_of, table

SCHEMA: Final = "envcheck.verify/1"

Status = Literal["pass", "fail", "skip"]
# Characters of a line that are still read; ours stay far below, with all figures.
_LINE: Final = 200_000
# Results that are still read: ours are far fewer, and an image may print them without end.
_MOST: Final = 1000
_MILD: Final = {"probe-bandwidth-low", "gpu-thermal-throttle"}
# A probe that failed is an error whatever its code means elsewhere; being slow is not a failure.


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe's result; ``why`` is empty for a pass, ``code`` the finding that a failure points to."""

    name: str
    status: Status
    why: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All results of one run.

    Attributes:
        image: what was tested; empty for this machine itself.
        level: ``driver``, ``framework``, ``bench`` or ``stress``.
        probes: results in the order in which they came.
        findings: what follows, worst first.
    """

    image: str
    level: str
    probes: tuple[Probe, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is in error."""
        return not any(finding.severity == "error" for finding in self.findings)


def dump(result: Verification) -> dict[str, Any]:
    """The ``envcheck.verify/1`` document; JSON-ready."""
    from compat.findings import plain

    probes = [
        {"name": item.name, "status": item.status, "why": item.why, "figures": dict(item.figures)}
        for item in result.probes
    ]
    findings = [plain(finding) for finding in result.findings]
    return {"schema": SCHEMA, "image": result.image, "level": result.level, "probes": probes, "findings": findings}


def read(lines: Iterable[str]) -> tuple[tuple[Probe, ...], str]:
    """Results from the lines that the scripts printed, and the probe that was begun and never ended.

    An image may print anything; what is not one of our lines is passed over, and no field is trusted to be of its kind.
    """
    probes: list[Probe] = []
    begun = ""
    for line in lines:
        event = _event(line)
        if event.get("event") == "start":
            begun = str(event.get("probe", ""))[:200]
        elif event.get("event") == "probe" and event.get("status") in {"pass", "fail", "skip"}:
            begun = ""
            probes.append(_probe(event))
            if len(probes) == _MOST:
                break
        elif event.get("event") == "end":
            begun = ""
    return tuple(probes), begun


def is_begun(lines: Iterable[str]) -> bool:
    """Whether the scripts were run at all: their first words are an event."""
    return any(_event(line).get("event") for line in lines)


def is_complete(lines: Iterable[str]) -> bool:
    """Whether the scripts came to their end."""
    return any(_event(line).get("event") == "end" for line in lines)


def _event(line: str) -> dict[str, Any]:
    """The JSON object of a line; empty for anything else, also for what is too long or too deep to be ours."""
    if len(line) > _LINE or not line.startswith("{"):
        return {}
    return table(json_of(line))


def _probe(event: Mapping[str, Any]) -> Probe:
    """A result with every text cut to a length that a report can bear: the image decides what is printed."""
    seconds = event.get("seconds")
    return Probe(
        name=str(event.get("name", ""))[:200],
        status=cast("Status", event["status"]),
        why=str(event.get("why", ""))[:2000],
        figures=table(event.get("figures")),
        code=str(event.get("code", ""))[:80],
        seconds=float(seconds) if isinstance(seconds, (int, float)) else 0.0,
    )


def findings(probes: Iterable[Probe], where: str) -> tuple[Finding, ...]:
    """One finding for each code that failed; later failures of the same code are its evidence, not news."""
    failed: dict[str, list[Probe]] = {}
    for item in probes:
        if item.status == "fail":
            failed.setdefault(item.code or "probe-failed", []).append(item)
    return ranked(_finding(code, items, where) for code, items in failed.items())


def _finding(code: str, items: list[Probe], where: str) -> Finding:
    from compat.commands import Place, typed
    from compat.rules.pages import page_of

    rule = rule_of(code)
    told = page_of(rule)
    changes = rule.changes if rule.area == "probes" else ()
    return Finding(
        code=told.code,
        severity=told.severity if code in _MILD else "error",
        title=told.title,
        detail=f"{items[0].name}: {items[0].why}" if items[0].why else items[0].name,
        evidence=tuple(Evidence(f"probe {item.name}", item.why or item.status, where) for item in items),
        fix=Fix(told.fix, typed(changes, Place()), changes),
        sources=told.sources,
    )
