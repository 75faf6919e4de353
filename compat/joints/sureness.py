"""The law of all joints, asked of every build of a matrix: no clash rests on a row that is only inferred."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.joints import libc, platform, processor, python
from compat.joints.verdict import Clash, is_inferred

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compat.joints.verdict import Verdict
    from compat.matrix import Matrix
    from compat.matrix.rows import Build

# The field that decides in a joint -> its verdict on a machine that has nothing of what a build may ask for.
ASKED: Final[tuple[tuple[str, Callable[[Build], Verdict]], ...]] = (
    ("python", lambda build: python.verdict(build, "1.0")),
    ("platforms", lambda build: platform.verdict(build, "nowhere")),
    ("glibc", lambda build: libc.verdict(build, "1.0")),
    ("platforms", lambda build: libc.verdict(build, "", is_musl=True)),
    ("cpu", lambda build: processor.verdict(build, frozenset())),
)


def breaches(matrix: Matrix) -> Iterator[tuple[Build, str]]:
    """Builds by which a joint proves more than their rows say, each with the field that decided."""
    for name in matrix.packages:
        for build in matrix.builds(name):
            for field, verdict in ASKED:
                if is_inferred(build, field) and isinstance(verdict(build), Clash):
                    yield build, field
