"""The stress probe: what it compares, how often, and which of several signs it tells; the driver is a stub in C."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from compat.build import outcome, parcel
from compat.cli import verify

SCRIPTS = parcel.FOLDER


COUNTED = """
import sys; sys.path.insert(0, sys.argv[1])
from types import SimpleNamespace
import cuda_driver, reporting, stress

launches, rounds, seconds, speed = (float(word) for word in sys.argv[2:6])
done = [0]

class Counting(cuda_driver.Device):
    def launch(self, *args):
        done[0] += 1
        super().launch(*args)

# the clock of a device that makes `speed` launches a second
stress.Device, stress.time = Counting, SimpleNamespace(monotonic=lambda: done[0] / speed)
stress.LAUNCHES, stress.WORDS, stress.ROUNDS = int(launches), 1 << 12, int(rounds)
report = reporting.Report("stress", lambda text: "probe-failed")
driver = cuda_driver.Driver()
driver.call("cuInit", 0)
report.check("kernels", stress._kernels, driver, 0, seconds)
"""


@pytest.fixture
def loaded(driver):
    """The stress probe over a small kernel, by a clock that counts launches: what it compares is its rule, not its size."""

    def run(fault="", *, launches, rounds=2, seconds=0.0, speed=1.0):
        numbers = [str(item) for item in (launches, rounds, seconds or launches * rounds / speed, speed)]
        env = {**os.environ, "LD_LIBRARY_PATH": str(driver), "ENVCHECK_FAULT": fault}
        words = [sys.executable, "-c", COUNTED, str(SCRIPTS), *numbers]
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


@pytest.mark.parametrize(
    ("speed", "seconds", "launches", "rounds"),
    [
        (1.0, 10.0, 11, 2),  # a round takes the time that there is, and one more launch is owed to compare with
        (1.0, 1.0, 2, 2),
        (0.01, 60.0, 2, 2),  # each launch outlasts the time: two of them, not two rounds of two hundred
        (7.0, 60.0, 420, 3),  # 200, 200, and 20 until the time is up
        (20.0, 60.0, 1200, 6),
    ],
)
def test_the_time_is_kept_on_a_device_of_any_speed(loaded, speed, seconds, launches, rounds):
    found = loaded(launches=200, seconds=seconds, speed=speed)
    assert (found.figures["launches"], found.figures["rounds"]) == (launches, rounds)
    assert found.figures["launches"] / speed <= seconds + 2 / speed


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
        "wrong, *sensors = json.loads(sys.argv[2])\n"
        "report.check('load', lambda: stress._concluded((9, wrong, 90), *sensors))\n"
    )
    words = [sys.executable, "-c", script, str(SCRIPTS), json.dumps([wrong, before, after])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = outcome.read(done.stdout.splitlines())[0][-1]
    assert (found.status, found.code) == (("fail", code) if code else ("pass", ""))
    assert (found.figures["rounds"], found.figures["after"]) == (9, after)


def result(name, status):
    return outcome.Probe(name, status, "" if status == "pass" else "why")


@pytest.mark.parametrize(
    ("level", "probes", "code"),
    [
        ("stress", [result("plan.packages", "pass"), result("stress.load", "skip")], 3),  # no load ran
        ("bench", [result("cuda.kernel0", "pass"), result("bench.load", "skip")], 3),
        ("stress", [result("stress-cuda.kernels0", "pass")], 0),
        ("framework", [result("torch.import", "pass")], 0),
        ("framework", [result("torch.import", "skip")], 3),
    ],
)
def test_a_level_whose_own_work_did_not_run_proves_nothing(level, probes, code):
    assert verify.outcome(outcome.Verification(image="i", level=level, probes=tuple(probes))) == code


def test_a_machine_without_a_load_to_run_says_so():
    words = [sys.executable, str(SCRIPTS / "run.py"), "--level", "stress", "--expect", "cpu", "--frameworks", "jax"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    names = {probe.name: probe.why for probe in outcome.read(done.stdout.splitlines())[0]}
    assert names["stress.load"] == "no stress is known for what is installed here"
