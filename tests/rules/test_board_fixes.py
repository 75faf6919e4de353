"""What is offered instead of an unfit build: Jetson wheels to boards of that JetPack, and never to another machine."""

import pytest

from compat.app.doctor import judged
from compat.facts import Gpu, host
from compat.matrix import matrix

NVIDIA = "https://developer.download.nvidia.com/compute/redist/jp/v512/pytorch/"
ADA = [Gpu(name="NVIDIA GeForce RTX 4090", vendor="nvidia", target="sm_89")]
ORIN = [Gpu(name="Orin (nvgpu)", vendor="nvidia", target="sm_87", integrated=True)]


def prescribed(**facts):
    return judged(host("test", **facts), matrix())


def commands(report, code):
    return [text for finding in report.findings if finding.code == code for text in finding.fix.commands]


@pytest.mark.parametrize("version", ["2.0.0", "2.4.0", "2.8.0", "2.9.1"])
def test_a_desktop_is_never_sent_to_the_wheels_for_boards(version):
    """These releases have a wheel for Jetson too, whose rows stand among the others."""
    report = prescribed(gpus=ADA, packages={"torch": f"{version}+cpu"}, arch="x86_64")
    offered = commands(report, "cpu-only-build")
    assert f"torch=={version}" in offered[0]
    assert "jetson" not in offered[0]
    assert "redist/jp" not in offered[0]


@pytest.mark.parametrize(
    ("l4t", "command"),
    [
        (
            "36.4.0",
            "pip install torch==2.8.0 --index-url https://pypi.jetson-ai-lab.io/jp6/cu126",
        ),
        (
            "35.4.1",
            "pip install torch==2.1.0a0+41361538.nv23.06 --find-links " + NVIDIA,
        ),
    ],
)
def test_a_board_is_offered_the_wheel_of_its_own_jetpack(l4t, command):
    report = prescribed(gpus=ORIN, packages={"torch": "2.8.0"}, arch="aarch64", l4t=l4t)
    assert command in commands(report, "arch-too-new-for-build")


def test_a_bare_version_on_a_board_is_no_proof_of_a_server_build(doctor):
    """NVIDIA's own wheel for JetPack 6 is called 2.8.0 without a tag: the machine may be sound."""
    report = doctor(gpus=ORIN, packages={"torch": "2.8.0"}, arch="aarch64", l4t="36.4.0")
    assert [finding.code for finding in report.findings if finding.severity == "error"] == []


@pytest.mark.parametrize(
    ("facts", "unfit"),
    [
        ({}, True),
        ({"container": "docker"}, False),
        ({"python": "3.8"}, False),
        ({"packages": {"torch": "2.1.0"}}, False),
    ],
    ids=["the system", "an image", "its Python", "a torch that is there"],
)
def test_the_python_of_a_board_is_judged_by_its_own_builds(facts, unfit):
    known = {"l4t": "35.4.1", "arch": "aarch64", "python": "3.10", **facts}
    report = judged(host("test", **known), matrix(), error="$ pip install torch", commands=("pip install torch",))
    assert ("python-unsupported" in {finding.code for finding in report.findings}) is unfit
    assert any("builds of torch for Python" in str(one) for one in report.fine) is (facts.get("python") == "3.8")
