"""Lint of images for other processors: what the file says, what the person says, and Jetson boards."""

import pytest

from compat.app.lint import lint_files
from compat.app.plans import Target
from compat.errors import InputError
from compat.matrix import matrix

MATRIX = matrix()
BOARD = "FROM nvcr.io/nvidia/l4t-jetpack:r35.4.1\nRUN apt-get update && apt-get install -y python3-pip\nUSER 1000\n"
PAGE = "https://developer.download.nvidia.com/compute/redist/jp/v511/pytorch/"


def found(tmp_path, text, code, **options):
    (tmp_path / "Dockerfile").write_text(text)
    report = lint_files([str(tmp_path / "Dockerfile")], MATRIX, target=Target(**options))
    return [item.detail for item in report.findings if item.code.startswith(code)]


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("torch==2.0.0", "the default index"),
        (f"--find-links {PAGE} torch", "the default index"),  # its newest release is newer than the page's
        ("--index-url https://download.pytorch.org/whl/cu118 torch==2.0.0", "https://download.pytorch.org/whl/cu118"),
        (f"--find-links {PAGE} torch==2.0.0", ""),
        (f"--find-links {PAGE} torch==2.0.0+nv23.05", ""),
        ("--index-url https://mirror.example/simple torch==2.0.0", ""),
    ],
)
def test_a_board_needs_the_build_for_boards_from_wherever_it_comes(tmp_path, words, place):
    said = found(tmp_path, f"{BOARD}RUN pip install {words}\n", "jetson-generic-wheel")
    assert [place in detail for detail in said] == [True] * bool(place)


SYSTEM_CUDA = "FROM {platform}python:3.12-slim-trixie\nRUN pip install tensorflow==2.16.1\nUSER 1000\n"


@pytest.mark.parametrize(
    ("platform", "arch", "fault"),
    [
        ("", "", True),
        ("", "x86_64", True),
        ("", "aarch64", False),
        ("", "arm64", False),
        ("--platform=linux/arm64 ", "", False),
        ("--platform=linux/arm64 ", "x86_64", False),  # the file knows better
        ("--platform=linux/amd64 ", "aarch64", True),
    ],
)
def test_tensorflow_asks_for_cuda_on_the_processor_that_has_a_gpu_build(tmp_path, platform, arch, fault):
    said = found(tmp_path, SYSTEM_CUDA.format(platform=platform), "library-missing", arch=arch)
    assert bool(said) is fault


def test_the_pythons_offered_are_those_of_the_processor(tmp_path):
    text = "FROM python:3.10-slim-bookworm\nRUN pip install torch==1.10.2\nUSER 1000\n"
    assert found(tmp_path, text, "python-unsupported") == [
        "torch==1.10.2 has no wheel for Python 3.10; it has 3.6 to 3.9."
    ]
    assert found(tmp_path, text, "python-unsupported", arch="aarch64") == []


def test_an_unknown_processor_is_refused_with_those_that_are_known(tmp_path):
    with pytest.raises(InputError, match="sparc64") as refused:
        found(tmp_path, "FROM python:3.12\n", "", arch="sparc64")
    assert "--arch" in str(refused.value)
    assert "aarch64" in str(refused.value)
