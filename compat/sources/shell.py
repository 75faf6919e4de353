"""Shell lines as install steps: enough of the shell to see which commands run, not what they compute.

Words keep what a variable that nobody set would leave; command substitutions stay as written. Nothing is executed.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from compat.sources import requirements
from compat.sources.values import Command, Install, Request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)(?::?([-+])([^{}]*))?\}|(\w+))")
_BREAKS: Final = re.compile(r"(&&|\|\||;|\||\n)")
_SKIP: Final = frozenset(["sudo", "exec", "time", "then", "do", "else", "if", "while", "!", "(", "{", "eval", "nohup"])
_PIP: Final = re.compile(r"(?:.*/)?pip(?:[23](?:\.\d+)?)?")
_PYTHON: Final = re.compile(r"(?:.*/)?(?:python|pypy)(\d(?:\.\d+)?)?")
_CONDA: Final = re.compile(r"(?:.*/)?(?:conda|mamba|micromamba)")
_APT: Final = re.compile(r"(?:.*/)?(?:apt-get|apt|dnf|yum|microdnf|apk|zypper)")


def fill(text: str, values: Mapping[str, str]) -> str:
    """``text`` with ``$NAME``, ``${NAME:-default}`` and ``${NAME:+other}`` filled in; unknown names stay."""

    def one(found: re.Match[str]) -> str:
        name, mark, other = found[1] or found[4], found[2], found[3]
        value = values.get(name)
        if mark == "+":
            return other if value else ""
        if mark == "-":
            return value or other
        return value if value is not None else found.group()

    for _ in range(3):  # a default may hold a variable again; deeper nesting does not occur
        filled = _VARIABLE.sub(one, text)
        if filled == text:
            break
        text = filled
    return text


def commands(script: str, line: int, *, build: bool = True) -> tuple[Command, ...]:
    """The simple commands of a script, in order; quotes are honoured, separators inside them are not."""
    found = []
    for offset, piece in _pieces(script):
        try:
            words = shlex.split(piece, comments=True)
        except ValueError:
            words = piece.split()
        while words and (words[0] in _SKIP or re.fullmatch(r"\w+=\S*", words[0])):
            words.pop(0)
        if words:
            found.append(Command(tuple(words), line + script.count("\n", 0, offset), build))
    return tuple(found)


def _pieces(script: str) -> list[tuple[int, str]]:
    """Parts between separators that stand outside quotes, with their offsets."""
    pieces, start, quote, index = [], 0, "", 0
    while index < len(script):
        mark = script[index]
        if quote:
            quote = "" if mark == quote else quote
        elif mark == "\\":
            index += 1
        elif mark in "'\"":
            quote = mark
        elif found := _BREAKS.match(script, index):
            pieces.append((start, script[start:index]))
            start = index = found.end()
            continue
        index += 1
    return [*pieces, (start, script[start:])]


def installs(found: Sequence[Command]) -> tuple[Install, ...]:
    """The install steps among commands."""
    steps = (_install(command) for command in found if command.build)
    return tuple(step for step in steps if step is not None)


def _install(command: Command) -> Install | None:
    words, python = list(command.words), ""
    if (named := _PYTHON.fullmatch(words[0])) and words[1:2] == ["-m"] and words[2:3] in (["pip"], ["uv"]):
        python = named[1] or ""
        words = words[2:]
    if words[0].rpartition("/")[2] == "uv" and len(words) > 2:
        return _uv(words[1:], command.line, python if "." in python else "")
    head, rest = words[0], words[1:]
    for pattern, maker in ((_PIP, _pip), (_CONDA, _conda), (_APT, _apt)):
        if pattern.fullmatch(head):
            return maker(rest, command.line, python if "." in python else _minor_in(head))
    return None


def _minor_in(program: str) -> str:
    found = re.search(r"pip(3\.\d+)$", program)
    return found[1] if found else ""


def _pip(words: list[str], line: int, python: str) -> Install | None:
    if "install" not in words:
        return None
    return requirements.from_words(words[words.index("install") + 1 :], line, python=python)


def _uv(words: list[str], line: int, python: str) -> Install | None:
    match words:
        case ["pip", "install", *rest] | ["add", *rest]:
            return requirements.from_words(rest, line, manager="uv", python=python)
        case _:
            return None


def _conda(words: list[str], line: int, _python: str) -> Install | None:
    if not words or words[0] not in {"install", "create", "env"} or words[:2] == ["env", "update"]:
        return None
    channels, requests, rest = [], [], words[1:]
    while rest:
        word = rest.pop(0)
        if word in {"-c", "--channel", "-n", "--name", "-p", "--prefix", "-f", "--file", "--override-channels"}:
            value = rest.pop(0) if rest and word != "--override-channels" else ""
            channels += [value] if word in {"-c", "--channel"} else []
        elif not word.startswith("-") and (found := conda_request(word, line)):
            requests.append(found)
    return Install(manager="conda", requests=tuple(requests), channels=tuple(channels), line=line)


def conda_request(text: str, line: int) -> Request | None:
    """A conda match specification as a request: ``pytorch::pytorch=1.12`` -> ``pytorch==1.12.*``."""
    found = re.fullmatch(r"(?:[\w./:-]+::)?([\w.-]+)\s*(.*)", text.strip().strip("'\""))
    if found is None:
        return None
    name, spec = found[1], found[2].strip()
    if found := re.fullmatch(r"=?\s*=\s*([\w.+!]+(?:\.\*)?)(?:=(\S+))?", spec):
        version = found[1]
        loose = not spec.startswith("==") and not found[2] and not version.endswith(".*")
        spec = f"=={version}{'.*' if loose else ''}"
    return Request(name=requirements.normalise(name), spec=spec.replace(" ", ""), line=line)


def _apt(words: list[str], line: int, _python: str) -> Install | None:
    if not {"install", "add", "in"} & set(words):
        return None
    start = next(index for index, word in enumerate(words) if word in {"install", "add", "in"})
    names = [word for word in words[start + 1 :] if not word.startswith("-")]
    requests = tuple(_package(name, line) for name in names)
    return Install(manager="apt", requests=requests, line=line)


def _package(text: str, line: int) -> Request:
    name, _, version = text.partition("=")
    return Request(name=name.partition(":")[0].lower(), spec=f"=={version}" if version else "", line=line)
