"""A command of its own process, as a shell starts it, and programs that misbehave."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ENVCHECK = shutil.which("envcheck", path=str(Path(sys.executable).parent))


@pytest.fixture
def envcheck(tmp_path):
    """Start ``envcheck`` with words in a folder of its own; ``start`` gives the process, the call waits for its end."""

    class Command:
        def __init__(self):
            self.folder = tmp_path / "here"
            self.folder.mkdir()
            self.env = {**os.environ, "NO_COLOR": "1", "XDG_CONFIG_HOME": str(tmp_path / "config")}

        def start(self, *words, before=(), **more):
            how = {"cwd": self.folder, "env": self.env, "stdin": subprocess.DEVNULL, **more}
            how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
            return subprocess.Popen([*before, ENVCHECK, *words], **how)

        def __call__(self, *words, timeout=240, **more):
            process = self.start(*words, **more)
            out, err = process.communicate(timeout=timeout)
            return process.returncode, out, err

        def measured(self, *words, **more):
            """Exit code, both outputs, and the most memory (MiB) that the command or a program of its own took."""
            with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
                process = self.start(*words, **more, stdout=out, stderr=err)
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                texts = [stream.seek(0) or stream.read() for stream in (out, err)]
                return process.returncode, *texts, used.ru_maxrss >> 10

    return Command()


@pytest.fixture
def stub(tmp_path):
    """Write a program of that name into a folder that stands first on PATH; its folder."""
    folder = tmp_path / "stubs"
    folder.mkdir()

    def write(name, text):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    write.folder = folder
    return write


@pytest.fixture
def compiled():
    """Build a shared library from C; skips where no compiler is."""

    def build(source, target):
        if shutil.which("gcc") is None:
            pytest.skip("needs gcc")
        words = ["gcc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", str(target)]
        subprocess.run(words, input=source, text=True, check=True)
        return target

    return build
