"""Random questions on the real matrix: every answer is reviewed again, row by row, and by the doctor."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

import pytest
from review import Reviewed, commands_of, faults, reviewed

SEEDS = range(int(os.environ.get("ENVCHECK_PLANS", "150")))
"""A sample of the thousands that ``python tests/resolve/review.py`` asks."""


@cache
def answered(seed: int) -> Reviewed:
    return reviewed(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_wrong_with_the_answer(seed: int) -> None:
    """Rows, kernels, drivers, images, the doctor's verdict on the plan, reasons cited, and every printed command."""
    one = answered(seed)
    assert not one.faults, one.request.command


def test_the_sample_holds_plans_conflicts_and_commands() -> None:
    """Guards against a sample that reviews nothing."""
    found = [one.answer for one in map(answered, SEEDS) if one.answer is not None]
    ends = [answer.status for answer in found]
    commands = [command for answer in found for fix in answer.fixes for command in commands_of(fix)]
    assert ends.count("plan") > 50
    assert ends.count("conflict") > 50
    assert len(commands) > 100


def test_the_review_sees_a_plan_that_does_not_fit() -> None:
    """The reviewer is no rubber stamp: plans spoilt in one place are faulted, each for its own reason."""
    one = next(one for one in map(answered, SEEDS) if spoilable(one))
    assert one.answer is not None
    plan = one.answer.plan
    assert plan is not None
    assert plan.base_image is not None
    spoilt = {
        "the driver": replace(plan, driver=replace(plan.driver, minimum="999.1")),
        "no row": replace(plan, builds=(replace(plan.builds[0], version="0.0.1"), *plan.builds[1:])),
        "does not exist": replace(plan, base_image=replace(plan.base_image, image="nvidia/cuda:0.0-base-none")),
        "no version meets": replace(plan, constraints=("numpy<1,>2",)),
    }
    for word, bad in spoilt.items():
        assert any(word in fault for fault in faults(one.request, replace(one.answer, plan=bad))), word


def spoilable(one: Reviewed) -> bool:
    plan = one.answer.plan if one.answer and one.answer.status == "plan" else None
    is_cuda = plan is not None and plan.runtime.startswith("cuda") and plan.base_image is not None
    return is_cuda and bool(one.request.options.get("driver"))
