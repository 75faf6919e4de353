"""The commands of fixes, completed to the question that was asked.

The solver knows facts and wishes, and neither the files they came from nor the command that was typed. Without the
rest of the question a fix would be tried on another machine, by another order, or with another matrix.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.plan import Answer, Remedy


@dataclass(frozen=True, slots=True)
class Asking:
    """How a question was typed.

    Attributes:
        command: name of the command, ``resolve`` or ``dockerfile``.
        option: option that stands before each requirement, ``--framework``; empty where they stand alone.
        words: words that are about neither wishes nor target, such as ``--matrix rows.toml``.
        swap: an option of the solver and the one that was typed in its place; both empty where there is none.
    """

    command: str = "resolve"
    option: str = ""
    words: tuple[str, ...] = ()
    swap: tuple[str, str] = ("", "")


# ``envcheck resolve`` without further words.
ASKING: Final = Asking()


def retyped(
    answer: Answer, asking: Asking, *, hosts: Sequence[str] = (), cpu: bool = False, prefer: str = ""
) -> Answer:
    """The answer, each of its commands being the one that was typed with the fix's changes.

    Args:
        answer: what the solver said; its commands are ``envcheck resolve REQ... OPTIONS``.
        asking: how it was asked.
        hosts: host files of the machines in question.
        cpu: whether a CPU build was asked for.
        prefer: the order asked for; empty for the usual one.
    """
    target = [word for host in hosts for word in ("--host", host)]
    more = (*target, *(["--prefer", prefer] if prefer else []))
    return replace(answer, fixes=tuple(_retyped(fix, asking, more, cpu=cpu) for fix in answer.fixes))


def _retyped(fix: Remedy, asking: Asking, more: Sequence[str], *, cpu: bool) -> Remedy:
    """One fix with its whole commands; one without a command stays as it is."""
    cpu = cpu and fix.changes.get("cpu") != "false"
    command, *commands = (_whole(text, asking, more, cpu=cpu) for text in (fix.command, *fix.commands))
    return replace(fix, command=command, commands=tuple(commands))


def _whole(command: str, asking: Asking, more: Sequence[str], *, cpu: bool) -> str:
    """A command of the solver as it is typed; none stays none."""
    if not command:
        return ""
    words = shlex.split(command)[2:]
    first = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    options = [*_swapped(words[first:], *asking.swap), *(["--cpu"] if cpu and "--cpu" not in words else [])]
    wishes = _behind(words[:first], asking.option)
    return shlex.join(["envcheck", asking.command, *wishes, *options, *more, *asking.words])


def _swapped(options: list[str], solver: str, typed: str) -> list[str]:
    """Options with the solver's own one as it was typed; another value of it is the fix itself, and stays."""
    for place in range(len(options) - 1):
        if options[place : place + 2] == solver.split():
            return [*options[:place], *typed.split(" ", 1), *options[place + 2 :]]
    return options


def _behind(wishes: Sequence[str], option: str) -> Iterator[str]:
    """Requirements as the command takes them: each behind its option, if there is one."""
    for wish in wishes:
        yield from (option, wish) if option else (wish,)
