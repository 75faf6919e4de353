"""Shell lines as commands: enough of the shell to see which ones run, not what they compute.

Words keep what a variable that nobody set would leave; command substitutions stay as written. Nothing is executed.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from compat.sources import conditions, installers
from compat.sources.values import ENTRYPOINT, PROJECT, Command

# Parts the lines of one continued command, where a newline would end it; a blank to every reader of words.
CONTINUED: Final = "\r"
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)(?:(:?[-+]|##?|%%?)([^{}]*))?\}|(\w+))")
_LONGEST: Final = 131_072  # characters; Linux passes no longer argument (execve(2), MAX_ARG_STRLEN)
_SHORT: Final = 400  # characters of a variable's value that is filled in: a script may name it at every command
_COMPUTED: Final = frozenset("$`'\"#;&|()<>\n")  # signs of a value that it takes a shell to know
_BREAKS: Final = re.compile(r"&&|\|\||;;?&?|\|&?|(?<![<>])&(?!>)|\n")
_FOLLOWS: Final = re.compile(r"[ )]*(..?)?", re.DOTALL)
_WINDOW: Final = 4096  # characters before an arm of a case in which its other patterns are looked for
_WORD_BEGINS: Final = frozenset(" \t\r\n;&|(")  # what a "#" or a subshell's bracket may follow
# Options of sudo and env whose value is a word of its own (sudo(8), env(1)).
_VALUED: Final = frozenset({"-u", "--user", "-g", "--group", "-h", "--host", "-D", "--chdir"})
_SKIP: Final = frozenset(
    ["sudo", "exec", "time", "then", "do", "else", "elif", "if", "while", "!", "(", "{", "eval", "nohup", "env"]
)
# Options with which ``uv run`` leaves the project alone (uv documentation, "uv run").
_UNSYNCED: Final = frozenset({"--no-sync", "--no-project", "--script", "-s", "--isolated"})
_ASKS: Final = re.compile(r"(?:^|\s)(?:el)?if(?=\s)")
_ALTERNATIVES: Final = re.compile(r"(?:;;|\bin)\s*((?:[^\s;|()]{1,60}\s*\|\s*)+)\Z")
_CONDITION: Final = frozenset({"if", "elif", "while", "until", "!"})
_LEADS: Final = frozenset({"then", "do", "else", "{", "("})


def fill(text: str, values: Mapping[str, str]) -> str:
    """``text`` with ``$NAME``, ``${NAME:-default}``, ``${NAME:+other}``, ``${NAME##x}`` filled in; unknown names stay.

    Values that grow past what a program can be given (``ENV A=$A$A``, over and over) stay as written.
    """
    room = _LONGEST

    def one(found: re.Match[str]) -> str:
        nonlocal room
        value = chosen(found)
        room -= len(value)
        return value if room >= 0 else found.group()

    def chosen(found: re.Match[str]) -> str:
        name, mark, other = found[1] or found[4], found[2], found[3]
        value = values.get(name)
        if mark and mark[-1] == "+":
            return other if value else ""
        if mark and mark[-1] == "-":
            return value or other
        if mark:
            return found.group() if value is None else _trimmed(value, mark, other)
        return value if value is not None else found.group()

    for _ in range(3):  # a default may hold a variable again; deeper nesting does not occur
        filled = _VARIABLE.sub(one, text)
        if filled == text:
            break
        text = filled
    return text


def _trimmed(value: str, mark: str, pattern: str) -> str:
    """``${NAME##pattern}`` and its kin: a value without what a pattern matches at its beginning or its end."""
    ends = range(len(value) + 1) if mark in {"#", "%%"} else range(len(value), -1, -1)
    for place in ends:
        part, rest = (value[:place], value[place:]) if mark[0] == "#" else (value[place:], value[:place])
        if fnmatchcase(part, pattern):
            return rest
    return value


class Word(str):
    """A word of a command that knows the line it stands on; one that nobody placed is on line 0.

    ``bare``: whether no part of it is quoted, so that a shell takes a ``<`` or ``>`` in it for a redirection.
    """

    __slots__ = ("bare", "line")
    bare: bool
    line: int

    @classmethod
    def placed(cls, text: str, line: int, *, bare: bool = False) -> Word:
        """A word on a line."""
        word = cls(text)
        word.line, word.bare = line, bare
        return word


def line_of(word: str, line: int) -> int:
    """The line of a word, if it knows it; else ``line``, which is that of its command."""
    return getattr(word, "line", 0) or line


def commands(script: str, line: int, *, build: bool = True) -> tuple[Command, ...]:
    """The simple commands of a script, in order; quotes are honoured, separators inside them are not."""
    found: list[Command] = []
    exported: dict[str, str] = {}
    kept: dict[str, str] = {}
    arms, chain = _Arms(), _Chain()
    pieces = _pieces(script)
    thens = _thens(script, pieces)
    for number, (offset, piece) in enumerate(pieces):
        end = pieces[number + 1][0] if number + 1 < len(pieces) else len(script)
        condition = arms.enter(piece, _condition(script, offset, piece, thens[number]), _patterns(script, offset))
        words, own = _prefixed(split(fill(piece, kept) if kept else piece, line))
        line += _breaks(script, offset, end)
        runs = chain.enter(piece, script[offset + len(piece) : end].strip(), plain=not condition)
        if words[:1] == ["export"]:
            exported |= dict(word.split("=", 1) for word in words[1:] if "=" in word)
        if arms.dead or runs is False:
            continue
        if not words:  # variables of the script's own: INSTALL="pip install"; $INSTALL torch
            for name, value in own.items():
                known = runs and not arms.place and len(value) <= _SHORT and not {*value} & _COMPUTED
                kept[name] = value if known else f"${name}"
            continue
        follows = _FOLLOWS.match(script, offset + len(piece))
        after = (follows[1] or "") if follows and number + 1 < len(pieces) else ""
        guarded = condition or after == "||" or (after[:1] in {"|", "&"} and after != "&&")
        variables = tuple((exported | own).items())
        place = arms.place or ("" if runs else f"{number}.0")
        for inner in _unwrapped(words):
            settled, branch = (*variables, *inner.settings), place or inner.branch
            found.append(Command(inner.words, inner.line, build, settled, guarded or inner.guarded, branch, inner.home))
    return tuple(found)


def started(entry: Sequence[str], arguments: Sequence[str]) -> tuple[Command, ...]:
    """What a container starts.

    ``entry``: words that replace the program of its image; empty where that stays.
    """
    if entry:
        return tuple(_unwrapped([*entry, *arguments]))
    own = _unwrapped([*arguments]) if arguments else ()
    return tuple(replace(one, words=(ENTRYPOINT, *one.words)) for one in own)


def _thens(script: str, pieces: Sequence[tuple[int, str]]) -> list[int]:
    """For each piece, where the next one that begins with ``then`` starts; the end of the script if there is none."""
    found, following = [], len(script)
    for offset, piece in reversed(pieces):
        found.append(following)
        following = offset if piece.split(maxsplit=1)[:1] == ["then"] else following
    return found[::-1]


def _condition(script: str, offset: int, piece: str, then: int) -> str:
    """What an ``if`` or ``elif`` of a piece asks: the text up to its ``then``."""
    start = max((found.end() for found in _ASKS.finditer(piece)), default=-1)
    return script[offset + start : then].strip().rstrip(";").strip() if start >= 0 else ""


def _patterns(script: str, offset: int) -> str:
    """The patterns of an arm of a ``case`` before its last one: ``a|b|``."""
    if not script[max(0, offset - _WINDOW) : offset].rstrip().endswith("|"):
        return ""
    found = _ALTERNATIVES.search(script, max(0, offset - _WINDOW), offset)
    return found[1] if found else ""


class _Chain:
    """Tests that commands follow: ``[ "$GPU" = 1 ] && pip install ...``."""

    def __init__(self) -> None:
        self._verdict: bool | None = True
        self._joint = ""

    def enter(self, piece: str, joint: str, *, plain: bool) -> bool | None:
        """Whether a piece runs; ``joint`` stands behind it, and one that is not ``plain`` is an ``if``'s condition."""
        here = True if self._joint != "&&" or not plain else self._verdict
        if self._joint == "||" and plain and self._tested:
            here = None if self._verdict is None else not self._verdict
        self._tested = plain and piece.split()[:1] in (["["], ["[["], ["test"])
        own = conditions.holds(piece) if self._tested else True
        self._verdict = False if here is False or own is False else None if here is None or own is None else True
        self._joint = joint[:2]
        return here

    _tested = False


def _breaks(text: str, start: int, end: int) -> int:
    """How many lines of the file end in a part of a script."""
    return text.count("\n", start, end) + text.count(CONTINUED, start, end)


@dataclass(slots=True)
class _Arm:
    """The arm of an ``if`` or ``case`` that is being read: whether it runs, ``None`` where that is not known."""

    number: int
    dead_around: bool = False  # an arm that this one stands in never runs
    place_around: str = ""  # the innermost arm around it of which it is not known whether it runs
    place: int = -1
    runs: bool | None = None
    begun: bool = False
    settled: bool = False  # an earlier arm runs for sure
    doubt: bool = False  # an earlier arm may run
    word: str = "$"  # what a case looks at

    def next(self, verdict: bool | None) -> None:
        """Go on to the next arm, whose own condition gives ``verdict``."""
        self.settled |= self.runs is True
        self.doubt |= self.runs is None and self.begun
        self.begun = True
        self.place += 1
        self.runs = False if self.settled or verdict is False else None if self.doubt else verdict


class _Arms:
    """Which arm of which ``if`` or ``case`` the commands stand in, read off their first words."""

    def __init__(self) -> None:
        self._open: list[_Arm] = []
        self._count = 0

    @property
    def place(self) -> str:
        """The innermost arm of which it is not known whether it runs, ``2.1``; empty if there is none."""
        if not self._open:
            return ""
        arm = self._open[-1]
        return f"{arm.number}.{arm.place}" if arm.runs is None else arm.place_around

    @property
    def dead(self) -> bool:
        """Whether the defaults of the file never come here."""
        return bool(self._open) and (self._open[-1].runs is False or self._open[-1].dead_around)

    def enter(self, piece: str, condition: str, patterns: str) -> bool:
        """Take note of the words that a piece begins with (``then if``); whether it is a condition.

        ``condition``: what an ``if`` or ``elif`` in it asks, up to its ``then``. ``patterns``: those of a ``case`` that
        stand before it, each with its bar.
        """
        asks, words = False, piece.split()
        rest = iter(words)
        for word in rest:
            asks |= word in _CONDITION
            match word:
                case "if" | "case":
                    self._count += 1
                    self._open.append(_Arm(self._count, self.dead, self.place))
                    if word == "if":
                        self._next(conditions.holds(condition))
                    else:  # it has the word that it matches before "in", and its first arm behind
                        self._open[-1].word, self._open[-1].place = next(rest, "$"), 0
                        _ = "in" in rest
                case "elif":
                    self._next(conditions.holds(condition))
                case "else":
                    self._next(True)
                case "fi" | "esac":
                    del self._open[-1:]
                case _ if word.endswith(")") and "(" not in word:
                    self._next(conditions.matches(self._word, patterns + word.removesuffix(")")))
                case _ if word not in _LEADS | _CONDITION:
                    break
        return asks

    @property
    def _word(self) -> str:
        """What the innermost ``case`` looks at."""
        return self._open[-1].word if self._open else "$"

    def _next(self, verdict: bool | None) -> None:
        if self._open:
            self._open[-1].next(verdict)


def split(piece: str, line: int) -> list[str]:
    """Words of a command, each with its line; where quotes do not close, whatever blanks divide."""
    piece = piece.replace("\\\n", f" {CONTINUED}")
    stream = io.StringIO(piece)
    parser = shlex.shlex(stream, posix=True)
    parser.whitespace_split, parser.commenters = True, ""
    words: list[str] = []
    start = 0
    try:
        for word in parser:
            end = stream.tell()  # behind the blank that ends the word
            begin = start + len(piece[start:end]) - len(piece[start:end].lstrip())
            line += _breaks(piece, start, begin)
            words.append(Word.placed(word, line, bare=piece[begin:end].rstrip() == word))
            line += _breaks(piece, begin, end)
            start = end
    except ValueError:
        return [Word.placed(word, line) for word in piece.split()]
    return words


def is_open(script: str) -> bool:
    """Whether a script ends inside quotes, at which a shell stops."""
    try:
        shlex.split(_pieces(script)[-1][1])
    except ValueError as error:
        return "quotation" in str(error)
    return False


def _prefixed(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """The words without what stands before a command, and the variables set there."""
    own: dict[str, str] = {}
    while words:
        if re.fullmatch(r"\w+=.*", words[0], re.DOTALL):
            name, _, value = words.pop(0).partition("=")
            own[name] = value.replace(CONTINUED, " ")
        elif words[0] in _SKIP or (words[0].endswith(")") and "(" not in words[0]):
            skipped = words.pop(0)
            while skipped in {"sudo", "env", "time"} and words and words[0].startswith("-"):
                del words[: 2 if words[0] in _VALUED else 1]
        elif words[0] == "case" and "in" in words:
            del words[: words.index("in") + 1]  # the first arm may stand on the same line
        else:
            break
    return words, own


def _unwrapped(words: list[str]) -> list[Command]:
    """The commands inside ``bash -c '...'``, ``conda run -n env ...`` and ``uv run ...``; else the command itself."""
    if re.fullmatch(r"(?:.*/)?(?:ba|da|z)?sh", words[0]) and len(words) > 2 and re.fullmatch(r"-\w*c", words[1]):
        return list(commands(words[2], line_of(words[2], 0)))
    home = ""
    if words[1:2] == ["run"] and any(runner.fullmatch(words[0]) for runner in installers.RUNNERS):
        rest = words[2:]
        if installers.UV.fullmatch(words[0]) and not _UNSYNCED & {*rest}:
            home = PROJECT
        while rest and rest[0].startswith("-"):
            valued = rest[0] in {"-n", "--name", "-p", "--prefix", "--python", "--with", "--extra", "--group"}
            home = rest[1] if rest[0] in {"-n", "--name", "-p", "--prefix"} and len(rest) > 1 else home
            rest = rest[2:] if valued else rest[1:]
        words = rest or words
    plain = (
        Word.placed(one.replace(CONTINUED, " "), line_of(one, 0), bare=getattr(one, "bare", False)) for one in words
    )
    return [Command(tuple(plain), line_of(words[0], 0), home=home)]


@lru_cache(maxsize=1)  # the commands of a script and whether it is open are asked for one after the other
def _pieces(script: str) -> tuple[tuple[int, str], ...]:
    """Parts between separators that stand outside quotes and comments, with their offsets."""
    pieces, start, quote, index = [], 0, "", 0
    groups: list[bool] = []
    while index < len(script):
        mark = script[index]
        if mark == "\\" and quote != "'":  # between apostrophes a backslash is a plain sign
            index += 1
        elif quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        elif mark == "#" and _begins_word(script, index):
            pieces.append((start, script[start:index]))  # an apostrophe in a comment opens nothing
            start = index = end if (end := script.find("\n", index)) >= 0 else len(script)
            continue
        elif length := _separator(script, index, groups):
            pieces.append((start, script[start:index]))
            start = index = index + length
            continue
        index += 1
    return (*pieces, (start, script[start:]))


def _begins_word(script: str, index: int) -> bool:
    return index == 0 or script[index - 1] in _WORD_BEGINS


def _separator(script: str, index: int, groups: list[bool]) -> int:
    """Length of the separator that stands here, 0 if there is none.

    ``groups`` tells of each bracket that is open whether it is a subshell's, which parts commands, or belongs to a
    substitution or a function, which does not. A closing bracket without one ends the pattern of a ``case``.
    """
    if script[index] == "(":
        groups.append(_begins_word(script, index))
        return int(groups[-1])
    if script[index] == ")" and groups:
        return int(groups.pop())
    found = _BREAKS.match(script, index)
    return len(found.group()) if found else 0
