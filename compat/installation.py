"""Which command installs what: the commands of a plan's installation, and their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

_Published = TypeVar("_Published")


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
