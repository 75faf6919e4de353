"""Lists without labels: read where lines consist of nothing else, and left alone in prose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import reading

LISTS = {
    "one to a line": ("cuda 11.3\ncudnn 8.2.1\n", {"cuda_toolkit": "11.3", "cudnn": "8.2.1"}),
    "bullets": ("- CUDA 11.3\n- cuDNN 8.2.1\n", {"cuda_toolkit": "11.3", "cudnn": "8.2.1"}),
    "bold": ("**CUDA 11.3**\n**Python 3.8**\n", {"cuda_toolkit": "11.3", "python": "3.8"}),
    "glued": ("CUDA11.3\ncudnn8.2.1\n", {"cuda_toolkit": "11.3", "cudnn": "8.2.1"}),
    "commas": ("CUDA 11.3, cuDNN 8.2.1, Python 3.9\n", {"cuda_toolkit": "11.3", "cudnn": "8.2.1", "python": "3.9"}),
    "semicolons": ("CUDA 11.3; cuDNN 8.2.1\n", {"cuda_toolkit": "11.3", "cudnn": "8.2.1"}),
    "full-width commas": ("CUDA 11.3，cuDNN 8.2.1\n", {"cuda_toolkit": "11.3", "cudnn": "8.2.1"}),
    "behind a label": ("My setup: Ubuntu 20.04, CUDA 11.3\n", {"os": "ubuntu20.04", "cuda_toolkit": "11.3"}),
    "a blank line between": ("Ubuntu 20.04\n\nCUDA 11.3\n", {"os": "ubuntu20.04", "cuda_toolkit": "11.3"}),
    "with v": ("CUDA v11.3\nPython v3.9.1\n", {"cuda_toolkit": "11.3", "python": "3.9.1"}),
    "with equals": ("cuda==11.3\npython=3.9\n", {"cuda_toolkit": "11.3", "python": "3.9"}),
    "driver": ("NVIDIA driver 470.57.02\nCUDA 11.3\n", {"driver": "470.57.02", "cuda_toolkit": "11.3"}),
}

PROSE = {
    "a sentence": "I use CUDA 11.3 and it fails.\nPython 3.8 is what the README asks for.\n",
    "one line alone": "It works with another one:\n\nCUDA 11.3\n\nbut not here, and that is all that I know of it.\n",
    "system alone": "Ubuntu 20.04\n\nis fine too, they say.\n",
    "ranges": "python 3.7 - 3.9\ncuda 11.x\n",
    "a driver that is none": "driver 1.2\ndriver 3.4\n",
    "python that is none": "python 39.1\npython 4.12\n",
    "far apart": "CUDA 11.3\n" + "line of text that says something else\n" * 8 + "cuDNN 8.2.1\n",
    "models": "RTX 3090\nRTX 4090\nTesla T4\n",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_read(name):
    text, stated = LISTS[name]
    host = reading.read(text).host
    assert {fact: host.value(fact) for fact in stated} == stated


@pytest.mark.parametrize("name", PROSE)
def test_prose_is_left_alone(name):
    host = reading.read(PROSE[name]).host
    assert {
        fact: host.value(fact)
        for fact in ("cuda_toolkit", "cudnn", "python", "os", "driver", "gpus")
        if host.value(fact)
    } == {}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("RTX 3090", ["RTX 3090"]),
        ("2x RTX A5000", ["RTX A5000"] * 2),
        ("NVIDIA GeForce GTX 1080 Ti", ["NVIDIA GeForce GTX 1080 Ti"]),
        ("Tesla V100 32GB", ["Tesla V100"]),
        ("Quadro RTX 6000", ["Quadro RTX 6000"]),
        ("2x TITAN Xp", ["TITAN Xp"] * 2),
        ("nvidia-cublas-cu12 12.1.3.1", []),
    ],
)
def test_cards_beside_versions(line, names):
    host = reading.read(f"CUDA 12.1\n{line}\n").host
    assert [gpu.name for gpu in host.gpus or ()] == names


def test_what_a_program_says_outweighs_the_list():
    host = reading.read("cuda 11.3\npython 3.8\n\nPython platform: x\nPython version: 3.10.12\n").host
    assert host.python == "3.10.12"


def test_two_lists_that_contradict_each_other_state_nothing():
    host = reading.read("cuda 11.3\npython 3.8\n\ncuda 12.1\npython 3.8\n").host
    assert host.cuda_toolkit is None
    assert host.python == "3.8"


VERSION = st.from_regex(r"[1-9]\d?\.\d{1,2}", fullmatch=True)


@given(VERSION, VERSION, st.sampled_from(["\n", "\n\n", ", ", " ; ", " | ", "\n- ", " + ", "、"]))
def test_any_two_versions_are_read_as_written(cuda, cudnn, between):
    host = reading.read(f"CUDA {cuda}{between}cuDNN {cudnn}").host
    assert (host.cuda_toolkit, host.cudnn) == (cuda, cudnn)


OWN_SCRIPTS = {
    "one device told by two frameworks": (
        "Active GPU name: GTX 1650\n\nJAX\nActive GPU name: GTX 1650\n",
        ["GTX 1650"],
    ),
    "a name without a number": ("Device Name : TITAN RTX\nCudnn Version : 7605\n", ["TITAN RTX"]),
    "a computer's name": ("Device name: DESKTOP-4F2A\n", []),
    "a processor": ("Device Name: AMD Ryzen 9 5900X\n", []),
}


@pytest.mark.parametrize("name", OWN_SCRIPTS)
def test_the_device_that_a_script_of_ones_own_names(name):
    text, names = OWN_SCRIPTS[name]
    assert [gpu.name for gpu in reading.read(text).host.gpus or ()] == names


FIELDS = {
    "CUDA beside the card": ("GPU: RTX 3060, CUDA 11.2, cuDNN 8.1.1", {"cuda_toolkit": "11.2", "cudnn": "8.1.1"}),
    "the driver beside the card": ("GPU: RTX 3060, driver 535.54.03", {"driver": "535.54.03", "cuda_toolkit": None}),
    "the kind before the name": ("GPU： GPU型号GeForce GTX 1060，CUDA Version 10.1.120", {"cuda_toolkit": "10.1.120"}),
    "Python beside the system": ("系统环境：windows10、Python3.8.6", {"os": "windows10", "python": "3.8.6"}),
    "kernel and C library": (
        "OS: Ubuntu 24.04 LTS, kernel 6.8.0-45-generic, glibc 2.39",
        {"os": "ubuntu24.04", "kernel": "6.8.0-45-generic", "glibc": "2.39"},
    ),
    "packed": ("cudnn version: 90100", {"cudnn": "9.1.0"}),
    "ROCm beside the system": ("Ubuntu 22.04, ROCm 6.1", {"os": "ubuntu22.04", "rocm": "6.1"}),
    "a table's row": ("| Python | 3.12.1 (uv) |", {"python": "3.12.1"}),
    "a table of three": ("| Python | 3.12.1 | 3.11.2 |", {"python": None}),
}


@pytest.mark.parametrize("name", FIELDS)
def test_several_facts_in_one_field(name):
    line, stated = FIELDS[name]
    host = reading.read(f"{line}\n").host
    assert {fact: host.value(fact) for fact in stated} == stated


ROWS = [f"{name}  {version}" for name, version in zip("abcdefgh", ("1.2.3", "4.5.6") * 4, strict=True)]


@pytest.mark.parametrize(
    ("rows", "read"),
    [
        ([*ROWS, "numpy  1.26.4"], 9),
        (ROWS, 0),  # nothing says that these are packages
        ([*ROWS[:4], "numpy  1.26.4"], 1),  # few rows: known names alone
        (["numpy  1.26", *[f"{name}  0.98" for name in "abcdefgh"]], 1),  # figures are no versions
    ],
)
def test_a_list_cut_before_its_head(rows, read):
    assert len(reading.read("\n".join(rows)).host.packages or {}) == read
