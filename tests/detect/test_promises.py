"""What detection promises: never a hang, never a failure of the whole, never a name of a person or a machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import detect as detection
from compat import facts
from compat.detect import DETECTORS, combined, detect, look, threads
from compat.detect.machine import Machine
from compat.detect.root import Root
from compat.facts import CATALOGUE, Fact, Gpu, Unknown
from compat.run import Outcome


def no_program(argv, **options):
    return Outcome(127)


def test_detectors_have_the_agreed_shape():
    for name, detector in DETECTORS.items():
        assert set(detector.FACTS) <= set(CATALOGUE), name
        assert detector.NAME, name
        assert detector.SOUGHT, name
        assert {"linux", "darwin", "windows"} >= detector.SYSTEMS, name


def test_every_fact_of_the_catalogue_has_a_detector():
    of_all_together = {"hung", "driver_faults"}  # what did not answer, and which libraries failed whoever asked
    of_clusters = {"gpu_sharing"}  # what the labels of a node tell, and the node itself does not know
    detected = {fact for detector in DETECTORS.values() for fact in detector.FACTS}
    assert set(CATALOGUE) == detected | of_all_together | of_clusters


def test_this_machine_is_read_whole():
    host = detect()
    assert set(host) == set(CATALOGUE)
    assert host.python
    assert host.kernel == os.uname().release
    assert host.user_id == os.geteuid()
    assert facts.dump(facts.load(json.loads(json.dumps(facts.dump(host))), "here")) == facts.dump(host)


def test_detectors_tell_nothing_of_the_person_or_the_machine(recorded):
    said = {
        "env": {
            "HOME": "/home/alice",
            "USER": "alice",
            "HF_TOKEN": "hf_secret",
            "CUDA_HOME": "/home/alice/cuda",
            "TORCH_HOME": "/home/bob/torch",
            "NVIDIA_VISIBLE_DEVICES": "GPU-8f1e2c3d-1111-2222-3333-444455556666",
            "TORCH_AUTH_TOKEN": "secret-value",
            "SLURM_JOB_NODELIST": "node17",
            "LD_LIBRARY_PATH": "/home/alice/lib:/home/bob/lib",
            "VIRTUAL_ENV": "/home/alice/venv",
        },
        "files": {
            "/home/alice/venv/pyvenv.cfg": "version = 3.11.1",
            "/home/alice/cuda/version.txt": "CUDA Version 11.0.2",
        },
    }
    text = json.dumps(facts.dump(recorded(said)))
    for word in ("alice", "bob", "hf_secret", "secret-value", "node17", "8f1e2c3d"):
        assert word not in text
    assert '"~/venv"' in text
    full = json.dumps(facts.dump(recorded(said, full=True), full=True))
    assert "/home/alice/venv" in full
    assert "8f1e2c3d" in full
    assert "hf_secret" not in full


@pytest.mark.parametrize("name", ["/usr/bin/gcc", "engine"])
def test_hanging_program_or_daemon_costs_only_its_own_facts(recorded, name):
    if name == "engine":
        host = recorded({"sockets": {"/var/run/docker.sock": "silent"}})
        assert host.engine_status == "unreachable"
    else:
        said = {
            "files": {name: ""},
            "commands": {"gcc -dumpfullversion -dumpversion": {"code": 124, "why": "gcc did not answer"}},
        }
        host = recorded(said)
        assert "did not answer" in host.reading("gcc").why
    assert host.kernel == "6.8.0-45-generic"


def test_detector_that_never_returns_is_left_behind(monkeypatch, replay):
    forever = threading.Event()

    class Stuck:
        NAME, FACTS, SYSTEMS, SOUGHT = "stuck", ("hip", "cann"), frozenset({"linux"}), "/proc/stuck"
        facts = staticmethod(lambda _: forever.wait())

    recording = replay.Recording({})
    monkeypatch.setattr(detection, "DETECTORS", {"stuck": Stuck, "system": DETECTORS["system"]})
    host = detect(root=recording, run=recording.run, timeout=0.05)
    forever.set()
    assert host.reading("hip") == Unknown("stuck did not answer within 0.05 s", "/proc/stuck")
    assert host.kernel == "6.8.0-45-generic"


def test_slip_in_one_detector_is_a_reason(replay):
    class Broken:
        NAME, FACTS, SYSTEMS, SOUGHT = "broken", ("hip",), frozenset({"linux"}), "nowhere"
        facts = staticmethod(lambda _: {}["missing"])

    recording = replay.Recording({})
    readings = look(Broken, Machine(recording, recording.run, time.monotonic() + 5))
    assert "could not be read: KeyError" in readings["hip"].why


def test_absent_subject_is_a_known_absence(replay):
    recording = replay.Recording({})
    readings = look(DETECTORS["jetson"], Machine(recording, recording.run, time.monotonic() + 5))
    assert readings["l4t"] == Fact(None, "/etc/nv_tegra_release, /proc/device-tree/compatible")


def test_value_beats_reason_beats_absence():
    absent, unknown, told = Fact(None, "a"), Unknown("b"), Fact("535", "c")
    assert combined([{"driver": absent}, {"driver": unknown}, {"driver": told}])["driver"] == told
    assert combined([{"driver": absent}, {"driver": unknown}])["driver"] == unknown
    assert combined([{"driver": absent}])["driver"] == absent
    assert combined([])["driver"] == Unknown("not read on this system")


def gpus(*sights):
    return combined([{"gpus": sight} for sight in sights])["gpus"]


def test_sights_of_one_gpu_become_one():
    bus = "0000:01:00.0"
    seen = gpus(
        Fact((Gpu(vendor="nvidia", bus=bus, name="A", driver="nvidia"),), "NVML"),
        Fact(
            (
                Gpu(vendor="nvidia", bus=bus, name="B", pci="10de:1", driver="none"),
                Gpu(vendor="amd", bus="0000:02:00.0"),
            ),
            "PCI",
        ),
    )
    assert seen.value == (
        Gpu(vendor="nvidia", bus=bus, name="A", pci="10de:1", driver="nvidia"),
        Gpu(vendor="amd", bus="0000:02:00.0"),
    )
    assert seen.source == "NVML, PCI"


def test_gpus_without_address_match_by_vendor_and_order():
    seen = gpus(Fact((Gpu(vendor="nvidia", name="board"),), "a"), Fact((Gpu(vendor="nvidia", target="sm_87"),), "b"))
    assert seen.value == (Gpu(vendor="nvidia", name="board", target="sm_87"),)


ONE = {"name": "Tesla T4", "bus": "00000000:01:00.0", "capability": [7, 5], "memory": [15 << 30, 0]}


@pytest.mark.parametrize(
    ("files", "answers", "buses"),
    [
        ({"/.dockerenv": ""}, [ONE, {"index": 1, "denied": True}], ["0000:01:00.0"]),
        ({"/.dockerenv": ""}, [ONE, {"bus": "00000000:02:00.0", "lost": True}], ["0000:01:00.0", "0000:02:00.0"]),
        ({"/.dockerenv": ""}, [], ["0000:01:00.0", "0000:02:00.0"]),
        ({}, [ONE], ["0000:01:00.0", "0000:02:00.0"]),
    ],
)
def test_container_has_the_gpus_that_it_was_given(recorded, files, answers, buses):
    pci = {
        f"/sys/bus/pci/devices/0000:0{n}:00.0/{key}": text
        for n in (1, 2)
        for key, text in (("vendor", "0x10de"), ("device", "0x1eb8"), ("class", "0x030200"))
    }
    said = {"files": files | pci, "loader": {"libnvidia-ml.so.1": "/usr/lib/libnvidia-ml.so.1"}}
    host = recorded(said | {"answers": {"nvml": {"init": "ok", "gpus": answers}}})
    assert [gpu.bus for gpu in host.gpus] == buses


def test_no_gpu_is_an_answer_only_if_every_place_was_looked_at():
    assert gpus(Fact((), "a"), Fact((), "b")).value == ()
    assert gpus(Fact((), "a"), Unknown("no /sys")) == Unknown("no /sys")


def test_answers_after_the_deadline_do_not_count():
    never = threading.Event()
    answers = dict(threads.answered({"quick": lambda: 1, "never": never.wait}, time.monotonic() + 0.05))
    never.set()
    assert answers == {"quick": 1}


def test_program_ends_although_a_question_still_hangs():
    script = "import threading, time; from compat.detect.threads import answered; "
    script += "print(dict(answered({'never': threading.Event().wait}, time.monotonic() + 0.01)))"
    ended = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)
    assert ended.stdout == "{}\n"


def test_question_that_hangs_holds_up_nobody_else(replay):
    recording = replay.Recording({})
    machine = Machine(recording, recording.run, time.monotonic() + 5)
    never = threading.Event()
    threading.Thread(target=machine.once, args=("stuck", never.wait), daemon=True).start()
    assert dict(threads.answered({"other": lambda: machine.once("other", lambda: 1)}, time.monotonic() + 20)) == {
        "other": 1
    }
    never.set()


def test_unblocked_pipes_and_devices_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    machine = Machine(Root(), no_program, time.monotonic() + 1)
    assert isinstance(machine.read(str(tmp_path / "pipe")), Unknown)
    assert isinstance(machine.read("/dev/zero"), Unknown)


def test_reads_are_bounded(tmp_path):
    (tmp_path / "big").write_bytes(b"x" * 5000)
    machine = Machine(Root(), no_program, time.monotonic() + 1)
    assert len(machine.text(str(tmp_path / "big"), 1000)) == 1000


def test_recorded_copy_below_a_folder_is_a_root_too(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=debian\nVERSION_ID=12\n")
    assert detect(root=Root(str(tmp_path))).os == "debian12"


def test_nothing_heavy_is_imported():
    script = "import sys; from compat.detect import detect; detect(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    heavy = {
        "requests",
        "docker",
        "jinja2",
        "typer",
        "rich",
        "importlib.metadata",
        "asyncio",
        "pynvml",
        "packaging",
        "logging",
        "pathlib",
    }
    assert not heavy & set(loaded)


def files_of(recording):
    """Paths of all the text files that detectors read on a recorded machine."""
    return sorted(recording.files)


@given(data=st.data())
def test_any_bytes_in_any_file_are_no_error(data, replay):
    """Replace one file of a rich machine with rubbish: nothing fails and every fact keeps its kind."""
    from pathlib import Path

    folder = Path(replay.__file__).parent
    name = data.draw(
        st.sampled_from(sorted(path.stem for path in folder.glob("*.toml") if "[files]" in path.read_text()))
    )
    recording = replay.load(folder / f"{name}.toml")
    path = data.draw(st.sampled_from(files_of(recording)))
    original = recording.files[path]
    rubbish = data.draw(st.binary(max_size=200))
    cut = data.draw(st.integers(0, len(original)))
    recording.files[path] = original[:cut] + rubbish + original[cut:]
    host = detect(root=recording, run=recording.run)
    assert not [each for each in host if "could not be read: " in getattr(host.reading(each), "why", "")]
    facts.load(json.loads(json.dumps(facts.dump(host))), "fuzz")


@given(answer=st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from(["init", "driver", "cuda", "gpus", "memory", "mig", "name", "bus", "pci", "capability", "throttle", "lost", "version"]), each, max_size=5), max_leaves=12))  # fmt: skip
def test_any_answer_of_a_driver_library_is_no_error(answer, replay):
    said = {"loader": {"libcuda.so.1": "/usr/lib/libcuda.so.1", "libnvidia-ml.so.1": "/usr/lib/libnvidia-ml.so.1"}}
    answers = {"nvml": json.dumps(answer), "cuda": json.dumps(answer)}
    if isinstance(answer, dict):
        answers = {"nvml": json.dumps({"init": "ok", **answer}), "cuda": json.dumps(answer)}
    recording = replay.Recording(said | {"answers": answers})
    host = detect(root=recording, run=recording.run)
    assert not [each for each in host if "could not be read: " in getattr(host.reading(each), "why", "")]
    facts.load(json.loads(json.dumps(facts.dump(host))), "fuzz")
