"""Explanations: the page of a code, or what an error text means and which findings it may point to."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from compat.errors import InputError

if TYPE_CHECKING:
    from compat.matrix import Matrix


@dataclass(frozen=True, slots=True)
class Topic:
    """One page: a code with title, what it is, why it matters, how it is mended, sources."""

    code: str
    title: str
    what: str
    why: str
    fix: str
    severity: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message that was recognised: who prints it, what it says, whether it is noise, what it may point to."""

    signal: str
    program: str
    meaning: str
    benign: bool
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is known of a code or a text."""

    topics: tuple[Topic, ...] = ()
    messages: tuple[Message, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The ``envcheck.explain/1`` document."""
        return {"schema": "envcheck.explain/1", **asdict(self)}


def explain(subject: str, matrix: Matrix) -> Explanation:
    """Explain a code, or else a text.

    Raises:
        InputError: if it is no code and no message in it is known, with the nearest codes.
    """
    if topic := topic_of(subject):
        return Explanation((topic,))
    messages = _messages(subject, matrix) if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", subject) else ()
    if not messages:
        raise InputError(f"{subject[:60]!r} is no code and holds no known message", expected=_nearest(subject))
    codes = dict.fromkeys(code for message in messages for code in message.candidates)
    return Explanation(tuple(topic for code in codes if (topic := topic_of(code))), messages)


def topic_of(code: str) -> Topic | None:
    """The page of a code, if there is one."""
    from compat import rules
    from compat.rules.lint import RULES as LINT

    if code in rules.RULES:
        page = rules.page(code)
        return Topic(code, page.title, page.what, page.why, page.fix, page.severity, page.sources)
    rule = LINT.get(code)
    return Topic(code, rule.title, rule.title + ".", rule.why, rule.fix) if rule else None


def _messages(text: str, matrix: Matrix) -> tuple[Message, ...]:
    from compat.rules import signals

    return tuple(
        Message(row.signal, row.program, row.meaning, row.benign, row.candidates)
        for row in (heard.signal for heard in signals.recognise(text, matrix))
    )


def _nearest(subject: str) -> str:
    from difflib import get_close_matches

    from compat import rules
    from compat.rules.lint import RULES as LINT

    near = get_close_matches(subject, [*rules.RULES, *LINT], 3, 0.5)
    return " or ".join(near) if near else "a code of docs/findings.md, or an error text in quotes"
