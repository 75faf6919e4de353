"""An answer is the same text in every process: the order of a set differs with the hash seed and decides nothing."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
from compat.matrix import matrix
from compat.resolve import resolve
from compat.resolve.target import from_options
data = matrix()
for words in sys.argv[1:]:
    host = from_options(data, gpus=["sm_89"], driver="580.65.06")
    print(repr(resolve(words.split(), host, data)))
"""
# The builds of each request disagree about several dependencies at once, of which the answer names one.
REQUESTS = ("tensorflow==2.16.2 jax==0.10.1", "torch==2.6.0 tensorflow==2.17.1")


def said(seed: int) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = [sys.executable, "-c", SCRIPT, *REQUESTS]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.splitlines()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_answers_do_not_depend_on_the_hash_seed(seed: int) -> None:
    answers = said(seed)
    assert len(answers) == len(REQUESTS)
    assert all("requires" in answer for answer in answers)
    assert answers == said(0)
