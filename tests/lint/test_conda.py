"""Conda environments: what no named channel has, and the forms one fact away that are right."""

import pytest

from compat import sources
from compat.facts import Fact, Host
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


PAIR, NUMPY, PYTHON = "framework-pair-mismatch", "numpy-abi-mismatch", "python-unsupported"


@pytest.mark.parametrize(
    ("channels", "packages", "pip", "code", "level"),
    [
        ("pytorch, nvidia", ["pytorch=2.4.0", "torchvision=0.20.0"], [], PAIR, "warning"),
        ("pytorch, nvidia", ["pytorch=2.5.0", "torchvision=0.20.0"], [], PAIR, ""),
        ("pytorch, nvidia", ["pytorch=2.4.0"], ["torchvision==0.20.0"], PAIR, "warning"),  # pip lays its own torch over
        ("pytorch, nvidia", ["pytorch=2.5.0"], ["torchvision==0.20.0"], PAIR, ""),
        ("pytorch, nvidia", ["pytorch=2.0.1", "numpy=2.1"], [], NUMPY, "warning"),
        ("pytorch, nvidia", ["pytorch=2.0.1", "numpy=1.26"], [], NUMPY, ""),
        ("conda-forge", ["tensorflow=2.10.0", "protobuf=4.21"], [], PAIR, ""),  # built there with another protobuf
        ("pytorch, nvidia", ["pytorch=2.0.1", "python=3.12"], [], PYTHON, "error"),
        ("conda-forge", ["pytorch=2.0.0", "python=3.12"], [], PYTHON, "warning"),  # rebuilt for it, perhaps
        ("conda-forge", ["pytorch=1.13.1", "python=3.13"], [], PYTHON, "error"),
        ("pytorch, nvidia", ["pytorch=2.0.1", "python=3.11"], [], PYTHON, ""),
    ],
)
def test_what_conda_installs_is_weighed_with_what_pip_does(channels, packages, pip, code, level):
    assert {found[1] for found in codes(channels, packages, pip) if found[0] == code} == ({level} if level else set())


def test_the_cuda_beside_condas_pytorch_says_which_build_a_driver_has_to_serve():
    ask = sources.read("channels: [pytorch]\ndependencies: [pytorch=2.4.1, pytorch-cuda=12.4]\n", "environment.yml")
    old, new = (lint(ask, MATRIX, on=Host({"driver": Fact(one, "")})) for one in ("470.82.01", "550.54"))
    assert "driver-too-old-for-runtime" in {one.code for one in old.findings}
    assert "driver-too-old-for-runtime" not in {one.code for one in new.findings}


CPU = "accidental-cpu-wheel"


@pytest.mark.parametrize(
    ("channels", "packages", "level"),
    [
        ("pytorch, nvidia", ["pytorch=1.11.0", "cudatoolkit=11.1"], "error"),  # 10.2, 11.3 and 11.5 there
        ("pytorch", ["pytorch==1.12.1", "cudatoolkit=11.7.0"], "error"),
        ("pytorch, conda-forge", ["pytorch=1.11.0", "cudatoolkit=11.2"], "warning"),  # which builds for others
        ("pytorch, nvidia", ["pytorch=1.11.0", "cudatoolkit=11.3"], ""),
        ("pytorch", ["pytorch=1.9.0", "cudatoolkit=11.1.74"], ""),
        ("conda-forge, pytorch", ["pytorch=1.11.0", "cudatoolkit=11.2"], ""),
        ("pytorch", ["pytorch=1.11.0=py3.9_cuda11.3_cudnn8.2.0_0", "cudatoolkit=11.1"], ""),
        ("pytorch, nvidia", ["pytorch=2.0.1", "pytorch-cuda=11.8", "cudatoolkit=11.1"], ""),
        ("pytorch", ["pytorch", "cudatoolkit=11.1"], ""),  # some release was
    ],
)
def test_a_cuda_that_no_build_of_pytorchs_channel_is_for_leaves_the_one_for_the_cpu(channels, packages, level):
    assert {one for one in codes(channels, packages) if one[0] == CPU} == ({(CPU, level, 4)} if level else set())


@pytest.mark.parametrize(
    ("python", "torch", "fix"), [("3.12", "1.13.1", "python=3.11"), ("3.7", "2.2.0", "python=3.8")]
)
def test_the_nearest_python_of_a_release_is_proposed(python, torch, fix):
    text = f"channels: [pytorch]\ndependencies:\n  - python={python}\n  - pytorch={torch}\n"
    (found,) = [one for one in lint(sources.read(text, "environment.yml"), MATRIX).findings if one.code == PYTHON]
    assert found.fix.text == f"Ask for {fix}."


def test_no_pin_is_proposed_that_has_no_wheel_for_the_python():
    text = "dependencies:\n  - python=3.12\n  - pytorch=1.13.1\n  - pip:\n    - xformers==0.0.22\n"
    (found,) = [one for one in lint(sources.read(text, "environment.yml"), MATRIX).findings if one.code == PAIR]
    assert found.fix.text == "No torch==2.0.1 has a wheel for Python 3.12."
