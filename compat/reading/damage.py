"""Undoes what Markdown, terminals, e-mail and loggers do to program output on its way into an issue.

Every step is one pass over the text, so the whole is linear; a step whose telltale character is missing costs one
search. Line numbers of the pasted text are kept through every step.

What is undone, each by the sign it leaves:

- quotes (``> ``, nested), fences of any kind (backticks are dropped, so an unclosed one costs nothing), ``<details>``
  and other tags, entities, bold marks, escapes of Markdown;
- colours, carriage returns, invisible and full-width characters, blanks that do not break;
- prefixes of loggers (Python's, mmengine's, vLLM's, ComfyUI's), syslog in any language, compose, Kubernetes;
- dotted leaders (``torch version ........ 2.1``), which become a colon;
- a dictionary printed on one line, which becomes a line per item.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from compat.excerpts import numbered
from compat.reading.wraps import Line, unwrap

# Characters kept of one line: a run-together report fits, a data dump does not.
LONGEST_LINE: Final = 4000

# Different lines that are read, half from either end; ten megabytes of an ordinary log have fewer.
MOST_LINES: Final = 60_000

# Characters of them, half from either end; only data with hardly two lines alike has more.
MOST_CHARACTERS: Final = 3_000_000

_CHARACTERS: Final = (
    ("\t", "    "), ("\xa0", " "), ("\u3000", " "), ("\u2007", " "), ("\u202f", " "),
    ("：", ":"), ("（", "("), ("）", ")"), ("，", ","), ("＝", "="), ("❯", "$"), ("➜", "$"),
    ("\x00", ""), ("`", ""), ("**", ""),
)  # fmt: skip
# What is left of a colour where a form dropped the escape character itself.
_COLOUR = re.compile(r"\[\d{1,3}(?:;\d{1,3}){0,4}m")
# Blanks without width, hints for breaks, marks of direction.
_INVISIBLE = re.compile(r"[\xad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
# Borders that terminals draw, rich's among them: verticals part cells, the rest are rules.
_BORDER = re.compile(r"[\u2500-\u257f]")
# A line of nothing but bold words, which forms use for a heading.
_BOLD = re.compile(r"^ {0,3}\*\*([^*\n:]{2,80}:?)\*\* {0,3}$", re.MULTILINE)
_QUOTES: Final = str.maketrans("“”„‘’", '"""\'\'')
_VERTICAL: Final = frozenset("│┃┆┇┊┋╎╏║")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|\][^\x07\n]{0,200}\x07|[()][A-Z0-9])")
_BREAKS = re.compile(r"<br\s{0,3}/?>|</summary>|</(?:tr|li|p|div|details)>", re.IGNORECASE)
_TAGS = re.compile(
    r"</?(?:details|summary|pre|code|p|b|i|em|strong|tt|kbd|samp|sub|sup|a|div|span|li|ul|ol|table|tbody|thead|tr|td|th"
    r"|blockquote|hr|h\d)(?:\s[^<>\n]{0,300})?/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:[lg]t|amp|quot|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
_BACKSLASH = re.compile(r"\\([_*#\[\]<>~=+|-])")
_STAMP = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})? - "
    r"|(?<=: )\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]? (?:- )?(?=\S)"
)
_QUOTE = re.compile(r"^\s*(?:>(?!>)\s?)+")
_DOTS = re.compile(r" ?\.{4,} ?")
_LEVEL = r"(?:INFO|WARNING|WARN|ERROR|DEBUG|CRITICAL|NOTICE)"
# In this order: a date with logger and level behind it (Python's logging, ISO clocks, Kubernetes), mmengine's short
# date, vLLM's level first, SD.Next's clock, syslog with a month's name in any language, the service name of compose,
# a level alone.
_PREFIX = re.compile(
    rf"""^\s*(?:
      \[?\d{{4}}[-/]\d\d[-/]\d\d[T\ ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{{1,9}})?(?:Z|\ ?[+-]\d\d:?\d\d)?\]?
        (?:\s(?:stdout|stderr)\s[FP]\s)?
        (?:\s*[-|:]?\s*\[?[\w.:/-]{{1,60}}\]?\s*[-|:]?\s*\[?{_LEVEL}\]?\s*(?:[-:|>]\s*|\s))?
        (?:\s*\[?{_LEVEL}\]?\s*[-:|]?\s)?
      | \d\d/\d\d\s\d\d:\d\d:\d\d\s-\s[\w.]{{1,40}}\s-\s{_LEVEL}\s-\s
      | (?:\([^()]{{1,60}}\)\s*)?{_LEVEL}\s\d\d-\d\d\s\d\d:\d\d:\d\d\s\[?[\w./-]{{1,80}}:\d{{1,6}}\]\s
      | \d\d:\d\d:\d\d-\d{{6}}\s{_LEVEL}\s{{1,10}}(?=\S)
      | \w{{2,9}}\.?\s{{1,2}}\d{{1,2}}\.?\s\d\d:\d\d:\d\d\s[\w.-]{{1,80}}\s[\w./@-]{{1,60}}(?:\[\d{{1,8}}\])?:\s
      | \d{{1,2}}月\s{{1,2}}\d{{1,2}}\s\d\d:\d\d:\d\d\s[\w.-]{{1,80}}\s[\w./@-]{{1,60}}(?:\[\d{{1,8}}\])?:\s
      | [\w.-]{{1,50}}\s{{1,20}}\|\s(?=[^|]*$)
      | \[?{_LEVEL}\]?\s?[:\-|]\s(?=\S)
      | \[{_LEVEL}\]\s(?=\S)
    )""",
    re.VERBOSE,
)
_RULE: Final = "-=*_+~# | "
# Devices of collect_env that a form put on one line.
_DEVICES = re.compile(r"(?<=\w) +(?=GPU \d{1,3}: )")
# An item of a printed OrderedDict.
_ITEM = re.compile(
    r"""(\()?'([A-Za-z][^'\n]{1,60})'(?(1),|:)\s*(?:'([^'\n]*)'|"([^"\n]*)"|([^()'",\[\]{}]{1,40}))[),}]"""
)


def clean(text: str) -> tuple[Line, ...]:
    """The lines of ``text`` without fences, quotes, markup, colours, log prefixes and wraps."""
    kept = _bounded(numbered(text.replace("\r\n", "\n").replace("\r", "\n")))
    raws = _flat("\n".join(raw for _, raw in kept)).split("\n")
    lines: list[Line] = []
    for (number, _), raw in zip(kept, raws, strict=True):
        lines.extend([Line(number, part) for part in _parts(raw)])
    return tuple(unwrap(lines))


def _bounded(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines, each cut to :data:`LONGEST_LINE`; of too many those near either end."""
    head = _within(lines)
    if len(head) == len(lines):
        return head
    tail = _within(lines[: len(head) - 1 : -1])
    return head + tail[::-1]


def _within(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The first of ``lines``, as many as half the bounds allow."""
    room = MOST_CHARACTERS // 2
    kept = []
    for number, raw in lines[: MOST_LINES // 2]:
        kept.append((number, raw[:LONGEST_LINE]))
        room -= len(kept[-1][1])
        if room < 0:
            break
    return kept


def _flat(text: str) -> str:
    """Whole-text steps, none of which adds or removes a newline."""
    if "**" in text:
        text = _BOLD.sub(r"# \1", text)
    for character, plain in _CHARACTERS:
        if character in text:  # far cheaper than a table for every character of a text that has none of them
            text = text.replace(character, plain)
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "m" in text and "[" in text:
        text = _COLOUR.sub("", text)
    if not text.isascii():
        text = _INVISIBLE.sub("", text).translate(_QUOTES)
        text = _BORDER.sub(lambda found: "|" if found.group() in _VERTICAL else "-", text)
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found.group()).replace("\xa0", " ").replace("\n", " "), text)
    if "\\" in text:
        text = _BACKSLASH.sub(r"\1", text)
    return _STAMP.sub("", text)


def _parts(raw: str) -> list[str]:
    """The lines that one line of the paste really holds."""
    if not raw or raw.isspace():
        return [""]
    if "<" in raw:
        raw = _TAGS.sub("", _BREAKS.sub("\n", raw))
    if raw.lstrip().startswith(("('", "[('")) or "OrderedDict(" in raw:
        return _spread(raw)
    if "GPU 1: " in raw:
        raw = _DEVICES.sub("\n", raw)
    return [_bare(piece) for piece in raw.split("\n")]


def _bare(line: str) -> str:
    """One line without quote marks, log prefix and trailing blanks; rules become blank lines."""
    if ">" in line[:12]:
        line = _QUOTE.sub("", line)
    if ":" in line or "|" in line:
        bare = _PREFIX.sub("", line)
        line = _PREFIX.sub("", bare) if len(bare) < len(line) else line  # a logger's line in another logger's
    line = line.rstrip()
    if not line.strip(_RULE):
        return line if "*" in line or "-" in line or "=" in line else ""
    return _DOTS.sub(": ", line) if "...." in line else line


def _spread(raw: str) -> list[str]:
    r"""A printed dictionary as one ``key: value`` line per item; ``\n`` inside values ends a line too."""
    items = ((key, next(filter(None, values), "")) for _, key, *values in _ITEM.findall(raw))
    return [line for key, value in items for line in f"{key}: {value}".split("\\n")] or [raw]
