"""A machine with little of everything: an answer, or what it lacks with exit code 3; never a traceback."""

import os
import resource
import shutil
import sys

import pytest

COMMANDS = [["doctor"], ["resolve", "torch", "--cpu"], ["lint", "requirements.txt"]]
LIMITS = {
    "memory of 200 MB": (resource.RLIMIT_AS, 200 << 20),
    "16 files": (resource.RLIMIT_NOFILE, 16),
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_little_is_enough_or_is_named(envcheck, limit, words):
    kind, most = LIMITS[limit]
    (envcheck.folder / "requirements.txt").write_text("torch==2.9.1\n")
    code, out, err = envcheck(*words, preexec_fn=lambda: resource.setrlimit(kind, (most, most)))
    assert "Traceback" not in err
    assert code in {0, 1, 3}
    assert code != 3 or out or "may have no more" in err or "could not" in err or "cannot" in err


def test_where_no_program_can_be_started_nothing_is_wrong_with_the_one_that_was_named(envcheck):
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))  # noqa: E731
    code, _, err = envcheck("probe", preexec_fn=few)
    assert (code, err.partition(": ")[2]) == (3, f"{sys.executable} could not be started: Too many open files\n")


def test_the_configuration_of_somebody_else_is_passed_over(envcheck, tmp_path):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can give a folder away")
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    os.chown(home, 65534, 65534)
    envcheck.env = {key: text for key, text in envcheck.env.items() if key != "XDG_CONFIG_HOME"} | {"HOME": str(home)}
    plain = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    assert envcheck("resolve", "torch", "--cpu", before=plain)[::2] == (0, "")


def test_where_no_thread_can_be_started_the_questions_are_asked_one_by_one(monkeypatch):
    import threading

    from compat.detect.threads import gather

    def refuse(_self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert gather({"a": lambda: 1, "b": lambda: 2}) == {"a": 1, "b": 2}


def test_a_server_that_can_start_no_thread_says_so(monkeypatch, capsys):
    import threading

    from compat import cli

    def refuse(_self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert cli.run(["mcp"]) == 3
    assert capsys.readouterr().err == "envcheck: this process may have no more threads; raise its limit (ulimit -u)\n"
