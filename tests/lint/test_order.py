"""Steps in their order: what is kept, replaced, removed, copied and compiled decides, not what is merely written."""

import pytest

from compat import sources
from compat.lint import lint
from compat.matrix import matrix

MATRIX = matrix()
SLIM = "FROM python:3.11-slim-bookworm\n"
PAIR = "torch==2.1.2+cu118 torchvision==0.16.2+cu118 --index-url https://download.pytorch.org/whl/cu118"
NGC = "FROM nvcr.io/nvidia/pytorch:24.10-py3\n"
DEVEL = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
TORCH = "RUN pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124\n"
FLASH = "RUN pip install flash-attn==2.7.4.post1 --no-build-isolation\n"
OLD = "FROM pytorch/pytorch:1.8.1-cuda10.2-cudnn7-devel\n"

FAULTS = [
    # a step that cannot be installed, though a later one mends it
    (SLIM + "RUN pip install torch==2.9.1 torchvision==0.19.0\nRUN pip install torch==2.9.1 torchvision==0.24.1\n",
     "framework-pair-mismatch", "error", 2),
    # what a later package requires replaces torch, and torchvision stays behind
    (f"{SLIM}RUN pip install {PAIR}\nRUN pip install xformers==0.0.28.post3\n", "framework-pair-mismatch", "error", 3),
    # nothing but torch is there to break: it is replaced all the same
    (f"{SLIM}RUN pip install torch==2.1.2\nRUN pip install xformers==0.0.28.post3\n",
     "framework-pair-mismatch", "warning", 3),
    (DEVEL + TORCH + FLASH + "RUN pip install vllm==0.7.2\n", "abi-mismatch", "error", 5),
    (NGC + "RUN pip install vllm==0.6.3\n", "framework-duplicate-install", "warning", 2),
    ("FROM pytorch/pytorch:2.0.1-cuda11.7-cudnn8-runtime\nRUN pip install torchvision==0.19.0\n",
     "framework-duplicate-install", "warning", 2),
    ("FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install vllm==0.4.3\n",
     "double-cuda", "warning", 3),
    # an environment that is copied brings what was installed into it
    (("FROM python:3.10 AS build\nRUN python -m venv /opt/venv && /opt/venv/bin/pip install torch==2.6.0\n"
     "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nCOPY --from=build /opt/venv /opt/venv\n"), "double-cuda", "warning", 0),
    ('FROM alpine:3.19\nCOPY start.sh /\nRUN chmod +x /start.sh\nRUN pip install torch==2.6.0\nCMD ["/start.sh"]\n',
     "base-python-missing", "error", 4),
    ('FROM ubuntu:24.04\nRUN pip install torch==2.6.0\nCMD ["bash", "start.sh"]\n', "base-python-missing", "error", 2),
    (OLD + "RUN apt-get update && apt-get install -y git\n", "base-apt-key-rotated", "error", 2),
    ("FROM tensorflow/tensorflow:2.4.0-gpu\nRUN apt-get update\n", "base-apt-key-rotated", "error", 2),
    ("FROM python:3.10-slim-buster\nRUN apt-get update && apt-get install -y git\n", "base-tag-eol", "error", 2),
    (("FROM pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime\nRUN pip install --config-settings "
     "'--build-option=--cuda_ext' git+https://github.com/NVIDIA/apex.git\n"), "image-runtime-not-devel", "error", 2),
    (SLIM + "RUN FORCE_CUDA=1 pip install git+https://github.com/facebookresearch/detectron2\n",
     "image-runtime-not-devel", "error", 2),
    (("FROM nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04\nRUN apt-get update && apt-get install -y python3-pip\n"
     "RUN pip3 install jaxlib==0.1.65+cuda112 -f https://storage.googleapis.com/jax-releases/jax_releases.html\n"
     "RUN pip3 install --upgrade flax\n"), "accidental-cpu-wheel", "error", 4),
    ("FROM rocm/dev-ubuntu-22.04:6.2\nENV HSA_OVERRIDE_GFX_VERSION=10.3.0\n", "rocm-gfx-override", "warning", 2),
    ("FROM nvidia/cuda:11.4.0-base-ubuntu20.04\n", "base-tag-gone", "error", 1),
    ("FROM nvidia/cuda:11.1.0-devel-ubuntu20.04\n", "base-tag-gone", "error", 1),
    # the torchvision that the fixed torch leads to requires NumPy, too
    (f"{SLIM}RUN pip install 'torch>=2' torchvision torchdata==0.6.0\n", "numpy-abi-mismatch", "warning", 2),
    # a pin that leaves its framework open leads no other package: the newest xformers replaces torch
    (f"{SLIM}RUN pip install {PAIR}\nRUN pip install xformers lightning==2.0.0\n", "framework-pair-mismatch", "error", 3),
    # a framework's runtime image has no compiler either
    ("FROM pytorch/pytorch:2.8.0-cuda12.6-cudnn9-runtime\nRUN pip install causal-conv1d\n",
     "image-runtime-not-devel", "error", 2),
    ("FROM pytorch/pytorch:2.8.0-cuda12.6-cudnn9-runtime\nRUN pip install causal-conv1d || true\n",
     "image-runtime-not-devel", "warning", 2),
    # wheels for other systems do not help on musl, whatever page has them
    (("FROM python:3.10-alpine AS base\nFROM base\n"
      "RUN pip install torch -f https://download.pytorch.org/whl/torch_stable.html\n"), "musl-libc", "error", 3),
    (SLIM + "RUN pip install torch --extra-index-url https://download.pytorch.org/whl/rocm6.2\n",
     "extra-index-shadowed", "error", 2),
]  # fmt: skip

SOUND = [
    # a release that belongs to another torch by its maker's table, and brings none, is replaced in its turn
    ((f"{SLIM}RUN pip install torch==2.13.0 torchvision==0.28.0\nRUN pip install torchcodec==0.9.1\n"
     "RUN pip install torchcodec==0.15.0\n"), "framework-pair-mismatch"),
    # the pair is replaced as a pair
    (f"{SLIM}RUN pip install {PAIR}\nRUN pip install torch==2.6.0 torchvision==0.21.0\n", "framework-pair-mismatch"),
    # mended by the last step
    (f"{SLIM}RUN pip install {PAIR}\nRUN pip install xformers==0.0.28.post3\nRUN pip install torchvision==0.20.1\n",
     "framework-pair-mismatch"),
    (DEVEL + TORCH + "RUN pip install vllm==0.7.2\n" + FLASH, "abi-mismatch"),
    (NGC + "RUN pip uninstall -y torch torchvision\nRUN pip install torch==2.8.0\n", "framework-duplicate-install"),
    (NGC + "RUN pip install torch torchvision\n", "framework-duplicate-install"),
    (OLD + "RUN rm /etc/apt/sources.list.d/cuda.list && apt-get update\n", "base-apt-key-rotated"),
    ("FROM pytorch/pytorch:1.8.1-cuda10.2-cudnn7-runtime\nRUN apt-get update\n", "base-apt-key-rotated"),
    ("FROM python:3.10-slim-buster\nRUN sed -i s/deb.debian/archive.debian/ /etc/apt/sources.list && apt-get update\n",
     "base-tag-eol"),
    ("FROM nvidia/cuda:12.1.1-devel-ubuntu22.04\nCOPY . .\nRUN ./scripts/build.sh\n", "devel-in-final-stage"),
    (DEVEL + TORCH + "COPY . .\nRUN python3 scripts/prepare.py\n", "devel-in-final-stage"),
    # what is copied compiles its kernels when it is used
    (("FROM continuumio/miniconda3 AS a\nRUN pip install accelerate[deepspeed]\n"
     "FROM nvidia/cuda:12.6.3-cudnn-devel-ubuntu22.04\nCOPY --from=a /opt/conda /opt/conda\n"), "devel-in-final-stage"),
    (DEVEL + TORCH + "COPY . .\nRUN python3 scripts/prepare.py\n", "double-cuda"),
    ("FROM nvidia/cuda:11.8.0-devel-ubuntu20.04\nRUN apt-get update && apt-get install -y pip\nRUN pip install numpy\n",
     "base-python-missing"),
    (("FROM nvidia/cuda:11.6.2-runtime-ubuntu20.04\nRUN apt-get update && apt-get install -y python3-pip\n"
     "RUN pip3 install torch==1.12.1+cu116 --extra-index-url https://download.pytorch.org/whl/cu116\n"
     "RUN pip3 install dgl==1.0.2+cu116 -f https://data.dgl.ai/wheels/cu116/repo.html\n"), "double-cuda"),
    (("FROM nvidia/cuda:12.5.1-devel-ubuntu22.04\nENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs\n"
     "RUN ln -s /usr/local/cuda/lib64/stubs/libcuda.so /usr/local/cuda/lib64/stubs/libcuda.so.1 && make && "
     "rm /usr/local/cuda/lib64/stubs/libcuda.so.1\n"), "driver-stub-loaded"),
    (SLIM + "RUN pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/cu129\n",
     "version-does-not-exist"),
    # two interpreters, two environments
    ("FROM python:3.11\nRUN /opt/a/bin/pip install torch==2.1.2\nRUN /opt/b/bin/pip install torchvision==0.19.0\n",
     "framework-pair-mismatch"),
    # a stage that nothing can reach is not built
    ("FROM alpine:3.19\nRUN pip install torch==2.6.0\nFROM python:3.11\nRUN true\n", "base-python-missing"),
]  # fmt: skip


def told(text, code, name="Dockerfile"):
    return [one for one in lint(sources.read(text, name), MATRIX).findings if one.code == code]


@pytest.mark.parametrize(("text", "code", "severity", "line"), FAULTS)
def test_a_fault_of_the_order_is_told_at_its_line(text, code, severity, line):
    found = told(text, code)
    assert (severity, line) in {(one.severity, one.place.line if line else 0) for one in found}


@pytest.mark.parametrize(("text", "code"), SOUND)
def test_its_neighbour_is_sound(text, code):
    mild = {"info", "warning"} if code in {"framework-pair-mismatch", "base-tag-eol"} else {"info"}
    assert [one.detail for one in told(text, code) if one.severity not in mild] == []


SPLIT = [
    # the halves of a split never clash
    (("torch==2.6.0; sys_platform == 'linux'\ntorchvision==0.21.0; sys_platform == 'linux'\n"
      "torch==2.2.1; sys_platform == 'darwin'\ntorchvision==0.17.1; sys_platform == 'darwin'\n"), False),
    ("torch==2.6.0; python_version >= '3.10'\ntorchvision==0.17.1; python_version < '3.10'\n", False),
    ("torch==2.6.0; platform_machine == 'aarch64'\ntorchvision==0.20.1; platform_machine == 'aarch64'\n", True),
    (("torch==2.6.0; sys_platform == 'linux'\ntorchvision==0.21.0; sys_platform == 'linux'\n"
      "torch==2.2.2; sys_platform == 'darwin'\ntorchvision==0.16.2; sys_platform == 'darwin'\n"), True),
    ("torch==2.6.0; platform_machine == 'x86_64'\ntorchvision==0.17.1; platform_machine == 'ppc64le'\n", False),
    # and a marker switches no check off
    ("torch==2.6.0; python_version >= '3.9'\ntorchvision==0.17.1; python_version >= '3.9'\n", True),
    ("torch==2.6.0\nnvidia-cublas-cu12==12.1.3.1; python_version >= '3.9'\n", True),
    ("torch==2.6.0; platform_system == 'Linux'\ntorchvision==0.17.1\n", True),
    # wildcards and ranges
    ("torch==2.4.*\ntorchvision==0.20.*\n", True),  # 0.20.0 and 0.20.1 each require a torch 2.5
    ("torch==2.4.*\ntorchvision==0.20.0\n", True),
    ("torch<2.5\ntorchvision==0.20.0\n", True),
    ("torch>=2.4\ntorchvision==0.20.0\n", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "clashes"), SPLIT)
def test_markers_and_ranges_decide_which_pins_meet(text, clashes):
    assert bool(told(text, "framework-pair-mismatch", "requirements.txt")) is clashes


def test_an_open_framework_is_the_one_that_its_neighbour_requires():
    (found,) = told("numpy==2.1.3\ntorch>=2.0.1\ntorchdata==0.6.1\n", "numpy-abi-mismatch", "requirements.txt")
    assert "torch 2.0.1" in found.detail


POETRY = """
[project]
name = "x"
version = "1"
[project.optional-dependencies]
cuda = ["torch (==2.7.1+cu126)"]
[[tool.poetry.source]]
name = "pt"
url = "https://download.pytorch.org/whl/{variant}"
priority = "explicit"
[tool.poetry.dependencies]
torch = [{{ markers = "extra == '{extra}'", source = "pt" }}]
"""


@pytest.mark.parametrize(
    ("variant", "extra", "faulty"), [("cu126", "cuda", False), ("cu118", "cuda", True), ("cu126", "cpu", True)]
)
def test_poetry_says_where_a_project_takes_its_dependency_from(variant, extra, faulty):
    assert bool(told(POETRY.format(variant=variant, extra=extra), "index-missing", "pyproject.toml")) is faulty


SILENCED = [
    ("torch==2.4.0\ntorchvision==0.20.0  # envcheck: ignore[framework-pair-mismatch]\n", True),
    ("torch==2.4.0\n# envcheck: ignore[pin-missing, framework-pair-mismatch]\ntorchvision==0.20.0\n", True),
    ("torch==2.4.0\ntorchvision==0.20.0  # envcheck: ignore\n", True),
    ("torch==2.4.0\ntorchvision==0.20.0  # envcheck: ignore[pin-missing]\n", False),
    ("torch==2.4.0  # envcheck: ignore\ntorchvision==0.20.0\n", False),
]


@pytest.mark.parametrize(("text", "silent"), SILENCED)
def test_a_comment_silences_its_own_line(text, silent):
    assert (told(text, "framework-pair-mismatch", "requirements.txt") == []) is silent


def test_one_line_and_one_cause_give_one_finding():
    text = SLIM + "RUN pip install torch torchaudio --extra-index-url https://download.pytorch.org/whl/cu118\n"
    (found,) = told(text, "extra-index-shadowed")
    assert ["torchaudio" in each.detail for each in found.consequences] == [True]


NAMED = [
    ("torch==2.6.0\ncausal-conv1d==1.5.0.post8+cu12torch2.4\n", True),
    ("torch==2.4.1\ncausal-conv1d==1.5.0.post8+cu12torch2.4\n", False),
    (
        "torch==2.6.0\nhttps://example.org/flash_attn-2.7.4+cu12torch2.5cxx11abiFALSE-cp310-cp310-linux_x86_64.whl\n",
        True,
    ),
]


@pytest.mark.parametrize(("text", "faulty"), NAMED)
def test_the_name_of_a_wheel_tells_its_torch(text, faulty):
    assert bool(told(text, "framework-build-tag-mismatch", "requirements.txt")) is faulty


@pytest.mark.parametrize(
    ("torch", "fixes"),
    [
        ("torch==2.4.1", []),  # its CUDA is 12.1: the extension asks for the same major alone
        (
            "torch==2.6.0",
            ["Ask for torch-scatter==2.1.2+pt26cu126 from https://data.pyg.org/whl/torch-2.6.0+cu126.html."],
        ),
        (
            "torch==2.4.1+cpu",
            ["Ask for torch-scatter==2.1.2+pt24cpu from https://data.pyg.org/whl/torch-2.4.0+cpu.html."],
        ),
    ],
)
def test_a_wheel_of_a_page_goes_with_its_torch_and_a_cuda_of_its_major(torch, fixes):
    text = f"--find-links https://data.pyg.org/whl/torch-2.4.0+cu124.html\n{torch}\ntorch-scatter==2.1.2+pt24cu124\n"
    codes = ("framework-pair-mismatch", "framework-build-tag-mismatch")
    found = [each for code in codes for each in told(text, code, "requirements.txt")]
    assert [each.fix.text for each in found if each.severity == "error"] == fixes


NIGHTLY = "https://download.pytorch.org/whl/nightly/cu128"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"--extra-index-url {NIGHTLY}\ntorch\n", "extra-index-shadowed"),
        (f"--pre\n--extra-index-url {NIGHTLY}\ntorch\n", "nightly-unpinned"),
        (f"--index-url {NIGHTLY}\ntorch\n", "nightly-unpinned"),
    ],
)
def test_pip_takes_nightlies_only_where_it_is_told_to(text, code):
    found = {one.code for one in lint(sources.read(text, "r.txt"), MATRIX).findings if one.severity != "info"}
    assert found & {"extra-index-shadowed", "nightly-unpinned"} == {code}
