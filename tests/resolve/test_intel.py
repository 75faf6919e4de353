"""Plans for Intel GPUs: which of PyTorch's XPU builds has machine code for a device, and which the driver compiles.

The expectations are read off torch-xpu-ops' own build script and the compatibility table of Intel's compiler, not off
the rows: ``ats-m150`` of torch 2.5 is the first chip of Arc A, ``xe-lpg`` is Meteor Lake, and Arc B came with 2.7.
"""

from __future__ import annotations

import pytest

from compat.matrix import matrix
from compat.resolve import resolve
from compat.resolve.target import from_options

M = matrix()


@pytest.mark.parametrize(
    ("torch", "gpu", "os", "kernels"),
    [
        ("2.5.1", "Intel Arc A770", "ubuntu24.04", "native"),
        ("2.5.1", "Intel Arc A770", "windows11", "native"),
        ("2.5.1", "Max 1550", "ubuntu24.04", "native"),
        ("2.5.1", "Max 1550", "windows11", "ptx"),
        ("2.6.0", "Arc B580", "ubuntu24.04", "ptx"),
        ("2.6.0", "Arc B580", "windows11", "native"),
        ("2.6.0", "Meteor Lake", "ubuntu24.04", "native"),
        ("2.7.1", "Arc B580", "ubuntu24.04", "native"),
        ("2.7.1", "Meteor Lake-U", "ubuntu24.04", "ptx"),
        ("2.7.1", "Meteor Lake-U", "windows11", "native"),
        ("2.9.1", "Panther Lake", "ubuntu24.04", "ptx"),
        ("2.10.0", "Panther Lake", "ubuntu24.04", "native"),
        ("2.10.0", "ptl-u", "windows11", "native"),
    ],
)
def test_how_a_release_serves_a_device(torch, gpu, os, kernels):
    answer = resolve([f"torch=={torch}"], from_options(M, gpus=[gpu], os=os), M)
    assert answer.plan, answer
    assert answer.plan.runtime == "xpu"
    assert [verdict.kernels for verdict in answer.plan.gpus] == [kernels]


def test_every_intel_product_gets_the_newest_torch_without_a_guess():
    for product in M.table("gpus"):
        if product.vendor == "intel":
            answer = resolve(["torch"], from_options(M, gpus=[product.name]), M)
            assert answer.status == "plan", product.name
            assert {verdict.kernels for verdict in answer.plan.gpus} <= {"native", "ptx"}, product.name
