"""Degrees of a fault: one number or word changes, and with it what is found, how bad it is and in which words."""

import pytest

A100 = {"name": "NVIDIA A100-SXM4-40GB", "vendor": "nvidia", "target": "sm_80", "driver": "nvidia"}
CUDA128 = {"torch": {"runtime": "cuda12.8", "kernels": ["sm_80"]}}


def radeon(target):
    return {"name": "AMD Radeon", "vendor": "amd", "target": target, "driver": "amdgpu"}


def told(report):
    """Code -> (severity, detail) of what the facts say."""
    return {item.code: (item.severity, item.detail) for root in report.findings for item in (root, *root.consequences)}


@pytest.mark.parametrize(
    ("target", "value", "severity", "words"),
    [
        ("gfx1031", "10.3.0", "info", "gfx1031 is presented as gfx1030."),
        ("gfx90c", "9.0.10", "info", "gfx90c is presented as gfx90a."),
        ("gfx1030", "10.3.0", "info", "as what it is: the override changes nothing"),
        ("gfx1100", "10.3.0", "warning", "which is of another generation"),
        ("gfx906", "10.3.0", "warning", "gfx906 is presented as gfx1030, which is of another generation"),
        ("", "10.3.0", "info", "The GPU is presented as gfx1030."),
        ("gfx1030", "ten", "error", "'ten' is not of the form a.b.c."),
        ("gfx1030", "10.3", "error", "not of the form"),
    ],
)
def test_an_override_of_a_target(doctor, target, value, severity, words):
    found = told(doctor(platform="linux", gpus=[radeon(target)], env={"HSA_OVERRIDE_GFX_VERSION": value}))
    assert found["rocm-gfx-override"][0] == severity
    assert words in found["rocm-gfx-override"][1]


@pytest.mark.parametrize(("env", "gpu"), [({}, radeon("gfx1030")), ({"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}, A100)])
def test_no_override_or_no_amd_card_is_nothing_to_tell(doctor, env, gpu):
    assert "rocm-gfx-override" not in told(doctor(platform="linux", gpus=[gpu], env=env))


# Xid -> what it means, as the vendor's table has it (NVIDIA, "XID Errors")
XIDS = {
    "13": ("gpu-xid-application", "info"),
    "31": ("gpu-xid-application", "info"),
    "43": ("gpu-xid-application", "info"),
    "48": ("gpu-xid-fatal", "error"),
    "79": ("gpu-xid-fatal", "error"),
    "119": ("gpu-xid-fatal", "error"),
    "143": ("gpu-xid-fatal", "error"),
    "74": ("nvlink-down", "warning"),
    **{str(number): ("nvlink-down", "warning") for number in range(144, 151)},
}


@pytest.mark.parametrize("xid", XIDS)
def test_an_xid_says_what_it_is_of(doctor, xid):
    code, severity = XIDS[xid]
    assert told(doctor(gpus=[A100], xids=[xid])) == {code: (severity, told(doctor(gpus=[A100], xids=[xid]))[code][1])}
    assert f"Xid {xid} was logged" in told(doctor(gpus=[A100], xids=[xid]))[code][1]


@pytest.mark.parametrize("xid", ["0", "151", "999"])
def test_an_xid_that_no_table_has_is_no_verdict(doctor, xid):
    assert told(doctor(gpus=[A100], xids=[xid])) == {}


@pytest.mark.parametrize(
    ("toolkit", "gpu", "found"),
    [
        ("11.8", A100, True),
        ("13.0", A100, True),
        ("12.8", A100, False),
        ("12.1", A100, False),  # a minor apart is no fault by itself
        ("11.8", radeon("gfx90a"), False),  # a toolkit that serves no card here
    ],
)
def test_a_toolkit_of_another_major_than_torchs(doctor, toolkit, gpu, found):
    report = told(doctor(platform="linux", gpus=[gpu], cuda_toolkit=toolkit, builds=CUDA128))
    assert ("toolkit-mismatch-extension" in report) is found
    if found:
        assert report["toolkit-mismatch-extension"] == (
            "info",
            f"nvcc is CUDA {toolkit}, torch is built with CUDA 12.8.",
        )


@pytest.mark.parametrize("vendor", ["amd", "intel"])
@pytest.mark.parametrize(
    "facts",
    [
        {"driver": None, "driver_library": "570.26"},
        {"xids": ["79"]},
        {"device_nodes": ["/dev/nvidiactl"]},
        {"driver": "300.1", "builds": CUDA128},
        {"cuda_toolkit": "9.0", "builds": CUDA128},
        {"nvswitch": 4, "fabric_manager": None},
    ],
    ids=lambda facts: next(iter(facts)),
)
def test_what_is_about_nvidia_is_not_told_of_other_cards(doctor, matrix, vendor, facts):
    """Whatever lies about of NVIDIA's on a machine whose cards are all another vendor's."""
    from compat.rules import RULES

    card = {"amd": radeon("gfx90a"), "intel": {"name": "Intel Arc A770", "vendor": "intel", "driver": "i915"}}[vendor]
    found = told(doctor(platform="linux", gpus=[card], **facts))
    assert [code for code in found if RULES[code].vendors and vendor not in RULES[code].vendors] == []


NOT_FOUND = "ERROR: Could not find a version that satisfies the requirement {0} (from versions: none)\nERROR: No matching distribution found for {0}"
PYTHON = {"python": "3.12.1", "platform": "linux", "arch": "x86_64"}


@pytest.mark.parametrize(
    ("wish", "error", "fine"),
    [
        ("torch", "", True),
        ("torch==2.9.1", "", True),
        ("torch", NOT_FOUND.format("torch"), False),  # any release would do, and pip found none
        ("torch==1.4.0", "", False),
    ],
)
def test_what_pip_did_not_find_is_not_told_as_published(doctor, wish, error, fine):
    report = doctor(**PYTHON, wishes=[wish], error=error)
    assert any(line.startswith("there are builds of torch for Python 3.12") for line in report.fine) is fine


@pytest.mark.parametrize(
    ("platform", "error", "suspected"),
    [
        ("windows", "RuntimeError: No HIP GPUs are available", True),
        ("windows", "", False),
        ("linux", "RuntimeError: No HIP GPUs are available", False),
    ],
)
def test_only_on_windows_amds_driver_brings_half_of_the_runtime(doctor, platform, error, suspected):
    report = doctor(platform=platform, gpus=[radeon("gfx1100")], error=error, rocm="6.2")
    fixes = [item.fix.text for root in report.findings for item in (root, *root.consequences)]
    assert any("Adrenalin" in text for text in fixes) is suspected


@pytest.mark.parametrize(
    ("version", "built", "found"),
    [
        ("2.1.0", "2.1", False),
        ("2.1.2", "2.1.0", False),
        ("2.1.0+cu121", "2.1.0+cu118", False),
        ("2.10.0", "2.1", True),  # a number, not the beginning of a text
        ("2.1.0", "2.10", True),
        ("2.1.0", "1.13.1", True),
        ("2.1.0", "2", False),
        ("2.1.0", "", False),
    ],
)
def test_an_extension_that_was_built_for_another_torch(doctor, version, built, found):
    report = told(doctor(packages={"torch": version}, builds={"deepspeed": {"torch": built}}))
    assert ("abi-mismatch" in report) is found
    if found:
        plain = version.partition("+")[0]
        assert report["abi-mismatch"] == (
            "error",
            f"deepspeed was built for torch {built}; torch {plain} is installed.",
        )
