"""Several machines on the real matrix: which of them one plan may be for, and that it then is for each of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.facts import load
from compat.matrix import Matrix, matrix
from compat.resolve import resolve_many
from compat.resolve.answering import _grown

A100 = {"gpus": ["NVIDIA A100"], "driver": "580.65.06", "platform": "linux", "arch": "x86_64"}
GH200 = {"gpus": ["NVIDIA GH200 480GB"], "driver": "580.65.06", "platform": "linux", "arch": "aarch64"}
RTX4090 = {"gpus": ["NVIDIA GeForce RTX 4090"], "driver": "581.15", "platform": "windows", "arch": "x86_64"}
RTX5090 = {"gpus": ["NVIDIA GeForce RTX 5090"], "driver": "580.65.06", "platform": "linux", "arch": "x86_64"}
GTX1080 = {"gpus": ["NVIDIA GeForce GTX 1080 Ti"], "driver": "580.65.06", "platform": "linux", "arch": "x86_64"}
MI300X = {"gpus": ["AMD Instinct MI300X"], "platform": "linux", "arch": "x86_64"}


@cache
def real() -> Matrix:
    return matrix()


def covers(machines: list[dict[str, Any]]) -> list[tuple[tuple[int, ...], Any]]:
    hosts = [load(facts, f"host{number}") for number, facts in enumerate(machines)]
    return [(group, answer.plan) for group, answer in resolve_many(["torch"], hosts, real())]


@pytest.mark.parametrize(
    ("machines", "groups"),
    [
        ([A100, RTX5090], [(0, 1)]),
        ([A100, GTX1080], [(0, 1)]),
        ([GTX1080, RTX5090], [(0,), (1,)]),
        ([A100, GTX1080, RTX5090, MI300X], [(0, 1), (2,), (3,)]),
        ([A100, GH200], [(0,), (1,)]),
        ([A100, RTX4090], [(0,), (1,)]),
        ([{**A100, "python": "3.11"}, {**RTX5090, "python": "3.12"}], [(0,), (1,)]),
        ([A100, {**A100, "platform": "wsl2", "driver": "581.15"}], [(0,), (1,)]),
        ([{**RTX5090, "platform": "wsl2"}, {**A100, "platform": "wsl2", "driver": "581.15"}], [(0, 1)]),
        ([{**A100, "python": "3.11"}, RTX5090], [(0, 1)]),
        ([RTX5090, {**A100, "python": "3.11"}], [(0, 1)]),
        ([{"gpus": ["NVIDIA A100"]}, {"gpus": ["NVIDIA GH200 480GB"]}], [(0,), (1,)]),
        ([{**A100, "python": "3.11"}, RTX5090, {**A100, "python": "3.12"}], [(0, 1), (2,)]),
    ],
    ids=lambda value: str(len(value)) if isinstance(value, list) else "",
)
def test_the_fewest_plans_that_suit_every_machine(
    machines: list[dict[str, Any]], groups: list[tuple[int, ...]]
) -> None:
    assert [group for group, _ in covers(machines)] == groups


MACHINES = st.lists(
    st.builds(
        lambda base, python: {**base, **({"python": python} if python else {})},
        st.sampled_from([A100, GH200, RTX4090, RTX5090, GTX1080, MI300X]),
        st.sampled_from(["", "", "3.11", "3.12"]),
    ),
    min_size=2,
    max_size=4,
)


@settings(max_examples=30, deadline=None)
@given(MACHINES)
def test_a_shared_plan_is_for_the_platform_python_and_gpu_of_each(machines: list[dict[str, Any]]) -> None:
    for group, plan in covers(machines):
        assert plan is not None
        for machine in (machines[number] for number in group):
            assert plan.arch == machine["arch"]
            assert (plan.base_image is None) == (machine["platform"] == "windows")
            assert machine.get("python", plan.python) == plan.python
            assert [gpu.kernels for gpu in plan.gpus if gpu.name in machine["gpus"]]
        assert all(gpu.kernels == "native" for gpu in plan.gpus)


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(0, 4))
def test_many_hosts_are_grouped_as_if_they_were_tried_one_by_one(kinds: list[int], span: int) -> None:
    """A stand-in for the search: hosts whose kinds differ by at most ``span`` have a plan together."""

    def solved(group: tuple[int, ...]) -> bool:
        return max(kinds[host] for host in group) - min(kinds[host] for host in group) <= span

    groups: list[tuple[int, ...]] = []
    for host in range(len(kinds)):
        place = next((place for place, group in enumerate(groups) if solved((*group, host))), None)
        if place is None:
            groups.append((host,))
        else:
            groups[place] = (*groups[place], host)
    assert _grown(range(len(kinds)), solved) == tuple(groups)
