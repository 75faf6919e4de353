"""Which command installs what: the commands of a plan's installation, and their order; and who keeps an environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeVar

from compat.lazy import pattern

_Published = TypeVar("_Published")

# Who keeps an environment that no shell activates -> the shape of its path: the name is the tool's, or the project's.
# Sources: the pages of pipx ("How pipx works"), uv ("Tools", "Storage") and Poetry ("Managing environments").
_KEPT: Final = {
    "pipx": pattern(r"(?:^|[/\\])pipx[/\\]{1,2}venvs[/\\]{1,2}([\w.-]+)(?:[/\\]|$)"),
    "uv tool": pattern(r"(?:^|[/\\])uv[/\\]{1,2}tools[/\\]{1,2}([\w.-]+)(?:[/\\]|$)"),
    "poetry": pattern(r"(?:^|[/\\])pypoetry[/\\](?:.{0,9}[/\\])?virtualenvs[/\\]{1,2}([\w.-]+)(?:[/\\]|$)"),
}


def keeper(path: str) -> tuple[str, str, str]:
    """Who keeps the environment that a path lies in, its name and its folder; empty where a shell activates it.

    >>> keeper("/home/me/.local/share/pipx/venvs/black/bin/python")
    ('pipx', 'black', 'pipx/venvs/black')
    """
    for tool, shape in _KEPT.items():
        if found := shape.search(path):
            return tool, found[1], re.sub(r"[/\\]+", "/", found[0]).strip("/")
    return "", "", ""


class Installation(NamedTuple):
    """One command of a plan's installation, in the order of the commands.

    Attributes:
        compiled: whether it compiles sources; these come last, against what is installed by then.
        shared: whether it asks the default index, with every page of links beside it.
        only: the only index that it asks, where that is another one.
    """

    compiled: bool = False
    shared: bool = True
    only: str = ""


def by_installation(
    builds: Iterable[_Published], source: Callable[[_Published], tuple[str, bool, bool]]
) -> dict[Installation, list[_Published]]:
    """Builds by the command that installs them, in the order of the commands.

    Each index has a command of its own, as two in one command mix their builds. The pages of links share one with the
    default index, where each finds what its wheels require.

    ``source``: a build's index (empty for the default one), whether that is a page of links, and whether the build is
    compiled.
    """
    found: dict[Installation, list[_Published]] = {}
    for build in builds:
        index, links, compiled = source(build)
        found.setdefault(Installation(compiled, links or not index, "" if links else index), []).append(build)
    return dict(sorted(found.items(), key=lambda one: one[0][:2]))
