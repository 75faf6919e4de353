"""Files and pipes that people name: a pipe with a writer is read to its end, one without is not waited for."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from compat.app.files import read_text
from compat.errors import InputError
from compat.inputs import opened

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_pipe_that_nobody_writes_to_is_refused_and_not_waited_for(pipe):
    with pytest.raises(InputError, match=r"is a pipe, and nothing came out of it in 0\.01 seconds"):
        opened(pipe, patience=0.01)


def test_a_writer_that_comes_late_is_heard_to_the_end(pipe):
    text = "CUDA error: no kernel image is available\n" * 20_000  # far more than a pipe holds
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    assert read_text(str(pipe)) == text
    writer.join()


def test_a_pipe_closed_without_a_word_is_empty(pipe):
    writer = threading.Thread(target=pipe.write_bytes, args=(b"",))  # comes and goes once somebody reads
    writer.start()
    assert read_text(str(pipe)) == ""
    writer.join()


def test_a_pipe_without_a_name_is_waited_for_however_long_it_is_silent():
    ours, theirs = os.pipe()
    with opened(f"/dev/fd/{ours}", patience=0) as stream:
        os.write(theirs, b"late")
        os.close(theirs)
        os.close(ours)
        assert stream.read() == b"late"


def test_a_folder_and_a_missing_file_are_refused_as_ever(tmp_path):
    with pytest.raises(IsADirectoryError):
        opened(tmp_path)
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "none")


def test_a_refused_pipe_stays_open_for_nobody(pipe):
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(20):
        with pytest.raises(InputError):
            opened(pipe, patience=0)
    assert len(list(Path("/dev/fd").iterdir())) == before


@pytest.mark.parametrize("source", ["<(echo said)", "/dev/stdin", "-"])
def test_the_pipes_of_a_shell_are_read(source):
    program = "import sys; from compat.app.files import read_text; print(read_text(sys.argv[1]))"
    line = f"echo said | '{sys.executable}' -c '{program}' {source}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "said", done.stderr
