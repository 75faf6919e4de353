"""Conda environments: what no named channel has, and the forms one fact away that are right."""

import pytest

from compat import sources
from compat.lint import lint
from compat.matrix import matrix

MATRIX = matrix()


def codes(channels, packages, pip=()):
    lines = [f"channels: [{channels}]", "dependencies:", *(f"  - {name}" for name in packages)]
    lines += ["  - pip:", *(f"      - {name}" for name in pip)] if pip else []
    report = lint(sources.read("\n".join(lines) + "\n", "environment.yml"), MATRIX)
    return {(item.code, item.severity, item.place.line) for item in report.findings}


ABSENT = "version-does-not-exist"


@pytest.mark.parametrize(
    ("channels", "packages", "line"),
    [
        ("conda-forge", ["pytorch=2.3", "pytorch-cuda=12.1"], 4),  # a package of PyTorch's own channel
        ("conda-forge, nvidia", ["pytorch=2.3.1", "cpuonly"], 4),
        ("pytorch, nvidia", ["pytorch=2.3.1", "pytorch-cuda=12.4"], 4),  # not one of that release's
        ("pytorch, nvidia", ["pytorch==1.13.1", "pytorch-cuda=12.1"], 4),
        ("pytorch, nvidia", ["pytorch=2.5.1", "pytorch-cuda=12.6"], 4),
        ("pytorch, nvidia", ["pytorch=2", "pytorch-cuda>=12.8"], 4),
        ("pytorch, pyg, conda-forge", ["pytorch", "pytorch-cuda=12.2"], 4),  # of no release
        ("pytorch, nodefaults", ["pytorch=2.6.0"], 3),  # the channel ended with 2.5
        ("pytorch, conda-forge", ["pytorch::pytorch=2.6.0"], 3),
        ("conda-forge", ["pytorch=2.3.0", "cudatoolkit=12.1"], 4),
        ("nvidia", ["pytorch=2.3.0", "cudatoolkit>=12"], 4),
    ],
)
def test_what_no_channel_has_is_an_error_at_its_line(channels, packages, line):
    assert (ABSENT, "error", line) in codes(channels, packages)


@pytest.mark.parametrize(
    ("channels", "packages"),
    [
        ("pytorch, nvidia", ["pytorch=2.3.1", "pytorch-cuda=12.1"]),
        ("nvidia, conda-forge", ["pytorch=2.3.1", "pytorch::pytorch-cuda=12.1"]),
        ("pytorch, nvidia", ["pytorch=2.5", "pytorch-cuda=12.4"]),
        ("pytorch, pyg, nvidia", ["pytorch", "pytorch-cuda=12.1"]),
        ("pytorch, nvidia", ["pytorch=1.13.0=py3.9_cuda11.6_cudnn8.3.2_0", "pytorch-cuda=11.6=h867d48c_1"]),
        ("pytorch, nvidia", ["pytorch=2.5.1", "pytorch-cuda<13"]),
        ("conda-forge", ["pytorch=2.6.0"]),
        ("pytorch, conda-forge", ["pytorch=2.6.0"]),  # another channel has it
        ("pytorch", ["pytorch=2.6.0"]),  # and so may the default ones
        ("https://mirror.example/cloud/pytorch", ["pytorch=2.3.1", "pytorch-cuda=12.1"]),
        ("team", ["pytorch=2.3.1", "pytorch-cuda=12.1"]),  # what another channel holds is not known
        ("hcc", ["pytorch=2.3.1", "cudatoolkit=12.4"]),
        ("conda-forge", ["pytorch=1.12.1", "cudatoolkit=11.8"]),
        ("conda-forge", ["pytorch=2.3.1", "cuda-toolkit=12.4", "cuda-version=12.4"]),
        ("pytorch", ["pytorch=1.12", "cudatoolkit", "torchvision"]),
    ],
)
def test_what_a_channel_has_or_may_have_is_none(channels, packages):
    assert {found for found in codes(channels, packages) if found[1] == "error"} == set()


@pytest.mark.parametrize(
    ("packages", "floats"),
    [
        (["pytorch", "torchvision", "pytorch-cuda=12.1"], True),
        (["pytorch>=2"], True),
        (["tensorflow-gpu"], True),
        (["pytorch=2"], False),
        (["pytorch==2.3.1", "torchvision"], False),
        (["pytorch<2.4"], False),
        (["numpy"], False),
    ],
)
def test_a_framework_that_conda_may_choose_floats(packages, floats):
    assert (("pin-missing", "info", 3) in codes("pytorch, nvidia", packages)) is floats


def test_channels_that_a_command_sets_are_not_known():
    text = (
        "FROM continuumio/miniconda3:24.1.2-0\nRUN {}conda install -y -c conda-forge pytorch=2.3.1 pytorch-cuda=12.1\n"
    )
    plain, configured = (
        {item.code for item in lint(sources.read(text.format(words), "Dockerfile"), MATRIX).findings}
        for words in ("", "conda config --add channels pytorch && ")
    )
    assert ABSENT in plain
    assert ABSENT not in configured
