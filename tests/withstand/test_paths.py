"""Paths that cannot be used: exit 2 with the path and the reason, from every command, for a plain user too."""

import os
import shutil

import pytest

NOBODY = 65534
COMMANDS = [
    ["inspect", "{}"],
    ["inspect", "torch", "--python", "{}"],
    ["doctor", "--image", "{}"],
    ["doctor", "--host", "{}"],
    ["doctor", "--log", "{}"],
    ["doctor", "--report", "{}"],
    ["doctor", "--python", "{}"],
    ["resolve", "torch", "--cpu", "--host", "{}"],
    ["resolve", "--plan", "{}"],
    ["resolve", "torch", "--cpu", "-o", "{}"],
    ["dockerfile", "--framework", "torch", "--cpu", "--config", "{}"],
    ["dockerfile", "--framework", "torch", "--cpu", "-o", "{}"],
    ["build", "--framework", "torch", "--cpu", "--tag", "x:1", "--context", "{}"],
    ["verify", "x:1", "--plan", "{}"],
    ["probe", "--python", "{}"],
    ["lint", "{}"],
    ["ci", "--config", "{}"],
    ["matrix", "check", "{}"],
    ["matrix", "diff", "{}", "{}"],
    ["resolve", "torch", "--cpu", "--matrix", "{}"],
]


def refused(envcheck, words, path, **more):
    code, out, err = envcheck(*[word.format(path) for word in words], **more)
    assert "Traceback" not in err
    assert code in {2, 3}, err
    assert path[:60] in err
    return code, out, err


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_name_that_is_too_long(envcheck, words):
    code, _, _ = refused(envcheck, words, "/tmp/" + "a" * 300)
    assert code == 2


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_path_that_is_too_long(envcheck, words):
    code, _, _ = refused(envcheck, words, "/tmp/" + "a/" * 2500)
    assert code == 2


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can give a folder away")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_folder_of_somebody_else(envcheck, words, tmp_path):
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    (folder / "x.so").write_bytes(b"")
    os.chown(folder, NOBODY, NOBODY)
    plain = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]  # what lets root open everything
    code, _, _ = refused(envcheck, words, str(folder / "x.so"), before=plain)
    assert code == 2


def test_an_interpreter_that_hangs_is_named_within_the_deadline(envcheck):
    hung = envcheck.folder / "python3"
    hung.write_text("#!/bin/sh\nexec sleep 99173\n")
    hung.chmod(0o755)
    for words in (["inspect", "torch"], ["probe", "--timeout", "3"], ["doctor", "--timeout", "3"]):
        code, _, err = envcheck(*words, "--python", "./python3", timeout=60)
        assert code == 2
        assert "did not answer within" in err


def test_a_pipe_that_nobody_reads_is_not_waited_for(envcheck):
    os.mkfifo(envcheck.folder / "pipe")
    _, out, err = refused(envcheck, ["resolve", "torch", "--cpu", "-o", "{}"], "pipe", timeout=60)
    assert (out, err.splitlines()[0]) == (
        "",
        "envcheck: --output pipe: cannot be written: it is a pipe that nothing reads",
    )
