"""A signal at any moment: its exit code, one line, and nothing left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from surroundings import alive, until

CODES = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
HANG = 'echo $$ > "$PIDS/$(basename "$0").$$"; exec sleep 99173'


@pytest.fixture
def hanging(envcheck, stub, tmp_path):
    """Tools that never answer, each of which writes its number down; gives the numbers so far."""
    pids = tmp_path / "pids"
    pids.mkdir()
    for name in ("nvidia-smi", "nvcc", "rocminfo", "gcc", "docker", "python3"):
        stub(name, HANG)
    envcheck.env = {**envcheck.env, "PATH": f"{stub.folder}:{os.environ['PATH']}", "PIDS": str(pids)}
    return lambda: [int(path.suffix[1:]) for path in pids.iterdir()]


@pytest.mark.parametrize(("number", "code"), CODES)
@pytest.mark.parametrize("words", [["doctor"], ["host"]], ids=" ".join)
def test_tools_that_hang_end_with_the_command(envcheck, hanging, number, code, words):
    process = envcheck.start(*words)
    assert until(lambda: len(hanging()) >= 1)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (code, "envcheck: interrupted\n")
    assert until(lambda: not any(map(alive, hanging())))


def test_what_a_tool_leaves_behind_as_a_daemon_ends_too(envcheck, stub, tmp_path):
    mark = tmp_path / "pid"
    stub("nvcc", f"setsid sh -c 'echo $$ > {mark}; exec sleep 99173' &\nwhile ! [ -s {mark} ]; do :; done")
    envcheck.env = {**envcheck.env, "PATH": f"{stub.folder}:{os.environ['PATH']}"}
    envcheck("host", timeout=60)
    assert until(lambda: not alive(int(mark.read_text())))


@pytest.mark.parametrize(("number", "code"), CODES)
def test_the_probes_take_along_what_they_started(envcheck, tmp_path, number, code):
    mark = tmp_path / "pid"
    (tmp_path / "packages" / "torch").mkdir(parents=True)
    (tmp_path / "packages" / "torch" / "__init__.py").write_text(
        f"import os, time\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    envcheck.env = {**envcheck.env, "PYTHONPATH": str(tmp_path / "packages")}
    process = envcheck.start("probe", "--level", "framework", "--framework", "torch")
    assert until(lambda: mark.exists() and mark.read_text())
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (code, "envcheck: interrupted\n")
    assert until(lambda: not alive(int(mark.read_text())))


def test_two_signals_at_once_are_one_and_a_pipe_that_nobody_reads_holds_up_nothing(envcheck, hanging):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    process = envcheck.start("host", stdout=writer)
    assert until(lambda: len(hanging()) >= 1)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(timeout=30) in {130, 143}
        assert until(lambda: not any(map(alive, hanging())))
    finally:
        os.close(reader)  # else a process that is stuck on the pipe stays so
        os.close(writer)
        process.kill()


def test_a_background_job_keeps_its_ignored_signals(envcheck, hanging):
    ignoring = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    process = envcheck.start("doctor", preexec_fn=ignoring)
    assert until(lambda: len(hanging()) >= 1)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143


# At the import of each module in turn the process sends itself a signal, as Ctrl-C at that very moment would.
AT_IMPORT = """
import sys, os
from compat.__main__ import main
class Finder:
    count = 0
    def find_spec(self, name, path=None, target=None):
        Finder.count += 1
        if Finder.count == {nth}:
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
sys.argv = ["envcheck", *{words!r}]
sys.exit(main())
"""


@pytest.mark.parametrize(("number", "code"), CODES)
@pytest.mark.parametrize("nth", [1, 2, 5, 11, 23, 47, 80, 120])
@pytest.mark.parametrize("words", [["resolve", "torch", "--cpu"], ["matrix", "list"]], ids=lambda words: words[0])
def test_while_modules_are_loaded(number, code, nth, words):
    script = AT_IMPORT.format(nth=nth, number=int(number), words=words)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (code, "envcheck: interrupted\n")


# The same before ``main``: while the door itself is loaded.
AT_DOOR = """
import sys, os
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Finder())
sys.argv = ["/usr/bin/envcheck", "matrix", "list"]
from compat.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["compat.stopping", "compat.cli"])
def test_ctrl_c_before_the_handlers_stand_prints_nothing(name):
    script = AT_DOOR.format(name=name)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    expected = (-2, "") if name == "compat.stopping" else (130, "envcheck: interrupted\n")
    assert (done.returncode, done.stderr) == expected


AT_WRITE = """
import os, signal, sys
from compat.__main__ import main
from pathlib import Path
whole = Path.replace
def replace(self, target):
    os.kill(os.getpid(), {number})
    return whole(self, target)
Path.replace = replace
sys.argv = ["envcheck", "resolve", "torch", "--cpu", "-f", "json", "-o", "plan.json"]
sys.exit(main())
"""


@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_file_is_whole_or_not_there_and_has_no_neighbour(tmp_path, number, code):
    script = AT_WRITE.format(number=int(number))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stderr) == (code, "envcheck: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_a_signal_in_a_finaliser_is_not_lost(tmp_path):
    script = (
        "import os, signal, sys, time\n"
        "from compat import stopping\n"
        "stopping.listen()\n"
        "class Thing:\n"
        "    def __del__(self): os.kill(os.getpid(), signal.SIGTERM); time.sleep(0)\n"
        "try:\n"
        "    thing = Thing(); del thing\n"
        "    while True: time.sleep(0.01)\n"
        "except stopping.Stopped as stopped: sys.exit(stopped.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (143, "")


def test_no_temporary_file_is_left_where_a_lock_is_interrupted(envcheck, stub, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    mark = tmp_path / "pid"
    stub("uv", f"echo $$ > {mark}; exec sleep 99173")
    envcheck.env = {**envcheck.env, "PATH": f"{stub.folder}:{os.environ['PATH']}", "TMPDIR": str(temporary)}
    process = envcheck.start("resolve", "torch", "--cpu", "--format", "pylock")
    assert until(lambda: mark.exists() and mark.read_text().strip())
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert list(temporary.iterdir()) == []
    assert until(lambda: not alive(int(Path(mark).read_text())))
