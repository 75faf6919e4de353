"""Streams as they come: closed, full, in another encoding, cut off; and names that are no text."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ENVCHECK = [sys.executable, "-m", "compat"]
ANSWER = ["matrix", "list"]
VERSION = ["--version"]
ROOT = Path(__file__).resolve().parents[2]


def ran(words, shell="", **env):
    """(exit code, output, errors) of a process; ``shell`` is a redirection."""
    command = ["sh", "-c", f'exec "$@" {shell}', "sh", *ENVCHECK, *words]
    where = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **env}
    done = subprocess.run(command, capture_output=True, env=where, input=b"")
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("words", [VERSION, ANSWER], ids=" ".join)
@pytest.mark.parametrize(("shell", "expected"), [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0), (">/dev/full", 2)])
def test_a_stream_that_takes_nothing_is_no_traceback(words, shell, expected):
    if "full" in shell and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    code, _, err = ran(words, shell)
    assert code == expected
    assert "Traceback" not in err
    assert ("No space left" in err) == (expected == 2)


def test_a_closed_input_is_named():
    code, out, err = ran(["doctor", "--report", "-"], "<&-")
    assert (code, out) == (2, "")
    assert "standard input: is closed" in err


@pytest.mark.parametrize("env", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "C"}])
def test_answers_are_utf_8_in_every_locale(env):
    code, out, _ = ran(["resolve", "torch==2.6.0", "--gpu", "RTX 5090", "--driver", "570.26"], **env)
    assert code == 1
    assert out.startswith("✗ These do not fit together.")


def test_a_name_that_is_no_text_is_answered_in_text(tmp_path):
    path = os.fsencode(tmp_path) + b"/Docker\xfffile"
    try:
        Path(os.fsdecode(path)).write_text("FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN pip install torch\n")
    except OSError:
        pytest.skip("this file system keeps names in UTF-8")
    for format_ in ("text", "json", "sarif", "github", "junit", "markdown", "html"):
        code, out, err = ran(["lint", os.fsdecode(path), "--format", format_])
        assert code == 1, err
        assert out
        if format_ == "json":
            assert json.loads(out)["findings"]


def test_without_home_path_or_folder_there_is_an_answer(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    command = ["sh", "-c", f'cd {gone} && rmdir {gone} && exec "$@"', "sh", *ENVCHECK, "doctor", "--fail-on", "never"]
    done = subprocess.run(command, capture_output=True, env={"PYTHONPATH": str(ROOT)}, input=b"")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"envcheck doctor")


def test_an_interrupt_while_modules_load_is_130_too():
    script = (
        "import sys; from compat.__main__ import main\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder()); sys.argv = ['envcheck', 'doctor']; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "envcheck: interrupted\n")
