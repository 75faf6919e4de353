"""How much a finding weighs: near files of which one fact differs, and the severity, certainty and words that follow."""

import pytest

from compat import sources
from compat.lint import lint
from compat.matrix import matrix

MATRIX = matrix()
PYTORCH = "https://download.pytorch.org/whl"
SLIM = "FROM python:3.10-slim-trixie\n"


def on(image):
    return f"FROM {image}\nRUN apt-get update && apt-get install -y python3-pip\n"


OLDER = on("nvidia/cuda:11.2.2-cudnn8-runtime-ubuntu20.04")
TEAM = "FROM registry.example/team/cuda:cuda112-cudnn8-py310\n"
NEWER = on("nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04")
BARE = on("nvidia/cuda:11.8.0-base-ubuntu22.04")


def found(text, code):
    """(severity, confidence, line) and detail of each finding of a code."""
    report = lint(sources.read(text, "Dockerfile"), MATRIX)
    return [
        ((item.severity, item.confidence, item.place.line), item.detail)
        for item in report.findings
        if item.code == code
    ]


AMD = "https://repo.radeon.com/rocm/manylinux/rocm-rel-6.3/"
JAXLIB = f"RUN pip3 install {AMD}jaxlib-0.4.31-cp310-cp310-manylinux_2_28_x86_64.whl\n"

# code, the file, what it weighs, words that its detail must hold
WEIGHED = [
    # an older minor of the same major has the library by name, another major has not
    (
        "base-runtime-mismatch",
        TEAM + "RUN pip3 install tensorflow==2.12.0\n",
        ("warning", "certain", 2),
        "CUDA 11.8",
    ),
    ("base-runtime-mismatch", OLDER + "RUN pip3 install tensorflow==2.12.0\n", ("error", "certain", 3), "cuDNN 8.6"),
    ("base-runtime-mismatch", NEWER + "RUN pip3 install tensorflow==2.12.0\n", ("error", "certain", 3), "cuDNN 8.6"),
    # ... and where a package brings it, it may be found
    (
        "base-runtime-mismatch",
        NEWER + "RUN pip3 install tensorflow==2.12.0 torch==2.0.1\n",
        ("warning", "certain", 3),
        "has 9.1.0.70",
    ),
    ("library-missing", BARE + "RUN pip3 install tensorflow==2.12.0\n", ("error", "certain", 3), "has none."),
    (
        "library-missing",
        BARE + "RUN pip3 install tensorflow==2.12.0 torch==2.0.1\n",
        ("warning", "likely", 3),
        "torch==2.0.1 brings it as packages",
    ),
    # an image that says nothing of GPUs may be meant for none
    (
        "library-missing",
        on("ubuntu:22.04") + "RUN pip3 install tensorflow==2.12.0\n",
        ("warning", "certain", 3),
        "none.",
    ),
    # a pinned release that the extra index cannot have; a wish that it could serve
    (
        "extra-index-shadowed",
        SLIM + f"RUN pip install torch==2.9.1 --extra-index-url {PYTORCH}/cu118\n",
        ("error", "certain", 2),
        "not to a cu118 build: that index has none that fits",
    ),
    (
        "extra-index-shadowed",
        SLIM + f"RUN pip install torch --extra-index-url {PYTORCH}/cu118\n",
        ("warning", "certain", 2),
        "not to a cu118 build.",
    ),
    # what was never published; what may merely be newer than the matrix
    (
        "version-does-not-exist",
        SLIM + f"RUN pip install torch==2.5.2 --index-url {PYTORCH}/cu118\n",
        ("error", "likely", 2),
        f"No build of torch==2.5.2 is published at {PYTORCH}/cu118.",
    ),
    (
        "version-does-not-exist",
        SLIM + f"RUN pip install torch==9.9 --index-url {PYTORCH}/cu118\n",
        ("warning", "likely", 2),
        "or it is newer than this matrix",
    ),
    # the ROCm of the base beside that of the wheels
    (
        "rocm-libs-mixed",
        on("rocm/dev-ubuntu-22.04:6.2") + f"RUN pip3 install torch==2.3.0+rocm6.0 --index-url {PYTORCH}/rocm6.0\n",
        ("warning", "certain", 3),
        "ROCm 6.0 beside the 6.2 of rocm/dev-ubuntu-22.04:6.2",
    ),
    # a wheel of one ROCm on an image of another, which the image says or AMD's installer brought
    (
        "base-runtime-mismatch",
        on("rocm/dev-ubuntu-22.04:6.1") + JAXLIB,
        ("warning", "certain", 3),
        "jaxlib is of ROCm 6.3; the image has 6.1.",
    ),
    (
        "base-runtime-mismatch",
        on("ubuntu:22.04") + "RUN curl -O https://repo.radeon.com/amdgpu-install/6.2/ubuntu/jammy/a.deb\n" + JAXLIB,
        ("warning", "certain", 4),
        "jaxlib is of ROCm 6.3; the image has 6.2.",
    ),
    # a system is old whoever ships it
    ("base-tag-eol", on("rocm/dev-ubuntu-18.04:5.7"), ("warning", "certain", 1), "ubuntu18.04 left standard support"),
    ("base-tag-eol", "FROM nvidia/cuda:12.8.0-base-cm2\n", ("warning", "certain", 1), "cm2"),
    ("pin-missing", "FROM pytorch/pytorch:latest\n", ("info", "certain", 1), "has tag latest: it moves"),
    ("pin-missing", "FROM python\n", ("info", "certain", 1), "python has no tag: it moves"),
    ("pin-missing", SLIM + "RUN pip install torch\n", ("info", "certain", 2), "PyTorch: no version is named"),
]


@pytest.mark.parametrize(("code", "text", "weight", "words"), WEIGHED, ids=lambda value: str(value)[:40])
def test_a_finding_weighs_what_the_facts_say(code, text, weight, words):
    weights = found(text, code)
    assert weight in [item for item, _ in weights]
    assert any(words in detail for _, detail in weights), weights


# code, and a file that is one fact away from one that earns it
SILENT = [
    # the extra index has what the default one gives: nothing is shadowed
    ("extra-index-shadowed", SLIM + f"RUN pip install torch==2.6.0 --extra-index-url {PYTORCH}/cu124\n"),
    ("extra-index-shadowed", SLIM + f"RUN pip install torch==2.6.0+cu118 --extra-index-url {PYTORCH}/cu118\n"),
    ("extra-index-shadowed", SLIM + f"RUN pip install torch==2.6.0 --index-url {PYTORCH}/cu118\n"),
    # a mirror, an unknown address: what they hold is not known
    ("version-does-not-exist", SLIM + "RUN pip install torch==2.5.2 --index-url https://mirror.example/simple\n"),
    ("version-does-not-exist", SLIM + "RUN pip install torch==2.5.2 --extra-index-url https://mirror.example/simple\n"),
    ("version-does-not-exist", SLIM + f"RUN pip install torch==2.5.1 --index-url {PYTORCH}/cu118\n"),
    ("version-does-not-exist", SLIM + f"RUN pip install torch==2.9.1 --index-url {PYTORCH}/whatever\n"),
    ("rocm-libs-mixed", on("rocm/dev-ubuntu-22.04:6.0") + f"RUN pip3 install torch==2.3.0 -i {PYTORCH}/rocm6.0\n"),
    ("base-runtime-mismatch", on("rocm/dev-ubuntu-22.04:6.3") + JAXLIB),
    ("base-runtime-mismatch", on("ubuntu:22.04") + JAXLIB),
    ("base-tag-eol", on("rocm/dev-ubuntu-24.04:6.2")),
    ("base-tag-gone", "FROM nvidia/cuda:99.9.9-base-ubuntu99.04\n"),
    (
        "base-runtime-mismatch",
        on("nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04") + "RUN pip3 install tensorflow==2.12.0\n",
    ),
    ("library-missing", NEWER + "RUN pip3 install tensorflow==2.12.0\n"),
    ("library-missing", BARE + "RUN pip3 install tensorflow-cpu==2.12.0\n"),
    ("pin-missing", "FROM python:3.12.1\n"),
    ("pin-missing", SLIM + "RUN pip install torch==2.9.1\n"),
]


@pytest.mark.parametrize(("code", "text"), SILENT, ids=lambda value: str(value)[-40:])
def test_one_fact_away_nothing_is_said(code, text):
    assert found(text, code) == []


@pytest.mark.parametrize("index", range(len(WEIGHED)))
def test_a_comment_above_moves_the_place_and_nothing_else(index):
    code, text, (severity, confidence, line), _ = WEIGHED[index]
    assert (severity, confidence, line + 2) in [item for item, _ in found(f"# one\n# two\n{text}", code)]
