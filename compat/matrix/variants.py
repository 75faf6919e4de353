"""Tables about the builds of one release: its variants, and what they require."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.matrix.listing import Line, Table, cell, line, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.matrix import Matrix
    from compat.matrix.rows import Build


def variants(matrix: Matrix, title: str, builds: Iterable[Build]) -> Table:
    """The variants of one release: all that decides, without the columns that no variant has anything in."""
    builds = list(builds)
    columns = {
        "runtime": [build.runtime or "-" for build in builds],
        "version": [build.full_version for build in builds],
        "index": [build.index or "default" for build in builds],
        **{name: [cell(getattr(build, field)) for build in builds] for name, field in _COLUMNS.items()},
    }
    names = [name for name, cells in columns.items() if any(cells) or name in _ALWAYS]
    lines = [line(build, *(columns[name][number] for name in names)) for number, build in enumerate(builds)]
    return table(matrix, title, names, lines)


# Column of a table of builds -> the field that it shows.
_COLUMNS: Final = {
    "Python": "python",
    "platforms": "platforms",
    "glibc": "glibc",
    "macOS": "macos",
    "kernels": "kernels",
    "CUDA from": "cuda_from",
    "cuDNN": "cudnn",
    "NCCL": "nccl",
    "driver": "driver",
    "processor": "cpu",
    "extras": "extras",
    "installed as": "distribution",
    "date": "date",
    "yanked": "yanked",
    "inferred": "inferred",
}
_ALWAYS: Final = ("runtime", "version", "index", "Python", "platforms", "glibc", "kernels", "CUDA from")


def requirements(matrix: Matrix, builds: Iterable[Build]) -> Iterator[Table]:
    """What the variants of a release require, and which of them does."""
    needs: dict[str, list[Build]] = {}
    for build in builds:
        for text in (*build.requires, *build.pins, *(f"from the system: {item}" for item in build.system)):
            needs.setdefault(text, []).append(build)
    if needs:
        lines = [
            Line(
                (text, " ".join(dict.fromkeys(build.runtime or "-" for build in users))), users[0].how, users[0].source
            )
            for text, users in needs.items()
        ]
        yield table(matrix, "What they require", ("requirement", "of"), lines)
