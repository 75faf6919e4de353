"""Dockerfiles in pairs: the faulty form, and the right one that differs from it by one fact."""

import pytest

from compat import sources
from compat.lint import lint
from compat.matrix import matrix

MATRIX = matrix()
PYTORCH = "https://download.pytorch.org/whl"
PAGE = "-f https://storage.googleapis.com/jax-releases/jax_cuda_releases.html"
ARMS = "ARG KIND={}\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS cuda\nFROM rocm/dev-ubuntu-22.04:6.2 AS rocm\nFROM ${{KIND}}\n"
ROCM = f"pip install torch==2.5.1+rocm6.2 --index-url {PYTORCH}/rocm6.2"
BARE = "FROM nvidia/cuda:11.8.0-{}-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install "
BOARD = "FROM nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3\nRUN pip3 install {}\n"
XLA = "FROM nvidia/cuda:{}-cudnn8-devel-ubuntu20.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install 'jax[cuda]==0.4.13' "
TORCH11 = "FROM pytorch/pytorch:1.11.0-cuda11.3-cudnn8-runtime\n"
TORCH_TAG = "FROM pytorch/pytorch:{}-runtime\n"
FEED = "--extra-index-url https://feeds.example/team/_packaging/more/pypi/simple/"
MMCV = "https://download.openmmlab.com/mmcv/dist"
WHEELS = "FROM python:3.8 AS make\nRUN pip wheel --no-deps -w /wheels torch=={}\n" + (
    TORCH11 + "COPY --from=make /wheels /wheels\nRUN pip install /wheels/*\n"
)
OTHER = "FROM registry.example/team/cuda:{}\nRUN pip install tensorflow==2.12.0\n"

CLONED = (
    "FROM python:3.10\nRUN pip install torch=={} -f https://download.pytorch.org/whl/torch_stable.html\n"
    "RUN git clone https://github.com/facebookresearch/detectron2.git\nRUN pip install --no-build-isolation ./detectron2/\n"
)
LINKED = "FROM ubuntu:{0}\nRUN apt-get update && apt-get install -y python{1} python3-pip && ln -s /usr/bin/python{1} /usr/bin/python\n"

# code, the fault, the neighbour without it
PAIRS = [
    # an arm of an "if" is for one of several bases
    ("wrong-vendor-build", ARMS.format("cuda") + f"RUN {ROCM}\n", ARMS.format("rocm") + f"RUN {ROCM}\n"),
    (
        "wrong-vendor-build",
        ARMS.format("cuda") + f"RUN {ROCM}\n",
        ARMS.format("cuda") + f'RUN if [ "$KIND" = rocm ]; then {ROCM}; fi\n',
    ),
    (
        "accidental-cpu-wheel",
        BARE.format("base") + "jax==0.4.30\n",
        BARE.format("base") + "numpy && if false; then pip install jax==0.4.30; fi\n",
    ),
    # the old form of ENV may quote its value, too
    (
        "extension-arch-missing",
        'FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST "8.0;8.6"\n',
        'FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST "8.0;9.0"\n',
    ),
    # a link to the system's own Python brings no other, for which there is a newer protobuf
    (
        "framework-pair-mismatch",
        LINKED.format("20.04", "3.8") + "RUN pip install tensorflow==2.4.0\n",
        LINKED.format("18.04", "3.6") + "RUN pip install tensorflow==1.14.0\n",
    ),
    # a pin that fixes the framework fixes its companion, too
    (
        "extra-index-shadowed",
        f"FROM python:3.10-slim\nRUN pip install --extra-index-url {PYTORCH}/cu118 'torchvision>=0.15.0' torchmetrics\n",
        f"FROM python:3.10-slim\nRUN pip install --extra-index-url {PYTORCH}/cu118 'torchvision>=0.15.0' torchdata==0.6.0\n",
    ),
    # pip sees the framework that conda brought, and leaves one that meets what is asked for
    (
        "framework-duplicate-install",
        "FROM continuumio/miniconda3\nRUN conda install pytorch==2.2.2\nRUN pip install 'torch>=2.3'\n",
        "FROM continuumio/miniconda3\nRUN conda install pytorch==2.2.2\nRUN pip install 'torch>=2.1'\n",
    ),
    # a framework's own image by the release, the CUDA and the cuDNN in its tag
    ("base-tag-gone", "FROM tensorflow/tensorflow:2.13-gpu\n", "FROM tensorflow/tensorflow:2.13.0-gpu\n"),
    ("base-tag-gone", "FROM tensorflow/tensorflow:99.0.0-gpu\n", "FROM tensorflow/tensorflow:2.9.0-gpu-jupyter\n"),
    ("base-tag-gone", TORCH_TAG.format("2.5.2-cuda12.4-cudnn9"), TORCH_TAG.format("2.5.1-cuda12.4-cudnn9")),
    ("base-tag-gone", TORCH_TAG.format("2.1.0-cuda12.2-cudnn8"), TORCH_TAG.format("2.1.0-cuda12.1-cudnn8")),
    ("base-tag-gone", TORCH_TAG.format("2.4.0-cuda12.1-cudnn8"), TORCH_TAG.format("1.4-cuda10.1-cudnn7")),
    # a wheel's name tells its CUDA, too
    (
        "framework-build-tag-mismatch",
        TORCH_TAG.format("2.1.2-cuda11.8-cudnn8")
        + "RUN pip install fast==0.1+torch210cu121 -f https://wheels.example/fast/\n",
        TORCH_TAG.format("2.1.2-cuda12.1-cudnn8")
        + "RUN pip install fast==0.1+torch210cu121 -f https://wheels.example/fast/\n",
    ),
    # a package of cuDNN stands in for the system's, but no older one
    (
        "library-mismatch",
        "FROM python:3.10\nRUN pip install tensorflow==2.13.0 nvidia-cudnn-cu11==8.5.0.96\n",
        "FROM python:3.10\nRUN pip install tensorflow==2.13.0 nvidia-cudnn-cu11==8.6.0.163\n",
    ),
    # what another index has can only be newer
    (
        "base-runtime-mismatch",
        TORCH_TAG.format("2.3.0-cuda12.1-cudnn8") + f"RUN pip install onnxruntime-gpu {FEED}\n",
        TORCH_TAG.format("2.4.0-cuda12.4-cudnn9") + f"RUN pip install onnxruntime-gpu {FEED}\n",
    ),
    # a server runs where the image does
    (
        "gpu-query-at-build",
        "FROM vllm/vllm-openai:v0.8.5\nRUN vllm serve some/model\n",
        "FROM vllm/vllm-openai:v0.8.5\nRUN vllm serve --help\nCMD vllm serve some/model\n",
    ),
    # a build that makes GPU code only where it sees nvcc, from an address and from a folder cloned from there
    (
        "image-runtime-not-devel",
        "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime\nRUN pip install git+https://github.com/facebookresearch/pytorch3d@stable\n",
        "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\nRUN pip install git+https://github.com/facebookresearch/pytorch3d@stable\n",
    ),
    (
        "image-runtime-not-devel",
        CLONED.format("2.6.0+cu124"),
        CLONED.format("2.6.0+cpu"),  # nobody asks for a GPU
    ),
    # what a build with nvcc makes without a GPU in sight
    (
        "accidental-cpu-wheel",
        "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\nRUN pip install git+https://github.com/facebookresearch/pytorch3d@stable\n",
        "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\nRUN FORCE_CUDA=1 pip install git+https://github.com/facebookresearch/pytorch3d@stable\n",
    ),
    (
        "image-runtime-not-devel",
        TORCH11 + "RUN pip install mmcv-full==1.7.0\n",
        TORCH11 + f"RUN pip install mmcv-full==1.7.0 -f {MMCV}/cu113/torch1.11.0/index.html\n",
    ),
    # what a package without rows requires, as its wheels were measured
    (
        "framework-pair-mismatch",
        "FROM python:3.10\nRUN pip install mediapipe==0.10.13 protobuf==4.21.12\n",
        "FROM python:3.10\nRUN pip install mediapipe==0.10.13 protobuf==4.25.3\n",
    ),
    (
        "framework-pair-mismatch",
        "FROM python:3.10\nRUN pip install trl==0.19.0 transformers==4.40.0\n",
        "FROM python:3.10\nRUN pip install trl==0.19.0 transformers==4.52.4\n",
    ),
    # a page of other packages has no file of a name that is a notice
    (
        "version-does-not-exist",
        TORCH11 + f"RUN pip install sklearn mmcv-full==1.7.0 -f {MMCV}/cu113/torch1.11.0/index.html\n",
        TORCH11 + f"RUN pip install scikit-learn mmcv-full==1.7.0 -f {MMCV}/cu113/torch1.11.0/index.html\n",
    ),
    # an extra of what NVIDIA's image has already brings the index's libraries
    (
        "framework-duplicate-install",
        "FROM nvcr.io/nvidia/jax:24.04-py3\nRUN pip install jax[cuda12_pip]\n",
        "FROM nvcr.io/nvidia/jax:24.04-py3\nRUN pip install jax\n",
    ),
    # a pin that a single release of the other package goes with
    (
        "numpy-abi-mismatch",
        "FROM python:3.10\nRUN pip install triton==2.0.0 'torch>=2.0.1' numpy==2.1.0\n",
        "FROM python:3.10\nRUN pip install triton==2.0.0 'torch>=2.0.1' numpy==1.26.4\n",
    ),
    # lines that a release requires for different Pythons are not for one environment
    (
        "framework-pair-mismatch",
        "FROM vllm/vllm-openai:v0.7.3\nRUN pip install vllm==0.9.1 numba==0.59.1\n",
        "FROM vllm/vllm-openai:v0.7.3\nRUN pip install vllm==0.9.1\n",
    ),
    # what a package requires with an extra alone, and a pin of an extra that the index lacks
    (
        "framework-pair-mismatch",
        "FROM python:3.11-slim\nRUN pip install sglang[all]==0.4.7 torch==2.6.0\n",
        "FROM python:3.11-slim\nRUN pip install sglang==0.4.7 torch==2.6.0\n",
    ),
    (
        "version-does-not-exist",
        "FROM python:3.11-slim\nRUN pip install sglang[srt]==0.4.6\n",
        "FROM python:3.11-slim\nRUN pip install sglang[srt]==0.4.6.post5\n",
    ),
    # metadata that pip reads no more: which pip it is, and a release that was mended
    (
        "version-does-not-exist",
        "FROM python:3.10-slim\nRUN pip install -U pip\nRUN pip install pytorch-lightning==1.6.5\n",
        "FROM python:3.10-slim\nRUN pip install 'pip<24.1'\nRUN pip install pytorch-lightning==1.6.5\n",
    ),
    (
        "version-does-not-exist",
        "FROM python:3.10-slim\nRUN pip install -U pip\nRUN pip install omegaconf==2.1.0\n",
        "FROM python:3.10-slim\nRUN pip install omegaconf==2.1.0\n",
    ),
    (
        "version-does-not-exist",
        "FROM python:3.10-slim\nRUN pip install pip==24.2\nRUN pip install pytorch-lightning==1.6.5\n",
        "FROM python:3.10-slim\nRUN pip install pip==24.2\nRUN pip install pytorch-lightning==1.6.5.post0\n",
    ),
    # an extension whose build script imports torch, which pip has not installed by then
    (
        "build-tools-missing",
        "FROM python:3.10\nRUN pip install torch==2.4.0 flash-attn==2.6.3 --no-build-isolation\n",
        "FROM python:3.10\nRUN pip install torch==2.4.0\nRUN pip install flash-attn==2.6.3 --no-build-isolation\n",
    ),
    (
        "build-tools-missing",
        "FROM python:3.10\nRUN pip install git+https://github.com/facebookresearch/detectron2.git\n",
        "FROM python:3.10\nRUN pip install torch && pip install git+https://github.com/facebookresearch/detectron2.git\n",
    ),
    (
        "build-tools-missing",
        "FROM python:3.10\nRUN pip install causal-conv1d==1.4.0\n",
        "FROM python:3.10\nRUN pip install causal-conv1d==1.5.1\n",
    ),
    (
        "build-tools-missing",
        "FROM python:3.10\nRUN pip install torch-scatter==2.1.2\n",
        "FROM python:3.10\nRUN pip install -f https://data.pyg.org/whl/torch-2.4.0+cu124.html torch-scatter==2.1.2\n",
    ),
    (
        "build-tools-missing",
        "FROM python:3.10\nRUN pip install flash-attn==2.6.3\n",
        "FROM python:3.10\nCOPY . .\nRUN pip install -e .\nRUN pip install flash-attn==2.6.3\n",
    ),
    # what every release of a requirement has in its metadata is passed over like what a release has itself
    (
        "version-does-not-exist",
        "FROM python:3.8-slim\nRUN pip install -U pip\nRUN pip install fairseq==0.12.2\n",
        "FROM python:3.8-slim\nRUN pip install 'pip<24.1'\nRUN pip install fairseq==0.12.2\n",
    ),
    # a vendor's page that is known not to hold a name is no place that may have it
    (
        "version-does-not-exist",
        f"FROM python:3.10\nRUN pip install sklearn {PAGE}\n",
        f"FROM python:3.10\nRUN pip install scikit-learn {PAGE}\n",
    ),
    (
        "version-does-not-exist",
        f"FROM python:3.10\nRUN pip install sklearn -f {PYTORCH}/torch_stable.html\n",
        "FROM python:3.10\nRUN pip install sklearn -f https://mirror.example/wheels\n",
    ),
    # a package without rows has the Pythons of its files, and of Requires-Python where it comes as source too
    (
        "python-unsupported",
        BARE.format("base").replace("22.04", "20.04") + "sentencepiece==0.1.82\n",
        BARE.format("base").replace("22.04", "20.04") + "sentencepiece==0.1.91\n",
    ),
    (
        "python-unsupported",
        "FROM python:3.8\nRUN pip install timm==1.0.31\n",
        "FROM python:3.10\nRUN pip install timm==1.0.31\n",
    ),
    (
        "python-unsupported",
        "FROM python:3.8\nRUN pip install timm==1.0.31\n",
        "FROM python:3.8\nRUN pip install timm==1.0.31 --extra-index-url https://feeds.example/simple\n",
    ),
    # beside the system's Python another one may be that of a bare pip
    (
        "python-unsupported",
        "FROM ubuntu:20.04\nRUN apt-get update && apt-get install -y python3.9 python3-pip\nRUN pip install timm==1.0.31\n",
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3.11 python3-pip\nRUN pip install timm==1.0.31\n",
    ),
    # what an application brings is judged for each of them
    (
        "base-runtime-mismatch",
        (
            "FROM nvidia/cuda:11.4.3-cudnn8-runtime-ubuntu20.04\nRUN apt-get update && apt-get install -y python3.9 python3-pip\n"
            "RUN pip install whisper-ctranslate2\n"
        ),
        (
            "FROM nvidia/cuda:12.3.2-cudnn9-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3.11 python3-pip\n"
            "RUN pip install whisper-ctranslate2\n"
        ),
    ),
    # words of a command that pip refuses
    (
        "requirement-unreadable",
        "FROM python:3.10\nARG TIMM=0.9.16\nRUN pip install timm==${TIMM}}\n",
        "FROM python:3.10\nARG TIMM=0.9.16\nRUN pip install timm==${TIMM}\n",
    ),
    (
        "requirement-unreadable",
        "FROM python:3.10\nRUN pip3 -m pip install numpy\n",
        "FROM python:3.10\nRUN python3 -m pip install -qU --pre numpy -t/opt -ihttps://mirror.example/simple\n",
    ),
    (
        "requirement-unreadable",
        "FROM python:3.10\nRUN pip install numpy == 1.26.4\n",
        "FROM python:3.10\nRUN pip install 'numpy == 1.26.4' `cat more` $(cat more) .[all] */*.whl\n",
    ),
    (
        "requirement-unreadable",
        "FROM python:3.10\nRUN pip install -y numpy\n",
        "FROM python:3.10\nRUN pip uninstall -y numpy\n",
    ),
    # an extra that only later releases have
    (
        "version-does-not-exist",
        (
            "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04\nARG TF=2.13.0\n"
            'RUN apt-get update && apt-get install -y python3-pip && pip3 install "tensorflow[and-cuda]==${TF}"\n'
        ),
        (
            "FROM ubuntu:22.04\nARG TF=2.15.1\n"
            'RUN apt-get update && apt-get install -y python3-pip && pip3 install "tensorflow[and-cuda]==${TF}"\n'
        ),
    ),
    # a variable that brings a sign says nothing of the words of others
    (
        "requirement-unquoted",
        "FROM python:3.10\nENV LEAST='torch>=2.0'\nRUN pip install $LEAST numpy<=1.26\n",
        "FROM python:3.10\nENV LEAST='torch>=2.0'\nRUN pip install $LEAST 'numpy<=1.26'\n",
    ),
    # a list that was frozen on Windows
    (
        "version-does-not-exist",
        "FROM python:3.11-slim\nRUN pip install pywin32==306\n",
        "FROM python:3.11-slim\nRUN pip install 'pywin32==306 ; sys_platform == \"win32\"'\n",
    ),
    (
        "version-does-not-exist",
        "FROM python:3.11-slim\nRUN pip install tensorflow-intel==2.15.0\n",
        "FROM python:3.11-slim\nRUN pip install tensorflow==2.15.0\n",
    ),
    # what the base's framework was compiled for
    (
        "framework-pair-mismatch",
        "FROM tensorflow/tensorflow:2.15.0-gpu\nRUN pip install numpy==2.1.0\n",
        "FROM tensorflow/tensorflow:2.15.0-gpu\nRUN pip install numpy==1.26.4\n",
    ),
    (
        "numpy-abi-mismatch",
        "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime\nRUN pip install numpy==2.1.0\n",
        "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime\nRUN pip install torch==2.6.0 numpy==2.1.0\n",
    ),
    # a server uses the CUDA of its own image, beside what pip brings
    (
        "double-cuda",
        "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN pip install torch==2.6.0\n",
        "FROM nvcr.io/nvidia/tritonserver:24.01-py3\nRUN pip install torch==2.6.0\n",
    ),
    # Python: which images bring it
    (
        "base-python-missing",
        "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install numpy\n",
        "FROM rocm/dev-ubuntu-22.04:6.2\nRUN pip install numpy\n",
    ),
    # NVIDIA's framework images of one month share CUDA and cuDNN: 23.10 has cuDNN 8, 24.05 has 9
    (
        "base-runtime-mismatch",
        "FROM nvcr.io/nvidia/jax:23.10-py3\nRUN pip install -U 'jax[cuda12_local]==0.4.34'\n",
        "FROM nvcr.io/nvidia/jax:24.05-py3\nRUN pip install -U 'jax[cuda12_local]==0.4.34'\n",
    ),
    (
        "python-unsupported",
        "FROM nvcr.io/nvidia/tensorflow:25.01-tf2-py3\nRUN pip install torch==1.13.1\n",
        "FROM nvcr.io/nvidia/tensorflow:23.10-tf2-py3\nRUN pip install torch==1.13.1\n",
    ),
    # a compiler that can be left out, and NVIDIA's framework images, which come in one form
    (
        "devel-in-final-stage",
        "FROM pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\nRUN pip install tqdm\n",
        "FROM nvcr.io/nvidia/pytorch:25.06-py3\nRUN pip install tqdm\n",
    ),
    # a file of the system's packages, or an archive that it adds, may need Python
    (
        "base-python-missing",
        "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y ffmpeg\nRUN pip3 install six\n",
        "FROM ubuntu:22.04\nADD a.deb /\nRUN apt-get update && apt-get install -y /a.deb\nRUN pip3 install six\n",
    ),
    # boards: whose image it is, what it brings
    ("jetson-generic-wheel", BOARD.format("torch==2.1.0"), BOARD.format("torch torchvision torchaudio")),
    ("jetson-generic-wheel", BOARD.format("-U torch"), BOARD.format("torch>=1.13")),
    ("jetson-generic-wheel", BOARD.format("torchvision==0.16.0"), BOARD.format("numpy==1.24.0")),
    (
        "jetson-generic-wheel",
        "FROM dustynv/python:r35.2.1\nRUN pip3 install --force-reinstall torch==1.13.0\n",
        "FROM dustynv/python:r35.2.1\nRUN pip3 install matplotlib\n",
    ),
    (
        "jetson-generic-wheel",
        "FROM dustynv/ros:humble-pytorch-l4t-r35.4.1\nRUN pip3 install torch==2.1.0\n",
        "FROM dustynv/ros:humble-pytorch-l4t-r35.4.1\nRUN pip3 install 'torch>=1.8'\n",
    ),
    # CUDA in the tag of another maker's image
    ("base-runtime-mismatch", OTHER.format("cuda102-cudnn7-py36"), OTHER.format("cuda118-cudnn8-py310")),
    ("base-runtime-mismatch", OTHER.format("1.0-cuda12.1.1"), OTHER.format("1.0-cuda11.8")),
    ("base-runtime-mismatch", OTHER.format("cu121-py310"), OTHER.format("gpu-py310")),
    # jaxlib's local tag says what it takes from the system
    (
        "library-missing",
        BARE.format("devel") + f"jaxlib==0.4.25+cuda11.cudnn86 {PAGE}\n",
        BARE.format("cudnn8-devel") + f"jaxlib==0.4.25+cuda11.cudnn86 {PAGE}\n",
    ),
    # an image that its maker calls cpu may still name CUDA
    (
        "base-runtime-mismatch",
        OTHER.format("cuda102"),
        "FROM registry.example/team/cpu:cuda102\nRUN pip install tensorflow==2.12.0\n",
    ),
    (
        "index-missing",
        BARE.format("cudnn8-devel") + "jaxlib==0.4.25+cuda11.cudnn86\n",
        BARE.format("cudnn8-devel") + f"jaxlib==0.4.25+cuda11.cudnn86 {PAGE}\n",
    ),
    # Paddle names its variants by a post release, on a page of its own
    (
        "index-missing",
        "FROM python:3.10\nRUN pip install paddlepaddle-gpu==2.4.2.post117\n",
        "FROM python:3.10\nRUN pip install paddlepaddle-gpu==2.4.2\n",
    ),
    (
        "index-missing",
        "FROM python:3.10\nRUN pip install paddlepaddle-gpu==2.4.2.post117\n",
        "FROM python:3.10\nRUN pip install paddlepaddle-gpu==2.4.2.post117 -f https://www.paddlepaddle.org.cn/whl/linux/mkl/avx/stable.html\n",
    ),
    # releases that the whole list of the default index lacks: removed, or never there
    (
        "version-does-not-exist",
        "FROM python:3.10\nRUN pip install triton==2.0.0.dev20221202\n",
        "FROM python:3.10\nRUN pip install triton==2.0.0.dev20221202 --extra-index-url https://wheels.example/simple/team\n",
    ),
    (
        "version-does-not-exist",
        "FROM python:3.10\nRUN pip install torchmetrics==0.3.99\n",
        "FROM python:3.10\nRUN pip install torchmetrics==99.0.0\n",
    ),
    # XLA takes no cuDNN that is older by a minor
    (
        "base-runtime-mismatch",
        XLA.format("11.4.3") + f"{PAGE}\n",
        XLA.format("11.8.0") + f"{PAGE}\n",
    ),
    # a torch that a wheel's name or page says
    (
        "framework-build-tag-mismatch",
        "FROM python:3.10\nRUN pip install torch==2.4.0 https://x.example/fast-0.1+torch211cu121-cp310-cp310-linux_x86_64.whl\n",
        "FROM python:3.10\nRUN pip install torch==2.1.2 https://x.example/fast-0.1+torch211cu121-cp310-cp310-linux_x86_64.whl\n",
    ),
    (
        "framework-build-tag-mismatch",
        TORCH11 + f"RUN mim install mmcv-full==1.7.0 -f {MMCV}/cu102/torch1.8.1/index.html\n",
        TORCH11 + f"RUN mim install mmcv-full==1.7.0 -f {MMCV}/cu113/torch1.11.0/index.html\n",
    ),
    # what follows the base's framework stays behind
    (
        "framework-duplicate-install",
        TORCH11 + "RUN pip uninstall -y torch && pip install torch==2.2.0\n",
        TORCH11 + "RUN pip uninstall -y torch torchvision torchaudio && pip install torch==2.2.0\n",
    ),
    # torchtext's last release says no end of its torch, and has one
    (
        "framework-pair-mismatch",
        "FROM python:3.11\nRUN pip install torch torchtext\n",
        "FROM python:3.11\nRUN pip install torch==2.3.1 torchtext\n",
    ),
    # PyTorch's nightly images are from before the last release for their CUDA
    (
        "base-apt-key-rotated",
        "FROM pytorch/pytorch:nightly-devel-cuda10.0-cudnn7\nRUN apt-get update\n",
        "FROM pytorch/pytorch:nightly-devel-cuda11.3-cudnn8\nRUN apt-get update\n",
    ),
    # a wheel by its address says which Python it is for
    (
        "numpy-abi-mismatch",
        f"FROM python:3.9\nRUN pip install numpy {PYTORCH}/cpu/torch-1.8.1%2Bcpu-cp39-cp39-linux_x86_64.whl\n",
        f"FROM python:3.7\nRUN pip install numpy {PYTORCH}/cpu/torch-1.8.1%2Bcpu-cp37-cp37m-linux_x86_64.whl\n",
    ),
    # Python 2's pip takes the last release that was for that
    (
        "version-does-not-exist",
        "FROM ubuntu:20.04\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install tensorflow-gpu\n",
        "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y python-pip\nRUN pip install tensorflow-gpu\n",
    ),
    # wheels that an earlier stage made
    (
        "framework-duplicate-install",
        WHEELS.format("2.4.1"),
        WHEELS.format("1.11.0"),
    ),
    # every framework's own question for a device
    *(
        (
            "gpu-query-at-build",
            f"FROM python:3.11\nRUN python -c 'import {module} as m; print(m.{call})'\n",
            f"FROM python:3.11\nRUN python -c 'import {module} as m; print(m.__version__)'\nCMD python -c 'm.{call}'\n",
        )
        for module, call in (
            ("torch", "cuda.get_device_name(0)"),
            ("tensorflow", "test.gpu_device_name()"),
            ("tensorflow", "test.is_gpu_available()"),
            ("tensorflow", "config.list_physical_devices()"),
            ("jax", "jax.local_devices()"),
            ("paddle", "paddle.utils.run_check()"),
        )
    ),
    # what a document is fed to decides whether it runs
    (
        "gpu-query-at-build",
        "FROM python:3.11\nRUN true && \\\n  python3 - <<'PY'\nimport torch\nprint(torch.cuda.is_available())\nPY\n",
        "FROM python:3.11\nRUN cat > check.py <<'PY'\nimport torch\nprint(torch.cuda.is_available())\nPY\n",
    ),
    (
        "gpu-query-at-build",
        "FROM python:3.11\nRUN bash <<E\nnvidia-smi\nE\n",
        "FROM python:3.11\nRUN tee /start.sh <<E\nnvidia-smi\nE\n",
    ),
]


def test_a_variable_of_the_image_tells_no_project_for_sure_to_make_gpu_code():
    text = TORCH11 + "{}RUN git clone https://code.example/team/tool && cd tool && {}pip install -e .\n"
    levels = [
        {one.severity for one in lint(sources.read(each, "Dockerfile"), MATRIX, select=["image-runtime"]).findings}
        for each in (
            text.format("ENV FORCE_CUDA=1\n", ""),
            text.format("", "FORCE_CUDA=1 "),
            text.format("", ""),
            text.format(
                f"ENV FORCE_CUDA=1\nRUN pip install mmcv-full==1.7.0 -f {MMCV}/cu113/torch1.11.0/index.html\n", ""
            ),
        )
    ]
    assert levels == [{"warning"}, {"error"}, set(), set()]


def found(text):
    return {item.code for item in lint(sources.read(text, "Dockerfile"), MATRIX).findings}


@pytest.mark.parametrize(("code", "fault", "right"), PAIRS, ids=[f"{row[0]}-{n}" for n, row in enumerate(PAIRS)])
def test_one_fact_makes_the_difference(code, fault, right):
    assert code in found(fault)
    assert code not in found(right)


@pytest.mark.parametrize("text", [right for _, _, right in PAIRS])
def test_the_right_neighbour_gives_no_error_at_all(text):
    errors = [item for item in lint(sources.read(text, "Dockerfile"), MATRIX).findings if item.severity == "error"]
    assert errors == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("RUN true && \\\n    nvidia-smi\n", 3),
        ("RUN true && \\\n    # why\n\n    nvidia-smi\n", 5),
        ("RUN set -e; \\\n true; \\\n\tnvidia-smi; \\\n true\n", 4),
        ("RUN \\\n  nvidia-smi\n", 3),
        ("RUN --mount=type=cache,target=/x \\\n  --network=none \\\n  true && nvidia-smi\n", 4),
        ("RUN <<E\ntrue\nnvidia-smi\nE\n", 4),
        ("RUN true \\\n && bash <<E\ntrue\nnvidia-smi\nE\n", 5),
        ("RUN true && \\\n python3 -c 'import torch; \\\n  torch.cuda.is_available()'\n", 3),
        ("RUN true \\\n && python3 - <<'E'\nimport jax\njax.devices()\nE\n", 4),
    ],
)
def test_a_continued_step_is_told_at_the_line_of_its_command(text, line):
    report = lint(sources.read("FROM python:3.11\n" + text, "Dockerfile"), MATRIX, select=["gpu-query"])
    assert [item.place.line for item in report.findings] == [line]


PIP = "RUN pip install \\\n  numpy \\\n  # the old one\n  'torch==1.13.1+cu117' \\\n  tqdm\n"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (PIP, "index-missing", 5),
        (PIP.replace("RUN", "RUN --mount=type=cache,target=/x"), "index-missing", 5),
        (PIP.replace("pip", "true && \\\n pip"), "index-missing", 6),
        ("RUN bash -c 'pip install \\\n torch==1.13.1+cu117'\n", "index-missing", 3),
        ("ENV A=b \\\n    CUDA_VISIBLE_DEVICES=0 \\\n    C=d\n", "devices-hardcoded", 3),
        ("ENV \\\n # which\n CUDA_VISIBLE_DEVICES=0\n", "devices-hardcoded", 4),
        ("ENV CUDA_VISIBLE_DEVICES 0\n", "devices-hardcoded", 2),
        (f"ENV A=b \\\n T='pip install torch --extra-index-url {PYTORCH}/cu118'\n", "extra-index-shadowed", 3),
    ],
)
def test_a_word_of_a_continued_line_is_told_at_its_own_line(text, code, line):
    report = lint(sources.read("FROM python:3.10\n" + text, "Dockerfile"), MATRIX, select=[code])
    assert [item.place.line for item in report.findings] == [line]


def test_where_the_weighing_of_pairs_ends_is_said_once(monkeypatch):
    text = "".join(f"torchvision==0.{minor}.0\ntorch==2.{minor - 14}.1\n" for minor in range(15, 19))
    whole = lint(sources.read(text, "requirements.txt"), MATRIX)
    monkeypatch.setattr("compat.lint.fits._MOST", 3)
    part = lint(sources.read(text, "requirements.txt"), MATRIX)
    assert [one.why for one in whole.unchecked] == []
    assert [one.why for one in part.unchecked if "first 3" in one.why] == [one.why for one in part.unchecked] != []
    assert 0 < part.count("error") < whole.count("error")


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("tensorflow==2.15.0.post1\nonnxruntime-gpu==1.19.2\n", {"info"}),  # a system may hold cuDNN 8 beside 9
        ("torch==2.6.0\ntensorflow==2.15.1\n", {"info"}),  # one brings its CUDA, one takes the system's
        ("torch==2.6.0\ntensorflow==2.14.0\n", {"warning"}),  # of CUDA 11 nothing is here, whatever the system holds
        ("--extra-index-url https://download.pytorch.org/whl/xpu\ntorch==2.7.1+xpu\ntensorflow==2.15.1\n", {"info"}),
    ],
)
def test_two_frameworks_need_not_clash_where_no_image_says_what_the_system_holds(text, levels):
    found = lint(sources.read(text, "requirements.txt"), MATRIX).findings
    assert {one.severity for one in found if one.code == "frameworks-conflict"} == levels
