"""The stress probe: what it compares, how often, and which of several signs it tells; the driver is a stub in C."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from compat.build import outcome, parcel

SCRIPTS = parcel.FOLDER


@pytest.fixture
def loaded(driver):
    """The stress probe on a few launches of a small kernel: how often it compares is its rule, not its size."""

    def run(fault, *, launches, rounds=2):
        script = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "import cuda_driver, reporting, stress\n"
            f"stress.LAUNCHES, stress.WORDS, stress.ROUNDS = {launches}, 1 << 16, {rounds}\n"
            "report = reporting.Report('stress', lambda text: 'probe-failed')\n"
            "report.check('kernels', stress._kernels, cuda_driver.Driver(), 0, 0.0)\n"
        )
        env = {**os.environ, "LD_LIBRARY_PATH": str(driver), "ENVCHECK_FAULT": fault}
        words = [sys.executable, "-c", script, str(SCRIPTS)]
        done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
        return outcome.read(done.stdout.splitlines())[0][-1]

    return run


@pytest.mark.parametrize("launches", [1, 2, 50])
@pytest.mark.parametrize(
    ("fault", "status"),
    # the fault "integer" changes the same word each time: the rounds agree, which is all that this probe promises
    [("", "pass"), ("integer", "pass"), ("launch=719", "fail"), ("launch=700", "fail")],
)
def test_load_runs_and_compares_round_after_round(loaded, fault, status, launches):
    found = loaded(fault, launches=launches)
    assert found.status == status
    if status == "pass":
        assert (found.figures["rounds"], found.figures["wrong"]) == (2, 0)


@pytest.mark.parametrize(("launches", "rounds", "wrong"), [(1, 8, 2), (2, 8, 5), (5, 4, 3), (7, 3, 0)])
def test_a_device_that_goes_wrong_under_load_is_counted_by_rounds(loaded, launches, rounds, wrong):
    """The stub's seventh launch and all after it have a wrong bit; with seven launches a round, the first has it too."""
    found = loaded("drift", launches=launches, rounds=rounds)
    assert (found.figures["rounds"], found.figures["wrong"]) == (rounds, wrong)
    assert (found.status, found.code) == (("fail", "probe-kernel-wrong-result") if wrong else ("pass", ""))


SENSORS = [
    ({}, {}, 0, ""),
    ({}, {}, 3, "probe-kernel-wrong-result"),
    ({"ecc_uncorrected": 4}, {"ecc_uncorrected": 4}, 0, ""),
    ({"ecc_uncorrected": 4}, {"ecc_uncorrected": 5}, 0, "gpu-ecc-uncorrectable"),
    ({}, {"ecc_uncorrected": 1}, 0, "gpu-ecc-uncorrectable"),
    ({}, {"slowed_by": ["power cap"]}, 0, ""),
    ({}, {"slowed_by": ["power cap", "heat"]}, 0, "gpu-thermal-throttle"),
    ({}, {"slowed_by": ["heat"], "ecc_uncorrected": 1}, 2, "probe-kernel-wrong-result"),
    ({}, {"slowed_by": ["heat"], "ecc_uncorrected": 1}, 0, "gpu-ecc-uncorrectable"),
]


@pytest.mark.parametrize(("before", "after", "wrong", "code"), SENSORS)
def test_the_gravest_of_what_a_load_shows_is_its_finding(before, after, wrong, code):
    script = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "import reporting, stress\n"
        "report = reporting.Report('stress', lambda text: 'probe-failed')\n"
        "report.check('load', lambda: stress._concluded(9, *json.loads(sys.argv[2])))\n"
    )
    words = [sys.executable, "-c", script, str(SCRIPTS), json.dumps([wrong, before, after])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = outcome.read(done.stdout.splitlines())[0][-1]
    assert (found.status, found.code) == (("fail", code) if code else ("pass", ""))
    assert (found.figures["rounds"], found.figures["after"]) == (9, after)
