"""Signals, kills and what they leave: no container outlives the run, and ``verify --clean`` removes what a kill left."""

from __future__ import annotations

import io
import shutil
import signal
import subprocess
import sys
import tarfile
import time

import pytest

from compat.build import engine

HANG = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"
LABEL = "dev.envcheck.probe"


@pytest.fixture(scope="module")
def hanging(client, tmp_path_factory):
    """An image whose Python is a program that never ends."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    program = tmp_path_factory.mktemp("hang") / "python"
    done = subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", str(program)], input=HANG, text=True)
    if done.returncode:
        pytest.skip("needs a static C library")
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.add(program, "opt/venv/bin/python")
    # as docker's own client names it: Podman reads no tag beside
    client.api.import_image_from_data(data.getvalue(), repository="envcheck-test/hang:1")
    yield "envcheck-test/hang:1"
    client.images.remove(engine.image_of(client, "envcheck-test/hang:1").id, force=True)


def probing(client, **more):
    return [item.name for item in client.containers.list(filters={"label": LABEL}, ignore_removed=True, **more)]


def running(image):
    """A run in a process of its own that hears SIGHUP, though these tests may run under nohup."""
    words = [sys.executable, "-m", "compat", "verify", image, "--timeout", "600"]
    return subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # noqa: PLW1509 - no thread here
    )


def started(client, image):
    """A run of its own process whose container is up."""
    before = set(probing(client))
    process = running(image)
    while not (mine := set(probing(client)) - before):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    return process, mine.pop()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_no_container_outlives_a_signal(client, hanging, number, code):
    process, name = started(client, hanging)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (code, "envcheck: interrupted\n")
    assert name not in probing(client, all=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_nor_one_that_comes_at_any_other_moment(client, hanging, number):
    before = set(probing(client, all=True))
    for part in range(8):
        process = running(hanging)
        until = time.monotonic() + 0.15 * part
        while time.monotonic() < until and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert set(probing(client, all=True)) <= before


def test_what_a_kill_left_is_cleaned_and_what_is_in_use_is_not(client, hanging):
    killed, gone = started(client, hanging)
    waiting, kept = started(client, hanging)
    killed.kill()
    killed.communicate()
    words = [sys.executable, "-m", "compat", "verify", "--clean"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, f"removed {gone}" in done.stdout.split("\n")) == (0, True)
    assert kept in probing(client)
    waiting.terminate()
    waiting.communicate(timeout=60)
    assert not {gone, kept} & set(probing(client, all=True))
