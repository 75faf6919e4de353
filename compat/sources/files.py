"""Where the files of an image come from, and what steps change in them before an installer reads them.

Sources: Dockerfile reference, "COPY" and "RUN --mount=type=bind"; sed(1), grep(1).
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compat.sources.values import Command

# A script of sed that only deletes or replaces: ``/^torch/d``, ``s/==.*//g``.
_DELETE: Final = re.compile(r"/((?:\\.|[^/\\])+)/(I?)d")
_REPLACE: Final = re.compile(r"s([/|,#@!])((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1([gI]*)")
# A program of one's own, which may write what it likes; the setup.py of a project does not.
_PROGRAM: Final = re.compile(r"\S*python[\d.]* (?:-\w+ )*(?!\S*(?:setup|get-pip)\.py)[\w./-]+\.py\b")
# Stands for a change that is not followed.
UNKNOWN: Final = "?"
# Programs whose output to a file is followed: see ``derived`` and ``heredocs.echoed``.
_FOLLOWED: Final = frozenset({"echo", "printf", "cat", "grep", "egrep"})


def copied(rest: str) -> tuple[str, tuple[str, ...], str]:
    """The stage or image that a COPY takes from (empty for the folder of the build), its sources, its target."""
    try:
        listed = shlex.split(rest)
    except ValueError:
        listed = rest.split()
    origin = next((word.partition("=")[2] for word in listed if word.startswith("--from=")), "")
    words = [word.strip('[],"') for word in listed if not word.startswith("--")]
    return origin, tuple(words[:-1]), words[-1] if words else ""


def placed(sources: Sequence[str], target: str) -> dict[str, str]:
    """Name in the image of each file that is copied, with its path in the folder of the build."""
    if len(sources) == 1 and not target.endswith("/") and PurePosixPath(target).suffix:
        return {PurePosixPath(target).name: sources[0]}
    return {PurePosixPath(name).name: name for name in sources if PurePosixPath(name).suffix}


def folders(sources: Sequence[str]) -> tuple[str, ...]:
    """The folders of the build of which all files are copied, or all of a pattern: what they hold is at hand."""
    paths = (PurePosixPath(name) for name in sources)
    found = (path.parent if "*" in path.name else path for path in paths if "*" in path.name or not path.suffix)
    return tuple(str(path) for path in found if str(path) not in {".", "/"})


def mounted(flags: str) -> dict[str, str]:
    """The same of ``--mount=type=bind,source=FILE,target=PATH``; those from other stages are left out."""
    found = {}
    for text in re.findall(r"--mount=(\S+)", flags):
        parts = dict(part.partition("=")[::2] for part in text.split(","))
        source, target = parts.get("source") or parts.get("src"), parts.get("target") or parts.get("dst")
        if parts.get("type", "bind") == "bind" and source and target and "from" not in parts:
            found[PurePosixPath(target).name] = source
    return found


def cloned(command: Command) -> set[str]:
    """The folder that ``git clone`` makes, named behind the address or by it: what lies in it is not at hand."""
    words = command.words
    if words[:1] != ("git",) or "clone" not in words[1:-1]:
        return set()
    after = words[words.index("clone") + 1 :]
    place = next((index for index, word in enumerate(after) if "://" in word), len(after) - 1)
    named = [word for word in after[place : place + 2] if not word.startswith("-")]
    return {PurePosixPath(word).name.removesuffix(".git") for word in named[-1:]}


def edits(commands: Iterable[Command]) -> Iterator[tuple[str, str]]:
    """What commands change in files: the name of a file (``*`` for any) and a script of sed each."""
    for command in commands:
        words = list(command.words)
        if "sed" in words and any(re.match(r"-\w*i|--in-place", word) for word in words):
            yield from _sed(words[words.index("sed") + 1 :])
        elif words[0] in {"grep", "egrep"} and ">" in words and any(re.match(r"-\w*v", word) for word in words):
            found = [word for word in words[1:] if not word.startswith("-")]
            if len(found) == 4 and found[2] == ">" and found[1] == found[3]:  # grep -v PATTERN FILE > FILE
                yield found[3], f"/{found[0]}/d"
        elif _PROGRAM.match(command.text):
            yield "*", UNKNOWN
        elif ">" in words[:-1] and words[0] not in _FOLLOWED:
            yield words[words.index(">") + 1], UNKNOWN
        elif words[0] in {"mv", "cp"} and len(words) > 2 and PurePosixPath(words[-1]).suffix:
            one, two = (PurePosixPath(word).name for word in words[-2:])
            if one != two:  # another file in its place
                yield two, UNKNOWN


def derived(command: Command) -> tuple[str, str, str] | None:
    """What ``grep -v PATTERN FILE > OTHER`` makes: the path of the first, that of the second, and a script of sed."""
    words = [word for word in command.words if not word.startswith("-")]
    options = [word for word in command.words[1:] if word.startswith("-")]
    if len(words) != 5 or words[0] not in {"grep", "egrep"} or words[3] != ">" or words[2] == words[4]:
        return None
    if not any(re.match(r"-\w*v|--invert-match", word) for word in options):
        return None
    extended = words[0] == "egrep" or any(re.match(r"-\w*E|--extended-regexp", word) for word in options)
    pattern = re.sub(r"(?<!\\)/", r"\\/", words[1])
    return words[2], words[4], f"/{pattern if extended else _plain(pattern)}/d"


def _sed(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    scripts, names, rest = [], [], [word for word in words if word not in {";", "+", "\\;"}]
    extended = any(re.match(r"-\w*[Er]|--regexp-extended", word) for word in rest)
    while rest:
        word = rest.pop(0)
        if word in {"-e", "--expression"} and rest:
            scripts.append(rest.pop(0))
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word.startswith("-") or not word:
            continue
        elif not scripts:
            scripts.append(word)
        else:
            names.append("*" if word == "{}" else word)
    for name in names:
        for script in (part.strip() for text in scripts for part in re.split(r";(?=[/s])", text)):
            known = _DELETE.fullmatch(script) or _REPLACE.fullmatch(script)
            yield name, (script if extended else _plain(script)) if known else UNKNOWN


def _plain(script: str) -> str:
    """A basic regular expression as an extended one: the signs that need a backslash there need none here."""
    return re.sub(r"\\([|+?(){}])|([|+?(){}])", lambda found: found[1] or f"\\{found[2]}", script)


def edited(text: str, scripts: Iterable[str]) -> str | None:
    """The text of a file after these scripts of sed; ``None`` if one of them cannot be followed."""
    for script in scripts:
        changed = _applied(text, script)
        if changed is None:
            return None
        text = changed
    return text


def _applied(text: str, script: str) -> str | None:
    """One change; lines that are deleted stay as blank ones, so that every line keeps its number."""
    try:
        if found := _DELETE.fullmatch(script):
            wanted = re.compile(found[1].replace("\\/", "/"), re.IGNORECASE if found[2] else 0)
            return "\n".join("" if wanted.search(line) else line for line in text.split("\n"))
        if found := _REPLACE.fullmatch(script):
            wanted = re.compile(found[2], re.IGNORECASE if "I" in found[4] else 0)
            new = re.sub(r"(?<!\\)&", r"\\g<0>", found[3])
            return "\n".join(wanted.sub(new, line, count=0 if "g" in found[4] else 1) for line in text.split("\n"))
    except (re.error, IndexError):
        return None
    return None
