"""The stress probe: what it compares, how often, and which of several signs it tells; the driver is a stub in C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from compat.build import outcome, parcel
from compat.cli import verify

SCRIPTS = parcel.FOLDER


COUNTED = """
import sys; sys.path.insert(0, sys.argv[1])
from types import SimpleNamespace
import devices, importlib, reporting, stress

vendor = importlib.import_module(sys.argv[2] + "_driver")
launches, rounds, seconds, speed = (float(word) for word in sys.argv[3:7])
done = [0]

class Counting(vendor.Device):
    def launch(self, module, name, *args):
        done[0] += name == "mix"
        super().launch(module, name, *args)

# the clock of a device that writes `speed` blocks a second, and whose free memory is so many blocks
stress.time = SimpleNamespace(monotonic=lambda: done[0] / speed)
stress.BLOCK, stress.ROUNDS, stress.MOST = 1 << 14, int(rounds), (int(launches) << 14) / float(64 << 20)
report = reporting.Report("stress", lambda text: "probe-failed")
report.check("kernels", lambda: stress._patterns(Counting(devices.opened(vendor), 0), seconds))
"""


@pytest.fixture
def loaded(driver, hip):
    """The stress probe over small blocks, by a clock that counts them: what it compares is its rule, not its size."""

    def run(fault="", *, launches, rounds=2, seconds=0.0, speed=1.0, vendor="cuda"):
        numbers = [str(item) for item in (launches, rounds, seconds or launches * rounds / speed, speed)]
        env = {**os.environ, "LD_LIBRARY_PATH": f"{driver}:{hip}", "ENVCHECK_FAULT": fault, "ENVCHECK_FREE_MIB": "64"}
        words = [sys.executable, "-c", COUNTED, str(SCRIPTS), vendor, *numbers]
        done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return outcome.read(done.stdout.splitlines())[0][-1]

    return run


@pytest.mark.parametrize("launches", [1, 2, 50])
@pytest.mark.parametrize(
    ("fault", "status"),
    [("", "pass"), ("integer", "fail"), ("launch=719", "fail"), ("full", "fail")],
)
@pytest.mark.parametrize("vendor", ["cuda", "hip"])
def test_load_runs_and_compares_round_after_round(loaded, vendor, fault, status, launches):
    found = loaded(fault, launches=launches, vendor=vendor)
    assert found.status == status
    if status == "pass":
        assert (found.figures["rounds"], found.figures["wrong"]) == (2, 0)
        assert found.figures["bytes"] == launches << 14


@pytest.mark.parametrize(("launches", "rounds", "wrong"), [(1, 8, 2), (2, 8, 5), (5, 4, 3), (7, 3, 3)])
@pytest.mark.parametrize("vendor", ["cuda", "hip"])
def test_a_device_that_goes_wrong_under_load_is_counted_by_rounds(loaded, vendor, launches, rounds, wrong):
    """The seventh block that the stub writes, and each after it, has a wrong bit."""
    found = loaded("drift", launches=launches, rounds=rounds, vendor=vendor)
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


@pytest.fixture
def level(driver, hip):
    """A whole level as a container runs it, over the drivers in C, each of which has two devices."""

    def run(name, expect, fault="", **env):
        words = [sys.executable, str(SCRIPTS / "run.py"), "--level", name, "--expect", expect, "--frameworks", "none"]
        settings = {**os.environ, "LD_LIBRARY_PATH": f"{driver}:{hip}", "ENVCHECK_FAULT": fault, **env}
        words += ["--seconds", "0", "--timeout", "60"]
        done = subprocess.run(words, capture_output=True, text=True, env=settings, check=False)
        assert "Traceback" not in done.stderr
        return {item.name: item for item in outcome.read(done.stdout.splitlines())[0]}

    return run


@pytest.mark.parametrize(("expect", "vendor"), [("cuda12.8", "cuda"), ("rocm7.0", "hip")])
def test_most_of_the_free_memory_of_every_device_is_written_and_compared(level, expect, vendor):
    found = level("stress", expect, ENVCHECK_FREE_MIB="48")
    for number in (0, 1):
        load = found[f"stress-{vendor}.kernels{number}"]
        assert load.status == "pass", load.why
        assert 0.85 < load.figures["bytes"] / (48 << 20) <= 0.9
    wrong = level("stress", expect, "integer", ENVCHECK_FREE_MIB="48")
    assert {wrong[f"stress-{vendor}.kernels{number}"].code for number in (0, 1)} == {"probe-kernel-wrong-result"}


def test_copies_on_amd_are_measured_as_on_nvidia(level):
    found = level("bench", "rocm7.0", ENVCHECK_FREE_MIB="64")
    # the driver of the test says that each copy took a millisecond; two blocks of an eighth of its free memory
    assert found["bench-hip.device_copy1"].figures["gb_per_s"] == pytest.approx(2 * (8 << 20) / 1e-3 / 1e9, rel=0.01)
    assert found["bench-hip.device_copy1"].figures["device"] == "AMD Test 1"
    assert found["bench-hip.to_device0"].status == found["bench-hip.from_device0"].status == "pass"


def test_all_devices_are_loaded_at_the_same_time(monkeypatch):
    """Each thread waits until the other has begun: one after the other, they would wait for ever."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import stress

    begun = threading.Barrier(3, timeout=30)

    def load(device, seconds):
        begun.wait()
        return {"device": device.ordinal, "seconds": seconds}

    def device(_api, ordinal):
        return SimpleNamespace(ordinal=ordinal, close=lambda: None)

    monkeypatch.setattr(stress, "_patterns", load)
    driver = SimpleNamespace(NAMES={"init": "init"}, call=lambda *_: None, count=lambda: 3)
    monkeypatch.setitem(sys.modules, "test_driver", SimpleNamespace(Driver=lambda: driver, Device=device))
    told = {}
    stress.run(SimpleNamespace(check=lambda name, load: told.update({name: load()})), "test", 9.0)
    assert told == {f"kernels{number}": {"device": number, "seconds": 9.0} for number in range(3)}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, {}),
        (
            {
                "hwmon/hwmon3/temp1_input": "41000\n",
                "hwmon/hwmon3/temp2_input": "98000\n",
                "hwmon/hwmon3/temp2_crit": "110000\n",
                "hwmon/hwmon3/freq1_input": "2100000000\n",
                "hwmon/hwmon3/power1_average": "749000000\n",
                "ras/umc_err_count": "ue: 2\nce: 9\n",
                "ras/gfx_err_count": "ue: 1\nce: 0\n",
            },
            {"celsius": 98, "sm_mhz": 2100, "watts": 749, "ecc_uncorrected": 3},
        ),
        (
            {"hwmon/hwmon0/temp1_input": "100000", "hwmon/hwmon0/temp1_crit": "100000", "ras/x_err_count": "odd"},
            {"celsius": 100, "slowed_by": ["critical temperature"]},
        ),
    ],
)
def test_sensors_of_amd_are_read_from_the_kernels_files(tmp_path, monkeypatch, files, found):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import amdgpu

    monkeypatch.setattr(amdgpu, "PCI", str(tmp_path))
    for name, text in files.items():
        (tmp_path / "0000:c3:00.0" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "0000:c3:00.0" / name).write_text(text)
    watch = amdgpu.Monitor("0000:c3:00.0")
    assert (watch.read(), watch.works) == (found, bool(files))
    assert amdgpu.Monitor("").read() == {}


@pytest.mark.parametrize(
    ("speed", "width", "rate"),
    [
        ("16.0 GT/s PCIe", "16", 31.5),
        ("32.0 GT/s PCIe", "16", 63.0),
        ("2.5 GT/s", "8", 2.0),
        ("Unknown", "16", None),
        ("8.0 GT/s", "0", None),
    ],
)
def test_a_link_carries_what_its_speed_and_width_leave_after_coding(tmp_path, monkeypatch, speed, width, rate):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import bench

    monkeypatch.setattr(bench, "PCI", str(tmp_path))
    (tmp_path / "0000:41:00.0").mkdir()
    (tmp_path / "0000:41:00.0" / "current_link_speed").write_text(speed + "\n")
    (tmp_path / "0000:41:00.0" / "current_link_width").write_text(width + "\n")
    assert bench.link("0000:41:00.0") == rate
    assert bench.link("0000:42:00.0") is None
    assert bench.link("") is None


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
