"""Requests on the real matrix, one table per subject in ``cases/``: a new report is a new row."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from compat import facts
from compat.asking import written
from compat.matrix import Matrix, matrix
from compat.plan import Answer, Plan, dump, load
from compat.resolve import resolve
from compat.resolve.target import from_options

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = [
    (path.stem, case)
    for path in sorted((Path(__file__).parent / "cases").glob("*.toml"))
    for case in tomllib.loads(path.read_text("utf-8"))["case"]
]


@cache
def real() -> Matrix:
    return matrix()


def answer_to(case: dict[str, Any]) -> Answer:
    host = from_options(real(), **case.get("target", {})).over(facts.load(case.get("host", {}), "case"))
    cpu = case.get("cpu", False)
    return written(resolve(case["request"], host, real(), cpu=cpu, prefer=case.get("prefer", "proven")), cpu=cpu)


@pytest.mark.parametrize(("table", "case"), CASES, ids=[f"{table}: {case['name']}" for table, case in CASES])
def test_case(table: str, case: dict[str, Any]) -> None:
    answer = answer_to(case)
    said = [member.text for conflict in answer.conflicts for member in conflict.members]
    assert answer.status in case["status"].split("|"), said or answer.conditions
    if answer.status != "conflict" and answer.plan is not None:
        check_plan(answer.plan, case)
    elif answer.status == "conflict":
        check_conflict(answer, case)
    check_texts(case.get("conditions", []), answer.conditions)
    assert load(dump(answer), "replayed") == answer


def check_plan(plan: Plan, case: dict[str, Any]) -> None:
    requirements = [build.requirement for build in plan.builds]
    assert re.match(case.get("runtime", ""), plan.runtime), plan.runtime
    check_texts(case.get("builds", []), requirements)
    for pattern in case.get("never", []):
        assert not any(re.search(pattern, text) for text in requirements)
    assert [build.name for build in plan.builds if build.compile] == case.get("compiled", [])
    if "kernels" in case:
        assert [gpu.kernels for gpu in plan.gpus] == case["kernels"]
    if "python" in case:
        assert plan.python == case["python"]
    check_driver(plan, case)
    if "arch" in case:
        assert plan.arch == case["arch"]
    if case.get("image") == "":
        assert plan.base_image is None
    elif "image" in case:
        assert plan.base_image is not None
        assert re.match(case["image"], plan.base_image.image), plan.base_image.image
    check_texts(case.get("constraints", []), plan.constraints)
    if "system" in case:
        assert list(plan.system) == case["system"]


def check_driver(plan: Plan, case: dict[str, Any]) -> None:
    if "driver" in case:
        assert plan.driver.minimum == case["driver"]
    if "comfortable" in case:
        assert plan.driver.comfortable == case["comfortable"]
    if "package" in case:
        assert re.fullmatch(case["package"], plan.driver.package), plan.driver.package
        assert ("LD_LIBRARY_PATH" in (plan.env or {})) == bool(plan.driver.package)
    for name, value in case.get("env", {}).items():
        assert (plan.env or {}).get(name, "").startswith(value)


def check_conflict(answer: Answer, case: dict[str, Any]) -> None:
    cores = [[member.text for member in conflict.members if member.kind != "matrix"] for conflict in answer.conflicts]
    if "conflict" in case:
        assert case["conflict"] in cores
    assert all(len(set(conflict.members)) == len(conflict.members) for conflict in answer.conflicts)
    check_texts(case.get("reasons", []), [member.text for conflict in answer.conflicts for member in conflict.members])
    check_texts(case.get("fixes", []), [fix.text for fix in answer.fixes])
    check_texts(case.get("commands", []), [fix.command for fix in answer.fixes])
    assert all(fix.plans and fix.status == "plan" for fix in answer.fixes)
    unasked = [build for fix in answer.fixes if "cpu" not in fix.changes for plan in fix.plans for build in plan.builds]
    assert case.get("cpu") or all(build.runtime != "cpu" for build in unasked)


def check_texts(patterns: list[str], texts: Any) -> None:
    for pattern in patterns:
        assert any(re.search(pattern, text) for text in texts), f"{pattern!r} in none of {list(texts)}"


@pytest.mark.parametrize(("table", "case"), CASES, ids=[f"{table}: {case['name']}" for table, case in CASES])
def test_the_same_question_gets_the_same_bytes(table: str, case: dict[str, Any]) -> None:
    assert repr(dump(answer_to(case))) == repr(dump(answer_to(case)))
