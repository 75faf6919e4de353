"""Markdown that a maintainer can post as an answer under an issue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.render.ink import one_line
from compat.render.text import paired, summary_of, unchecked_of, value_of, verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Host
    from compat.findings import Finding, Report

_WORDS: Final = {"error": "Problem", "warning": "Warning", "info": "Note"}


def report(found: Report, host: Host) -> str:
    """Findings as sections, facts in a table per finding, what was not checked at the end.

    What was not checked is folded away: the person who asked wants the cause first, a maintainer can unfold the rest.
    """
    lines = [f"**{escape(summary_of(host))}**" if summary_of(host) else "", ""]
    if not found.findings:
        lines += [verdict(found), ""]
    for finding, others in paired(found.findings):
        lines += _finding(finding, others)
    if found.questions:
        lines += ["To say more, the output of these is needed:", ""]
        lines += [f"- {code(one.run)}: {escape(one.decides)}" for one in found.questions]
        lines.append("")
    if found.unchecked:
        lines += ["<details><summary>Not checked</summary>", ""]
        lines += [f"- {escape(text)}" for text in unchecked_of(found, verbose=False)]
        lines += ["", "</details>"]
    return "\n".join(lines).strip()


def _finding(finding: Finding, others: Sequence[Finding]) -> list[str]:
    """A finding as a section that can be quoted by itself: the cause and the command; what it rests on is folded."""
    sure = "" if finding.confidence == "certain" else f" ({finding.confidence})"
    lines = [f"### {_WORDS[finding.severity]}: {escape(finding.title)}{sure}", "", escape(finding.detail), ""]
    if finding.fix.text:
        lines += [f"**Fix.** {escape(finding.fix.text)}", ""]
    if finding.fix.commands:
        commands = [one_line(command) for command in finding.fix.commands]
        lines += [f"{_fence(commands)}sh", *commands, _fence(commands), ""]
    if finding.fix.unchecked:
        lines += [f"Not checked: {escape(finding.fix.unchecked)}.", ""]
    lines += [f"- hence: {escape(item.title)} (`{item.code}`)" for item in finding.consequences]
    lines += [f"- or: {escape(item.title)} (`{item.code}`)" for item in others]
    lines += [""] if finding.consequences or others else []
    return [
        *lines,
        f"<details><summary><code>{finding.code}</code>: what it rests on</summary>",
        "",
        *_grounds(finding),
    ]


def _grounds(finding: Finding) -> list[str]:
    """Evidence and sources, inside of what is folded."""
    lines: list[str] = []
    if finding.evidence:
        lines += ["| fact | value | read from |", "| --- | --- | --- |"]
        lines += [
            f"| {item.fact} | {code(value_of(item.value))} | {escape(item.source)} |" for item in finding.evidence
        ]
        lines.append("")
    lines += [f"- {escape(source)}" for source in finding.sources]
    return [*lines, "", "</details>", ""]


def _fence(lines: list[str]) -> str:
    """A fence that no line can close: longer than any run of backticks in them."""
    return "`" * max(3, *(len(run) + 1 for line in lines for run in re.findall("`+", line)), 3)


_MARKS: Final = str.maketrans(
    {mark: f"\\{mark}" for mark in "\\`*_[]#~"} | {mark: f"&#{ord(mark)};" for mark in "<>|@"}
)
_ADDRESS: Final = re.compile(r"(https?://(?:[A-Za-z0-9.:/?#%&=+,-]|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9]))*[A-Za-z0-9/])")


def escape(text: str) -> str:
    """Text with what Markdown and HTML would act on made harmless: facts come from other people's machines.

    Addresses stay as they are, where no mark in them could end them: GitHub links them, and a backslash would be part
    of the link.
    """
    parts = _ADDRESS.split(one_line(text))
    return "".join(part if number % 2 else part.translate(_MARKS) for number, part in enumerate(parts))


def code(text: str) -> str:
    """Text in a code span that its own backticks and pipes cannot leave."""
    return "`" + one_line(text).replace("`", "'").replace("|", "\\|") + "`"
