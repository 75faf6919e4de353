"""The checked steps of a report as one script to review; it is never run by us."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.commands import place_of, typed
from compat.render.ink import one_line

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.findings import Finding, Report

# PowerShell stops by itself at the errors of its own commands, and not at those of programs.
_STOP: Final = "if ($LASTEXITCODE) { exit $LASTEXITCODE }"


def script(found: Report, host: Host) -> str:
    """A script of ``sh``, or of PowerShell on Windows, that stops at the first failure.

    Each step says why in a comment. What could not be checked by facts stands in it as a comment only.
    """
    windows = host.platform == "windows"
    head = ["$ErrorActionPreference = 'Stop'"] if windows else ["#!/bin/sh", "set -eu"]
    steps = [line for finding in found.findings for line in _step(finding, host, windows=windows)]
    return "\n".join(
        [*head, "# Read it before you run it: each step was tried on the facts, not on the machine.", *steps]
    )


def _step(finding: Finding, host: Host, *, windows: bool) -> list[str]:
    """The commands of one finding, under what is wrong and what they do."""
    fix = finding.fix
    if finding.severity == "info" or not fix.text:
        return []
    commands = list(fix.commands)
    if fix.changes and (windows or any(getattr(one, "where", "") == "script" for one in fix.changes)):
        dialect = "powershell" if windows else ""
        commands = list(typed(fix.changes, replace(place_of(host), dialect=dialect, script=True)))
    told = ["", f"# {one_line(finding.title)}: {one_line(finding.detail)}", f"# {one_line(fix.text)}"]
    if fix.checked:
        stop = [_STOP] if windows else []
        return [*told, *(line for command in commands for line in (one_line(command), *stop))]
    why = f"# not checked{f' ({fix.unchecked})' if fix.unchecked else ''}"
    return [*told, f"{why}:" if commands else f"{why}.", *(f"#   {one_line(command)}" for command in commands)]
