"""The resolver's questions as ``envcheck`` commands.

It knows facts and wishes, and neither the files they came from nor the command that was typed; without the rest of the
question a fix would be tried on another machine, by another order, or with another matrix.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.plan import Answer, Ask, Remedy


@dataclass(frozen=True, slots=True)
class Asking:
    """How a question was typed.

    Attributes:
        command: name of the command, ``resolve`` or ``dockerfile``.
        words: words that are about neither wishes nor target, such as ``--matrix rows.toml``.
        swap: an option of the solver with its value, and the one that was typed in its place; both empty where there
            is none.
    """

    command: str = "resolve"
    words: tuple[str, ...] = ()
    swap: tuple[tuple[str, str], tuple[str, str]] = (("", ""), ("", ""))


# ``envcheck resolve`` without further words.
ASKING: Final = Asking()


def written(
    answer: Answer, asking: Asking = ASKING, *, hosts: Sequence[str] = (), cpu: bool = False, prefer: str = ""
) -> Answer:
    """The answer with the commands of its fixes: what was typed, with the fix's changes.

    Args:
        answer: what the resolver said.
        asking: how it was asked.
        hosts: host files of the machines in question.
        cpu: whether a CPU build was asked for.
        prefer: the order asked for; empty for the usual one.
    """
    target = [word for host in hosts for word in ("--host", host)]
    more = (*target, *(["--prefer", prefer] if prefer else []))
    return replace(answer, fixes=tuple(_written(fix, asking, more, cpu=cpu) for fix in answer.fixes))


def _written(fix: Remedy, asking: Asking, more: Sequence[str], *, cpu: bool) -> Remedy:
    """One fix with its whole commands; one that cannot be asked for has none."""
    cpu = cpu and fix.changes.get("cpu") != "false"
    lines = tuple(_line(ask, asking, more, cpu=cpu or ask.cpu) for ask in fix.asks)
    return replace(fix, command=lines[0]) if len(lines) == 1 else replace(fix, commands=lines)


def _line(ask: Ask, asking: Asking, more: Sequence[str], *, cpu: bool) -> str:
    """A question as it is typed: requirements, then the options."""
    solver, own = asking.swap
    stated = [own if option == solver else option for option in ask.options]
    options = [*(["--cpu"] if cpu else []), *(word for name, value in stated for word in (f"--{name}", value))]
    return shlex.join(["envcheck", asking.command, *ask.requirements, *options, *more, *asking.words])
