"""Explanations: the page of a code, or what an error text means and which findings it may point to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat.errors import InputError
from compat.render.explanation import Explanation, Message, Topic

if TYPE_CHECKING:
    from compat.matrix import Matrix


def explain(subject: str, matrix: Matrix) -> Explanation:
    """Explain a code, or else a text.

    Raises:
        InputError: if it is no code and no message in it is known, with the nearest codes.
    """
    if topic := topic_of(subject.strip().lower()):
        return Explanation((topic,))
    messages = _messages(subject, matrix) if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", subject) else ()
    if not messages:
        raise InputError(f"{subject[:60]!r} is no code and holds no known message", expected=_nearest(subject))
    codes = dict.fromkeys(code for message in messages for code in message.candidates)
    return Explanation(tuple(topic for code in codes if (topic := topic_of(code))), messages)


def codes() -> Explanation:
    """Every code there is, in alphabetical order."""
    return Explanation(tuple(topic for code in known() if (topic := topic_of(code))))


def topic_of(code: str) -> Topic | None:
    """The page of a code, if there is one."""
    from compat import rules
    from compat.build.codes import CODES
    from compat.rules.lint import RULES as LINT

    if code in rules.RULES:
        page = rules.page(code)
        return Topic(code, page.title, page.what, page.why, page.fix, page.severity, page.sources)
    if rule := LINT.get(code):
        return Topic(code, rule.title, rule.title + ".", rule.why, rule.fix)
    if told := CODES.get(code):
        return Topic(code, told.title, told.what, told.why, told.fix.text, told.severity, told.sources)
    return None


def known() -> list[str]:
    """Every code there is: of rules, of lint, of probes."""
    from compat import rules
    from compat.build.codes import CODES
    from compat.rules.lint import RULES as LINT

    return sorted({*rules.RULES, *LINT, *CODES})


def _messages(text: str, matrix: Matrix) -> tuple[Message, ...]:
    from compat.rules import signals

    return tuple(
        Message(row.signal, row.program, row.meaning, row.benign, row.candidates)
        for row in (heard.signal for heard in signals.recognise(text, matrix))
    )


def _nearest(subject: str) -> str:
    from compat.app.doctor import nearest

    near = nearest(subject, known())
    return near or "a code (`envcheck explain` lists them), or an error text in quotes"
