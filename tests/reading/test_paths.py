"""Paths, prompts and names of compiled files tell of the machine; code, recipes and paths that disagree tell nothing."""

from __future__ import annotations

import pytest

from compat.reading import read

TOLD = [
    ('  File "/home/me/x.py", line 3, in <module>', {"platform": "linux"}),
    ('  File "/Users/me/train.py", line 3, in <module>', {"platform": "darwin"}),
    ('  File "/Applications/ComfyUI.app/Contents/Resources/x.py", line 3', {"platform": "darwin"}),
    (r'Error loading "C:\tools\py\Lib\site-packages\torch\lib\shm.dll"', {"platform": "windows"}),
    (r"PS C:\Users\me> pip list", {"platform": "windows"}),
    ("Obtaining file:///D:/src/x", {"platform": "windows"}),
    ("pip install fused-1.0-cp310-cp310-win_amd64.whl", {"platform": "windows", "arch": "x86_64"}),
    ("ImportError: DLL load failed while importing fused: a part is missing", {"platform": "windows"}),
    ("DLL load failed while importing fused", {"platform": "windows"}),
    ("uname -r: 5.15.153.1-microsoft-standard-WSL2", {"platform": "wsl2", "kernel": "5.15.153.1-microsoft-standard-WSL2"}),
    ("/usr/lib/wsl/lib/libcuda.so.1: file too short", {"platform": "wsl2"}),
    ("/opt/venv/lib/python3.9/site-packages/torch/__init__.py:42: UserWarning", {"python": "3.9"}),
    (r'File "C:\Python310\Lib\site-packages\torch\cuda.py", line 1', {"python": "3.10", "platform": "windows"}),
    ("ImportError: fused.cpython-311-aarch64-linux-gnu.so", {"python": "3.11", "arch": "aarch64", "platform": "linux"}),
    ("/root/miniconda3/envs/x/lib/python3.8/site-packages/a.py", {"python": "3.8", "python_environment": "conda"}),
    ("Python 3.9.1 (tags/v3.9.1:1e5d33e) [MSC v.1927 32 bit (Intel)]", {"platform": "windows", "arch": "i686"}),
    (r"pip 23.0 from D:\py\Python39-32\lib\site-packages\pip", {"arch": "i686", "python": "3.9"}),
    (r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.4\bin\nvcc.exe failed", {"cuda_toolkit": "12.4"}),
    ("Cannot read /opt/rocm-5.7.0/lib/rocblas/library/TensileLibrary.dat", {"rocm": "5.7.0"}),
    ("[Clang 13.0.0 (clang-1300.0.29.30)]", {"platform": "darwin"}),
    ("root@0a1b2c3d4e5f:~# ls", {"container": "docker"}),
    (
        "/home/me/.local/share/pipx/venvs/x/lib/python3.9/site-packages/a.py",
        {"python_environment": "pipx", "python_path": "pipx/venvs/x/bin/python"},
    ),
    ("/home/me/.venv/lib/python3.12/site-packages/a.py", {"python": "3.12", "python_environment": "venv"}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "facts"), TOLD, ids=[line[:40] for line, _ in TOLD])
def test_a_path_tells_of_its_machine(line, facts):
    host = read(f"Traceback (most recent call last):\n{line}\n").host
    assert {name: host.value(name) for name in facts} == facts
    assert all("path line 2" in host.source(name) for name in facts)


def test_a_folder_in_advice_is_no_toolkit():
    text = "then, unzip it and copy it into C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v9.2"
    assert not read(text).host.known("cuda_toolkit")


@pytest.mark.parametrize(
    "text",
    [
        "/a/lib/python3.9/site-packages/x.py\n/a/lib/python3.10/site-packages/x.py",
        "COPY --from=a /opt/venv/lib/python3.9/ /opt/",
        "# put it into /usr/lib/python3.9/",
        "sys.path.append('/opt/x/lib/python3.9/site-packages')",
        "see https://example.org/lib/python3/page",
        "root@database00: a host of twelve letters",
    ],
)
def test_other_paths_tell_no_python(text):
    assert not read(text).host.known("python")


def test_a_program_outweighs_a_path():
    text = "PyTorch version: 2.4.0\nPython version: 3.11.5 (main) [GCC 11.4.0] (64-bit runtime)\n/x/lib/python3.9/site-packages/a.py"
    assert read(text).host.python == "3.11.5"


def test_a_path_makes_no_report_of_a_text():
    text = 'File "/home/me/x.py", line 3\nsomething odd\n'
    assert read(text).rest(text) == text
