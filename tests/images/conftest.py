"""Plans to write images from: hand-made ones, one for each family, and a Dockerfile reader that shares no code with us."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compat.plan import load

PLANS = Path(__file__).parent / "plans"


def plan_of(name):
    return load(json.loads((PLANS / f"{name}.json").read_text()), name).plan


@pytest.fixture
def plan(request):
    """The plan that a test names by ``indirect`` parametrisation; the CUDA one otherwise."""
    return plan_of(getattr(request, "param", "torch_cuda"))


@pytest.fixture
def plans():
    return {path.stem: plan_of(path.stem) for path in sorted(PLANS.glob("*.json"))}


def instructions(text):
    """(keyword, rest) of each instruction, lines joined and comments dropped as the builder's parser does it."""
    found, held = [], ""
    for line in text.split("\n"):
        if line.lstrip().startswith("#") or (not line.strip() and not held):
            continue
        held += line.removesuffix("\\")
        if not line.endswith("\\"):
            keyword, _, rest = held.strip().partition(" ")
            found.append((keyword, rest.strip()))
            held = ""
    return found


def words(rest):
    """Key and value of each pair of an ENV or LABEL, unquoted by the builder's rules; a bare ``$`` is an error."""
    found = {}
    for match in re.finditer(r'([\w.\-]+)="((?:[^"\\]|\\.)*)"', rest):
        value = match[2]
        assert not re.search(r"(?<!\\)(?:\\\\)*\$", value.replace("${PATH}", "")), f"{match[1]} expands a variable"
        found[match[1]] = re.sub(r"\\(.)", r"\1", value)
    return found


@pytest.fixture
def parsed():
    return instructions


@pytest.fixture
def unquoted():
    return words


def library(folder, name, source, *options):
    """A folder with a library of our making."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(folder / name), str(Path(__file__).parent / source)]
    subprocess.run([*words, "-lm", "-lpthread", *options], check=True)
    return folder


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """A folder with a libcuda.so.1 of our making."""
    return library(tmp_path_factory.mktemp("driver"), "libcuda.so.1", "libcuda.c")


@pytest.fixture(scope="session")
def hip(tmp_path_factory):
    """A folder with a libamdhip64.so of our making."""
    return library(tmp_path_factory.mktemp("hip"), "libamdhip64.so", "libamdhip64.c")
