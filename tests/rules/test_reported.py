"""Failures that people reported in public: the first finding is the cause that was found there.

These were read while rules were written, so they prove nothing about failures that nobody saw yet. They hold what is
known: a rule that is sharpened for one message must not turn another one's answer.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from compat.matrix import matrix
from compat.rules import judge

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TESTS = Path(__file__).parent.parent
CASES = tomllib.loads((TESTS / "cases" / "reported.toml").read_text("utf-8"))["case"]


def named(case):
    return f"{case['code']}: {case['source'].removeprefix('https://github.com/')}"


@pytest.fixture(scope="module")
def score():
    """The script that turns a case into facts."""
    spec = importlib.util.spec_from_file_location(
        "envcheck_reported_cases", TESTS.parent / "scripts" / "score_cases.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def report_of(case, score):
    return judge(score.host_of(case), matrix(), error=case["error"], commands=tuple(case.get("commands", {}).values()))


@pytest.mark.parametrize("case", [case for case in CASES if case["code"] != "none"], ids=named)
def test_the_first_finding_is_the_cause(case, score):
    found = score.codes(report_of(case, score))
    assert found
    assert found[0] in {case["code"], *case.get("also", [])}, found


@pytest.mark.parametrize("case", [case for case in CASES if case["code"] == "none"], ids=named)
def test_nothing_is_in_error_where_nothing_is_wrong(case, score):
    assert [item.code for item in report_of(case, score).findings if item.severity == "error"] == []
