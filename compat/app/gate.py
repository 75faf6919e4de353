"""What a gate demands of the doctor: that a subject was checked at all, and that GPUs are there.

Without this a machine on which nothing could be read looks like one on which nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from compat.errors import InputError
from compat.facts import Fact, Host
from compat.findings import Evidence, Finding, Fix, Report, Unchecked, ranked
from compat.sentences import Sentence

# What may be required -> the facts of which one must be there.
SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "gpu": ("gpus",),
    "driver": ("driver", "amdgpu"),
    "framework": ("builds",),
    "toolkit": ("cuda_toolkit", "rocm"),
    "python": ("python",),
    "container": ("gpu_runtime", "container"),
}


def required(words: Sequence[str]) -> tuple[str, ...]:
    """The subjects of ``--require``, each once; commas part them.

    Raises:
        InputError: for one that is none.
    """
    names = tuple(dict.fromkeys(name.strip() for word in words for name in word.split(",") if name.strip()))
    for name in names:
        if name not in SUBJECTS:
            raise InputError(f"nothing is called {name[:40]!r}", where="--require", expected=", ".join(SUBJECTS))
    return names


def demanded(found: Report, host: Host, *, require: Sequence[str] = (), gpus: int = 0) -> Report:
    """The report with what a gate demands: known absence is an error, what nobody knows is left unanswered.

    ``gpus``: GPUs that must be there and answer; 0 demands none.
    """
    missing: list[Finding] = []
    gaps: list[Unchecked] = []
    for name in require:
        facts = [host.reading(fact) for fact in SUBJECTS[name]]
        if any(isinstance(item, Fact) and item.value for item in facts):
            continue
        if all(isinstance(item, Fact) for item in facts):
            missing.append(_missing(f"{name} is required and not there", host, SUBJECTS[name]))
        else:
            why = Sentence("{facts} cannot be read here", facts=", ".join(SUBJECTS[name]))
            gaps.append(Unchecked(Sentence("{name}, which is required", name=name), why))
    reading = host.reading("gpus")
    if gpus and not isinstance(reading, Fact):
        gaps.append(Unchecked(Sentence("that {count} GPUs are there", count=gpus), "the GPUs cannot be read here"))
    elif gpus and (there := sum(not gpu.lost for gpu in _listed(host, "gpus"))) < gpus:
        missing.append(_missing(f"{there} of the {gpus} GPUs that are expected answer", host, ("gpus",)))
    return replace(
        found,
        findings=ranked((*found.findings, *missing)),
        unchecked=(*found.unchecked, *gaps),
        unanswered=(*found.unanswered, *(gap.what for gap in gaps)),
    )


def _listed(host: Host, name: str) -> tuple[Any, ...]:
    """A list among the facts; empty where it is absent or not known."""
    reading = host.reading(name)
    return (reading.value or ()) if isinstance(reading, Fact) else ()


def _missing(detail: str, host: Host, facts: Sequence[str]) -> Finding:
    """A demand that the machine does not meet, as a finding."""
    readings = ((name, host.reading(name)) for name in facts)
    seen = (Evidence(name, item.value or "none", item.source) for name, item in readings if isinstance(item, Fact))
    return Finding(
        code="required-missing",
        severity="error",
        title="What the gate requires is not there",
        detail=f"{detail}.",
        evidence=tuple(seen),
        fix=Fix("Mend what hides it, or leave it out of --require and --expect-gpus."),
    )
