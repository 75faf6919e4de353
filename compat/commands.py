"""What to type: the only writer of command lines that mend something.

Changes become the lines of a platform and of the installer that owns the packages. The resolver's questions become
``envcheck`` commands: it knows facts and wishes, and neither the files they came from nor the command that was typed;
without the rest of the question a fix would be tried on another machine, by another order, or with another matrix.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.changes import Command, Driver, Install, Python, Toolkit, Uninstall, Variable
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.changes import Change, Package
    from compat.facts import Host
    from compat.plan import Answer, Ask, Remedy

_SET: Final = re.compile(r"^(?:unset|export) (\w+)=?(.*)")
_LINUX: Final = re.compile(r"\bsudo\b|ldconfig|modprobe|systemctl|/usr/local|\bapt\b|\$\(")
_HOST: Final = re.compile(r"sudo (?:reboot|modprobe|rmmod|usermod|ubuntu-drivers|apt-mark|nvidia-modprobe|dkms)\b")
_START: Final = re.compile(r"(?:docker|podman) run\b")
_SPECIAL: Final = frozenset("[]<>!~;* ")  # characters that a shell reads as its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a command is typed: ``platform`` as in the facts, ``manager`` pip, uv or poetry.

    ``dialect`` is ``powershell`` where that is meant; else it is the platform's usual one, ``sh`` or Windows' ``cmd``.
    """

    platform: str = "linux"
    manager: str = "pip"
    dialect: str = ""


def place_of(machine: Host) -> Place:
    """The place that facts tell; Linux and pip where they do not."""
    kind = machine.python_environment or ""
    return Place(platform=machine.platform or "linux", manager=kind if kind in {"uv", "poetry"} else "pip")


def typed(changes: Sequence[Change], place: Place) -> tuple[str, ...]:
    """The lines to type, in order; a change that has no line of its own (a driver, a toolkit) has none here."""
    return tuple(line for change in changes for line in _lines(change, place))


def suited(lines: Sequence[str], machine: Host) -> tuple[str, ...]:
    """Those of a rule's general commands that are typed on this machine, in the words of its shell.

    A container is not the place for what changes the host, a Windows or a Mac not for what Linux alone has; how to
    start a container is said to those who are in one, or where nothing else is said.
    """
    if machine.platform == "windows":
        lines = [_SET.sub(r"set \1=\2", line) for line in lines]
    foreign = [line for line in lines if machine.platform in {"windows", "darwin"} and _LINUX.search(line)]
    host = [line for line in lines if machine.container and _HOST.match(line)]
    left = [line for line in lines if line not in {*foreign, *host}]
    outside = [line for line in left if not _START.match(line)]
    return tuple(outside if outside and not machine.container else left)


def _lines(change: Change, place: Place) -> tuple[str, ...]:
    """The lines of one change."""
    match change:
        case Install():
            return (_install(change, place),)
        case Uninstall(names):
            return (f"{_pip(place)} uninstall{'' if place.manager == 'uv' else ' -y'} {' '.join(names)}",)
        case Variable(name, value):
            return (_variable(name, value, place),)
        case Python(version):
            return (f"uv venv --python {version}",)
        case Command(line):
            return (line,)
        case Driver() | Toolkit():
            return ()


def _pip(place: Place) -> str:
    return {"uv": "uv pip", "poetry": "poetry run pip"}.get(place.manager, "pip")


def _install(change: Install, place: Place) -> str:
    """One command that installs all packages of a change."""
    options = []
    if change.compile:
        options += ["--no-build-isolation", "--no-deps"]
    if change.again:
        options.append({"uv": "--reinstall"}.get(place.manager, "--force-reinstall"))
    if change.compile:
        options.append({"uv": "--no-cache"}.get(place.manager, "--no-cache-dir"))
    names = [_quoted(package) for package in change.packages]
    where = [f"{'--find-links' if change.links else '--index-url'} {change.index}"] if change.index else []
    return " ".join([_pip(place), "install", *options, *names, *where])


def _quoted(package: Package) -> str:
    """A requirement, in double quotes where a shell would read its characters."""
    text = package.requirement
    return f'"{text}"' if _SPECIAL & set(text) else text


def _variable(name: str, value: str | None, place: Place) -> str:
    """How the platform's shell sets or unsets a variable."""
    if place.dialect == "powershell":
        return f"$env:{name} = '{value or ''}'"
    if place.platform == "windows":
        return f"set {name}={value or ''}"
    return f"unset {name}" if value is None else f"export {name}={value}"


# --- questions to the resolver ---


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
