"""Sentences about the writer's machine: what they state is read, what they only speak of is not."""

from __future__ import annotations

import pytest

from compat import reading, rules
from compat.app.hosts import named
from compat.matrix import matrix

STATED = [
    ("I get this error on my Tesla K40c:", {"gpus": ["Tesla K40c"]}),
    ("I use PyTorch 2.0.1+cu117 and Ubuntu 20.04.", {"torch": "2.0.1+cu117", "os": "ubuntu20.04"}),
    ("I have a GTX 980M with driver 450.80 here.", {"gpus": ["GTX 980M"], "driver": "450.80"}),
    (
        "HIP error when running on my RX 6700 XT, PyTorch 2.4.0+rocm6.1",
        {"gpus": ["RX 6700 XT"], "torch": "2.4.0+rocm6.1"},
    ),
    ("We run 2x H100 with vLLM 0.6.1, python 3.10.", {"gpus": ["H100", "H100"], "vllm": "0.6.1", "python": "3.10"}),
    ("My server has four RTX A6000 in it.", {"gpus": ["RTX A6000"] * 4}),
    ("My laptop has an RTX 4070 Laptop GPU, windows 11.", {"gpus": ["RTX 4070 Laptop GPU"], "os": "windows11"}),
    ("The server in question is running Ubuntu 22.04.3 LTS here", {"os": "ubuntu22.04"}),
    ("I'm running Fedora 39 server with the drivers installed", {"os": "fedora39"}),
    ("On numpy 2.0.0 and torch 2.1.2:", {"numpy": "2.0.0", "torch": "2.1.2"}),
    ("It fails on Python 3.11 with ROCm 6.1 here", {"python": "3.11", "rocm": "6.1"}),
    ("I installed tensorflow 2.17 with pip install tensorflow.", {"tensorflow": "2.17"}),
    ("I'm on torch 2.1 + cu121 and my card is an MI250X.", {"torch": "2.1+cu121", "gpus": ["MI250X"]}),
    ("我的显卡是 RTX 3060, python 3.9", {"gpus": ["RTX 3060"], "python": "3.9"}),
]
"""A sentence, and what it states."""

LISTED = [
    ("I run it with python3.9, cuda 11.3, torch 1.10.0", ("3.9", "11.3", "1.10.0")),
    ("My system has CUDA 11.3 and PyTorch 1.10.0+cu113 on Ubuntu 20.04, they say.", (None, "11.3", "1.10.0+cu113")),
    (
        "We use an RTX 3090 (driver 470.57.02), CUDA toolkit 11.4 + torch 1.12.1 + cu113.",
        (None, "11.4", "1.12.1+cu113"),
    ),
    ("My environment is pytorch 1.12 and cuda11.3 @someone", (None, "11.3", "1.12")),
    ("我的环境: python 3.9，CUDA 11.3", ("3.9", "11.3", None)),
    ("The system is Ubuntu 16.04. The driver is 440.44, and torch 1.10.0.", (None, None, "1.10.0")),
    ("I use CUDA 11.3 with torch 1.10.0.", (None, None, "1.10.0")),  # two are no list
    ("I use python 3.9, and CUDA 11.3 is what my colleague has, with torch 1.10.0.", (None, None, None)),
    ("I want to use python 3.9, cuda 11.3, torch 1.10.0", (None, None, None)),
    ("Does it run with python 3.9, cuda 11.3, torch 1.10.0?", (None, None, None)),
    ("It was tested with python 3.9, cuda 11.3, torch 1.10.0", (None, None, None)),
    ("I use python 3.9, cuda 11.3, torch 1.10.0. The image has CUDA 12.1.", ("3.9", None, "1.10.0")),
    ("I ran apt install python3.9 and then used it.", (None, None, None)),
    ("My module is in /usr/lib/python3.9/site-packages/torch-1.10.0, as usual.", (None, None, None)),
]
"""A sentence with a list in it, and its Python, CUDA and torch."""

SPOKEN_OF = [
    "Does torch 2.0.1 support my K80?",
    "I upgraded from driver 525.60 to driver 535.104 and now it fails.",
    "It works fine with torch 2.0.1 on my machine.",
    "You need driver 535.104 for my script.",
    "My project requires Python 3.11.",
    "I tried PyTorch 2.1.0 before.",
    "If I use Ubuntu 22.04 it is slow.",
    "My friend runs this on an RTX 4090.",
    "I had a TensorFlow 2.11 environment.",
    "Torch 2.1.2 was compiled with NumPy 1.26, which I did not know.",
    "I would like to buy an RTX 5090.",
    "My RTX 3060 is fast. My RTX 5090 is not.",
    "I run torch 2.0.1. In the image I run torch 2.1.0.",
    "I read that CUDA 12.1 is on my system.",
]
"""Sentences that name things and state none of them, or none that is certain."""


def read(text):
    host = reading.read(text).host
    told = {name: host.value(name) for name in ("os", "driver", "python", "rocm") if host.value(name)}
    told |= host.packages or {}
    return told | ({"gpus": [gpu.name for gpu in host.gpus]} if host.gpus else {})


@pytest.mark.parametrize(("text", "facts"), STATED)
def test_what_a_sentence_states_of_the_machine_is_a_fact(text, facts):
    assert read(f"Hello all.\n\n{text}\n\nRuntimeError: something went wrong\n") == facts


@pytest.mark.parametrize(("text", "stated"), LISTED)
def test_cuda_counts_in_a_list_and_all_bars_hold_for_lists(text, stated):
    host = reading.read(f"Hello all.\n\n{text}\n").host
    assert (host.python, host.cuda_toolkit, (host.packages or {}).get("torch")) == stated


@pytest.mark.parametrize("text", SPOKEN_OF)
def test_what_a_sentence_only_speaks_of_is_none(text):
    assert read(f"Hello all.\n\n{text}\n") == {}


def test_line_of_the_sentence_is_cited():
    host = reading.read("Hi,\n\nI see this on my Tesla T4.\n").host
    assert host.source("gpus") == "prose line 3"


def test_what_a_program_prints_outweighs_a_sentence():
    text = "I use PyTorch 2.1.0 here.\n\nPyTorch version: 2.0.1+cu118\nIs debug build: False\nOS: Ubuntu 22.04\n"
    assert reading.read(text).host.packages["torch"] == "2.0.1+cu118"


def test_coarse_word_and_fine_one_are_no_contradiction():
    assert read("My Python 3.10 is from apt.\nI see it with python 3.10.12 only.") == {"python": "3.10"}


def test_sentence_stays_in_the_text_in_which_faults_are_looked_for():
    text = "I get no kernel image is available on my Tesla K40c with PyTorch 2.0.1+cu117.\n"
    assert reading.read(text).rest(text) == text


@pytest.mark.parametrize(
    ("card", "code"), [("Tesla K40c", "arch-too-old-for-build"), ("RTX 5090", "arch-too-new-for-build")]
)
def test_prose_decides_between_the_causes_of_one_message(card, code):
    message = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    text = f"I see this on my {card} with PyTorch 2.0.1+cu117:\n\n{message}\n"
    page = reading.read(text)
    found = rules.judge(named(page.host, matrix()), matrix(), error=page.rest(text)).findings
    assert found[0].code == code
    assert any(item.source == "prose line 1" for item in found[0].evidence)
