"""What the shell completes, asked as the shell asks."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("words", "has"),
    [
        (("resolve", "tor"), "torch"),
        (("dockerfile", "torch==2.9"), "torch==2.9.1"),
        (("resolve", "torch", "--gpu", "409"), "4090"),
        (("lint", "--select", "no-gp"), "no-gpu-here"),
        (("explain", "driver-too-old"), "driver-too-old-for-runtime"),
        (("doctor", "--format", "sar"), "sarif"),
        (("do",), "doctor"),
    ],
)
def test_the_shell_is_told_what_fits(words, has):
    line = {
        "COMP_WORDS": " ".join(["envcheck", *words]),
        "COMP_CWORD": str(len(words)),
        "_ENVCHECK_COMPLETE": "complete_bash",
    }
    done = subprocess.run([sys.executable, "-m", "compat"], env={**os.environ, **line}, capture_output=True, text=True)
    assert has in done.stdout.split()
    assert all(word.startswith(words[-1].partition("=")[0]) for word in done.stdout.split())
