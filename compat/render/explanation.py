"""An explanation told to a person."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from compat.lazy import dataclass
from compat.render.ink import Ink, table


@dataclass(frozen=True, slots=True)
class Typed:
    """What is typed to mend it: on the systems named in ``where`` (empty for everywhere)."""

    where: str
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """One page: a code with title, what it is, why it matters, how it is mended, what is typed for that, sources."""

    code: str
    title: str
    what: str
    why: str
    fix: str
    severity: str = ""
    sources: tuple[str, ...] = ()
    commands: tuple[Typed, ...] = ()


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


def text(told: Explanation, *, pen: Ink | None = None) -> str:
    """The messages first, then a page per code; with several codes, short pages.

    A text that may mean several things is answered by what each of them is, not by a choice: that takes facts.
    """
    pen = pen or Ink()
    lines: list[str] = []
    for message in told.messages:
        lines += pen.wrap(f"{message.program}: {message.meaning}")
        lines += [pen("green", f"  {pen.words.said('harmless')}")] if message.benign else []
        if len(message.candidates) > 1:
            lines += pen.wrap(
                "It may point to several causes; `envcheck doctor --error TEXT` weighs them with the facts.", "  "
            )
        lines.append("")
    for topic in told.topics:
        lines += _page(topic, pen, brief=len(told.topics) > 1)
    return "\n".join(lines).rstrip()


def listing(told: Explanation, *, pen: Ink | None = None) -> str:
    """A line per code with its title."""
    pen = pen or Ink()
    pages = pen.words.pages
    rows = [(topic.code, pages.get(topic.code, {}).get("title", topic.title)) for topic in told.topics]
    return "\n".join(table(rows, pen))


def _typed(blocks: tuple[Typed, ...], pen: Ink) -> list[str]:
    """Commands as the doctor shows them, each block under the systems it is for."""
    lines: list[str] = []
    for block in blocks:
        lines += [f"  {block.where}:"] if block.where else []
        lines += [f"    {pen('bold', pen.mark('command') + ' ' + command)}" for command in block.commands]
    return lines


def _page(topic: Topic, pen: Ink, *, brief: bool) -> list[str]:
    """One code's page; a brief one leaves out why it matters, the commands and the sources."""
    if told := pen.words.pages.get(topic.code):
        topic = replace(topic, what="", title=told["title"], why=told["why"], fix=told["fix"])
    lines = pen.headed("bold", topic.title, f"{topic.code} ({topic.severity})".removesuffix(" ()"))
    parts = [("", topic.what), ("Why", "" if brief else topic.why), ("Fix", topic.fix)]
    for label, body in parts:
        plain = body.replace("``", "`")  # docstrings mark code for the web page
        lines += pen.wrap(f"{pen.words.said(label)}: {plain}" if label else plain, "  ", "  ") if body else []
    if not brief:
        lines += _typed(topic.commands, pen)
        lines += [pen("dim", line) for source in topic.sources for line in pen.wrap(source, "  - ", "    ")]
    return [*lines, ""]
