"""Work grows with the length of a file, and not with its square: counted, so that no machine is too slow to pass."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "growth.py"


@pytest.fixture(scope="module")
def growth():
    spec = importlib.util.spec_from_file_location("growth", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "case", ["requirements", "companions", "stages", "here-document", "documents", "script", "chain", "GPUs", "log"]
)
def test_twice_the_file_is_at_most_twice_the_work(growth, case):
    assert growth.exponent(case) <= 1.2
