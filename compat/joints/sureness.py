"""The law of all joints, asked of every build of a matrix: no clash rests on a row that is only inferred."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.joints import driver, libc, packages, platform, processor, python
from compat.joints.build import is_unseen, part, without_rows
from compat.joints.verdict import FITS, Clash, Verdict, all_of, is_inferred
from compat.markers import Environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compat.matrix import Matrix
    from compat.matrix.rows import Build


def _beside_another(matrix: Matrix, build: Build) -> Verdict:
    """A build with one of another package, for a runtime that no other is of."""
    other = part(matrix, replace(without_rows("other", "1.0").build, runtime="none1.0"), "other")
    found = packages.disputes(matrix, part(matrix, build, build.package), other, Environment("", ""))
    return all_of(one.verdict for one in found if one.objection.kind == "runtime")


# The field that decides in a joint -> its verdict on a machine that has nothing of what a build may ask for.
ASKED: Final[tuple[tuple[str, Callable[[Matrix, Build], Verdict]], ...]] = (
    ("python", lambda _, build: python.verdict(build, "1.0")),
    ("platforms", lambda _, build: platform.verdict(build, "nowhere")),
    ("glibc", lambda _, build: libc.verdict(build, "1.0")),
    ("platforms", lambda _, build: libc.verdict(build, "", is_musl=True)),
    ("cpu", lambda _, build: processor.verdict(build, frozenset())),
    ("runtime", lambda matrix, build: driver.of_build(matrix, replace(build, driver=""), "1.0")),
    ("driver", lambda matrix, build: driver.of_build(matrix, build, "1.0") if build.driver else FITS),
    ("runtime", _beside_another),
)


def breaches(matrix: Matrix) -> Iterator[tuple[Build, str]]:
    """Builds by which a joint proves more than their rows say, each with the field that decided."""
    for name in matrix.packages:
        for build in matrix.builds(name):
            if "pins" in build.inferred:  # they are judged as requirements, by what is said of those
                yield build, "pins"
            for field, verdict in ASKED:
                # another build of its release may show what CUDA it was made with
                weak = is_inferred(build, field) and (field != "runtime" or is_unseen(matrix, build, field))
                if weak and isinstance(verdict(matrix, build), Clash):
                    yield build, field
