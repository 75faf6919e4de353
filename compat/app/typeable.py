"""Printed commands are for copying: what a machine says of itself must not become a command of somebody else's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from compat.facts import Fact, Host, plain
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding, Report

# What a shell acts on, with the text behind it. Source: POSIX, "Shell Command Language", 2.2 "Quoting".
_ACTIVE: Final = pattern(r"[$`;|&<>\"'\\\n\r()]+[^\s$`;|&<>\"'\\\n\r()]+")
_REFERENCE: Final = pattern(r"\$\{?[A-Za-z_]\w*\}?")  # of a variable: it is replaced, and nothing is run


def typeable(report: Report, host: Host) -> Report:
    """The report without the commands that would carry a fact's shell characters into a shell; the words stay."""
    facts = (reading.value for reading in host.readings.values() if isinstance(reading, Fact))
    active = frozenset(part for value in facts for part in _parts(plain(value)))
    return replace(report, findings=tuple(_kept(each, active) for each in report.findings)) if active else report


def _parts(value: Any) -> Iterator[str]:
    """What a shell would act on in a value and in all that it holds, names of keys included."""
    if isinstance(value, str):
        yield from _ACTIVE.findall(_REFERENCE.sub("", value))
    elif isinstance(value, dict):
        for part in (*value, *value.values()):
            yield from _parts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _parts(part)


def _kept(finding: Finding, active: frozenset[str]) -> Finding:
    fix = finding.fix
    commands = tuple(line for line in fix.commands if not any(part in line for part in active))
    inner = tuple(_kept(each, active) for each in finding.consequences)
    if commands == fix.commands and inner == finding.consequences:
        return finding
    return replace(finding, fix=replace(fix, commands=commands), consequences=inner)
