"""What the driver itself said counts like a message, and a driver that hangs is named, not left out."""

import pytest

from compat import facts, rules
from compat.facts import Fact, Host, Unknown
from compat.matrix import matrix

MATRIX = matrix()
BOX = {
    "platform": "linux",
    "driver": "570.124.06",
    "gpus": [{"name": "NVIDIA H100 80GB HBM3", "vendor": "nvidia", "target": "sm_90", "driver": "nvidia"}],
}


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"cuda_init": "CUDA_ERROR_SYSTEM_NOT_READY"}, "fabric-manager-down"),
        ({"nvml": "NVML_ERROR_LIB_RM_VERSION_MISMATCH"}, "driver-library-mismatch"),
        ({"cuda_init": "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"}, "forward-compat-conflict"),
    ],
)
def test_an_answer_of_the_driver_points_to_its_cause(said, code):
    report = rules.judge(facts.host("t", **BOX, **said), MATRIX)
    assert code in {finding.code for finding in report.findings}


def test_a_driver_that_answers_well_says_nothing():
    report = rules.judge(facts.host("t", **BOX, nvml="ok", cuda_init="ok"), MATRIX)
    assert not [finding for finding in report.findings if finding.severity == "error"]


def test_a_driver_that_hangs_is_told_as_not_checked():
    host = Host(
        {
            **facts.host("t", **BOX).readings,
            "nvml": Unknown("NVML did not answer within 5 s", "libnvidia-ml.so.1"),
            "os": Fact("debian12"),
        }
    )
    report = rules.judge(host, MATRIX)
    assert ("nvml", "NVML did not answer within 5 s") in {(item.what, item.why) for item in report.unchecked}
