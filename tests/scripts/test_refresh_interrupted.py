"""The measuring script killed, interrupted, and out of disk: nothing is half written, and the next run goes on."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("requests")

SCRIPT = Path(__file__).parents[2] / "scripts" / "refresh.py"
WHEELS = [f"demo-1.{number}-py3-none-any.whl" for number in range(6)]


@pytest.fixture
def filled(site, wheel):
    for number, name in enumerate(WHEELS):
        site.add(name, wheel([f"numpy<{number + 1}"]))
    return site


@pytest.fixture
def hanging(filled):
    """The index never answers for the last wheel; ``reached`` tells that it was asked for."""
    filled.reached, release = threading.Event(), threading.Event()

    def hang(_handler):
        filled.reached.set()
        release.wait(60)

    filled.faults[f"/files/{WHEELS[-1]}.metadata"] = [hang]
    yield filled
    release.set()


def begin(run, **more):
    command = [sys.executable, str(SCRIPT), *run.arguments, "--jobs", "1", "demo"]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        **more,
    )


def whole(path):
    return [item.name for item in path.rglob("*") if item.is_file() and not item.name.endswith(".part")]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_an_end_in_the_middle_loses_nothing(hanging, run, number, status):
    process = begin(run)
    assert hanging.reached.wait(60)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in said
    assert ("interrupted; what was read is kept" in said) is (status == 130)
    assert not run.path.exists()
    assert len(whole(run.cache)) == len(WHEELS) - 1
    hanging.faults.clear()
    hanging.asked.clear()
    assert run("demo") == 0
    assert hanging.asked == ["/simple/demo/", f"/files/{WHEELS[-1]}.metadata"]
    assert [release["wheels"][0]["requires"] for release in run.read().values()] == [
        [f"numpy<{number + 1}"] for number in range(len(WHEELS))
    ]


def test_a_full_disk_is_said_and_leaves_no_half_file(filled, run, tmp_path):
    run("demo")
    before = run.path.read_bytes()
    filled.add("demo-2.0-py3-none-any.whl", filled.files[WHEELS[0]])

    def no_room():  # what is written grows to 0 bytes only: the same errors as those of a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    process = begin(run, preexec_fn=no_room)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "File too large" in said
    assert str(run.cache) in said
    assert "Traceback" not in said
    assert run.path.read_bytes() == before
    assert not list(tmp_path.rglob("*.part"))
    assert run("demo") == 0
    assert "2.0" in run.read()


@pytest.mark.parametrize("body", ["", "{", "[]", '{"releases": 7}', '{"schema": "envcheck.observed/1"}'])
def test_a_damaged_record_is_named_and_not_overwritten(filled, run, capsys, body):
    run.path.parent.mkdir()
    run.path.write_text(body)
    assert run("demo") == 1
    assert f"{run.path} is not a recorded document" in capsys.readouterr().err
    assert run.path.read_text() == body


def test_without_its_cache_only_what_is_new_is_read(filled, run, tmp_path, wheel):
    run("demo")
    before = run.path.read_bytes()
    elsewhere = ["--cache", str(tmp_path / "another")]
    filled.asked.clear()
    assert run("demo", *elsewhere) == 0
    assert (filled.asked, run.path.read_bytes()) == (["/simple/demo/"], before)
    filled.add("demo-1.5-cp39-cp39-win_amd64.whl", wheel(["numpy<99"]))
    assert run("demo", *elsewhere) == 0
    assert sorted(filled.asked[1:]) == sorted(
        ["/simple/demo/", f"/files/{WHEELS[5]}.metadata", "/files/demo-1.5-cp39-cp39-win_amd64.whl.metadata"]
    )
    old = json.loads(before)["releases"]
    assert [version for version, release in run.read().items() if release != old[version]] == ["1.5"]
    assert run("demo", "--again", *elsewhere) == 0
    assert set(filled.asked) >= {f"/files/{name}.metadata" for name in WHEELS}


def test_a_list_is_called_whole_where_each_release_of_the_page_is_recorded(filled, run, wheel):
    run("demo")
    whole = json.loads(run.path.read_bytes())["whole"]
    assert run("demo") == 0
    assert json.loads(run.path.read_bytes())["whole"] == whole
    filled.add("demo-0.1-cp39-cp39-win_amd64.whl", wheel(["numpy<99"]))
    assert run("demo", "--since", "1.0") == 0
    assert "whole" not in json.loads(run.path.read_bytes())


def test_a_withdrawal_is_seen_although_the_files_are_the_same(filled, run, capsys):
    run("demo")
    filled.attributes[WHEELS[2]]["yanked"] = "broken"
    capsys.readouterr()
    assert run("demo") == 0
    assert [version for version, release in run.read().items() if release.get("yanked")] == ["1.2"]
    assert capsys.readouterr().out == "[1/1] demo: 6 releases, 1 changed\n"
    del filled.files[WHEELS[4]], filled.attributes[WHEELS[2]]["yanked"]
    assert run("demo") == 0
    assert capsys.readouterr().out == "[1/1] demo: 5 releases, 1 changed, gone 1.4\n"
    assert not any(release.get("yanked") for release in run.read().values())
