"""Which Python the names ``python3``, ``python`` and ``pip`` stand for on Debian's systems, one command after another.

A link or an alternative moves a name; apt's pip runs by ``python3`` whatever that is; get-pip.py, and a pip that
replaces itself, write ``pip`` anew for the interpreter that runs them, before that of the system.
Sources: ln(1), update-alternatives(1) (of several the highest priority counts); pip documentation, "Installation".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.sources.values import Command

_NAMED: Final = re.compile(r"(?:\S*/)?python(\d\.\d{1,2})")
_NAMES: Final = frozenset({"python", "python3", "pip", "pip3"})
_PIPS: Final = ("pip", "pip3")


def meanings(commands: Iterable[Command], own: str, packages: Iterable[str]) -> Iterator[tuple[Command, str, str]]:
    """Each command with the Python of its program, and the command whose output it is given.

    ``own``: the system's; ``packages``: what apt installs. A Python that is not known is empty.
    """
    names, order = {"python3": own}, dict[str, int]()
    listed = {*packages}
    names |= {"python": own} if "python-is-python3" in listed else {}
    written, before = "", ""
    for command in commands:
        head = command.words[0].rpartition("/")[2]
        piped, before = before if len(command.words) <= 2 else "", command.text  # curl ... | python3.8 -
        python = _version(command.words[0], names)
        if head in _PIPS:
            python = names.get(head, written or (names["python3"] if {"python3-pip", "pip"} & listed else ""))
        yield command, python, piped
        _move(command.words, names, order)
        renewed = command.words[1:4] == ("-m", "pip", "install") and "pip" in command.words[4:]
        if "python" in head and (renewed or "get-pip.py" in command.text + piped):
            written = python


def moves(command: Command) -> bool:
    """Whether a command gives a name to a program that is there."""
    return command.words[0].rpartition("/")[2] in {"ln", "update-alternatives"}


def _version(program: str, names: dict[str, str]) -> str:
    """The Python of a program: its name's own, or that of what the name is a link to."""
    found = _NAMED.fullmatch(program)
    return found[1] if found else names.get(program.rpartition("/")[2], "")


def _move(words: tuple[str, ...], names: dict[str, str], order: dict[str, int]) -> None:
    """What a link, or an alternative, makes of a name."""
    plain = [word for word in words[1:] if not word.startswith("-")]
    name = target = ""
    if words[0] == "ln" and len(plain) == 2:
        target, name = plain[0], plain[1].rpartition("/")[2] or plain[0].rpartition("/")[2]
    elif words[0].endswith("update-alternatives") and "--install" in words and len(plain) >= 4:
        name, target = plain[0].rpartition("/")[2], plain[2]
        if not plain[3].isdigit() or int(plain[3]) < order.get(name, 0):
            return
        order[name] = int(plain[3])
    elif words[0].endswith("update-alternatives") and plain:
        name, target = plain[0], plain[-1]
    if name in _NAMES and target.rpartition("/")[2] not in _PIPS:
        names[name] = _version(target, names)
