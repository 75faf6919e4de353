"""Command lines in a text: behind a prompt, or by programs that a shell calls; never a sentence about them."""

from __future__ import annotations

import pytest

from compat.reading import read
from compat.reading.commands import typed


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("$ docker run --rm nvidia/cuda nvidia-smi", "docker run --rm nvidia/cuda nvidia-smi"),
        ("docker run --rm \\\n    --gpus all IMAGE\nError response", "docker run --rm --gpus all IMAGE"),
        ("(base) me@host:~/x$ pip install torch==2.0.1+cu118", "pip install torch==2.0.1+cu118"),
        ("root@box:/# make", "make"),
        (r"PS C:\Users\me> pip install torch", "pip install torch"),
    ],
)
def test_a_command_is_found(text, command):
    assert typed(text) == (command,)


@pytest.mark.parametrize(
    "text",
    ["I ran docker run and it works", "Then pip install torch fixed it", "# pip install torch", "> quoted", "docker"],
)
def test_a_sentence_is_no_command(text):
    assert typed(text) == ()


def test_a_command_beside_a_report_is_kept():
    text = "Collecting environment information...\nPyTorch version: 2.4.0\nIs CUDA available: False\n\n$ docker run --rm x y\n"
    assert "docker run --rm x y" in typed(read(text).rest(text))
