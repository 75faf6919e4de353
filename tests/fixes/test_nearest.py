"""The doctor and the resolver take the same smallest step to a release that fits."""

from __future__ import annotations

import pytest

from compat.app.doctor import judged
from compat.changes import Install
from compat.facts import host
from compat.matrix import matrix
from compat.resolve import resolve

MATRIX = matrix()
BLACKWELL = {"name": "NVIDIA GeForce RTX 5090", "vendor": "nvidia", "target": "sm_120"}
HOPPER = {"name": "NVIDIA H100 80GB HBM3", "vendor": "nvidia", "target": "sm_90"}
ADA = {"name": "NVIDIA GeForce RTX 4090", "vendor": "nvidia", "target": "sm_89"}

# GPU, driver, Python, the release installed, and the nearest one that has code for the GPU.
STEPS = [
    (BLACKWELL, "570.26", "3.11", "torch", "2.6.0", "2.7.0"),
    (BLACKWELL, "580.65.06", "3.11", "torch", "2.0.1", "2.7.0"),
    (BLACKWELL, "570.26", "3.12", "torch", "2.5.1", "2.7.0"),
]


@pytest.mark.parametrize(("gpu", "driver", "python", "name", "have", "near"), STEPS, ids=lambda value: str(value)[-12:])
def test_doctor_and_resolver_name_the_nearest_release_that_fits(gpu, driver, python, name, have, near):
    machine = {"platform": "linux", "arch": "x86_64", "python": python, "driver": driver, "gpus": [gpu]}
    first = judged(host("test", **machine, packages={name: have}), MATRIX).findings[0]
    told = {
        one.name: one.version for change in first.fix.changes if isinstance(change, Install) for one in change.packages
    }
    asked = resolve([f"{name}=={have}"], host("test", **machine), MATRIX).fixes[0].changes
    assert told[name].partition("+")[0] == asked[name].partition("+")[0] == near
    assert first.fix.checked


@pytest.mark.parametrize("gpu", [HOPPER, ADA])
def test_a_release_that_fits_is_not_moved(gpu):
    machine = {"platform": "linux", "arch": "x86_64", "python": "3.11", "driver": "570.26", "gpus": [gpu]}
    assert not [
        one for one in judged(host("test", **machine, packages={"torch": "2.6.0"}), MATRIX).findings if one.fix.changes
    ]
    assert resolve(["torch==2.6.0"], host("test", **machine), MATRIX).status == "plan"
