"""Forward compatibility over several machines: the loader's path of an image is one for all that run it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from compat import versions
from compat.matrix import Matrix, matrix
from compat.matrix.drivers import driver_cuda, forward_package
from compat.resolve import resolve, resolve_many
from compat.resolve.target import from_options

if TYPE_CHECKING:
    from compat.matrix.rows.toolkits import Forward

WISH = ["torch==2.9.1+cu130"]


@cache
def real() -> Matrix:
    return matrix()


def packages(*machines: tuple[str, str]) -> list[tuple[tuple[int, ...], str]]:
    """Each plan's machines and the package that it needs; ``none`` for machines without a plan."""
    hosts = [from_options(real(), gpus=[gpu], driver=driver) for gpu, driver in machines]
    found = resolve_many(WISH, hosts, real())
    return [(group, answer.plan.driver.package if answer.plan else "none") for group, answer in found]


@pytest.mark.parametrize(
    ("machines", "wanted"),
    [
        ([("A100", "535.104.05"), ("H100", "550.54.14")], [((0, 1), "cuda-compat-13-0")]),
        # 580 is the package's own branch: an older libcuda must not come before the host's
        ([("A100", "535.104.05"), ("A100", "580.65.06")], [((0,), "cuda-compat-13-0"), ((1,), "")]),
        ([("A100", "535.104.05"), ("RTX 3090", "550.54.14")], [((0,), "cuda-compat-13-0"), ((1,), "none")]),
        ([("A100", "535.104.05"), ("RTX 3090", "580.65.06")], [((0,), "cuda-compat-13-0"), ((1,), "")]),
        ([("A100", "580.65.06"), ("RTX 3090", "580.65.06")], [((0, 1), "")]),
    ],
    ids=["two branches", "one has the newer driver", "a GeForce too old", "a GeForce", "nobody needs it"],
)
def test_one_plan_only_where_the_package_suits_every_machine(
    machines: list[tuple[str, str]], wanted: list[tuple[tuple[int, ...], str]]
) -> None:
    assert packages(*machines) == wanted


def test_a_plan_that_needs_no_package_is_preferred_by_every_order() -> None:
    host = from_options(real(), gpus=["A100"], driver="535.104.05")
    for prefer in ("proven", "newest", "smallest", "oldest-driver", "stable"):
        plan = resolve(["torch"], host, real(), prefer=prefer).plan
        assert plan is not None
        assert plan.driver.package == ""


@pytest.mark.parametrize("row", real().table("forward"), ids=lambda row: row.cuda)
def test_a_package_is_for_older_drivers_only(row: Forward) -> None:
    """On its own branch and on later ones the host's libcuda is as new, and the package would be a step back."""
    for branch in real().table("drivers"):
        driver = branch.first or f"{branch.branch[1:]}.10"
        if versions.at_least(driver_cuda(real(), driver) or "0", row.cuda):
            assert forward_package(real(), row.cuda, driver) == ""
