"""Which code runs on which GPU under which driver, as the doctor tells it: the rule of the CUDA programming guide.

Machine code runs on the same major from its own minor on; PTX on its own capability and above, if the driver is of the
build's CUDA or newer; ``a`` binds code to one capability, ``f`` to a family; Jetson-class capabilities stand apart.
"""

from __future__ import annotations

import pytest

RUNS = None
NONE_NEW, NONE_OLD = "arch-too-new-for-build", "arch-too-old-for-build"
SUFFIX, CLASS, JIT, SLOW = (
    "arch-specific-target",
    "arch-integrated-vs-discrete",
    "ptx-jit-too-new-for-driver",
    "arch-ptx-only",
)

TABLE = [
    # device, what the files carry, CUDA of the build, CUDA of the driver, first finding
    # machine code: same major, own minor or above
    ("sm_80", "sm_80", "12.4", "12.4", RUNS),
    ("sm_86", "sm_80", "12.4", "12.4", RUNS),
    ("sm_89", "sm_80", "12.4", "12.4", RUNS),
    ("sm_89", "sm_86", "12.4", "12.4", RUNS),
    ("sm_80", "sm_86", "12.4", "12.4", NONE_OLD),
    ("sm_86", "sm_89", "12.4", "12.4", NONE_OLD),
    ("sm_90", "sm_80 sm_86", "12.4", "12.4", NONE_NEW),
    ("sm_75", "sm_70", "12.4", "12.4", RUNS),
    ("sm_70", "sm_75", "12.4", "12.4", NONE_OLD),
    ("sm_61", "sm_60", "12.4", "12.4", RUNS),
    ("sm_60", "sm_61", "12.4", "12.4", NONE_OLD),
    ("sm_121", "sm_120", "12.9", "12.9", RUNS),
    ("sm_120", "sm_100", "12.9", "12.9", NONE_NEW),
    ("sm_103", "sm_100", "12.9", "12.9", RUNS),
    # an older driver of the same major loads machine code: minor-version compatibility
    ("sm_89", "sm_86", "12.8", "12.0", RUNS),
    # PTX: upwards, and only if the driver knows the release that wrote it
    ("sm_90", "compute_80", "12.4", "12.4", SLOW),
    ("sm_120", "sm_90 compute_90", "12.4", "12.8", SLOW),
    ("sm_80", "compute_90", "12.4", "12.4", NONE_OLD),
    ("sm_90", "compute_80", "12.8", "12.2", JIT),
    ("sm_90", "sm_90 compute_80", "12.8", "12.2", RUNS),
    ("sm_86", "sm_80 compute_90", "12.8", "12.2", RUNS),
    # bound to one capability, or to a family
    ("sm_90", "sm_90a", "12.4", "12.4", RUNS),
    ("sm_100", "sm_100a", "12.9", "12.9", RUNS),
    ("sm_103", "sm_100a", "12.9", "12.9", SUFFIX),
    ("sm_103", "sm_100f", "12.9", "12.9", RUNS),
    ("sm_100", "sm_103f", "12.9", "12.9", SUFFIX),
    ("sm_120", "sm_100f", "12.9", "12.9", NONE_NEW),
    ("sm_121", "sm_120f", "12.9", "12.9", RUNS),
    ("sm_121", "sm_120a", "12.9", "12.9", SUFFIX),
    ("sm_100", "sm_90a", "12.9", "12.9", NONE_NEW),
    ("sm_90", "compute_90a", "12.4", "12.4", SLOW),
    ("sm_100", "compute_90a", "12.9", "12.9", NONE_NEW),
    # Jetson and desktop targets differ, in both directions
    ("sm_87", "sm_87", "12.6", "12.6", RUNS),
    ("sm_87", "sm_80 sm_86", "12.6", "12.6", CLASS),
    ("sm_89", "sm_87", "12.6", "12.6", CLASS),
    ("sm_72", "sm_70", "11.4", "11.4", CLASS),
    ("sm_75", "sm_72", "11.4", "11.4", CLASS),
    ("sm_87", "compute_80", "12.6", "12.6", SLOW),
    ("sm_53", "sm_50", "10.2", "10.2", CLASS),
    ("sm_62", "sm_61", "10.2", "10.2", CLASS),
]


@pytest.mark.parametrize(
    ("device", "code", "cuda", "driver", "told"), TABLE, ids=[f"{r[0]}-{r[1].replace(' ', '+')}-{r[3]}" for r in TABLE]
)
def test_the_first_finding_names_what_does_not_fit(doctor, device, code, cuda, driver, told):
    report = doctor(
        gpus=[{"name": "NVIDIA", "vendor": "nvidia", "target": device, "driver": "nvidia"}],
        driver_cuda=driver,
        packages={"torch": "9.9.9"},
        builds={"torch": {"runtime": f"cuda{cuda}", "kernels": code.split()}},
    )
    codes = [finding.code for finding in report.findings if finding.severity != "info"]
    assert codes[:1] == ([told] if told else [])


@pytest.mark.parametrize(("device", "code", "cuda", "driver", "told"), [row for row in TABLE if row[4]])
def test_the_gpu_and_the_code_are_shown(doctor, device, code, cuda, driver, told):
    report = doctor(
        gpus=[{"name": "NVIDIA", "vendor": "nvidia", "target": device, "driver": "nvidia"}],
        driver_cuda=driver,
        builds={"torch": {"runtime": f"cuda{cuda}", "kernels": code.split()}},
    )
    found = next(item for root in report.findings for item in (root, *root.consequences) if item.code == told)
    assert device in found.detail
    assert {item.fact for item in found.evidence} >= {"gpus", "builds.torch"}


def test_code_of_both_kinds_on_two_unlike_cards_is_told_for_the_one_that_lacks_it(doctor):
    cards = [{"name": name, "vendor": "nvidia", "target": target} for name, target in (("A", "sm_80"), ("B", "sm_90"))]
    report = doctor(gpus=cards, driver_cuda="12.4", builds={"torch": {"runtime": "cuda12.4", "kernels": ["sm_80"]}})
    assert report.findings[0].code == NONE_NEW
    assert report.findings[0].detail.startswith("B is sm_90")
