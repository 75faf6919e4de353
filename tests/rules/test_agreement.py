"""The files are believed, and where the matrix would have said otherwise it is told."""

import pytest

from compat import facts, rules
from compat.matrix import matrix

MATRIX = matrix()


def said(kernels, path="/v/lib/python3.11/site-packages/torch/version.py", target="sm_90"):
    host = facts.host(
        "t",
        platform="linux",
        arch="x86_64",
        driver="535.54.03",
        gpus=[{"name": "H100", "vendor": "nvidia", "target": target}],
        packages={"torch": "2.0.1"},
        builds={"torch": {"runtime": "cuda11.7", "kernels": kernels, "path": path}},
    )
    return {finding.code for finding in rules.judge(host, MATRIX).findings}


def test_own_code_for_a_gpu_that_the_published_build_lacks_is_told_and_believed():
    assert "kernels-unlike-matrix" in said(["sm_80", "sm_90"])
    assert "arch-too-new-for-build" not in said(["sm_80", "sm_90"])


@pytest.mark.parametrize(
    ("kernels", "path", "target"),
    [
        (["sm_70", "sm_75", "sm_80", "sm_86"], "/v/site-packages/torch/version.py", "sm_90"),  # as published
        (["sm_80", "sm_90"], "", "sm_90"),  # stated by hand, no file
        (["sm_80", "sm_90"], "/v/site-packages/torch/version.py", "sm_80"),  # same verdict for this GPU
    ],
)
def test_agreement_is_silent(kernels, path, target):
    assert "kernels-unlike-matrix" not in said(kernels, path, target)
