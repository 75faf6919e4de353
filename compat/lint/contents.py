"""What a base image brings, as the walk through a stage's steps takes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import compat.lint.origins as origins
import compat.lint.walk as walk
from compat import versions
from compat.lint.worlds import needs, worlds_of
from compat.sources.values import Install, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.lint.bases import Base
    from compat.matrix import Matrix
    from compat.matrix.rows import Build


def of_base(base: Base, matrix: Matrix, line: int) -> Iterator[walk.Taken]:
    """The frameworks that a base image brings, with their builds where they are known, and PyTorch's companions."""
    step = Install(manager="pip", line=line)
    for name, version in base.installed.items():
        rows = [row for row in matrix.builds(name) if row.version == version]  # an extra's: a server has all of itself
        found = next((row for row in rows if _is_of(row, base) or (row.extras and not row.runtime)), None)
        why = "vendor" if base.repository.startswith("nvcr.io/nvidia/") else "base"
        outcome = origins.Outcome("build", found) if found else origins.Outcome("unknown", why=why)
        request = Request(name=name, spec=f"=={version}" if version else "", line=line)
        yield walk.Taken(request, step, outcome, base=True, mine=False)
        package = matrix.package(name)
        if package is not None and package.kind != "framework":  # it came with what it pins
            for other, specs in needs(request, found, matrix, worlds_of("linux_x86_64", frozenset())).items():
                pinned = Request(name=other, spec=next(iter(specs)), line=line)
                if len(specs) == 1 and pinned.exact and matrix.package(other) is not None:
                    yield walk.Taken(pinned, step, origins.Outcome("unknown", why="base"), base=True, mine=False)
    if "torch" in base.installed and re.search(r"pytorch", base.repository):
        for name in {"torchvision", "torchaudio"} - {*base.installed}:
            yield walk.Taken(
                Request(name=name, line=line), step, origins.Outcome("unknown", why="base"), base=True, mine=False
            )


def _is_of(build: Build, base: Base) -> bool:
    """Whether a build is for the runtime that a base has."""
    number = base.cuda or base.rocm
    runtime = f"{'cuda' if base.cuda else 'rocm'}{versions.minor(number)}" if number else ""
    return bool(runtime) and build.runtime == runtime and "linux_x86_64" in build.platforms
