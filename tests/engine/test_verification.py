"""Verifying images that misbehave: a clear answer each time, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compat.build import build_image, engine, verify
from compat.build.outcome import dump
from compat.errors import CannotCheckError

FAULTS = [
    ("import os\nos.kill(os.getpid(), 4)", "cpu-instructions-missing", "SIGILL"),
    ("import os\nos.kill(os.getpid(), 11)", "library-mismatch", "SIGSEGV"),
    ("import os\nos._exit(3)", "probe-failed", "exit status 3"),
    ("held = bytearray(10**9)\nfor i in range(0, 10**9, 4096):\n    held[i] = 1", "probe-memory-short", "SIGKILL"),
    ("raise ImportError('libcudnn.so.9: cannot open shared object file')", "library-missing", "libcudnn.so.9"),
    ("raise ImportError('/lib/libc.so.6: version `GLIBC_2.38` not found')", "glibc-too-old", "GLIBC_2.38"),
    (
        "with open('/tmp/full', 'wb') as out:\n    while True:\n        out.write(b'0' * 2**20)",
        "disk-space-low",
        "No space left",
    ),
    ("raise RuntimeError('CUDA error: no kernel image is available')", "arch-too-new-for-build", "no kernel image"),
    ("print('x' * 10**7)\nprint('{\"event\": \"probe\"')\nraise ValueError('odd')", "probe-failed", "odd"),
]


@pytest.mark.parametrize(("code", "expected", "says"), FAULTS, ids=[item[1] + "-" + item[2][:12] for item in FAULTS])
def test_each_way_to_fail_has_its_finding(impostor, code, expected, says):
    result = verify(impostor(code), expect="cpu", timeout=60, memory=256 * 1024**2)
    assert [finding.code for finding in result.findings] == [expected]
    assert says in result.findings[0].detail
    assert not result.ok
    assert dump(result)["schema"] == "envcheck.verify/1"


def test_a_hang_is_named_and_ended(impostor):
    result = verify(impostor("import time\ntime.sleep(600)"), expect="cpu", timeout=4)
    assert [finding.code for finding in result.findings] == ["probe-timeout"]
    assert result.probes[-1].name == "torch.import"


CONFINED = """
import os, socket
broken = []
if os.getuid() == 0:
    broken.append("root")
try:
    open("/opt/x", "w")
    broken.append("writable")
except OSError:
    pass
try:
    socket.create_connection(("192.0.2.1", 80), 1)
    broken.append("network")
except OSError as error:
    if error.errno not in (101, 99):
        broken.append("network up: %s" % error)
status = open("/proc/self/status").read()
if "CapEff:\\t0000000000000000" not in status:
    broken.append("capabilities")
if "NoNewPrivs:\\t1" not in status:
    broken.append("privileges")
open("/tmp/mine", "w").close()
raise RuntimeError("confined except for: %s" % broken)
"""


def test_the_container_can_do_as_good_as_nothing(impostor):
    result = verify(impostor(CONFINED), expect="cpu", timeout=60)
    assert "confined except for: []" in result.findings[0].detail


def test_a_gpu_plan_on_a_machine_without_one_is_an_error(impostor):
    code = (
        "import types\n__version__ = '2.0'\nversion = types.SimpleNamespace(cuda='11.8', hip=None)\n"
        "cuda = types.SimpleNamespace(is_available=lambda: False, get_arch_list=lambda: [])\n"
        "def zeros(*a, **k): raise RuntimeError('Found no NVIDIA driver on your system')\n"
    )
    if Path("/dev/nvidiactl").exists():
        pytest.skip("there is a GPU here")
    plan = {"runtime": "cuda11.8", "python": "3.11", "builds": [{"name": "torch", "version": "2.0", "module": "torch"}]}
    result = verify(impostor(code, {"dev.envcheck.plan": json.dumps(plan)}), timeout=60)
    found = {finding.code: finding for finding in result.findings}
    assert found["probe-cpu-fallback"].severity == "error"
    assert "Found no NVIDIA driver" in found["probe-cpu-fallback"].detail
    assert "container-no-gpu" in found


@pytest.mark.parametrize("label", ["not json", "[]", '{"runtime": 3}', '{"a":' * 3000, '"x"'])
def test_a_label_that_holds_no_plan_is_said_before_anything_is_run(impostor, label):
    image = impostor("raise ValueError('reached')", {"dev.envcheck.plan": label})
    with pytest.raises(CannotCheckError, match="holds no plan"):
        verify(image, expect="cpu", timeout=60)


def test_an_image_without_python_is_told_as_such(base):
    base("debian:12")
    result = verify("debian:12", gpus="none", timeout=60)
    assert [finding.code for finding in result.findings] == ["image-without-python"]


def test_an_image_for_another_processor_is_told_as_such(base, client, tmp_path):
    """Its Python is the head of an ELF file for a processor that nobody has: the kernel refuses it, and nothing more."""
    base("python:3.11-slim")
    head = bytearray(Path(sys.executable).resolve().read_bytes()[:4096])
    head[18:20] = (0x9026).to_bytes(2, sys.byteorder)  # e_machine: EM_ALPHA
    (tmp_path / "python").write_bytes(head)
    (tmp_path / "python").chmod(0o755)
    text = "FROM python:3.11-slim\nCOPY python /opt/venv/bin/python\n"
    built = build_image(text, tag="envcheck-test/foreign", context=tmp_path, builder="classic")
    assert built.ok, built.why
    result = verify(built.tag, expect="cpu", timeout=60)
    client.images.remove(built.tag, force=True)
    assert [finding.code for finding in result.findings] == ["container-image-arch"]


def test_an_image_that_is_not_here_cannot_be_checked(client):
    with pytest.raises(CannotCheckError, match="docker pull nobody/nothing:1"):
        verify("nobody/nothing:1")


def test_a_container_that_somebody_kills_is_told_as_killed(impostor, client):
    image = impostor("import time\ntime.sleep(600)")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(verify, image, expect="cpu", timeout=300)
        while not (running := client.containers.list(filters={"label": "dev.envcheck.probe", "status": "running"})):
            assert not waiting.done()
        running[0].kill()
        result = waiting.result(timeout=60)
    assert [finding.code for finding in result.findings] == ["probe-memory-short"]
    assert "somebody stopped it" in result.findings[0].detail


def test_an_interruption_takes_the_container_along(impostor, client):
    image = impostor("import time\ntime.sleep(600)")
    script = f"from compat.build import verify\nverify({image!r}, expect='cpu', timeout=300)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.DEVNULL,
    )
    running = lambda: client.containers.list(filters={"label": "dev.envcheck.probe", "status": "running"})  # noqa: E731
    while not running():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) != 0
    assert running() == []


UNWRITABLE = """FROM python:3.11-slim
COPY torch.py /impostor/
RUN chmod 555 /tmp && mkdir /closed && chmod 000 /closed
ENV PYTHONPATH=/impostor HOME=/closed TMPDIR=/closed
ENTRYPOINT ["/bin/sh", "-c", "while :; do echo hostile; sleep 1; done"]
USER 10001:10001
"""


def test_an_image_with_a_program_of_its_own_and_no_place_to_write_is_probed_all_the_same(base, client, tmp_path):
    base("python:3.11-slim")
    (tmp_path / "torch.py").write_text("open(__import__('tempfile').mkstemp()[1], 'w')\nraise ValueError('reached')\n")
    built = build_image(UNWRITABLE, tag="envcheck-test/closed", context=tmp_path, builder="classic", network="host")
    assert built.ok, built.why
    result = verify(built.tag, expect="cpu", timeout=60)
    client.images.remove(built.tag, force=True)
    assert "reached" in result.findings[0].detail


def test_a_container_that_somebody_removes_is_told_as_removed(impostor, client):
    image = impostor("import time\ntime.sleep(600)")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(verify, image, expect="cpu", timeout=300)
        while not (running := client.containers.list(filters={"label": "dev.envcheck.probe", "status": "running"})):
            assert not waiting.done()
        running[0].remove(force=True)
        result = waiting.result(timeout=60)
    assert "removed by somebody else" in result.findings[0].detail


def test_a_python_that_is_none_is_told_as_such(base, client, tmp_path):
    base("debian:12")
    (tmp_path / "python3").write_text("#!/bin/sh\necho Python 3.11.2\n")
    (tmp_path / "python3").chmod(0o755)
    dockerfile = "FROM debian:12\nCOPY python3 /usr/local/bin/\n"
    built = build_image(dockerfile, tag="envcheck-test/no-python", context=tmp_path, builder="classic")
    assert built.ok, built.why
    result = verify(built.tag, gpus="none", timeout=60)
    client.images.remove(built.tag, force=True)
    assert [finding.code for finding in result.findings] == ["image-without-python"]


def test_an_image_that_podman_itself_built_is_found_by_its_short_name(client, base):
    """Podman puts ``localhost/`` before the names of what it builds; its service looks for a short name at Docker Hub."""
    base("python:3.11-slim").tag("localhost/envcheck-test/mine", "1")
    try:
        assert engine.image_of(client, "envcheck-test/mine:1").id == base("python:3.11-slim").id
    finally:
        client.images.remove("localhost/envcheck-test/mine:1", noprune=True)
