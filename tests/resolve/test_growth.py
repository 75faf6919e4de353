"""Builds under further indexes add rows to search through, and no new kind of build to combine with the others."""

import pytest
from steps import calls

from compat import resources
from compat.matrix import Matrix, matrix
from compat.matrix.store import Live
from compat.resolve import resolve
from compat.resolve.knowledge import Knowledge
from compat.resolve.target import from_options


class Mirrored:
    """The real tables with every build once more under a mirror's name."""

    def __init__(self, base):
        self._base = base
        self.names, self.digest, self.sources = base.names, base.digest, base.sources

    def rows(self, table):
        rows = self._base.rows(table)
        if table == "indexes":
            plain = {"name": "", "url": "https://mirror.example", "source": "x", "how": "measured"}
            return [*rows, *({**row, "name": f"{row['name']}-mirror"} for row in [*rows, plain])]
        if table.startswith("builds."):
            return [*rows, *({**row, "index": f"{row.get('index', '')}-mirror"} for row in rows)]
        return rows


@pytest.fixture(scope="module")
def both():
    """The matrix as it is, and with every build in three mirrors more."""
    base = Live(resources.matrix_dir().glob("*.toml"))
    return Matrix(base), Matrix(Mirrored(Mirrored(base)))


def lanes(known, package):
    return {option.lane for option in known.options(package) if "linux_x86_64" in option.build.platforms}


@pytest.mark.parametrize("package", ["torch", "tensorflow", "jax", "torchvision"])
def test_mirrors_add_no_lanes(package):
    base = Live(resources.matrix_dir().glob("*.toml"))
    once, twice = Knowledge(Matrix(base)), Knowledge(Matrix(Mirrored(base)))
    assert len(twice.options(package)) == 2 * len(once.options(package))
    assert len(lanes(twice, package)) == len(lanes(once, package))


def test_every_build_for_boards_comes_from_an_index_that_says_so():
    known = Knowledge(matrix())
    boards = {row.name for row in matrix().table("indexes") if row.boards}
    found = {
        (option.package, option.build.runtime, option.build.index)
        for name in matrix().packages
        for option in known.options(name)
        if option.on_board
    }
    own = {("cupy", "cuda10.2", "")}  # CuPy's wheels of cuda102 for Arm are for boards and lie on the default index
    assert {index for *_, index in found - own} <= boards
    assert boards


@pytest.mark.parametrize(
    ("wishes", "gpu"),
    [
        (["torch==2.1.0", "torchvision"], "sm_80"),
        (["torch", "torchvision", "torchaudio"], "sm_89"),
        (["torch==1.4.0"], "sm_90"),  # no plan: every minimal conflict, and what would mend it
    ],
)
def test_mirrors_add_less_work_than_rows(both, wishes, gpu):
    """Rows grow fourfold; the steps of a question, counted, stay below three times, even where no release is pinned."""
    steps = []
    for data in both:
        resolve(wishes, from_options(data, gpus=[gpu]), data)  # builds the indexes, which grow with the rows
        host = from_options(data, gpus=[gpu], driver="525.60.13")
        steps.append(calls(lambda data=data, host=host: resolve(wishes, host, data)))
    once, fourfold = steps
    assert once > 1000
    assert fourfold < 3 * once
