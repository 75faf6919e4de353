"""Extras under several names: each name asks for the same wheels, as the published metadata says."""

import json
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from compat import sources
from compat.lint.stages import scenes
from compat.matrix import matrix
from compat.resolve import resolve
from compat.resolve.target import from_options

MATRIX = matrix()
OBSERVED = Path(__file__).parents[2] / "matrix" / "observed"
NAMED = [
    (row.package, row.version, row.extras, row.also)
    for row in MATRIX.builds("jax")
    if row.also and "wheel-metadata" in row.source
]


def required(package, version, extra):
    """What a release requires for an extra alone, as its wheel says."""
    releases = json.loads((OBSERVED / f"{package}.json").read_text())["releases"]
    lines = [Requirement(line) for line in _lines(releases[version])]
    held = {line for line in lines if line.marker and line.marker.evaluate({"extra": extra})}
    return {str(line).partition(";")[0].strip() for line in held if not line.marker.evaluate({"extra": ""})}


def _lines(found):
    if isinstance(found, str):
        return [found] if "extra ==" in found else []
    inner = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return [line for one in inner for line in _lines(one)]


@pytest.mark.parametrize(("package", "version", "extras", "also"), NAMED, ids=[f"{one[1]}-{one[2]}" for one in NAMED])
def test_each_name_requires_the_same(package, version, extras, also):
    wanted = required(package, version, extras[0])
    assert wanted
    assert {name: required(package, version, name) for name in also} == dict.fromkeys(also, wanted)


@pytest.mark.parametrize(
    ("asked", "extra"),
    [
        ("jax[cuda]==0.6.2", "cuda12"),
        ("jax[CUDA]==0.6.2", "cuda12"),
        ("jax[cuda12]==0.6.2", "cuda12"),
        ("jax[cuda12_pip]==0.5.0", "cuda12-pip"),  # PEP 685: an underscore is a dash
    ],
)
def test_any_name_gets_the_build_with_its_cuda(asked, extra):
    answer = resolve([asked], from_options(MATRIX, gpus=["A100"], driver="570.26"), MATRIX)
    assert answer.plan
    assert [(one.extras, one.cuda_from) for one in answer.plan.builds if one.name == "jax"] == [((extra,), "packages")]


def test_lint_knows_which_cuda_a_name_brings():
    text = "FROM python:3.12-slim-bookworm\nRUN pip install 'jax[cuda]==0.6.2'\nUSER 1000\n"
    taken = [item for scene in scenes(sources.read(text, "Dockerfile"), MATRIX) for item in scene.taken]
    assert [item.outcome.build and item.outcome.build.extras for item in taken] == [("cuda12",)]
