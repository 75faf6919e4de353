"""Lint by cases: a file, and the codes it must give; and lean, right files that must give no error."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import rules, sources
from compat.findings import Report
from compat.lint import RULES, lint
from compat.matrix import matrix

MATRIX = matrix()
PYTORCH = "https://download.pytorch.org/whl"
PYTHON = "FROM python:3.10-slim-bookworm\n"
CUDA = "FROM nvidia/cuda:12.4.1-{}-ubuntu22.04\nRUN apt-get update && apt-get install -y python3 python3-pip\n"
CUDNN9 = "FROM nvidia/cuda:12.3.2-cudnn9-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
CUDNN8 = "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
CUDA10 = "FROM nvidia/cuda:10.2-cudnn7-runtime-ubuntu18.04\nRUN apt-get update && apt-get install -y python3-pip\n"
DEVEL = "FROM nvidia/cuda:12.1.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
AMD_JAXLIB = "https://repo.radeon.com/rocm/manylinux/rocm-rel-6.3/jaxlib-0.4.31-cp312-cp312-manylinux_2_28_x86_64.whl"

BAD = [
    (
        "python-externally-managed",
        "FROM debian:12\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install torch==2.6.0\n",
    ),
    ("base-python-missing", "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN pip install torch==2.0.1\n"),
    ("base-python-missing", "FROM ubuntu:22.04\nRUN python3 -c 'print(1)'\n"),
    ("source-gone", "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y libgl1-mesa-glx libjasper-dev\n"),
    ("source-gone", "FROM python:3.11\nRUN git clone git://github.com/NVIDIA/apex\n"),
    ("apt-lists-missing", "FROM ubuntu:24.04\nRUN apt-get install -y git\n"),
    (
        "python-unsupported",
        "FROM ubuntu:20.04\nRUN add-apt-repository ppa:x/y && apt-get install -y python3.10 python3-pip\nRUN pip3 install torch==2.5.0\n",
    ),
    ("musl-libc", "FROM python:3.11-alpine\nRUN pip install tensorflow==2.15.0\n"),
    ("base-tag-eol", "FROM nvidia/cuda:12.2.0-runtime-ubuntu20.04\n"),
    ("base-tag-gone", "FROM nvidia/cuda:10.2-cudnn7-devel-ubuntu18.04\n"),
    ("base-tag-gone", "FROM nvidia/cuda:11.0-base-ubuntu20.04\n"),
    ("base-tag-gone", "FROM nvidia/cuda:latest\n"),
    ("base-tag-gone", "FROM nvidia/cuda\n"),
    ("pin-missing", "FROM pytorch/pytorch:latest\n"),
    ("pin-missing", "FROM python\n"),
    ("pin-missing", PYTHON + "RUN pip install torch\n"),
    ("pin-missing", PYTHON + "RUN pip install 'torch>=2'\n"),
    ("index-missing", PYTHON + "RUN pip install torch==1.13.1+cu117\n"),
    ("version-does-not-exist", PYTHON + "RUN pip install torch==2.5.2\n"),
    ("version-does-not-exist", PYTHON + f"RUN pip install torch==2.6.0+cu117 --index-url {PYTORCH}/cu117\n"),
    ("version-does-not-exist", PYTHON + f"RUN pip install --pre torch --index-url {PYTORCH}/nightly/cu117\n"),
    ("nightly-unpinned", PYTHON + f"RUN pip install --pre torch --index-url {PYTORCH}/nightly/cu130\n"),
    ("requirement-unquoted", PYTHON + "RUN pip install 'torch==2.6.0' numpy<=1.26\n"),
    ("requirement-unreadable", PYTHON + "COPY <<E /r.txt\nnumpy=1.24\ntorch==2.6.0\nE\nRUN pip install -r /r.txt\n"),
    ("instruction-unknown", PYTHON + "RUN apt-get update\n    && apt-get install -y git\n"),
    ("nightly-unpinned", PYTHON + "RUN pip install tf-nightly\n"),
    ("python-unsupported", "FROM python:3.12-slim\nRUN pip install torch==1.13.1\n"),
    ("python-unsupported", "FROM tensorflow/tensorflow:latest-gpu\nRUN pip install torch==1.4.0\n"),
    (
        "python-unsupported",
        "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime\nRUN pip install https://x/y/torch-0.4.0-cp27-cp27mu-linux_x86_64.whl\n",
    ),
    ("base-python-missing", "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3.12 python3.12-venv\n"),
    ("base-python-missing", "FROM nvidia/cuda:11.6.2-base-ubuntu20.04\nRUN apt install -y python3.10-minimal\n"),
    ("version-does-not-exist", PYTHON + f"RUN pip install torch==2.7.0.dev20250311 -i {PYTORCH}/nightly/cu128\n"),
    (
        "wrong-vendor-build",
        "FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0\nRUN pip install -U 'torch>=2.0'\n",
    ),
    (
        "wrong-vendor-build",
        "FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0\nRUN pip install 'torch>=2.4'\n",
    ),
    ("framework-pair-mismatch", PYTHON + "RUN pip install torch==2.5.1+cu124 torchvision==0.16.1+cu124\n"),
    ("framework-pair-mismatch", PYTHON + "RUN pip install torch==2.1.0\nRUN pip install xformers==0.0.23 --no-deps\n"),
    ("framework-pair-mismatch", PYTHON + "RUN pip install torchvision==0.15.2\nRUN pip install torch==2.1.0\n"),
    (
        "framework-pair-mismatch",
        PYTHON + "COPY <<E /r.txt\ntorch==2.1.0\ntorchvision==0.15.2\nE\nRUN pip install -r /r.txt\n",
    ),
    ("index-missing", PYTHON + "RUN cat > r.txt <<'E'\ntorch==1.13.1+cu117\nE\nRUN pip install -r r.txt\n"),
    ("index-missing", PYTHON + "RUN echo 'torch==1.13.1+cu117' > r.txt && pip install -r r.txt\n"),
    ("extra-index-shadowed", PYTHON + f"RUN pip install torch --extra-index-url {PYTORCH}/cu118\n"),
    ("extra-index-shadowed", PYTHON + f"RUN pip install torch -f {PYTORCH}/cu111/torch_stable.html\n"),
    ("accidental-cpu-wheel", CUDA.format("base") + "RUN pip install jax==0.4.30\n"),
    ("accidental-cpu-wheel", PYTHON + "RUN pip install 'jax[cuda12_pip]'\n"),
    (
        "wrong-vendor-build",
        CUDA.format("base") + f"RUN pip install torch==2.6.0+rocm6.2.4 --index-url {PYTORCH}/rocm6.2.4\n",
    ),
    ("framework-pair-mismatch", PYTHON + "RUN pip install torch==2.1.0 torchvision==0.15.2\n"),
    ("framework-pair-mismatch", PYTHON + "RUN pip install torch==2.1.0\nRUN pip install torchvision==0.15.2\n"),
    ("cuda-major-mixed-in-env", PYTHON + "RUN pip install torch==2.1.0 cupy-cuda11x==12.3.0\n"),
    ("frameworks-conflict", PYTHON + "RUN pip install torch==2.3.0 tensorflow==2.12.0\n"),
    ("library-missing", PYTHON + "RUN pip install torch==2.4.1\nRUN pip uninstall -y nvidia-cudnn-cu12\n"),
    (
        "build-tools-missing",
        "FROM condaforge/miniforge3:24.11.3-0\nRUN conda install -y python=3.10 pip\nRUN pip install flash-attn\n",
    ),
    (
        "library-missing",
        "FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install tensorflow==2.12.0\n",
    ),
    (
        "library-missing",
        "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install tensorflow==2.12.0\n",
    ),
    (
        "base-runtime-mismatch",
        "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install tensorflow==2.12.0\n",
    ),
    ("double-cuda", CUDA.format("runtime") + f"RUN pip install torch==2.6.0+cu124 --index-url {PYTORCH}/cu124\n"),
    ("double-cuda", "FROM nvcr.io/nvidia/pytorch:25.06-py3\nRUN pip install torch==2.8.0\n"),
    (
        "devel-in-final-stage",
        CUDA.format("devel") + f"RUN pip install torch==2.6.0+cu124 --index-url {PYTORCH}/cu124\n",
    ),
    (
        "toolkit-mismatch-extension",
        "FROM nvidia/cuda:12.2.2-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install torch==1.13.0 && pip install flash-attn\n",
    ),
    ("extension-arch-missing", "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST='7.0;7.5'\n"),
    (
        "rocm-libs-mixed",
        f"FROM rocm/pytorch:rocm6.1_ubuntu22.04_py3.10_pytorch_2.1.2\nRUN pip install torch==2.3.0+rocm6.0 --index-url {PYTORCH}/rocm6.0\n",
    ),
    (
        "framework-duplicate-install",
        "FROM pytorch/pytorch:2.0.0-cuda11.7-cudnn8-runtime\nRUN pip install torch==2.1.0\n",
    ),
    (
        "jetson-generic-wheel",
        "FROM nvcr.io/nvidia/l4t-base:r36.2.0\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install torch==2.5.0\n",
    ),
    ("gpu-query-at-build", CUDA.format("base") + "RUN nvidia-smi\n"),
    ("gpu-query-at-build", PYTHON + 'RUN python -c "import torch; assert torch.cuda.is_available()"\n'),
    ("devices-hardcoded", PYTHON + "ENV CUDA_VISIBLE_DEVICES=0\n"),
    ("driver-stub-loaded", CUDA.format("devel") + "ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs\n"),
    ("cuda-home-broken", "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV CUDA_HOME=/usr/local/cuda-11.8\n"),
    ("cuda-home-broken", "FROM ubuntu:24.04\nENV PATH=/usr/local/cuda/bin:$PATH\n"),
    ("apt-key-deprecated", "FROM ubuntu:22.04\nRUN curl x | apt-key add -\n"),
    (
        "container-runtime-in-image",
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y nvidia-container-toolkit\n",
    ),
    ("image-ships-driver", "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y nvidia-driver-535\n"),
    # what an index lists and nobody can install
    ("version-does-not-exist", PYTHON + "RUN pip install tensorflow-gpu\n"),
    ("version-does-not-exist", PYTHON + "RUN pip install tensorflow-gpu==2.12.0\n"),
    ("version-does-not-exist", PYTHON + "RUN pip install 'tensorflow[and-cuda]==2.15.0'\n"),
    # tags that never were
    ("base-tag-gone", "FROM nvidia/cuda:12.4.1-cudnn8-runtime-ubuntu22.04\n"),
    ("base-tag-gone", "FROM nvidia/cuda:12.4-base-ubuntu22.04\n"),
    # one of Python's programs without the other
    (
        "base-python-missing",
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3\nRUN pip3 install torch==2.6.0\n",
    ),
    (
        "base-python-missing",
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN python -m pip install numpy\n",
    ),
    (
        "python-unsupported",
        "FROM python:3.9\nRUN pip install " + PYTORCH + "/cu118/torch-2.0.1%2Bcu118-cp310-cp310-linux_x86_64.whl\n",
    ),
    (
        "glibc-too-old",
        "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y python3.10 python3-pip\nRUN python3.10 -m pip install torch==2.9.1\n",
    ),
    # libraries from the system: cuDNN's major, names by minor before CUDA 11, the extras that say local
    ("base-runtime-mismatch", CUDNN9 + "RUN pip3 install tensorflow==2.15.1\n"),
    ("base-runtime-mismatch", CUDA10 + "RUN pip3 install tensorflow==2.3.0\n"),
    ("base-runtime-mismatch", CUDNN8 + "RUN pip3 install 'jax[cuda12_local]==0.4.30'\n"),
    ("base-runtime-mismatch", CUDNN8 + "RUN pip3 install onnxruntime-gpu==1.23.2\n"),
    # where from, told by settings and by uv's options
    ("extra-index-shadowed", PYTHON + f"ENV PIP_EXTRA_INDEX_URL={PYTORCH}/cu118\nRUN pip install torch\n"),
    (
        "extra-index-shadowed",
        PYTHON + f"RUN pip config set global.extra-index-url {PYTORCH}/cu118\nRUN pip install torch\n",
    ),
    ("extra-index-shadowed", PYTHON + f"RUN export PIP_EXTRA_INDEX_URL={PYTORCH}/cu118 && pip install torch\n"),
    (
        "extra-index-shadowed",
        PYTHON + f"RUN uv pip install torch --index-strategy unsafe-best-match --extra-index-url {PYTORCH}/cu118\n",
    ),
    ("accidental-cpu-wheel", CUDA.format("base") + "RUN uv pip install --system torch --torch-backend=auto\n"),
    ("accidental-cpu-wheel", PYTHON + "RUN uv pip install --system vllm==0.10.0 --torch-backend=auto\n"),
    (
        "accidental-cpu-wheel",
        "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install " + AMD_JAXLIB + "\n",
    ),
    # what excludes each other
    ("frameworks-conflict", PYTHON + "RUN pip install torch==2.1.0 'tensorflow[and-cuda]==2.15.0.post1'\n"),
    ("framework-pair-mismatch", PYTHON + "RUN pip install tensorflow==2.9.0 tensorboard==1.12.2\n"),
    ("framework-pair-mismatch", PYTHON + "RUN pip install tensorflow==2.12.0 'protobuf<3.20'\n"),
    ("numpy-abi-mismatch", PYTHON + "RUN pip install torch==2.0.1 numpy==2.1.0\n"),
    ("cuda-major-mixed-in-env", PYTHON + "RUN pip install torch==2.6.0 cupy-cuda11x==13.3.0\n"),
    ("framework-build-tag-mismatch", PYTHON + "RUN pip install torch==2.2.0+cu121 torchvision==0.17.0+cu118\n"),
    ("python-unsupported", "FROM python:3.8\nRUN pip install tensorflow-gpu==1.15.0\n"),
    ("python-unsupported", "FROM python:3.11\nRUN pip install 'tensorflow[and-cuda]==2.14.1'\n"),  # the extra's wheels
    (
        "accidental-cpu-wheel",
        "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN conda install -c conda-forge pytorch=2.4\n",
    ),
    # compilers
    (
        "toolkit-too-old-for-arch",
        DEVEL + "ENV TORCH_CUDA_ARCH_LIST='9.0;12.0'\nRUN pip install --no-build-isolation .\n",
    ),
    (
        "toolkit-mismatch-extension",
        CUDA.format("base")
        + "RUN apt-get update && apt-get install -y cuda-toolkit-11-8\nRUN pip install torch==2.6.0\nRUN pip install deepspeed\n",
    ),
    # packages that bring a framework
    ("pin-missing", PYTHON + "RUN pip install accelerate\n"),
    ("pin-missing", PYTHON + "RUN pip install 'fschat[model_worker]'\n"),
    ("double-cuda", CUDA.format("runtime") + "RUN pip install sentence-transformers==3.0\n"),
    ("gpu-query-at-build", CUDA.format("base") + "RUN nvidia-smi || true\n"),
    ("gpu-query-at-build", "FROM python:3.10\nONBUILD RUN nvidia-smi\n"),
    ("gpu-query-at-build", CUDA.format("base") + "RUN bash -c 'nvidia-smi'\n"),
    ("root-user", PYTHON),
]
ERRORS = {
    "base-tag-gone",
    "base-python-missing", "musl-libc", "index-missing", "version-does-not-exist", "python-unsupported", "accidental-cpu-wheel",
    "wrong-vendor-build", "framework-pair-mismatch", "library-missing", "toolkit-mismatch-extension", "jetson-generic-wheel",
}  # fmt: skip
MILD = ("tf-nightly", "--torch-backend=auto", "conda-forge", "torch==2.1.0\nRUN pip install torchvision==0.15.2\n")
"""What is likely, or not an error wherever it stands."""

LEAN = [
    PYTHON + f"RUN pip install torch==2.6.0+cu124 torchvision==0.21.0+cu124 --index-url {PYTORCH}/cu124\nUSER 1000\n",
    PYTHON + f"RUN pip install torch==2.6.0+cu124 --extra-index-url {PYTORCH}/cu124\n",
    PYTHON + f"RUN pip install torch==2.6.0 --index-url {PYTORCH}/cpu\n",
    CUDA.format("base") + "RUN pip install torch==2.6.0\n",
    CUDA.format("base") + "RUN pip install tensorflow-cpu==2.16.1\n",
    CUDA.format("base") + "RUN pip install 'jax[cuda12]==0.4.30'\n",
    CUDA.format("base") + "RUN pip install jax==0.4.30 jaxlib==0.4.30 'jax-cuda12-plugin[with_cuda]==0.4.30'\n",
    "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install tensorflow==2.12.0\n",
    "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build\nRUN apt-get update && apt-get install -y python3-pip && pip install torch==2.6.0 && pip wheel flash-attn\nFROM python:3.10-slim-bookworm\nCOPY --from=build /w /w\nRUN pip install torch==2.6.0\n",
    PYTHON + f"RUN uv pip install torch --extra-index-url {PYTORCH}/cu118\n",
    PYTHON + "RUN pip install -i https://mirror.example/simple torch==2.0.1+cu118\n",
    PYTHON + "RUN pip install ./dist/torch-2.0.1+cu118-cp310-cp310-linux_x86_64.whl\n",
    f"FROM rocm/dev-ubuntu-22.04:6.2\nRUN apt-get update && apt-get install -y python3-pip && pip install torch==2.6.0+rocm6.2.4 --index-url {PYTORCH}/rocm6.2.4\n",
    "ARG BASE\nFROM ${BASE}\nRUN pip install torch==2.0.1\n",
    "FROM registry.example/team/cuda-python:7\nRUN pip install tensorflow==2.12.0\n",
    # what cannot be told is not judged
    PYTHON + "RUN pip install tensorflow==2.12.0 'protobuf<5' 'numpy<1.24'\n",
    PYTHON + "RUN pip install torch==2.1.0a0 torchvision==0.16.0 --extra-index-url https://vendor.example/whl/\n",
    "FROM python:3.8\nRUN pip install torch==1.8.2+cu111 -f https://download.pytorch.org/whl/lts/1.8/torch_lts.html\n",
    "FROM rocm/pytorch:rocm7.1_ubuntu22.04_py3.10_pytorch_release_2.8.0\nRUN pip install bitsandbytes==0.48.0\n",
    "FROM python:3.10\nARG V\nRUN pip install torch==${V}\n",
    "FROM python:3.10\nARG INDEX\nRUN pip install torch==2.0.1+cu118 --index-url ${INDEX}\n",
    "FROM python:3.7\nRUN pip install tensorflow==2.16.0rc0\n",
    "FROM python:3.10\nCOPY pip.conf /etc/pip.conf\nRUN pip install torch==2.0.1+cu118\n",
    "FROM python:3.10\nRUN --mount=type=secret,id=p,target=/etc/pip.conf pip install torch==2.0.1+cu118\n",
    "FROM mcr.microsoft.com/windows/servercore:ltsc2022\nRUN pip install torch==2.6.0\n",
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3.11 python3-pip wget\nRUN pip3 install torch==1.13.1\n",
    "FROM ubuntu:20.04\nRUN wget https://x/Miniconda3.sh && bash Miniconda3.sh\nRUN pip install torch==2.6.0\n",
    PYTHON + "RUN uv pip install torch==2.6.0 --torch-backend=cu126\n",
    PYTHON + 'RUN if [ "$X" = a ]; then pip install torch==2.1.0; else pip install torchvision==0.15.2; fi\n',
    PYTHON + "RUN if nvidia-smi; then echo yes; fi\nRUN nvidia-smi || true\n",
    PYTHON + "RUN pip install tensorflow==2.15.1 tensorboard==2.15.2 keras==2.15.0\n",
    PYTHON + "RUN pip install torch==2.0.1 'numpy<2'\n",
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-venv && python3 -m venv /v\nRUN pip install torch==2.6.0\n",
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip python-is-python3\nRUN python -m pip install torch==2.6.0\n",
    CUDNN8 + "RUN pip install onnxruntime-gpu==1.18.0 tensorflow==2.12.0\n",
    "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install 'jax[cuda12_local]==0.4.34'\n",
    "FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip libcudnn8=8.6.0.163-1+cuda11.8\nRUN pip install tensorflow==2.12.0\n",
    "FROM nvidia/cuda:11.8.0-cudnn8-devel-ubuntu22.04 AS c\nFROM nvidia/cuda:11.8.0-base-ubuntu22.04\nCOPY --from=c /usr/local/cuda /usr/local/cuda\nRUN apt-get update && apt-get install -y python3-pip && pip install tensorflow==2.12.0\n",
    DEVEL + "ENV TORCH_CUDA_ARCH_LIST='8.0;9.0+PTX'\nRUN pip install --no-build-isolation .\n",
    "FROM registry.example/nvidia/cuda:12.4-base-ubuntu22.04\n",
    f"FROM nvidia/cuda@sha256:{'a' * 64}\n",
    PYTHON + "RUN uv pip install --system numpy==1.26.4 --torch-backend=auto\n",
    "FROM nvidia/cuda:13.0.2-devel-amzn2023\n",
    "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install jax\n",
    "FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0\nRUN pip install 'torch>=2.0' numpy\n",
    "FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0\nRUN pip install torch\n",
    "FROM ubuntu:22.04\nRUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y python3.12\n",
    "FROM ubuntu:22.04\nCOPY deadsnakes.list /etc/apt/sources.list.d/\nRUN ./archives.sh && apt-get install -y python3.12\n",
    "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y python-pip\nRUN pip install https://x/torch-0.4.0-cp27-cp27mu-linux_x86_64.whl\n",
    PYTHON + "RUN pip install 'tensorflow>=1.7,<1.8'\n",
    PYTHON + f"RUN pip install torch==2.99.0.dev20990101 -i {PYTORCH}/nightly/cu128\n",
    PYTHON + "RUN pip install torch==2.1.0\nRUN pip install triton==3.0.0\n",
    PYTHON + f"RUN pip install torch==2.13.0+cu130 torchaudio==2.11.0+cu130 -i {PYTORCH}/cu130\n",
    PYTHON + "RUN pip install nvitop==1.3.0 --no-deps torch==2.1.0\n",
    "FROM rocm/pytorch:rocm6.0_ubuntu20.04_py3.9_pytorch_2.1.1\nRUN pip install xformers==0.0.23 --no-deps\n",
    "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3 && python3 bootstrap.py && pip3 install torch==2.6.0\n",
    PYTHON + "RUN pip install torch==2.6.0 torchvision==0.21.0 accelerate==1.0.0\n",
    PYTHON + "RUN pip install torch==2.4.1\nRUN pip uninstall -y triton\n",
    PYTHON
    + "RUN pip install torch==2.4.1\nRUN pip uninstall -y nvidia-cudnn-cu12\nRUN pip install nvidia-cudnn-cu12==9.1.0.70\n",
    "FROM condaforge/miniforge3:24.11.3-0\nRUN conda install -y python=3.8 pip\nRUN pip install flash-attn\n",
]


def judged(text, file="Dockerfile"):
    return lint(sources.read(text, file), MATRIX)


@pytest.mark.parametrize(("code", "text"), BAD, ids=[f"{code}-{number}" for number, (code, _) in enumerate(BAD)])
def test_a_fault_is_found_and_placed(code, text):
    found = [finding for finding in judged(text).findings if finding.code == code]
    assert found
    assert found[0].place.line >= 1
    assert found[0].fix.text
    assert (found[0].severity == "error") >= (code in ERRORS and not any(mild in text for mild in MILD))


@pytest.mark.parametrize("text", LEAN)
def test_lean_and_right_forms_give_no_error(text):
    assert [finding.code for finding in judged(text).findings if finding.severity == "error"] == []


OLD = [
    # base image, and what is to be taken in its place
    ("nvidia/cuda:12.2.0-runtime-ubuntu22.04", "12.2.2-runtime-ubuntu22.04"),
    ("nvidia/cuda:11.4.0-base-rockylinux8", "11.4.3-base-rockylinux8"),
    ("nvidia/cuda:12.2.0-runtime-ubuntu20.04", "12.2.2-runtime-ubuntu22.04, whose system has Python 3.10"),
    ("nvidia/cuda:11.4.2-runtime-ubuntu20.04", "11.8.0-runtime-ubuntu22.04, whose system has Python 3.10"),
    ("nvidia/cuda:10.2-cudnn7-runtime-ubuntu18.04", "11.7.1-cudnn8-runtime-ubuntu22.04, whose system has Python 3.10"),
    ("nvidia/cuda:10.2-cudnn7-runtime-centos7", "11.4.3-cudnn8-runtime-rockylinux8, whose system has Python 3.6"),
]


@pytest.mark.parametrize(("base", "proposed"), OLD)
def test_a_tag_that_is_proposed_is_none_that_would_be_told_of_in_its_turn(base, proposed):
    codes = {"base-tag-eol", "base-tag-gone"}
    (fix,) = (item.fix.text for item in judged(f"FROM {base}\n").findings if item.code in codes)
    assert fix.endswith(f"nvidia/cuda:{proposed}.")
    again = judged(f"FROM nvidia/cuda:{proposed.partition(',')[0]}\n").findings
    assert not codes & {item.code for item in again}


def test_no_base_flavour_is_proposed_of_a_release_that_was_removed():
    text = "FROM nvidia/cuda:{}-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install torch==2.6.0\n"
    fixes = [
        [item.fix.text for item in judged(text.format(cuda)).findings if item.code == "double-cuda"]
        for cuda in ("12.2.0", "12.2.2")
    ]
    assert ["12.2" in fix for (fix,) in fixes] == [False, True]


def test_of_a_board_no_image_of_another_jetpack_is_proposed():
    found = judged("FROM nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3\n").findings
    (fix,) = (item.fix.text for item in found if item.code == "base-tag-eol")
    assert "JetPack" in fix
    assert "ubuntu22.04" not in fix


def test_frameworks_with_their_own_cuda_each_are_no_conflict():
    text = "FROM tensorflow/tensorflow:2.4.1-gpu\nRUN pip install torch==1.10.2 tensorflow-gpu==2.4.1\n"
    codes = {item.code for item in judged(text).findings}
    assert not codes & {"frameworks-conflict", "cuda-major-mixed-in-env"}


def test_without_a_python_the_newest_one_of_a_release_counts():
    found = [item.detail for item in judged("tensorflow==1.14\nnumpy\n", "requirements.txt").findings]
    assert any("protobuf" in detail for detail in found)  # the wheels for Python 2.7 come first


def test_select_and_ignore():
    ask = sources.read(PYTHON + "RUN pip install torch\n", "Dockerfile")
    assert {item.code for item in lint(ask, MATRIX, select=["pin"]).findings} == {"pin-missing"}
    assert "pin-missing" not in {item.code for item in lint(ask, MATRIX, ignore=["pin"]).findings}


def test_every_code_is_documented():
    given_codes = {code for code, _ in BAD}
    assert given_codes <= {*RULES, *rules.RULES}


word = st.sampled_from(
    [
        "torch",
        "torch==2.0.1",
        "jax[cuda12]",
        "tensorflow==2.12.0",
        "-r",
        "--pre",
        f"--index-url={PYTORCH}/cu118",
        "==",
        "$X",
        "numpy<2",
        "torchvision==0.15.2+cu118",
        "torchvision==$X",
        "torchaudio===what",
        "torch===2.0.1",
        "protobuf<=x",
        "numpy===1",
        "--torch-backend=",
        "https://download.pytorch.org/whl/torch-x-cp39-cp39-any.whl",
        "'",
        "&&",
        "|",
        "\\",
    ]
)
base = st.sampled_from(
    [
        "nvidia/cuda:12.4.1-base-ubuntu22.04",
        "python:3.11",
        "x",
        "nvidia/cuda:9",
        "rocm/pytorch:latest",
        "scratch",
        "a@sha256:0",
        ":",
        "alpine",
    ]
)


@settings(max_examples=60)
@given(base, st.lists(word, max_size=8), st.lists(word, max_size=4))
def test_no_file_breaks_the_rules(image, first, second):
    text = f"FROM {image}\nRUN pip install {' '.join(first)}\nENV A={' '.join(second)}\n"
    assert isinstance(judged(text), Report)
