"""The exact verdicts: kernel targets, driver floors, masks, overrides, pairs and pythons, at their borders."""

from __future__ import annotations

import pytest


def codes(report):
    return {item.code for root in report.findings for item in (root, *root.consequences)}


ARCH = {
    "arch-too-new-for-build",
    "arch-too-old-for-build",
    "arch-ptx-only",
    "arch-specific-target",
    "arch-integrated-vs-discrete",
}

KERNELS = [
    ("sm_86", ["sm_80"], set()),  # same major, higher minor
    ("sm_80", ["sm_86"], {"arch-too-old-for-build"}),  # same major, lower minor
    ("sm_89", ["sm_86", "sm_90"], set()),
    ("sm_90", ["sm_80", "sm_86"], {"arch-too-new-for-build"}),
    ("sm_90", ["sm_80", "compute_80"], {"arch-ptx-only"}),
    ("sm_61", ["sm_75", "compute_75"], {"arch-too-old-for-build"}),  # PTX never goes down
    ("sm_100", ["sm_90a"], {"arch-too-new-for-build"}),
    ("sm_90", ["sm_90a"], set()),
    ("sm_103", ["sm_100a"], {"arch-too-new-for-build", "arch-specific-target"}),
    ("sm_103", ["sm_100f"], set()),
    ("sm_121", ["sm_120"], set()),
    (
        "sm_87",
        ["sm_80", "sm_86"],
        {"arch-too-new-for-build", "arch-integrated-vs-discrete"},
    ),  # Orin is no Ampere desktop
    ("sm_86", ["sm_87"], {"arch-too-old-for-build", "arch-integrated-vs-discrete"}),
    ("sm_90", [], set()),  # a build that does not say is not judged
]


@pytest.mark.parametrize(("device", "kernels", "found"), KERNELS)
def test_which_devices_a_build_serves(doctor, device, kernels, found):
    report = doctor(gpus=[{"target": device, "vendor": "nvidia"}], builds={"torch": {"kernels": kernels}})
    assert codes(report) & ARCH == found


GFX = [
    ("gfx1030", "gfx1030", "", False),
    ("gfx1031", "gfx1030", "", True),
    ("gfx1031", "gfx1030", "10.3.0", False),
    ("gfx1100", "gfx1030", "10.3.0", False),
    ("gfx90a:xnack-", "gfx90a", "", False),
    ("gfx1036", "gfx1030", "nonsense", True),
]


@pytest.mark.parametrize(("device", "kernel", "override", "fails"), GFX)
def test_which_amd_devices_a_build_serves(doctor, device, kernel, override, fails):
    env = {"HSA_OVERRIDE_GFX_VERSION": override} if override else {}
    builds = {"torch": {"runtime": "rocm6.2", "kernels": [kernel]}}
    assert (
        "rocm-gfx-unsupported" in codes(doctor(gpus=[{"target": device, "vendor": "amd"}], builds=builds, env=env))
    ) is fails


FLOORS = [
    ("cuda12.4", "525.60.13", False),  # the floor of the whole major, exactly
    ("cuda12.4", "525.60.12", True),
    ("cuda12.4", "520.61.05", True),
    ("cuda11.8", "450.80.02", False),
    ("cuda11.8", "450.51.06", True),
    ("cuda10.2", "440.33", False),  # before CUDA 11 each release has its own floor
    ("cuda10.2", "418.87", True),
    ("cuda13.0", "580.65.06", False),
    ("cuda13.0", "575.51.03", True),
    ("cuda12", "535.54.03", False),  # a build that names its major only
    ("cuda99.9", "535.54.03", False),  # a release that the matrix does not know is not judged
    ("cpu", "340.108", False),
    ("rocm6.2", "340.108", False),
]


@pytest.mark.parametrize(("runtime", "driver", "old"), FLOORS)
def test_the_lowest_driver_of_a_runtime(doctor, runtime, driver, old):
    report = doctor(driver=driver, builds={"torch": {"runtime": runtime}})
    assert ("driver-too-old-for-runtime" in codes(report)) is old


REPORTED = [
    ("11.8", "11.4", False),
    ("12.1", "11.8", True),
    ("10.2", "10.1", True),
    ("10.1", "10.2", False),
    ("11.0", "10.2", True),
]


@pytest.mark.parametrize(("cuda", "reported", "old"), REPORTED)
def test_the_cuda_that_a_driver_reports_decides_where_its_version_is_unknown(doctor, cuda, reported, old):
    report = doctor(driver_cuda=reported, builds={"torch": {"runtime": f"cuda{cuda}"}})
    assert ("driver-too-old-for-runtime" in codes(report)) is old


def test_windows_and_linux_have_floors_of_their_own(doctor):
    builds = {"torch": {"runtime": "cuda12.4"}}
    assert "driver-too-old-for-runtime" in codes(doctor(driver="527.27", platform="windows", builds=builds))
    assert "driver-too-old-for-runtime" not in codes(doctor(driver="527.27", platform="linux", builds=builds))


MASKS = [
    ("", 2, True),
    ("-1", 2, True),
    ("2", 2, True),
    ("1", 2, False),
    ("0,5", 2, False),  # what stands before the wrong entry stays visible
    ("GPU-8f2b", 2, False),
    ("MIG-1234", 1, False),
    ("NoDevFiles", 1, True),
]


@pytest.mark.parametrize(("value", "count", "hidden"), MASKS)
@pytest.mark.parametrize("name", ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"])
def test_which_masks_hide_everything(doctor, name, value, count, hidden):
    report = doctor(env={name: value}, gpus=[{"vendor": "nvidia", "target": "sm_80"}] * count)
    assert ("devices-hidden" in codes(report)) is hidden


PAIRS = [
    ({"torch": "2.1.0", "torchvision": "0.16.0"}, False),
    ({"torch": "2.1.0", "torchvision": "0.16.1"}, True),
    ({"torch": "2.1.0+cu121", "torchvision": "0.16.0+cu121", "torchaudio": "2.1.0+cu121"}, False),
    ({"torch": "2.1.0+cu121", "torchaudio": "2.1.0+cu118"}, True),
    ({"torch": "2.4.0", "torchaudio": "2.3.0"}, True),
    ({"jax": "0.4.30", "jaxlib": "0.4.30"}, False),
    ({"jax": "0.4.30", "jaxlib": "0.4.31"}, True),
    ({"jax": "0.9.0", "jaxlib": "0.9.0", "jax-cuda12-plugin": "0.9.2"}, True),
    ({"jax": "0.9.0", "jaxlib": "0.9.0", "jax-cuda12-plugin": "0.9.0"}, False),
    ({"torchvision": "0.16.0"}, False),
    ({"torch": "9.9.9", "torchvision": "99.0"}, False),  # unknown to the matrix, so not judged
]


@pytest.mark.parametrize(("packages", "wrong"), PAIRS)
def test_which_companions_belong_together(doctor, packages, wrong):
    assert ("framework-pair-mismatch" in codes(doctor(packages=packages))) is wrong


@pytest.mark.parametrize(("torchvision", "wrong"), [("0.22.0", False), ("0.22.0+cu118", True)])
def test_a_release_without_a_tag_may_be_the_cpu_build_where_all_others_have_tags(doctor, torchvision, wrong):
    packages, cpu = {"torch": "2.7.0", "torchvision": torchvision}, {"torch": {"runtime": "cpu"}}
    assert ("framework-pair-mismatch" in codes(doctor(platform="windows", packages=packages, builds=cpu))) is wrong


PYTHONS = [
    ("torch==2.0.1", "3.11", False),
    ("torch==2.0.1", "3.12", True),
    ("torch", "3.6", False),  # an old release serves it
    ("torch>=2.4", "3.7", True),
    ("tensorflow==2.12.0", "3.12", True),
    ("unheard-of==1.0", "3.12", False),
]


@pytest.mark.parametrize(("wish", "python", "refused"), PYTHONS)
def test_which_pythons_a_release_was_published_for(doctor, wish, python, refused):
    assert ("python-unsupported" in codes(doctor(wishes=[wish], python=python))) is refused


COMPILERS = [("11.7", "11.4", False), ("11.7", "12.2", True), ("12.4", "13.2", False), ("12.4", "14.1", True)]


@pytest.mark.parametrize(("toolkit", "gcc", "refused"), COMPILERS)
def test_which_compilers_a_toolkit_accepts(doctor, toolkit, gcc, refused):
    report = doctor(cuda_toolkit=toolkit, gcc=gcc, commands=["make"])
    found = [item for item in report.findings if item.code == "host-compiler-unsupported"]
    assert bool(found) is refused
    assert all(item.severity == "error" for item in found)


def test_an_unfit_compiler_that_nobody_uses_is_merely_told(doctor):
    found = [
        item for item in doctor(cuda_toolkit="11.7", gcc="13.2").findings if item.code == "host-compiler-unsupported"
    ]
    assert [item.severity for item in found] == ["info"]


def test_a_gpu_at_its_last_driver_is_the_cause_not_the_driver(doctor):
    report = doctor(driver="470.256.02", gpus=[{"name": "Tesla K80"}], builds={"torch": {"runtime": "cuda12.1"}})
    assert report.findings[0].code == "arch-too-old-for-build"
    assert "driver-too-old-for-runtime" in {item.code for item in report.findings[0].consequences}
