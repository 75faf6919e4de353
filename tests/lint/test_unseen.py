"""Classes of faults that public files were seen to have, each with the lean form beside it that must pass.

Every row names what its code turns on; the forms beside it differ in that alone.
"""

import pytest

from compat import sources
from compat.app.lint import ask_of
from compat.lint import lint
from compat.matrix import matrix

MATRIX = matrix()
JAX = "https://storage.googleapis.com/jax-releases"
CUDNN8 = (
    "FROM nvidia/cuda:11.8.0-cudnn8-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3 python3-pip\n"
)
CUDA11 = "FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3 python3-pip\n"
LINKS = "-f https://download.pytorch.org/whl/torch_stable.html"
BOARD = "FROM nvcr.io/nvidia/l4t-base:r35.2.1\nRUN apt-get update && apt-get install -y python3-pip\n"
NIGHTLY = "https://download.pytorch.org/whl/nightly"
RUNTIME = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3 python3-pip\n"
JAXLIB = f"RUN pip install jax==0.4.20 jaxlib==0.4.20+cuda11.cudnn86 -f {JAX}/jax_cuda_releases.html\n"
OLD_PYTHON = RUNTIME.replace("22.04", "20.04")
STUBS = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs\n"
UV = "RUN curl -LsSf https://astral.sh/uv/install.sh | sh\nRUN uv venv /v && uv pip install torch==2.6.0\n"

FLASH = "https://github.com/Dao-AILab/flash-attention/releases"
RENAMED = "flash-attn==2.8.3+cu12torch2.8cxx11abiTRUE"
NOBLE = "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip python3-venv\n"
TORCH = "FROM pytorch/pytorch:2.5.0-cuda11.8-cudnn9-devel\n"
XPU = "https://download.pytorch.org/whl/xpu"

FETCHED = "curl -O https://bootstrap.pypa.io/get-pip.py"
ORT = CUDNN8.replace("11.8.0-cudnn8", "12.1.1-cudnn8") + "RUN pip install onnxruntime-gpu==1.18.0\n"
EARLY = (
    "FROM nvidia/cuda:11.3.1-cudnn8-runtime-ubuntu20.04\nRUN apt-get update && apt-get install -y python3 python3-pip\n"
)

XENIAL = "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y python3-pip\n"
KEYED = (
    "FROM ubuntu:18.04\nRUN curl https://developer.download.nvidia.com/compute/cuda/repos/ubuntu1804/x86_64/{}.pub | "
    "apt-key add - && curl https://developer.download.nvidia.com/compute/cuda/repos/ubuntu1804/x86_64/{}.pub | apt-key add - && "
    'echo "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu1804/x86_64 /" > /etc/apt/sources.list.d/c.list\n'
    "RUN apt-get update\n"
)

# code, whether it is an error, the faulty form, the forms beside it
PAIRS = {
    "a package that loads CUDA 11 beside CUDA 12, and some into which theirs is linked": (
        "cuda-major-mixed-in-env", False,
        "FROM python:3.10\nRUN pip install torch==2.1.0 cupy-cuda11x==12.2.0\n",
        ("FROM python:3.10\nRUN pip install torch==2.1.0 catboost==1.2.1\n",),
    ),
    "a bound that the shell takes for a file to read": (
        "requirement-unquoted", True,
        "FROM python:3.10\nRUN bash -c 'pip install six[x]>=1.0,<2.0'\n",
        ("FROM python:3.10\nRUN pip install 'six<2' \"idna>=2.0\" \\\n  zipp\">=1.0\" > log.txt 2>&1 && pip list>1.log\n",
         'FROM python:3.10\nRUN ["pip", "install", "six<2.0"]\n',
         "FROM python:3.10\nENV SPEC='six<2.0'\nRUN pip install $SPEC\n",
         'FROM python:3.10\nRUN bash -c "pip install \'six<2.0\'" && echo six<2.0 # pip install six<2.0\n'),
    ),
    "a bound that the shell takes for a file to write": (
        "requirement-unquoted", False,
        "FROM python:3.10\nRUN uv pip install six>=1.0\n",
        ("FROM python:3.10\nRUN apt-get update && apt-get install -y libc6>=2.0\n", "FROM python:3.10\nCMD pip install six>=1.0\n"),
    ),
    "a quotation that nothing closes": (
        "instruction-unknown", True,
        "FROM python:3.10\nRUN pip install 'six==1.16.0\n",
        ("FROM python:3.10\nRUN echo it\\'s \\\n  # don't\n  && echo \"it's\" # can't\n",
         "FROM python:3.10\nRUN cat > /a <<E\nit's\nE\nRUN <<E\necho 'a\nb'\nE\n",
         "FROM python:3.10\nSHELL [\"powershell\", \"-c\"]\nRUN echo 'a`'\n",
         'FROM python:3.10\nRUN ["echo", "it\'s"]\n'),
    ),
    "a distribution's image of no release": (
        "python-unsupported", True,
        "FROM ubuntu\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install tensorflow==2.4.1\n",
        ("FROM centos:latest\nRUN yum install -y python3-pip\nRUN pip3 install tensorflow==2.4.1\n",),
    ),
    "pip's installer of today for a Python that it has left": (
        "python-unsupported", True,
        OLD_PYTHON + "RUN curl -sS https://bootstrap.pypa.io/get-pip.py | python3.8\n",
        [
            OLD_PYTHON + "RUN curl -sS https://bootstrap.pypa.io/pip/3.8/get-pip.py | python3.8\n",
            OLD_PYTHON + "RUN curl -sS https://bootstrap.pypa.io/get-pip.py | python3.10\n",
            OLD_PYTHON + "COPY get-pip.py .\nRUN python3.8 get-pip.py\n",
        ],
    ),
    "the same, fetched first": (
        "python-unsupported", True,
        OLD_PYTHON + "RUN wget https://bootstrap.pypa.io/get-pip.py && python3.6 get-pip.py\n",
        [OLD_PYTHON + "RUN wget https://bootstrap.pypa.io/get-pip.py && python3.12 get-pip.py\n"],
    ),
    "the same, run by the system's own Python": (
        "python-unsupported", True,
        OLD_PYTHON + "RUN curl -O https://bootstrap.pypa.io/get-pip.py && python3 get-pip.py\n",
        [
            RUNTIME + "RUN curl -O https://bootstrap.pypa.io/get-pip.py && python3 get-pip.py\n",
            OLD_PYTHON + "RUN pyenv install 3.10 && curl -O https://bootstrap.pypa.io/get-pip.py && python3 get-pip.py\n",
        ],
    ),
    "the same, run by the system's own Python under its old name": (
        "python-unsupported", True,
        OLD_PYTHON + f"RUN ln -sf /usr/bin/python3 /usr/bin/python && {FETCHED} && python get-pip.py\n",
        [
            RUNTIME + f"RUN ln -sf /usr/bin/python3 /usr/bin/python && {FETCHED} && python get-pip.py\n",
            OLD_PYTHON + f"RUN ln -sf /usr/bin/python3.10 /usr/bin/python && {FETCHED} && python get-pip.py\n",
            OLD_PYTHON + f"RUN {FETCHED} && python get-pip.py\n",
        ],
    ),
    "the same, run by another Python under the system's name": (
        "python-unsupported", True,
        OLD_PYTHON.replace("20.04", "22.04") + f"RUN ln -sf /usr/bin/python3.8 /usr/bin/python3 && {FETCHED} && python3 get-pip.py\n",
        [
            OLD_PYTHON + f"RUN ln -sf /usr/bin/python3.10 /usr/bin/python3 && {FETCHED} && python3 get-pip.py\n",
            OLD_PYTHON + f"RUN update-alternatives --install /usr/bin/python3 python3 /usr/bin/python3.10 1 && {FETCHED} && python3 get-pip.py\n",
        ],
    ),
    "the same, run by Python 2": (
        "python-unsupported", True,
        f"FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y curl python-dev && {FETCHED} && python get-pip.py\n",
        [
            f"FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y curl && {FETCHED} && python get-pip.py\n",
            f"FROM python:3.10\nRUN apt-get update && apt-get install -y python-dev; {FETCHED} && python get-pip.py\n",
        ],
    ),
    "a package that left the system of the base": (
        "source-gone", True, "FROM python:3.11-slim-trixie\nRUN apt-get update && apt-get install -y libgl1-mesa-glx\n",
        [
            "FROM python:3.11-slim-bookworm\nRUN apt-get update && apt-get install -y libgl1-mesa-glx\n",
            "FROM python:3.11-slim-trixie\nRUN apt-get update && apt-get install -y libgl1-mesa-glx || apt-get install -y libgl1\n",
            "FROM ubuntu:noble\nRUN add-apt-repository -y ppa:x/y && apt-get install -y python3-distutils\n",
        ],
    ),
    "the same, of Ubuntu by its code name": (
        "source-gone", True, "FROM ubuntu:noble\nRUN apt-get update && apt-get install -y python3-distutils\n",
        ["FROM ubuntu:jammy\nRUN apt-get update && apt-get install -y python3-distutils\n"],
    ),
    "an address that GitHub has switched off": (
        "source-gone", True, "FROM python:3.11\nRUN pip install git+git://github.com/NVIDIA/apex.git#egg=apex\n",
        [
            "FROM python:3.11\nRUN pip install git+https://github.com/NVIDIA/apex.git#egg=apex\n",
            "FROM python:3.11\nRUN git clone git://github.com/NVIDIA/apex || true\n",
            "FROM python:3.11\nRUN sed -i 's#git://github.com/#https://github.com/#' requirements.txt\n",
            "FROM python:3.11\nRUN git config url.https://github.com/.insteadOf git://github.com/\nRUN git clone git://github.com/a/b\n",
        ],
    ),
    "a line that continues one which has ended": (
        "instruction-unknown", True, "FROM python:3.10\nRUN apt-get update\n    && apt-get install -y git\n",
        [
            "FROM python:3.10\nRUN apt-get update \\\n    && apt-get install -y git\n",
            "FROM python:3.10\nRUN <<E\napt-get update\nE\nMAINTAINER x\n",
            "FROM python:3.10\n{% if gpu %}\nRUN nvidia-smi -L || true\n{% endif %}\n",
            "# syntax=example.org/frontend\nINCLUDE other\nFROM python:3.10\n",
        ],
    ),
    "an image library without what an old vision package imports": (
        "framework-pair-mismatch", True, "FROM python:3.7\nRUN pip install torch==1.2.0 torchvision==0.4.0\n",
        [
            "FROM python:3.7\nRUN pip install torch==1.2.0 torchvision==0.4.0 'pillow<9'\n",
            "FROM python:3.6\nRUN pip install torch==1.2.0 torchvision==0.4.0\n",
            "FROM python:3.7\nRUN pip install torch==1.4.0 torchvision==0.5.0\n",
        ],
    ),
    "a jaxlib from before NumPy 2": (
        "numpy-abi-mismatch", True, "FROM python:3.11\nRUN pip install jax==0.4.23\n",
        [
            "FROM python:3.11\nRUN pip install jax==0.4.23 'numpy<2'\n",
            "FROM python:3.11\nRUN pip install jax==0.4.26\n",
        ],
    ),
    "a name that stops its own install": (
        "version-does-not-exist", True, "FROM python:3.11\nRUN pip install sklearn\n",
        [
            "FROM python:3.11\nRUN pip install sklearn==0.0\n",
            "FROM python:3.11\nENV SKLEARN_ALLOW_DEPRECATED_SKLEARN_PACKAGE_INSTALL=True\nRUN pip install sklearn\n",
        ],
    ),
    "a pip that heeds no Python and replaces itself": (
        "python-unsupported", True, XENIAL + "RUN pip3 install --upgrade pip\nRUN pip3 install numpy\n",
        [
            XENIAL + "RUN pip3 install --upgrade 'pip<21'\nRUN pip3 install numpy\n",
            XENIAL + "RUN pip3 install --upgrade pip\n",
            XENIAL.replace("16", "18") + "RUN pip3 install --upgrade pip\nRUN pip3 install numpy\n",
        ],
    ),
    "words in brackets that are no list": (
        "instruction-unknown", True, 'FROM python:3.11\nCMD ["python", "a.py"]}\n',
        [
            'FROM python:3.11\nCMD ["python", "a.py"]\n',
            "FROM python:3.11\nCMD [ -f a.py ] && python a.py\n",
            "FROM python:3.11\nRUN case $X in [yY]|[yY]es) echo 1;; esac\n",
        ],
    ),
    "an installer that a script keeps in a variable": (
        "version-does-not-exist", True, 'FROM python:3.11\nRUN P="pip install" && $P torch==2.5.2\n',
        ['FROM python:3.11\nRUN P="pip install"; P=$(cat x); $P torch==2.5.2\n'],
    ),
    "a COPY without a destination": (
        "instruction-unknown", True, "FROM python:3.10\nCOPY ..\n",
        [
            'FROM python:3.10\nCOPY --chown=1:1 ["a","b"]\nCOPY . .\nADD ["a","b"]\n',
            "FROM python:3.10\nCOPY <<E /b\nx\nE\n",
        ],
    ),
    "an instruction before the first FROM": (
        "instruction-unknown", True, "ENV A=1\nFROM python:3.10\n", ["ARG A=1\nFROM python:3.10\nENV A=1\n"],
    ),
    "the name of a variable in the place of a version": (
        "version-does-not-exist", True, "FROM continuumio/miniconda3\nRUN conda install -y cudatoolkit=CUDA_VERSION\n",
        [
            "FROM continuumio/miniconda3\nARG CUDA\nRUN conda install -y cudatoolkit=$CUDA\n",
            "FROM continuumio/miniconda3\nRUN conda install -y cudatoolkit=11.3 'pytorch=*' python=3.9\n",
        ],
    ),
    "a build for another CUDA than the image's": (
        "base-runtime-mismatch", True, ORT,
        [ORT.replace("pip install", "pip install --extra-index-url https://x.example.org/feeds/cuda-12/pypi/simple/")],
    ),
    "CUDA in wheels on an image that needs its own": (
        "double-cuda", False, RUNTIME + "RUN pip3 install torch==2.6.0\n",
        [TORCH + "RUN pip install nvidia-dali-cuda120==1.44.0\n"],
    ),
    "two packages that need a third in releases apart, which nobody names": (
        "frameworks-conflict", True, "FROM python:3.11\nRUN pip install fbgemm-gpu==1.2.0 torchcodec==0.10.0\n",
        ["FROM python:3.11\nRUN pip install torch==2.7.1 fbgemm-gpu==1.2.0 torchcodec==0.10.0\n"],  # a pair, told once
    ),
    "the newest release of a package that excludes a pin beside it": (
        "base-runtime-mismatch", True, EARLY + "RUN pip3 install tensorflow\n",
        [EARLY + "RUN pip3 install tensorflow numpy==1.14.5\n"],
    ),
    "protobuf that nothing bounds": (
        "framework-pair-mismatch", True, "FROM python:3.7\nRUN pip install tensorflow==2.2.0\n",
        [
            "FROM python:3.6\nRUN pip install tensorflow==2.2.0\n",
            "FROM python:3.7\nRUN pip install tensorflow==2.4.1\n",  # TensorBoard of that Python bounds it
            "FROM python:3.8\nRUN pip install tensorflow==2.2.0 'protobuf<=3.20.3'\n",
            "FROM python:3.8\nRUN pip install protobuf==3.20.3\nRUN pip install tensorflow==2.4.1\n",
            "FROM python:3.8\nRUN pip install tensorflow==2.4.1 onnx==1.12.0\n",
            "FROM python:3.8\nRUN pip install --no-deps tensorflow==2.4.1\n",
            "FROM python:3.8\nRUN pip install tensorflow==2.4.3 'ray[rllib]==2.0.0'\n",  # protobuf<4
            "FROM python:3.8\nRUN pip install tensorflow==2.4.3 'streamlit<1.22'\n",
            "FROM python:3.6\nRUN pip install tensorflow==1.15.5\n",
            "FROM python:3.9\nRUN pip install tensorflow==2.9.1\n",
            "FROM jupyter/scipy-notebook:python-3.8\nRUN pip install tensorflow==2.4.1\n",
        ],
    ),
    "a name that holds a notice alone": (
        "version-does-not-exist", True, "FROM python:3.10\nRUN pip install pytorch==1.0.2\n",
        [
            "FROM python:3.10\nRUN pip install pytorch -i https://wheels.example.org/simple\n",
            "FROM continuumio/miniconda3\nRUN conda install pytorch==2.1.0\n",
        ],
    ),
    "protobuf, beside a release that bounds it no more": (
        "framework-pair-mismatch", True, "FROM python:3.8\nRUN pip install tensorflow==2.4.3 wandb==0.8.36 streamlit\n",
        ["FROM python:3.8\nRUN pip install tensorflow==2.4.3 wandb==0.13.0 streamlit\n"],
    ),
    "protobuf beside the first TensorFlow": (
        "framework-pair-mismatch", True, "FROM python:3.7\nRUN pip install tensorflow-gpu==1.15.4\n",
        ["FROM python:3.7\nRUN pip install tensorflow-gpu==1.15.4 'protobuf<3.21'\n"],
    ),
    "NumPy that the first TensorFlow excludes": (
        "framework-pair-mismatch", True,
        "FROM python:3.7\nRUN pip install tensorflow-gpu==1.15.4 numpy==1.15.1 'protobuf<4'\n",
        ["FROM python:3.7\nRUN pip install tensorflow-gpu==1.15.4 numpy==1.18.5 'protobuf<4'\n"],
    ),
    "NVIDIA's old apt key in an image from before the matrix": (
        "base-apt-key-rotated", True, "FROM tensorflow/tensorflow:1.5.0-gpu-py3\nRUN apt-get update\n",
        ["FROM tensorflow/tensorflow:1.5.0-py3\nRUN apt-get update\n"],
    ),
    "NumPy that nothing bounds, and a framework that does not load with it": (
        "numpy-abi-mismatch", True, "FROM python:3.10\nRUN pip install tensorflow==2.10.1 numpy\n",
        [
            "FROM python:3.8\nRUN pip install tensorflow==2.10.1\n",
            "FROM python:3.10\nRUN pip install tensorflow==2.10.1 'numpy<2'\n",
            "FROM python:3.10\nRUN pip install tensorflow==2.10.1 scipy==1.10.0\n",
            "FROM python:3.10\nRUN pip install tensorflow==2.18.0\n",
            "FROM python:3.10\nRUN pip install jax\n",
        ],
    ),
    "NumPy that nothing bounds, beside a framework that loads without it": (
        "numpy-abi-mismatch", False, "FROM python:3.10\nRUN pip install torch==2.1.0 torchvision==0.16.0 numpy\n",
        ["FROM python:3.10\nRUN pip install torch==2.3.1 numpy\n", "FROM python:3.10\nRUN pip install torch==2.1.0\n"],
    ),
    "a local version of what the matrix does not know": (
        "index-missing", True, "FROM python:3.10\nRUN pip install torchaudio==0.7.0a0+a853dff\n",
        [
            "FROM python:3.10\nRUN pip install torchaudio==0.7.0a0+a853dff -f https://wheels.example.org/all.html\n",
            "FROM python:3.10\nENV PIP_FIND_LINKS=/wheels\nRUN pip install torchaudio==0.7.0a0+a853dff\n",
            "FROM python:3.10\nRUN pip install torchaudio==0.7.2\n",
        ],
    ),
    "a framework on another one's index alone": (
        "index-missing", True,
        "FROM python:3.10\nRUN pip install torch tensorflow --index-url https://download.pytorch.org/whl/rocm6.2\n",
        [
            "FROM python:3.10\nRUN pip install torch --index-url https://download.pytorch.org/whl/rocm6.2\nRUN pip install tensorflow\n",
            "FROM python:3.10\nRUN pip install torch tensorflow --extra-index-url https://download.pytorch.org/whl/rocm6.2\n",
            "FROM python:3.10\nRUN pip install torch tensorflow --index-url https://mirror.example.org/simple\n",
        ],
    ),
    "a package and its CPU form write one module": (
        "framework-duplicate-install", False, "FROM python:3.10\nRUN pip install onnxruntime==1.20.0 onnxruntime-gpu==1.20.0\n",
        [
            "FROM python:3.10\nRUN pip install onnxruntime-gpu==1.20.0\n",
            "FROM python:3.10\nRUN pip install 'onnxruntime==1.20.0; sys_platform == \"darwin\"' 'onnxruntime-gpu==1.20.0; sys_platform == \"linux\"'\n",
            "FROM python:3.10\nRUN pip install onnxruntime==1.20.0 && pip uninstall -y onnxruntime && pip install onnxruntime-gpu==1.20.0\n",
        ],
    ),
    "what an extra asks of a package beside it": (
        "cuda-major-mixed-in-env", False, "FROM python:3.10\nRUN pip install 'tensorflow[and-cuda]~=2.14.0' && pip install -U tensorrt\n",
        ["FROM python:3.10\nRUN pip install 'tensorflow[and-cuda]~=2.14.0' tensorrt\n"],
    ),
    "a library of the driver for coding video": (
        "image-ships-driver", False, RUNTIME + "RUN apt-get update && apt-get install -y libnvidia-decode-525-server\n",
        [RUNTIME + "RUN apt-get update && apt-get install -y libnvinfer10 libnvjpeg-12-4\n"],
    ),
    "an extra of jax that pins a build of another page": (
        "index-missing", True, CUDNN8 + "RUN pip install 'jax[cuda12_pip]==0.4.20'\n",
        [
            CUDNN8 + f"RUN pip install 'jax[cuda12_pip]==0.4.20' -f {JAX}/jax_cuda_releases.html\n",
            CUDNN8 + f"RUN pip install 'jax[cuda]==0.3.15' -f {JAX}/jax_releases.html\n",
            CUDNN8 + "RUN pip install 'jax[cuda12]==0.4.30'\n",
        ],
    ),
    "an extra that a release has dropped": (
        "accidental-cpu-wheel", True, CUDNN8 + f"RUN pip install 'jax[cuda11_pip]' -f {JAX}/jax_cuda_releases.html\n",
        [
            CUDNN8 + f"RUN pip install 'jax[cuda11_cudnn82]==0.3.25' -f {JAX}/jax_releases.html\n",
            CUDNN8 + f"RUN pip install 'jax[cuda]<0.4.14' -f {JAX}/jax_cuda_releases.html\n",
            CUDNN8 + f"RUN pip install 'jax[cuda]==0.4.13' -f {JAX}/jax_cuda_releases.html\n",
        ],
    ),
    "a release of jax that never was": (
        "version-does-not-exist", True, "FROM python:3.10\nRUN pip install jax==0.4.99\n",
        [
            "FROM python:3.10\nRUN pip install jax==0.4.8\n",
            "FROM python:3.10\nRUN pip install 'jax[cuda11_local]==0.4.10'\n",
            CUDNN8 + f"RUN pip install jaxlib==0.3.7+cuda11.cudnn805 -f {JAX}/jax_releases.html\n",
        ],
    ),
    "a jaxlib that finds no cuDNN": (
        "library-missing", True, CUDA11 + JAXLIB,
        [CUDNN8 + JAXLIB, CUDA11 + "RUN pip install nvidia-cudnn-cu11==8.9.6.50\n" + JAXLIB,
         CUDA11 + "RUN apt-get update && apt-get install -y libcudnn8\n" + JAXLIB, "FROM nvcr.io/nvidia/pytorch:22.03-py3\n" + JAXLIB],
    ),
    "a jaxlib of another CUDA": (
        "base-runtime-mismatch", True, CUDNN8 + JAXLIB.replace("cuda11.cudnn86", "cuda12.cudnn89"),
        [CUDNN8 + JAXLIB, CUDNN8.replace("11.8.0", "12.2.2") + JAXLIB.replace("cuda11.cudnn86", "cuda12.cudnn89")],
    ),
    "what an application brings, of another cuDNN": (
        "base-runtime-mismatch", True, CUDNN8 + "RUN pip install faster-whisper\n",
        [
            RUNTIME.replace("12.4.1-runtime", "12.4.1-cudnn-runtime") + "RUN pip install faster-whisper\n",
            CUDNN8 + "RUN pip install faster-whisper==0.10.1\n",
            CUDNN8 + "RUN pip install ctranslate2==3.24.0 faster-whisper\n",
            "FROM python:3.11-slim\nRUN pip install faster-whisper\n",
        ],
    ),
    "what an application brings, without cuDNN": (
        "library-missing", True, OLD_PYTHON + "RUN pip install faster-whisper\n",
        [OLD_PYTHON + "RUN apt-get update && apt-get install -y libcudnn9-cuda-12\nRUN pip install faster-whisper\n",
         RUNTIME + "RUN pip install faster-whisper\n",  # does without cuDNN by then
         OLD_PYTHON + "RUN pip install sentence-transformers\n"],
    ),
    "compiled wheels on musl": (
        "musl-libc", True, "FROM python:3.11-alpine\nRUN pip install bitsandbytes==0.45.0\n",
        ["FROM python:3.11-alpine\nRUN pip install transformers==4.45.0 deepspeed==0.15.0\n",
         "FROM python:3.11-slim\nRUN pip install bitsandbytes==0.45.0\n"],
    ),
    "a build for another cuDNN of the same CUDA": (
        "base-runtime-mismatch", True, RUNTIME.replace("-runtime", "-cudnn-runtime") + "RUN pip install ctranslate2==4.4.0\n",
        [RUNTIME.replace("-runtime", "-cudnn-runtime") + "RUN pip install ctranslate2==4.5.0\n"],
    ),
    "a build for a later minor of a CUDA of which any serves": (
        "base-runtime-mismatch", True, RUNTIME.replace("12.4.1-runtime", "11.8.0-runtime") + "RUN pip install cupy-cuda12x\n",
        [RUNTIME.replace("12.4.1-runtime", "12.1.1-runtime") + "RUN pip install cupy-cuda12x\n",
         RUNTIME.replace("12.4.1-runtime", "12.2.2-cudnn8-runtime") + "RUN pip install ctranslate2==4.4.0\n",
         RUNTIME.replace("12.4.1-runtime", "12.1.1-cudnn8-runtime") + "RUN pip install ctranslate2==4.4.0\n"],
    ),
    "what PaddlePaddle's own image has": (
        "framework-duplicate-install", False,
        "FROM paddlepaddle/paddle:2.1.3-gpu-cuda10.2-cudnn7\nRUN pip install paddlepaddle-gpu==2.4.2\n",
        ["FROM paddlepaddle/paddle:2.1.3-gpu-cuda10.2-cudnn7\nRUN pip install paddlepaddle-gpu\n"],
    ),
    "a wheel of one's own for a board": (
        "jetson-generic-wheel", True, BOARD + "RUN pip3 install onnxruntime-gpu\n",
        [BOARD + "RUN pip3 install onnxruntime_gpu-1.11.0-cp38-cp38-linux_aarch64.whl\n"],
    ),
    "a variant that was never built": (
        "version-does-not-exist", True, f"FROM python:3.8\nRUN pip install torch==1.9.0+cu112 {LINKS}\n",
        [
            f"FROM python:3.7\nRUN pip install torch==1.3.1+cu100 torchvision==0.4.2+cu100 {LINKS}\n",
            f"FROM python:3.7\nRUN pip install torch==1.4.0+cu100 torchvision==0.5.0+cu100 {LINKS}\n",
            f"FROM python:3.8\nRUN pip install torch==1.8.0+cu101 torchvision==0.9.0+cu101 {LINKS}\n",
            f"FROM python:3.8\nRUN pip install torch==1.10.2+cu111 torchvision==0.11.3+cu111 {LINKS}\n",
            ("FROM python:3.9\nRUN pip install torch==1.11.0+cu115 torchvision==0.12.0+cu115 --extra-index-url "
            "https://download.pytorch.org/whl/cu115\n"),
        ],
    ),
    "a tag of a flavour that was never made": (
        "base-tag-gone", True, "FROM nvidia/cuda:12.4.1-cudnn8-runtime-ubuntu22.04\n",
        ["FROM nvidia/cuda:11.1.1-devel-ubuntu18.04\n", "FROM nvidia/cuda:11.1.1-base-ubuntu16.04\n",
         "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\n"],
    ),
    "a tag of two numbers": (
        "base-tag-gone", True, "FROM nvidia/cuda:11.1-base-ubuntu18.04\n", ["FROM nvidia/cuda:11.1.1-base-ubuntu20.04\n"],
    ),
    "pip beside git and curl": (
        "base-python-missing", True,
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y git curl make python3\nRUN pip install numpy\n",
        [
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y git python3 python3-pip\nRUN pip install numpy\n",
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y git python3\nRUN git clone x && pip install numpy\n",
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y curl python3\nRUN curl -O get-pip.py && pip install numpy\n",
        ],
    ),
    "an extension that asks nvcc": (
        "image-runtime-not-devel", True, RUNTIME + "RUN pip install flash-attn --no-build-isolation\n",
        [
            RUNTIME.replace("runtime", "devel") + "RUN pip install flash-attn --no-build-isolation\n",
            RUNTIME + "RUN apt-get update && apt-get install -y cuda-nvcc-12-4\nRUN pip install flash-attn --no-build-isolation\n",
            RUNTIME + "RUN FLASH_ATTENTION_SKIP_CUDA_BUILD=TRUE pip install flash-attn --no-build-isolation\n",
            RUNTIME + "RUN pip install https://x/y/flash_attn-2.8.3%2Bcu12torch2.6-cp310-cp310-linux_x86_64.whl\n",
            "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\nRUN pip install flash-attn --no-build-isolation\n",
        ],
    ),
    "a wheel that was renamed after its build": (
        "version-does-not-exist", True, f"FROM python:3.12\nRUN pip install -f {FLASH}/expanded_assets/v2.8.3 {RENAMED}\n",
        [
            f"FROM python:3.12\nRUN pip install {FLASH}/download/v2.8.3/flash_attn-{RENAMED[12:]}-cp312-cp312-linux_x86_64.whl\n",
            f"FROM python:3.12\nRUN pip install -f {FLASH}/expanded_assets/v2.8.3 flash-attn\n",
            f"FROM python:3.12\nRUN pip install uv && uv pip install --system -f {FLASH}/expanded_assets/v2.8.3 {RENAMED}\n",
        ],
    ),
    "a stub that bears the driver's name": (
        "driver-stub-loaded", True, STUBS + "RUN cd /usr/local/cuda/lib64/stubs && ln -s libcuda.so libcuda.so.1\n", [],
    ),
    "llama.cpp that is to be compiled with CUDA": (
        "image-runtime-not-devel", False,
        RUNTIME + 'RUN CMAKE_ARGS="-DLLAMA_CUBLAS=on" pip install llama-cpp-python==0.1.83\n',
        [
            RUNTIME.replace("runtime", "devel") + 'RUN CMAKE_ARGS="-DGGML_CUDA=on" pip install llama-cpp-python\n',
            RUNTIME + "RUN pip install llama-cpp-python==0.2.90\n",
            RUNTIME + 'RUN CMAKE_ARGS="-DGGML_BLAS=ON" pip install llama-cpp-python==0.2.90\n',
        ],
    ),
    "a compiled extension, by more than the name of a user": (
        "toolkit-mismatch-extension", True,
        ("FROM nvidia/cuda:12.2.2-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
        "RUN pip install torch==1.13.0\nRUN pip install deepspeed\n"),
        [
            ("FROM nvidia/cuda:12.2.2-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
            "RUN pip install torch==1.13.0\nRUN useradd -m deepspeed && mkdir /apex && chown deepspeed /apex\n"),
            ("FROM nvidia/cuda:12.2.2-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
            "RUN pip install torch==1.13.0\nRUN pip install deepspeed --find-links=https://a.example/wheels.html\n"),
        ],
    ),
    "packages that bring the driver along": (
        "image-ships-driver", False, "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y cuda-runtime-12-4\n",
        ["FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y cuda-toolkit-12-4 cuda-libraries-12-4 cuda-compat-12-4\n"],
    ),
    "a Python that a moving image left behind": (
        "python-unsupported", True,
        "FROM ubuntu:latest\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install tensorflow==2.11.0\n",
        [
            "FROM ubuntu:latest\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install torch==2.9.1\n",
            ("FROM ubuntu\nRUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y python3.10\n"
            "RUN pip install tensorflow==2.11.0\n"),
            "FROM ubuntu:20.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip install tensorflow==2.11.0\n",
        ],
    ),
    "a stale nightly that nothing answers for": (
        "version-does-not-exist", True, f"FROM python:3.10\nRUN pip install --pre torch -i {NIGHTLY}/cu117\n",
        [f"FROM python:3.10\nRUN pip install --pre torch -i {NIGHTLY}/cu130\n"],
    ),
    "an image of a candidate of an old release": (
        "base-apt-key-rotated", True, "FROM tensorflow/tensorflow:2.3.0rc1-gpu-jupyter\nRUN apt-get update\n",
        ["FROM tensorflow/tensorflow:2.14.0rc1-gpu-jupyter\nRUN apt-get update\n"],
    ),
    "pip of a system that leaves its Python to apt": (
        "python-externally-managed", True, NOBLE + "RUN pip3 install torch==2.6.0\n",
        [
            RUNTIME + "RUN pip3 install torch==2.6.0\n",
            NOBLE + "RUN pip3 install --break-system-packages torch==2.6.0\n",
            NOBLE + "ENV PIP_BREAK_SYSTEM_PACKAGES=1\nRUN pip3 install torch==2.6.0\n",
            NOBLE + "RUN rm /usr/lib/python3.12/EXTERNALLY-MANAGED\nRUN pip3 install torch==2.6.0\n",
            NOBLE + "RUN python3 -m venv /v\nENV PATH=/v/bin:$PATH\nRUN pip3 install torch==2.6.0\n",
            NOBLE + "RUN pip3 install --target /srv/lib torch==2.6.0\n",
            NOBLE + "RUN pip3 install torch==2.6.0 || true\n",
            "FROM python:3.12-bookworm\nRUN pip install torch==2.6.0\n",
        ],
    ),
    "an extension of which the build finds no torch": (
        "build-tools-missing", True, "FROM python:3.11\nRUN pip install -U pip && pip install torch==2.6.0 flash-attn\n",
        [
            "FROM python:3.11\nRUN pip install torch==2.6.0\nRUN pip install flash-attn\n",  # the image's own pip builds it in place
            "FROM python:3.11\nRUN pip install -U pip torch==2.6.0\nRUN pip install --no-build-isolation flash-attn\n",
            "FROM python:3.11\nRUN pip install -U pip\nRUN pip install torch==2.6.0 xformers\n",
        ],
    ),
    "an extension that was compiled before its torch was replaced": (
        "toolkit-mismatch-extension", True, TORCH + "RUN pip install torch==2.9.1\nRUN git clone x && python setup.py install\n",
        [TORCH + "RUN git clone x && python setup.py install\nRUN pip install -U torch==2.9.1\n"],
    ),
    "an extra that an older release still has": (
        "accidental-cpu-wheel", True, "FROM nvcr.io/nvidia/jax:24.05-py3\nRUN pip install -U 'jax[cuda11_cudnn82]'\n",
        ["FROM nvcr.io/nvidia/jax:21.99-py3\nRUN pip install -U 'jax[cuda11_cudnn82]'\n"],
    ),
    "a build for Intel's GPUs without Level Zero": (
        "intel-no-compute-runtime", False, f"FROM python:3.11\nRUN pip install torch==2.6.0 -i {XPU}\n",
        [
            f"FROM python:3.11\nRUN apt-get update && apt-get install -y libze1 libze-intel-gpu1\nRUN pip install torch==2.6.0 -i {XPU}\n",
            f"FROM intel/oneapi-runtime:2025.3.1\nRUN pip install torch==2.6.0 -i {XPU}\n",
            "FROM python:3.11\nRUN pip install torch==2.6.0 -i https://download.pytorch.org/whl/cpu\n",
        ],
    ),
    "a package that is on its own page alone": (
        "index-missing", True, "FROM python:3.9\nRUN pip install torch==1.10.2 detectron2\n",
        [
            ("FROM python:3.9\nRUN pip install torch==1.10.2\nRUN pip install detectron2 -f "
            "https://dl.fbaipublicfiles.com/detectron2/wheels/cu102/torch1.10/index.html\n"),
            "FROM python:3.9\nRUN pip install git+https://github.com/facebookresearch/detectron2\n",
        ],
    ),
    "a package of conda asked of pip": (
        "version-does-not-exist", True, "FROM python:3.9\nRUN pip install torch==1.10.2 cudatoolkit==11.3\n",
        ["FROM continuumio/miniconda3\nRUN conda install -c conda-forge cudatoolkit==11.3\n"],
    ),
    "a NumPy that a companion brings": (
        "numpy-abi-mismatch", False, "FROM python:3.9\nRUN pip install torch==2.0.1 torchvision==0.15.2\n",
        [
            "FROM python:3.9\nRUN pip install torch==2.0.1\n",  # whose metadata does not name it
            "FROM python:3.9\nRUN pip install torch==2.0.1 torchvision==0.15.2 'numpy<2'\n",
            "FROM python:3.8\nRUN pip install torch==2.0.1 torchvision==0.15.2\n",
        ],
    ),
    "a local version that no row lists": (
        "framework-build-tag-mismatch", True,
        f"FROM python:3.9\nRUN pip install torch==1.10.1+cu113 torchvision==0.11.2+cu102 {LINKS}\n",
        [f"FROM python:3.9\nRUN pip install torch==1.10.1+cu113 torchaudio==0.10.1+cu113 {LINKS}\n"],
    ),
    "uv's installer is no compiler": (
        "double-cuda", False, "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n" + UV,
        ["FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN ./install.sh\n" + UV],
    ),
}  # fmt: skip


def said(text):
    """Codes of a file with the worst severity of each."""
    found = {}
    for finding in lint(sources.read(text, "Dockerfile"), MATRIX).findings:
        found[finding.code] = found.get(finding.code) == "error" or finding.severity == "error"
    return found


@pytest.mark.parametrize("name", PAIRS)
def test_a_fault_is_told_and_the_forms_beside_it_pass(name):
    code, error, faulty, beside = PAIRS[name]
    assert said(faulty).get(code) is error
    for text in beside:
        assert code not in said(text), text


def test_a_stale_nightly_beside_the_default_index_is_only_a_warning():
    text = f"FROM python:3.10\nRUN pip install --pre torch --extra-index-url {NIGHTLY}/cu117\n"
    assert said(text)["version-does-not-exist"] is False


@pytest.mark.parametrize("companion", ["torchvision>=0.18.0,<0.28.0", "torchvision", "torchvision!=0.19.0"])
def test_a_companion_follows_the_range_of_its_framework(companion):
    lines = f"--extra-index-url https://download.pytorch.org/whl/rocm6.0\ntorch>=2.4.0,<2.5.0\n{companion}\n"
    found = lint(sources.read(lines, "requirements.txt"), MATRIX).findings
    assert "extra-index-shadowed" not in {each.code for each in found}


@pytest.mark.parametrize(("keys", "error"), [(("7fa2af80", "7fa2af80"), True), (("7fa2af80", "3bf863cc"), False)])
def test_only_a_list_whose_new_key_nobody_fetches_stops_the_build(keys, error):
    assert said(KEYED.format(*keys))["apt-key-deprecated"] is error


@pytest.mark.parametrize(("other", "fix"), [("", "in its place"), ("machine-learning", "too")])
def test_the_new_key_takes_the_place_of_the_old_one_where_no_other_list_has_that(other, fix):
    listed = f'RUN echo "deb https://x/compute/{other}/repos/ubuntu1804/x86_64 /" > /etc/apt/sources.list.d/b.list\n'
    found = lint(sources.read(KEYED.format("7fa2af80", "7fa2af80") + listed, "Dockerfile"), MATRIX).findings
    told = next(one.fix.text for one in found if one.code == "apt-key-deprecated")
    assert told.startswith(f"Fetch 3bf863cc.pub {fix}")


@pytest.mark.parametrize(("system", "severity"), [("ubuntu:20.04", "info"), ("debian:11", "warning"), ("x", "warning")])
def test_apt_key_is_only_a_hint_on_a_system_of_before_its_deprecation(system, severity):
    found = lint(sources.read(f"FROM {system}\nRUN curl x | apt-key add -\n", "Dockerfile"), MATRIX).findings
    assert [one.severity for one in found if one.code == "apt-key-deprecated"] == [severity]


def test_a_stubs_folder_alone_is_only_a_warning():
    assert said(STUBS)["driver-stub-loaded"] is False


def test_a_dockerfile_reads_the_requirements_of_its_context(tmp_path, monkeypatch):
    (tmp_path / "docker").mkdir()
    text = "FROM python:3.10\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n"
    (tmp_path / "docker" / "Dockerfile").write_text(text)
    (tmp_path / "requirements.txt").write_text("torch==2.0.1+cu118\n")
    monkeypatch.chdir(tmp_path)
    assert {one.code for one in lint(ask_of("docker/Dockerfile"), MATRIX).findings} >= {"index-missing"}
    monkeypatch.chdir(tmp_path / "docker")
    assert not {one.code for one in lint(ask_of("Dockerfile"), MATRIX).findings} & {"index-missing"}


OTHERS = {
    "a resource that clusters have no more": (
        "k8s-no-gpu-resource", "pod.yaml",
        ("apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: a\n      image: python:3.12\n      resources:\n"
        "        limits:\n          {}: 1\n"),
        "alpha.kubernetes.io/nvidia-gpu", "nvidia.com/gpu",
    ),
    "a batch script without a toolkit": (
        "library-missing", "job.sh",
        "#!/bin/sh\n#SBATCH --gres=gpu:1\nmodule load {}\npip install tensorflow==2.10.0 'numpy<2'\n",
        "python/3.10", "python/3.10 cuda/11.2 cudnn/8.1",
    ),
    "PyTorch's conda builds and MKL": (
        "framework-pair-mismatch", "environment.yml",
        "channels: [pytorch, conda-forge]\ndependencies: [python=3.10, pytorch=1.12.1{}]\n", "", ", mkl=2024.0",
    ),
    "the same of the channel defaults": (
        "framework-pair-mismatch", "environment.yml",
        "channels: [pytorch, {}]\ndependencies: [python=3.10, pytorch=1.12.1]\n", "conda-forge", "defaults",
    ),
    "an address in Poetry's table": (
        "python-unsupported", "pyproject.toml",
        ('[tool.poetry.dependencies]\npython = "{}"\ntorch = {{url = "https://download.pytorch.org/whl/cu111/'
        'torch-1.9.0%2Bcu111-cp37-cp37m-linux_x86_64.whl"}}\n'),
        "3.8", "3.7",
    ),
    "a bound that the shell takes, in what Cog runs": (
        "requirement-unquoted", "cog.yaml", "build:\n  run:\n    - pip install {}\n", "six>=1.0", "'six>=1.0'",
    ),
    "a release of pip over conda's, and its companion": (
        "framework-pair-mismatch", "environment.yml",
        "dependencies:\n  - pytorch=1.13.1\n  - pip:\n    - torch==2.1.2\n    - torchvision=={}\n", "0.14.1", "0.16.2",
    ),
    "a list that needs torch to be built": (
        "build-tools-missing", "requirements.txt", "torch==2.6.0\n{}\n", "flash-attn==2.7.4.post1", "xformers==0.0.29",
    ),
}  # fmt: skip


def test_a_list_without_some_lines_is_read_as_a_step_wrote_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.txt").write_text("torch==2.6.0\nonnx==1.16.0\ntorchvision==0.20.1\n")
    rest = "COPY all.txt /app/all.txt\nRUN grep -vE '^(onnx|%s)' /app/all.txt > /tmp/some.txt && pip install -r /tmp/some.txt\n"
    for left_out, clashes in (("numpy", True), ("torchvision", False)):
        (tmp_path / "Dockerfile").write_text("FROM python:3.11\n" + rest % left_out)
        found = {one.code for one in lint(ask_of("Dockerfile"), MATRIX).findings}
        assert ("framework-pair-mismatch" in found) is clashes
    for step, clashes in (("setup.py build", True), ("tools/drop_torch.py", False)):  # which may write another list
        rest = f"FROM python:3.11\nCOPY . .\nRUN python3 {step}\nRUN pip install -r all.txt\n"
        (tmp_path / "Dockerfile").write_text(rest)
        found = {one.code for one in lint(ask_of("Dockerfile"), MATRIX).findings}
        assert ("framework-pair-mismatch" in found) is clashes


def test_what_pip_installs_for_a_conda_environment_is_in_the_image(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env.yml").write_text("dependencies:\n  - python=3.10\n  - pip\n  - pip:\n    - torch==2.6.0+cu124\n")
    (tmp_path / "Dockerfile").write_text(
        "FROM continuumio/miniconda3\nCOPY env.yml .\nRUN conda env create -f env.yml\n"
    )
    found = [(one.code, one.place.line) for one in lint(ask_of("Dockerfile"), MATRIX).findings]
    assert ("index-missing", 3) in found


@pytest.mark.parametrize(
    ("copied", "installed", "clashes"),
    [
        ("pyproject.toml", "pip install -e .", True),
        ("pyproject.toml", "uv pip install --system './[gpu]'", True),
        ("pyproject.toml", "pip install --no-deps .", False),
        ("setup.py", "pip install .", False),  # of a project that is not seen
        ("pyproject.toml", "git clone https://example.org/other && cd other && pip install .", False),
    ],
)
def test_a_project_that_a_step_installs_asks_for_what_its_file_lists(tmp_path, monkeypatch, copied, installed, clashes):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>=2.5.0"]\n')
    pinned = "RUN pip install torch==2.2.2 torchvision==0.17.2 'numpy<2'\n"
    (tmp_path / "Dockerfile").write_text(f"FROM python:3.11\n{pinned}COPY {copied} .\nRUN {installed}\n")
    found = {
        (one.code, one.place.line) for one in lint(ask_of("Dockerfile"), MATRIX).findings if one.severity == "error"
    }
    assert (("framework-pair-mismatch", 4) in found) is clashes


@pytest.mark.parametrize(("beside", "told"), [("numpy=1.16", True), ("keras", False)])
def test_what_conda_brings_beside_tensorflow_may_bound_protobuf(beside, told):
    text = f"dependencies:\n  - python=3.7\n  - {beside}\n  - pip:\n    - tensorflow-gpu==1.14.0\n"
    found = {one.code for one in lint(sources.read(text, "environment.yml"), MATRIX).findings}
    assert ("framework-pair-mismatch" in found) is told


def test_jax_beside_a_jaxlib_for_a_gpu_of_its_own_address_is_meant():
    listed = "dependencies:\n  - python<3.9\n  - pip:\n    - {}\n    - jax\n"
    wheel = f"{JAX}/cuda101/jaxlib-0.1.51-cp37-none-manylinux2010_x86_64.whl"
    told = {
        item: {one.code for one in lint(sources.read(listed.format(item), "environment-gpu.yml"), MATRIX).findings}
        for item in (wheel, "scipy")
    }
    assert "accidental-cpu-wheel" in told["scipy"]
    assert "accidental-cpu-wheel" not in told[wheel]


@pytest.mark.parametrize(("tag", "told"), [("21.02-tf2-py3", False), ("24.10-tf2-py3", True)])
def test_a_release_that_no_python_of_the_image_takes_is_not_what_is_installed(tag, told):
    text = f"FROM nvcr.io/nvidia/tensorflow:{tag}\nRUN pip install jax\n"  # of 2021 and of 2024: 3.6 to 3.8, and 3.10
    found = {one.code for one in lint(sources.read(text, "Dockerfile"), MATRIX).findings}
    assert ("accidental-cpu-wheel" in found) is told


@pytest.mark.parametrize(
    ("address", "codes"),
    [
        ("file:///croot/certifi_1671487769961/work/certifi", {"source-gone"}),
        ("file:///private/tmp/certifi-20230705-7401-1k2nq5m/certifi-2023.5.7", {"source-gone"}),
        ("file:///home/conda/feedstock_root/build_artifacts/attrs_1659291887007/work", {"source-gone"}),
        ("file:///app/wheels/certifi-2022.12.7.tar.gz", set()),
    ],
)
def test_an_address_of_condas_build_machine_is_nowhere_else(address, codes):
    found = lint(sources.read(f"torch==2.6.0\ncertifi @ {address}\nattrs @ {address}\n", "requirements.txt"), MATRIX)
    assert {one.code for one in found.findings} == codes
    assert [one.detail.partition(" of ")[0] for one in found.findings] == ["certifi and 1 more name folders"] * len(
        codes
    )


def test_a_list_for_conda_is_no_faulty_list_of_pip():
    text = "# conda create --file\npython=3.8.18\npytorch=2.0.1\npytorch-cuda=11.8\ntorchvision=0.15.2\n"
    assert not [one for one in lint(sources.read(text, "spec.txt"), MATRIX).findings if one.severity == "error"]


@pytest.mark.parametrize("name", OTHERS)
def test_a_fault_of_another_kind_of_file_is_told_and_the_form_beside_it_passes(name):
    code, file, text, faulty, sound = OTHERS[name]
    told = [
        {one.code for one in lint(sources.read(text.format(word), file), MATRIX).findings} for word in (faulty, sound)
    ]
    assert code in told[0]
    assert code not in told[1]


@pytest.mark.parametrize(("release", "gone"), [("2.4.2", True), ("2.6.2", False), ("99.0", False)])
def test_of_a_release_that_only_a_sibling_has_rows_of_the_list_of_the_index_decides(release, gone):
    ask = sources.read(f"paddlepaddle=={release}\n", "requirements.txt")
    told = [one.detail for one in lint(ask, MATRIX).findings if one.code == "version-does-not-exist"]
    assert any("the next release that it had on" in one for one in told) is gone


@pytest.mark.parametrize(
    ("text", "file", "severity"),
    [
        ("tensorflow==2.3.1\n", "requirements.txt", "warning"),  # Python 3.6 gets a protobuf that it loads with
        ("dependencies:\n  - python=3.8\n  - pip:\n    - tensorflow==2.3.1\n", "environment.yml", "error"),
    ],
)
def test_what_only_some_pythons_of_a_release_get_is_no_error_where_none_is_named(text, file, severity):
    found = [one for one in lint(sources.read(text, file), MATRIX).findings if one.code == "framework-pair-mismatch"]
    assert [one.severity for one in found] == [severity]


CUDA, PIP = "nvidia/cuda", "apt-get update && apt-get install -y python3-pip"


@pytest.mark.parametrize(
    ("base", "step", "fix"),
    [
        (f"{CUDA}:11.1.1-cudnn8-devel-ubuntu20.04", PIP, f"Take {CUDA}:11.8.0-cudnn8-devel-ubuntu22.04, whose"),
        (f"{CUDA}:11.1.1-cudnn8-devel-ubuntu20.04", f"{PIP} python3.8-dev", "No image of CUDA 11 on a system"),
        (f"{CUDA}:11.6.2-runtime-ubuntu20.04", PIP, f"Take {CUDA}:11.8.0-runtime-ubuntu22.04, whose"),
        (f"{CUDA}:10.2-runtime-ubuntu18.04", f"{PIP} python3.6-dev", "No image of CUDA 10 is left"),
        ("pytorch/pytorch:2.5.1-cuda11.7-cudnn9-devel", "pip install cupy-cuda11x==12.3.0",
         "Take pytorch/pytorch:2.5.1-cuda11.8-cudnn9-devel"),
        ("pytorch/pytorch:2.5.1-cuda11.7-cudnn9-devel", "pip install cupy-cuda12x==12.3.0",
         "Take pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel"),
    ],
)  # fmt: skip
def test_a_tag_is_named_where_the_file_goes_with_it(base, step, fix):
    found = lint(sources.read(f"FROM {base} AS a\nFROM a\nRUN {step}\n", "Dockerfile"), MATRIX).findings
    told = [one.fix.text for one in found if one.code in {"base-tag-eol", "base-tag-gone"}]
    assert told[0].startswith(fix)
