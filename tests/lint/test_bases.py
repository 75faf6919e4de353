"""What an image reference says of itself: vendor, release, flavour, system, Python, frameworks, by its maker's scheme."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.lint import bases, images
from compat.matrix import matrix

MATRIX = matrix()

# reference -> what must be read from it; what is not named must be empty
READ = {
    "nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04": {
        "kind": "cuda", "cuda": "12.4.1", "cudnn": "yes", "flavour": "runtime", "os": "ubuntu22.04",
    },
    "nvidia/cuda:11.8.0-cudnn8-devel-ubuntu20.04": {
        "kind": "cuda", "cuda": "11.8.0", "cudnn": "8", "flavour": "devel", "os": "ubuntu20.04",
    },
    "nvidia/cuda:12.4.1-base-rockylinux9": {"kind": "cuda", "cuda": "12.4.1", "flavour": "base", "os": "rockylinux9"},
    "nvcr.io/nvidia/cuda:12.4.1-base-ubuntu22.04": {
        "kind": "cuda", "cuda": "12.4.1", "flavour": "base", "os": "ubuntu22.04",
    },
    "docker.io/nvidia/cuda:12.4.1-devel-ubi9@sha256:0123": {
        "kind": "cuda", "cuda": "12.4.1", "flavour": "devel", "os": "ubi9", "digest": True,
    },
    "nvidia/cuda": {"kind": "cuda"},
    "rocm/dev-ubuntu-22.04:6.2": {"kind": "rocm", "rocm": "6.2", "os": "ubuntu22.04"},
    "rocm/dev-ubuntu-24.04:6.3.1-complete": {"kind": "rocm", "rocm": "6.3.1", "os": "ubuntu24.04"},
    "rocm/dev-almalinux-8:6.2": {"kind": "rocm", "rocm": "6.2", "os": "almalinux8"},
    "rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0": {
        "kind": "rocm", "rocm": "6.2", "os": "ubuntu22.04", "python": "3.10", "installed": {"torch": "2.3.0"},
    },
    "rocm/tensorflow:rocm6.1-py3.9-tf2.15-dev": {
        "kind": "rocm", "rocm": "6.1", "python": "3.9", "installed": {"tensorflow": "2.15"},
    },
    "rocm/pytorch:latest": {"kind": "rocm", "python": "unknown"},
    "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime": {
        "kind": "cuda", "cuda": "12.4", "cudnn": "9", "flavour": "runtime", "python": "unknown",
        "installed": {"torch": "2.6.0"},
    },
    "tensorflow/tensorflow:2.12.0-gpu": {
        "kind": "cuda", "cuda": "11.8", "cudnn": "yes", "python": "unknown", "installed": {"tensorflow": "2.12.0"},
    },
    "nvcr.io/nvidia/l4t-base:r36.2.0": {"kind": "jetson"},
    "nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3": {
        "kind": "jetson", "cuda": "11.4", "os": "ubuntu20.04", "python": "3.8", "installed": {"torch": "2.0.0"},
    },
    "python:3.11-slim-bookworm": {"kind": "python", "os": "debian12", "python": "3.11"},
    "library/python:3.10-alpine": {"kind": "python", "python": "3.10", "musl": True},
    "docker.io/library/python": {"kind": "python", "python": "unknown"},
    "ubuntu:22.04": {"kind": "plain", "os": "ubuntu22.04"},
    "ubuntu:jammy": {"kind": "plain", "os": "ubuntu22.04"},
    "debian:bookworm-slim": {"kind": "plain", "os": "debian12"},
    "nvidia/cuda:12.8.0-base-cm2": {"kind": "cuda", "cuda": "12.8.0", "flavour": "base", "os": "azurelinux2.0"},
    "amazonlinux:2023": {"kind": "plain", "os": "amzn2023"},
    "alpine:3.19": {"kind": "plain", "os": "alpine3.19", "musl": True},
    "registry.example:5000/team/image": {"python": "unknown"},
    "registry.example:5000/team/image:7-gpu": {"python": "unknown", "kind": "cuda"},
    "registry.example/team/gpu:cpu": {"python": "unknown"},
    "${BASE}": {"python": "unknown"},
}  # fmt: skip
TOLD = ("kind", "cuda", "rocm", "cudnn", "flavour", "os", "python", "installed", "musl", "digest")


@pytest.mark.parametrize("reference", READ)
def test_a_reference_is_read_by_its_makers_scheme(reference):
    base = bases.read(reference, MATRIX)
    assert {name: getattr(base, name) for name in TOLD if getattr(base, name)} == READ[reference]


@pytest.mark.parametrize(
    ("reference", "repository", "tag"),
    [
        ("a", "a", ""),
        ("a:b", "a", "b"),
        ("host:5000/a", "host:5000/a", ""),
        ("host:5000/a:b", "host:5000/a", "b"),
        ("a:b@sha256:00", "a", "b"),
        ("a@sha256:00", "a", ""),
        ("docker.io/a:b", "a", "b"),
        ("docker.io/library/a:b", "a", "b"),
        ("ghcr.io/library/a", "ghcr.io/library/a", ""),
    ],
)
def test_repository_and_tag_part_at_the_last_colon_that_is_no_port(reference, repository, tag):
    base = bases.read(reference, MATRIX)
    assert (base.repository, base.tag) == (repository, tag)


@pytest.mark.parametrize(
    ("reference", "floating"),
    [
        ("a", True),
        ("a:latest", True),
        ("a:latest-gpu", True),
        ("a:main", True),
        ("a:2.0-nightly", True),
        ("a:devel", False),
        ("a:1.0-dev", False),
        ("a:7", False),
        ("a@sha256:00", False),
        ("a:latest@sha256:00", False),
    ],
)
def test_a_tag_that_moves(reference, floating):
    assert bases.read(reference, MATRIX).floating is floating


@pytest.mark.parametrize(
    ("reference", "holds"),
    [
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", False),
        ("nvidia/cuda:12.4.1-runtime-ubuntu22.04", True),
        ("nvidia/cuda:12.4.1-devel-ubuntu22.04", True),
        ("ubuntu:22.04", False),
        ("rocm/dev-ubuntu-22.04:6.2", False),
    ],
)
def test_the_flavours_that_hold_cudas_libraries(reference, holds):
    assert bases.read(reference, MATRIX).has_cuda_libraries is holds


@pytest.mark.parametrize(
    ("reference", "never"),
    [
        ("nvidia/cuda:12.4-base-ubuntu22.04", True),  # NVIDIA's tags name the patch
        ("nvidia/cuda:12.4.1-cudnn8-runtime-ubuntu22.04", True),
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", False),
        ("nvidia/cuda:12.4-base-ubuntu22.04@sha256:00", False),  # a digest may name what was taken down
        ("nvidia/cuda:12.4-base-${OS}", False),
        ("mirror.example/nvidia/cuda:12.4-base-ubuntu22.04", False),
        ("nvidia/cuda:99.1.0-base-ubuntu22.04", False),  # newer than the matrix
        ("nvidia/cuda:12.4.1-base-plan9", False),
        ("nvidia/cuda:12.1.1-runtime-ubuntu26.04", True),  # CUDA 12.1 came to no Ubuntu after 22.04
        ("nvidia/cuda:12.6.3-base-ubuntu18.04", True),
        ("nvidia/cuda:13.1.0-base-ubuntu26.04", False),  # has the newest Ubuntu of its day
        ("nvidia/cuda:13.3.1-base-ubuntu26.10", False),  # what is there of it is only inferred
        ("nvcr.io/nvidia/pytorch:27.01-py3", False),
    ],
)
def test_a_tag_that_never_was(reference, never):
    assert images.never_published(bases.read(reference, MATRIX), MATRIX) is never


@given(st.text(max_size=60))
def test_no_reference_breaks_the_reading(text):
    base = bases.read(text, MATRIX)
    assert base.reference == text
    assert base.kind in {"", "cuda", "rocm", "jetson", "plain", "python"}


@given(st.sampled_from([row for row in MATRIX.table("images") if row.repository == "nvidia/cuda" and row.cuda]))
def test_the_tags_of_nvidias_images_say_what_the_matrix_says(row):
    """Two readings of one tag, by its spelling and by the measured row, must not differ."""
    for reference in row.references()[:5]:
        base = bases.read(reference, MATRIX)
        if base.cuda and base.os:
            assert row.cuda.startswith(base.cuda) or base.cuda.startswith(row.cuda)
            assert base.os == row.os
