"""Explanations: the page of a code, or what an error text means and which findings it may point to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from compat.errors import InputError
from compat.facts import Fact, Host
from compat.render.explanation import Explanation, Message, Topic, Typed

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.rules.rule import Rule


def explain(subject: str, matrix: Matrix) -> Explanation:
    """Explain a code, or else a text.

    Raises:
        InputError: if it is no code and no message in it is known, with the nearest codes.
    """
    if topic := topic_of(subject.strip().lower(), matrix):
        return Explanation((topic,))
    messages = _messages(subject, matrix) if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", subject) else ()
    if not messages:
        raise InputError(f"{subject[:60]!r} is no code and holds no known message", expected=_nearest(subject))
    codes = dict.fromkeys(code for message in messages for code in message.candidates)
    return Explanation(tuple(topic for code in codes if (topic := topic_of(code, matrix))), messages)


def advice() -> str:
    """What a coding assistant should run before it installs a framework, as Markdown."""
    return Path(__file__).with_name("assistants.md").read_text("utf-8")


def codes() -> Explanation:
    """Every code there is, in alphabetical order."""
    return Explanation(tuple(topic for code in known() if (topic := topic_of(code))))


def topic_of(code: str, matrix: Matrix | None = None) -> Topic | None:
    """The page of a code, if there is one; with a matrix also what is typed on each kind of system."""
    from compat import rules
    from compat.build.codes import CODES
    from compat.lint import RULES as LINT
    from compat.rules.pages import page_of

    rule = rules.RULES.get(code) or LINT.get(code) or CODES.get(code)
    if rule is None:
        return None
    page = page_of(rule)
    typed = commands_of(rule, matrix) if matrix and code not in LINT else ()
    return Topic(code, page.title, page.what, page.why, page.fix, page.severity, page.sources, typed)


def commands_of(rule: type[Rule], matrix: Matrix) -> tuple[Typed, ...]:
    """What a rule's remedy is typed as: one block where it is the same everywhere, else a block per kind of system.

    Values of a machine stand as words in angle brackets.
    """
    from compat.commands import Place, typed
    from compat.rules.deeds import FAMILIES, of_system

    blocks: dict[tuple[str, ...], list[str]] = {}
    for system, label in FAMILIES.items():
        host = Host({"os": Fact(system), "driver": Fact("<branch>.<release>")})
        changes, notes = of_system(rule().mend(host, matrix).changes, host, matrix, example=True)
        commands = typed(changes, Place())
        if commands:
            blocks.setdefault(commands, []).append(f"{label} ({'; '.join(notes)})" if notes else label)
    if len(blocks) == 1 and len(next(iter(blocks.values()))) == len(FAMILIES):
        return (Typed("", next(iter(blocks))),)
    return tuple(Typed(", ".join(labels), commands) for commands, labels in blocks.items())


def known() -> list[str]:
    """Every code there is: of rules, of lint, of probes."""
    from compat import rules
    from compat.build.codes import CODES
    from compat.lint import RULES as LINT

    return sorted({*rules.RULES, *LINT, *CODES})


def _messages(text: str, matrix: Matrix) -> tuple[Message, ...]:
    from compat.reading import messages

    return tuple(
        Message(row.signal, row.program, row.meaning, row.benign, row.candidates)
        for row in (heard.signal for heard in messages.recognise(text, matrix))
    )


def _nearest(subject: str) -> str:
    """What to try instead of a code that is none: the codes spelled likewise, else what would be accepted."""
    from compat.app.doctor import nearest

    near = nearest(subject, known())
    return near or "a code (`envcheck explain` lists them), or an error text in quotes"
