"""A stranger's folder: no file of it is run, whatever the command."""

import os
import sys

import pytest

NAMES = [
    "re",
    "contextlib",
    "json",
    "typing",
    "enum",
    "signal",
    "subprocess",
    "selectors",
    "tempfile",
    "random",
    "site",
    "sitecustomize",
    "usercustomize",
    "pip",
    "docker",
    "pynvml",
    "ctypes",
    "logging",
    "platform",
    "argparse",
    "importlib",
    "inspect",
    "email",
    "hashlib",
    "base64",
    "tomllib",
    "yaml",
    "jinja2",
    "packaging",
    "requests",
]
COMMANDS = [
    ["doctor"],
    ["host"],
    ["doctor", "--python", sys.executable],
    ["resolve", "torch", "--cpu"],
    ["resolve", "torch", "--cpu", "--format", "pylock"],
    ["inspect", "torch==2.9.1", "--gpu", "V100"],
    ["inspect", "pytest"],
    ["dockerfile", "--framework", "torch", "--cpu"],
    ["build", "--framework", "torch", "--cpu", "--tag", "x:1"],
    ["verify", "none:1"],
    ["probe"],
    ["probe", "--python", sys.executable],
    ["lint", "requirements.txt"],
    ["ci", "torch", "--runtime", "cpu", "--format", "bake"],
    ["matrix", "check"],
    ["explain"],
]


@pytest.fixture
def planted(envcheck, tmp_path):
    """A folder full of modules, tools, environments and libraries that tell when they are run; the folder of the marks."""
    marks = tmp_path / "marks"
    marks.mkdir()
    for name in NAMES:
        text = f"open({str(marks / name)!r}, 'w')\nraise SystemExit(1)\n"
        (envcheck.folder / f"{name}.py").write_text(text)
    (envcheck.folder / ".venv" / "bin").mkdir(parents=True)
    (envcheck.folder / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.0\n")
    for program in (
        "python",
        "python3",
        "uv",
        "docker",
        "nvidia-smi",
        "nvcc",
        "gcc",
        ".venv/bin/python",
        ".venv/bin/python3",
    ):
        path = envcheck.folder / program
        path.write_text(f"#!/bin/sh\ntouch {marks}/{path.name}\n")
        path.chmod(0o755)
    (envcheck.folder / "requirements.txt").write_text("torch==2.9.1\n")
    # no index is reached: its way leads nowhere
    envcheck.env = {key: text for key, text in envcheck.env.items() if not key.startswith(("PIP_", "UV_"))}
    envcheck.env |= {"PATH": f":.:{os.environ['PATH']}", "LD_LIBRARY_PATH": ":", "PIP_CONFIG_FILE": os.devnull}
    envcheck.env |= {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1", "NO_PROXY": "", "no_proxy": ""}
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        envcheck.env[name] = "http://127.0.0.1:9"
    return marks


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_file_of_the_current_folder_is_run(envcheck, planted, words):
    code, _, err = envcheck(*words)
    assert [path.name for path in planted.iterdir()] == []
    assert code in {0, 1, 2, 3}
    assert "Traceback" not in err


def test_a_library_of_the_current_folder_is_not_loaded(envcheck, planted, tmp_path, compiled):
    mark = planted / "library"
    source = f'#include <stdio.h>\n__attribute__((constructor)) static void f(void) {{ fopen("{mark}", "w"); }}\n'
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libamdhip64.so"):
        compiled(source, envcheck.folder / name)
    for words in (["doctor"], ["probe"], ["probe", "--expect", "cuda12.8"]):
        envcheck(*words)
        assert not mark.exists()
