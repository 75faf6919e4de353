"""What to type: changes -> command lines of a platform and of the installer that owns the packages. The only writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.changes import Command, Driver, Install, Python, Toolkit, Uninstall, Variable
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.changes import Change, Package
    from compat.facts import Host

_SPECIAL: Final = frozenset("[]<>!~;* ")  # characters that a shell reads as its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a command is typed: ``platform`` as in the facts, ``manager`` pip, uv, conda or poetry."""

    platform: str = "linux"
    manager: str = "pip"


def place_of(machine: Host) -> Place:
    """The place that facts tell; Linux and pip where they do not."""
    kind = machine.python_environment or ""
    return Place(platform=machine.platform or "linux", manager=kind if kind in {"uv", "poetry"} else "pip")


def typed(changes: Sequence[Change], place: Place) -> tuple[str, ...]:
    """The lines to type, in order; a change that has no line of its own (a driver, a toolkit) has none here."""
    return tuple(line for change in changes for line in _lines(change, place))


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
    if place.platform == "windows":
        return f"set {name}={value or ''}"
    return f"unset {name}" if value is None else f"export {name}={value}"
