"""Variants of a release that only an extra brings: the plan asks for the one that the target needs, and for its parts."""

from __future__ import annotations

import pytest

from compat.matrix import matrix
from compat.resolve import resolve
from compat.resolve.target import from_options

MATRIX = matrix()


@pytest.mark.parametrize(
    ("asked", "runtime", "jaxlib"),
    [
        # as setup.py and README.md of each release's source archive say
        ("jax[cuda]==0.4.3", "cuda11.8", "0.4.3+cuda11.cudnn86"),
        ("jax[cuda11_cudnn82]==0.4.3", "cuda11.4", "0.4.3+cuda11.cudnn82"),
        ("jax[cuda]==0.3.8", "cuda11.4", "0.3.7+cuda11.cudnn82"),
        ("jax[cuda11_cudnn805]==0.3.25", "cuda11.1", "0.3.25+cuda11.cudnn805"),
        ("jax[cuda12_pip]==0.4.8", "cuda12.0", "0.4.7+cuda12.cudnn88"),
        ("jax[cuda12_pip]==0.4.20", "cuda12.2", "0.4.20+cuda12.cudnn89"),
    ],
)
def test_early_jax_gets_the_jaxlib_that_its_extra_pins(asked: str, runtime: str, jaxlib: str) -> None:
    plan = resolve([asked, "jaxlib"], from_options(MATRIX, gpus=["A100"]), MATRIX).plan
    assert plan is not None
    assert {one.name: (one.version, one.runtime) for one in plan.builds}["jaxlib"] == (jaxlib, runtime)


def test_jaxlib_alone_is_planned_with_a_jax_that_imports_it() -> None:
    plan = resolve(["jaxlib"], from_options(MATRIX, gpus=["sm_35"]), MATRIX).plan
    assert plan is not None
    versions = {one.name: one.version.partition("+")[0] for one in plan.builds}
    assert versions["jax"] == versions["jaxlib"]


@pytest.mark.parametrize(
    ("options", "extra"),
    [({"gpus": ["L4"]}, "cuda13"), ({"gpus": ["L4"], "driver": "550.54.14"}, "cuda12"), ({}, "cpu")],
)
def test_mlx_on_linux_is_asked_for_with_the_extra_that_brings_its_library(options: dict[str, str], extra: str) -> None:
    target = from_options(MATRIX, **options, arch="x86_64")  # type: ignore[arg-type]
    plan = resolve(["mlx"], target, MATRIX, cpu=not options).plan
    assert plan is not None
    assert [(one.requirement.partition("==")[0], one.runtime[:4]) for one in plan.builds] == [
        (f"mlx[{extra}]", extra[:4].rstrip("1"))
    ]
