"""Lint of what is no Dockerfile: requirements, compose, conda, projects and development containers, by cases."""

import pytest

from compat import sources
from compat.app.lint import lint_files
from compat.facts import host
from compat.lint import lint
from compat.matrix import matrix

MATRIX = matrix()
PYTORCH = "https://download.pytorch.org/whl"


def judged(text, file):
    return lint(sources.read(text, file), MATRIX)


@pytest.mark.parametrize(
    ("text", "file", "code"),
    [
        ("torch==1.10.0+cu113\n", "requirements.txt", "index-missing"),
        ('torch==2.2.0+cu121 ; sys_platform == "linux"\n', "requirements.txt", "index-missing"),
        (
            "torch==2.2.0+cu121; platform_system != 'Darwin' and os_name in 'posix'\n",
            "requirements.txt",
            "index-missing",
        ),
        ("torch==2.1.0; sys_platform=='linux'\ntorchaudio==2.0.2\n", "requirements.txt", "framework-pair-mismatch"),
        (f"--extra-index-url {PYTORCH}/cu121\ntorch>=2.8.0\n", "requirements.txt", "extra-index-shadowed"),
        ("torch==2.1.0\ntorchaudio==2.0.2\n", "requirements.txt", "framework-pair-mismatch"),
        (f"torch==2.5.1+cu124 -f {PYTORCH}/cu124\n", "requirements.txt", "index-missing"),
        ('{"image": "nvidia/cuda:11.0-base"}', "devcontainer.json", "base-tag-gone"),
        (
            '{"image": "ubuntu:22.04", "postCreateCommand": "pip install torch==2.6.0"}',
            "devcontainer.json",
            "base-python-missing",
        ),
        (
            '{"image": "python:3.10", "postCreateCommand": ["pip", "install", "torch==1.13.1+cu117"]}',
            "devcontainer.json",
            "index-missing",
        ),
        (
            '{"image": "ubuntu:22.04", "features": {"ghcr.io/devcontainers/features/python:1": "3.13"}, "postCreateCommand": "pip install torch==2.1.0"}',
            "devcontainer.json",
            "python-unsupported",
        ),
        ('{"image": "x:1", "runArgs": ["--gpus", "device=1"]}', "devcontainer.json", "devices-hardcoded"),
        ('{"image": "x:1", "runArgs": ["--gpus=\\"device=0,2\\""]}', ".devcontainer.json", "devices-hardcoded"),
        ('{"image": "x:1", "containerEnv": {"CUDA_VISIBLE_DEVICES": "0"}}', "gpu.jsonc", "devices-hardcoded"),
        (
            '{"image": "python:3.10", "runArgs": ["--gpus=all"], "postCreateCommand": {"a": "pip install jax==0.4.30"}}',
            "devcontainer.json",
            "accidental-cpu-wheel",
        ),
        ("services:\n  a:\n    image: x:latest\n", "compose.yaml", "pin-missing"),
        (
            "services:\n  a:\n    image: x:1\n    environment: {NVIDIA_VISIBLE_DEVICES: '1'}\n",
            "compose.yaml",
            "devices-hardcoded",
        ),
        ("dependencies:\n  - python=3.8\n  - pip:\n      - torch==2.6.0\n", "environment.yml", "python-unsupported"),
        ("services:\n  a:\n    image: nvidia/cuda:11.0-base\n", "compose.yaml", "base-tag-gone"),
        ("services:\n  a:\n    image: nvidia/cuda\n", "compose.yaml", "base-tag-gone"),
        ("channels: [pytorch-nightly]\ndependencies:\n  - pytorch\n", "environment.yml", "nightly-unpinned"),
        ("dependencies:\n  - pytorch=1.11.0\n  - torchvision=0.13.0\n", "environment.yml", "framework-pair-mismatch"),
        (
            "dependencies:\n  - pytorch=1.11.0\n  - pip:\n      - torch==1.12.0\n",
            "environment.yml",
            "framework-duplicate-install",
        ),
        (
            "services:\n  a:\n    image: x:1\n    devices: ['/dev/nvidia0:/dev/nvidia0']\n",
            "compose.yaml",
            "devices-hardcoded",
        ),
        (
            '[project]\ndependencies = ["torch==2.1.0", "torchvision==0.15.2"]\n',
            "pyproject.toml",
            "framework-pair-mismatch",
        ),
    ],
)
def test_other_files_are_judged_alike(text, file, code):
    assert code in {finding.code for finding in judged(text, file).findings}


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ('{"image": "nvidia/cuda:12.4.1-devel-ubuntu22.04", "runArgs": ["--gpus=all"], "postCreateCommand": "nvidia-smi"}', "devcontainer.json"),
        ('{"image": "ubuntu:22.04", "features": {"ghcr.io/x/anything:1": {}}, "postCreateCommand": "pip install torch==2.6.0"}', "devcontainer.json"),
        ('{"image": "python:3.10", "hostRequirements": {"gpu": "optional"}, "postCreateCommand": "pip install jax==0.4.30"}', "devcontainer.json"),
        ('{"initializeCommand": "pip install torch==1.13.1+cu117", "image": "python:3.10"}', "devcontainer.json"),
        ('{"image": "python:3.10", "features": {"ghcr.io/devcontainers/features/nvidia-cuda:1": {"cudaVersion": "11.8", "installCudnn": true}}, "runArgs": ["--gpus", "all"], "postCreateCommand": "pip install tensorflow==2.12.0"}', "devcontainer.json"),
        (f"--extra-index-url {PYTORCH}/cu118\ntorch==2.1.2 --index-url {PYTORCH}/cu118\ntorch-scatter @ https://x/y.zip\n", "requirements.txt"),
        ("jax==0.4.30\njaxlib\n", "requirements.txt"),  # an installer takes one that fits
        ("FROM nvcr.io/nvidia/tensorrt:19.01-py3\nRUN pip install onnxruntime-gpu==1.19.2\n", "Dockerfile"),
        # the page of links ended, and what is the newest there is not known
        ("-f https://download.pytorch.org/whl/torch_stable.html\ntorch\ntorchvision\ntorchaudio\n", "requirements.txt"),
        ("channels: [defaults]\ndependencies:\n  - pytorch=2.3.0=cpu_py38h2a1f63a_0\n  - torchvision=0.15.2=cpu_py38h83e0c9b_0\n", "environment.yml"),
        ("torch==1.10.0\ntensorflow==2.15.0\nnumpy<2\n", "requirements_cpu.txt"),
        # torchaudio had no GPU code then, and one wheel for all variants
        ("-f https://download.pytorch.org/whl/torch_stable.html\ntorch==1.9.0+cu111\ntorchaudio==0.9.0\n", "requirements.txt"),
        # of some indexes only what somebody named is known
        ("--index-url https://www.paddlepaddle.org.cn/packages/stable/cu118/\npaddlepaddle-gpu==3.1.0\n", "requirements.txt"),
        ("--find-links https://developer.download.nvidia.com/compute/redist/jp/v45/pytorch/\ntorch==1.8.0+nv21.3\n", "requirements.txt"),
        # a marker that is false here is no fault
        ("torch==2.2.0+cu121; sys_platform == 'win32'\n", "requirements.txt"),
        ("torch==2.2.0; python_version < '3.3'\n", "requirements.txt"),
        ("torch==2.2.0+cu121; platform_machine == 'aarch64'\n", "requirements.txt"),
        ("torch==2.2.0; sys_platform == 'darwin'\ntorchaudio==2.0.2; sys_platform == 'linux'\n", "requirements.txt"),
    ],
)  # fmt: skip
def test_other_lean_files_give_no_error(text, file):
    assert [item.code for item in judged(text, file).findings if item.severity in {"error", "warning"}] == []


PYG = "https://data.pyg.org/whl/torch-2.0.1+cu118.html"
BIONIC = "FROM ubuntu:18.04\nRUN apt-get update && apt-get install -y python3-pip\n"
INTEL = "FROM intel/intel-extension-for-pytorch:2.1.30-xpu\n"
PIXI = """[project]
name = "x"
channels = ["pytorch", "conda-forge"]
platforms = ["linux-64"]
[feature.py.dependencies]
python = "{}.*"
[feature.cu.dependencies]
pytorch = {{ channel = "pytorch", version = "{}" }}
cudatoolkit = "11.0.*"
"""
UV = """[project]
requires-python = ">=3.10"
dependencies = [{}]
[project.optional-dependencies]
gpu = [{}]
[tool.uv.sources]
torch = {{ index = "cu" }}
torchvision = {{ index = "cu" }}
[[tool.uv.index]]
name = "cu"
url = "https://download.pytorch.org/whl/{}"
explicit = true
"""


@pytest.mark.parametrize(
    ("code", "file", "fault", "right"),
    [
        # a page of extensions has no framework
        ("index-missing", "r.txt", f"-f {PYG}\ntorch==2.0.1+cu118\n", f"-f {PYG}\ntorch==2.0.1\ntorch-scatter\n"),
        (
            "version-does-not-exist",
            "r.txt",
            "--extra-index-url https://pypi.nvidia.com\ntorch==2.0.9\n",
            "--extra-index-url https://pypi.nvidia.com\ntorch==2.0.1\ntensorrt==99.9.9\n",
        ),
        # an index that is named, and is that of another variant; a variant that no index ever had
        (
            "index-missing",
            "r.txt",
            f"--extra-index-url {PYTORCH}/cu118\ntorch==2.5.1+cu124\n",
            f"--extra-index-url {PYTORCH}/cu124\ntorch==2.5.1+cu124\n",
        ),
        (
            "version-does-not-exist",
            "r.txt",
            f"--extra-index-url {PYTORCH}/cu121\ntorch==2.7.1+cu121\n",
            f"--extra-index-url {PYTORCH}/cu121\ntorch==2.5.1+cu121\n",
        ),
        # two frameworks of two majors, whatever goes with them
        (
            "frameworks-conflict",
            "r.txt",
            "torch==2.5.0\ntensorflow==2.14.0\nonnxruntime-gpu==1.19.2\n",
            "torch==2.5.0\ntensorflow-cpu==2.14.0\nonnxruntime-gpu==1.19.2\n",
        ),
        # a feature of a development container brings a Python of its own
        (
            "python-unsupported",
            "devcontainer.json",
            '{"image": "ubuntu:24.04", "postCreateCommand": "pip install torch==2.1.0"}',
            '{"image": "ubuntu:24.04", "features": {"ghcr.io/devcontainers/features/python:1": {}}, "postCreateCommand": "pip install torch==2.1.0"}',
        ),
        # an index of nightlies has no release
        (
            "index-missing",
            "r.txt",
            f"--extra-index-url {PYTORCH}/nightly/cu128\ntorch==2.6.0+cu124\n",
            f"--extra-index-url {PYTORCH}/nightly/cu128\ntorch==2.6.0\n",
        ),
        (
            "version-does-not-exist",
            "r.txt",
            f"--index-url {PYTORCH}/nightly/cu128\ntorch==2.7.0.dev20250226+cu128\n",
            f"--index-url {PYTORCH}/nightly/cu128\ntorch==2.7.0.dev20250226+cu128; sys_platform == 'win32'\n",
        ),
        # what stands beside a pinned framework follows it
        (
            "extra-index-shadowed",
            "r.txt",
            f"--extra-index-url {PYTORCH}/cu124\ntorch\ntorchvision\n",
            f"--extra-index-url {PYTORCH}/cu124\ntorch==2.6.0+cu124\ntorchvision\n",
        ),
        # a wheel for another platform
        (
            "framework-pair-mismatch",
            "r.txt",
            "torch==2.6.0\ntriton==3.1.0\n",
            "torch==2.6.0\nhttps://x/triton-3.1.0-cp311-cp311-win_amd64.whl?a=1; platform_system == 'Windows'\n",
        ),
        # the index of each package, and the extra that goes with the rest
        (
            "version-does-not-exist",
            "pyproject.toml",
            UV.format("", '"torch==2.7.0"', "cu124"),
            UV.format("", '"torch==2.7.0"', "cu126"),
        ),
        (
            "index-missing",
            "pyproject.toml",
            UV.format('"torch==2.5.1+cu121"', "", "cu124"),
            UV.format('"torch==2.5.1+cu124"', "", "cu124"),
        ),
        (
            "framework-pair-mismatch",
            "pyproject.toml",
            UV.format('"torch==2.6.0"', '"torchvision==0.20.1"', "cu124"),
            UV.format('"torch==2.6.0"', '"torchvision==0.21.0"', "cu124"),
        ),
        (
            "framework-pair-mismatch",
            "poetry.lock",
            '[[package]]\nname = "torch"\nversion = "2.6.0"\n[[package]]\nname = "torchvision"\nversion = "0.20.1"\n',
            '[[package]]\nname = "torch"\nversion = "2.6.0"\n[[package]]\nname = "torchvision"\nversion = "0.21.0"\n',
        ),
        (
            "index-missing",
            "Pipfile",
            '[packages]\ntorch = "==1.12.1+cu113"\n',
            f'[[source]]\nname = "cu"\nurl = "{PYTORCH}/cu113"\n[packages]\ntorch = {{version = "==1.12.1+cu113", index = "cu"}}\n',
        ),
        (  # the wheel of Python 3.11 alone requires a newer NumPy
            "framework-pair-mismatch",
            "requirements.txt",
            "onnxruntime-gpu==1.15.0\nnumpy==1.21.5\n",
            "onnxruntime-gpu==1.15.0\nnumpy==1.23.5\n",
        ),
        (  # a candidate came before the release
            "framework-pair-mismatch",
            "Dockerfile",
            "FROM python:3.8\nRUN pip install tensorflow-gpu==2.3.0rc0\n",
            "FROM python:3.8\nRUN pip install tensorflow-gpu==2.3.0rc0 'protobuf<4'\n",
        ),
        (  # conda's OpenCV brings protobuf's C++ library, no module
            "framework-pair-mismatch",
            "environment.yml",
            "dependencies:\n  - python=3.7\n  - opencv\n  - pip\n  - pip:\n    - tensorflow-gpu==2.3.0\n",
            "dependencies:\n  - python=3.7\n  - protobuf\n  - pip\n  - pip:\n    - tensorflow-gpu==2.3.0\n",
        ),
        (  # pip 9 of Ubuntu 18.04 reads manylinux1 alone
            "version-does-not-exist",
            "Dockerfile",
            BIONIC + "RUN pip3 install tensorflow==2.6.2\n",
            BIONIC + "RUN pip3 install -U pip && pip3 install tensorflow==2.6.2\n",
        ),
        (
            "version-does-not-exist",
            "Dockerfile",
            BIONIC + "RUN pip3 install tensorflow==2.1.0\n",
            BIONIC + "RUN pip3 install torch==1.10.0\n",  # whose wheels have the old name
        ),
        (
            "base-apt-key-rotated",
            "Dockerfile",
            "FROM tensorflow/tensorflow:1.11.0-rc0-gpu\nRUN apt-get update\n",
            "FROM tensorflow/tensorflow:2.11.0-rc0-gpu\nRUN apt-get update\n",
        ),
        (
            "framework-build-tag-mismatch",
            "Dockerfile",
            INTEL + "RUN pip install torch-scatter -f https://data.pyg.org/whl/torch-2.5.0+cpu.html\n",
            INTEL + "RUN pip install torch-scatter -f https://data.pyg.org/whl/torch-2.1.0+cpu.html\n",
        ),
        (  # of a month without a row the months around it tell CUDA's major
            "base-runtime-mismatch",
            "Dockerfile",
            "FROM nvcr.io/nvidia/pytorch:24.02-py3\nRUN pip install cupy-cuda111==12.3.0\n",
            "FROM nvcr.io/nvidia/pytorch:24.02-py3\nRUN pip install cupy-cuda12x\n",
        ),
        (
            "base-tag-gone",
            "Dockerfile",
            'ARG V=11.3.1\nARG B=${V:+"nvidia/cuda:${V}-cudnn8-devel-ubuntu22.04"}\nFROM ${B}\n',
            'ARG V=11.8.0\nARG B=${V:+"nvidia/cuda:${V}-cudnn8-devel-ubuntu22.04"}\nFROM ${B}\n',
        ),
        (  # vLLM has builds for GPUs alone
            "accidental-cpu-wheel",
            "Dockerfile",
            "FROM python:3.12-slim\nRUN uv pip install --system vllm --torch-backend=auto\n",
            "FROM python:3.12-slim\nRUN uv pip install --system vllm --torch-backend=cu128\n",
        ),
        (
            "wrong-vendor-build",
            "requirements-rocm.txt",
            "torch\nnvidia-cudnn-cu12==9.1.0.70\n",
            "torch\nnvidia-cudnn-cu12==9.1.0.70; sys_platform == 'win32'\n",
        ),
        (  # features with a Python each are for environments of their own
            "python-unsupported",
            "pixi.toml",
            PIXI.format("3.10", "1.7.1"),
            PIXI.format("3.9", "1.7.1") + '[feature.new.dependencies]\npython = "3.10.*"\n',
        ),
        (  # the older page of JAX has some of its builds with CUDA, too
            "index-missing",
            "requirements.txt",
            "jaxlib==0.3.2+cuda11.cudnn82\n",
            "-f https://storage.googleapis.com/jax-releases/jax_releases.html\njaxlib==0.3.2+cuda11.cudnn82\n",
        ),
        (
            "accidental-cpu-wheel",
            "Dockerfile",
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN uv venv && uv pip install torch --torch-backend=auto\n",
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN uv venv && uv pip install torch --torch-backend=cu124\n",
        ),
    ],
)
def test_one_fact_makes_the_difference(code, file, fault, right):
    mild = code in {"extra-index-shadowed", "frameworks-conflict"} or file in {"pixi.toml", "requirements-rocm.txt"}
    assert (code, "warning" if mild else "error") in {
        (item.code, item.severity) for item in judged(fault, file).findings
    }
    assert code not in {item.code for item in judged(right, file).findings}


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ("torch==2.1.0\n", "framework-pair-mismatch"),
        ("torch==2.0.1\n", ""),
        ("torch==2.1.0; sys_platform == 'win32'\n", ""),
        ("jax==0.0.1\n", ""),  # nobody asks for it
        ("torch<2.1\n", ""),
    ],
)
def test_a_constraints_file_bounds_what_the_list_asks_for(tmp_path, limits, code):
    (tmp_path / "limits.txt").write_text(limits)
    (tmp_path / "requirements.txt").write_text("-c limits.txt\ntorch\ntorchvision==0.15.2\n")
    report = lint_files([str(tmp_path / "requirements.txt")], MATRIX)
    assert {item.code for item in report.findings if item.severity == "error"} == {code} - {""}


def test_groups_of_a_project_may_exclude_each_other():
    text = '[project]\nname = "x"\n[project.optional-dependencies]\na = ["torch==2.6.0"]\nb = ["torchvision==0.16.0"]\n'
    assert [item.code for item in judged(text, "pyproject.toml").findings if item.severity == "error"] == []


PLACED = {
    "pyproject.toml": (
        '[project]\nname = "x"\ndependencies = [\n  "numpy",\n  """torch==2.1.0""",\n  \'torchvision==0.15.2\',\n]\n',
        "framework-pair-mismatch",
        6,
    ),
    "compose.yaml": (
        "x-a: &a\n  image: nvidia/cuda:11.0-base\nservices:\n  one:\n    <<: *a\n",
        "base-tag-gone",
        2,
    ),
    "docker-compose.yml": (
        "services:\n  one:\n    image: x:1\n    environment:\n      - A=b\n      - CUDA_VISIBLE_DEVICES=1\n",
        "devices-hardcoded",
        6,
    ),
    "environment.yml": (
        "channels: [pytorch]\ndependencies:\n  - python=3.10\n  - pip:\n    - numpy\n    - torch==1.13.1+cu117\n",
        "index-missing",
        6,
    ),
    "requirements.txt": (
        "numpy \\\n  --hash=sha256:aa\n\ntorch==1.13.1+cu117 \\\n  --hash=sha256:bb\n",
        "index-missing",
        4,
    ),
    "Pipfile.lock": (
        '{"default": {\n "torchvision": {"version": "==0.15.2"},\n "torch": {\n  "version": "==2.1.0"}}}',
        "framework-pair-mismatch",
        3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("file", PLACED)
def test_a_finding_stands_at_its_own_line(file):
    text, code, line = PLACED[file]
    assert [item.place.line for item in judged(text, file).findings if item.code == code] == [line]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("torchao==0.11.0\ntorch\n--extra-index-url URL/cu118\ntorch==2.3.1+cu118\n", set()),  # one package, one build
        ("tensorflow-gpu==2.5.0\nkeras==2.2.0\nprotobuf<4\n", {"frameworks-conflict"}),  # both require keras-preprocessing
        ("jax[cuda13]==0.8.2\njax-cuda12-plugin[with-cuda]==0.4.34\n", {"cuda-major-mixed-in-env"}),
        ("torchcodec==0.1.0\n--extra-index-url URL/cu118\ntorch==2.0.1+cu118\n", {"framework-pair-mismatch"}),
        # of several lines for one name all count; what an extra asks of a release is asked of every build of it
        ("jax[cuda13]==0.11.1\nnumpy==2.0.0\n", {"framework-pair-mismatch"}),
        ("jax[cuda13]==0.11.1\nnumpy==2.2.0\n", set()),
        ("jax[cuda12]==0.4.24\njaxlib==0.4.31\n", {"framework-pair-mismatch"}),
        # two variants of one release; a wheel with the code of several CUDA majors stands beside any of them
        ("--extra-index-url URL/cu121\ntorch==2.5.1+cu121\ntorchvision==0.20.1+cu124\n",
         {"framework-build-tag-mismatch"}),
        ("--extra-index-url URL/cu121\ntorch==2.5.1+cu121\ntorchvision==0.20.1+cu121\n", set()),
        ("bitsandbytes==0.46.1\ntorch==2.7.1\n", set()),
        # CUDA of the system, in a later minor than what brings its own, and in an earlier one
        ("tensorflow==2.15.0\n--extra-index-url URL/cu121\ntorch==2.1.2+cu121\n", set()),
        ("tensorflow==2.15.0\n--extra-index-url URL/cu124\ntorch==2.6.0+cu124\n", {"frameworks-conflict"}),
    ],
)  # fmt: skip
def test_what_stands_side_by_side_is_judged_by_the_joint_of_packages(text, codes):
    found = judged(text.replace("URL", PYTORCH), "requirements.txt").findings
    told = {"framework-pair-mismatch", "frameworks-conflict", "cuda-major-mixed-in-env", "rocm-libs-mixed"}
    told |= {"framework-build-tag-mismatch"}
    assert {one.code for one in found} & told == codes
    assert all(one.sources for one in found if one.code in codes)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("jax[cuda12]==0.4.24\nnumpy<2\n", ["platform-unsupported"]),  # the extra has wheels for Linux alone
        ("--extra-index-url URL/cu121\ntorch==2.5.1+cu121\n", ["python-unsupported"]),  # with wheels for 3.13 on Linux
        ("--extra-index-url URL/cu124\ntorch==2.6.0+cu124\n", []),
    ],
)
def test_a_wheel_of_another_system_is_none_for_this_one(text, codes):
    windows = host(
        "w", platform="windows", arch="x86_64", python="3.13", gpus=({"vendor": "nvidia", "target": "sm_80"},)
    )
    ask = sources.read(text.replace("URL", PYTORCH), "requirements.txt")
    found = [one for one in lint(ask, MATRIX, on=windows).findings if one.severity == "error"]
    assert [one.code for one in found] == codes
    assert all(one.sources and "3.9 to 3.13" not in one.detail for one in found)


AUDIO = "torchaudio==0.10.1+cu113 -f https://download.pytorch.org/whl/cu113/torch_stable.html"
# A file, the code of a finding of it, and what that says or what to do.
SAID = [
    # where several places were asked, all of them are named alike, and the releases next to the one asked for
    ("FROM python:3.10\nRUN pip install torch==2.5.2 --extra-index-url https://download.pytorch.org/whl/cu118\n",
     "version-does-not-exist",
     ("torch==2.5.2 is published neither at the default index nor at https://download.pytorch.org/whl/cu118.",
      "The nearest releases there are 2.5.0, 2.5.1, 2.6.0, 2.7.0.")),
    # of a local version: the next ones of its variant, and the variants of its release
    ("FROM python:3.10\nRUN pip install torch==1.13.1+cu118 -f https://download.pytorch.org/whl/torch_stable.html\n",
     "version-does-not-exist",
     (("torch==1.13.1+cu118 is published neither at the default index nor at "
      "https://download.pytorch.org/whl/torch_stable.html."),
      "The nearest releases there are 1.13.1+cu116, 1.13.1+cu117, 2.0.0+cu118, 2.0.1+cu118.")),
    # no pin that the index named does not have, and what is pinned stays
    (("FROM python:3.10\nRUN pip install torch==2.6.0 torchvision==0.22.0 "
     "--index-url https://download.pytorch.org/whl/cu124\n"), "framework-pair-mismatch",
     ("torchvision==0.22.0 requires torch==2.7.0, and torch==2.6.0 is asked for.", "Ask for torchvision==0.21.0.")),
    (("FROM python:3.10\nRUN pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/cu124\n"
     "RUN pip install vllm==0.9.1\n"), "framework-pair-mismatch",
     ("vllm==0.9.1 requires torch==2.7.0, and torch==2.5.1 is there: pip puts another in its place.",
      "Ask for the release of vllm that goes with torch 2.5.1+cu124.")),
    # the lists that a step installs from stay
    ("FROM tensorflow/tensorflow:2.4.0-gpu\nRUN apt-get update && apt-get install -y libnccl2\n", "base-apt-key-rotated",
     (("tensorflow/tensorflow:2.4.0-gpu is from before NVIDIA's new apt key (2022-04-27): `apt-get update` stops with "
      "NO_PUBKEY A4B469963BF863CC."),
      "Have apt trust NVIDIA's new key before it: a step installs packages of these lists.")),
    # no published wheel is for a build of its maker's own
    (("FROM intel/intel-extension-for-pytorch:2.1.30-xpu\n"
     "RUN pip install torch_scatter -f https://data.pyg.org/whl/torch-2.5.0+cpu.html\n"), "framework-build-tag-mismatch",
     ("torch-scatter==2.1.2+pt25cpu is compiled for torch 2.5, and the base's torch 2.1.0.post2+cxx11.abi is there.",
      "Build it from source, with --no-build-isolation.")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "said"), SAID)
def test_what_is_told_names_what_the_places_have(text, code, said):
    found = [one for one in judged(text, "Dockerfile").findings if one.code == code]
    assert said in [(one.detail, one.fix.text) for one in found]


def test_a_variant_of_a_release_without_listed_variants_is_not_denied():
    later = AUDIO.replace("0.10.1", "0.12.1").replace("cu113", "cu118")
    codes = [{one.code for one in judged(f"FROM python:3.9\nRUN pip install {one}\n", "Dockerfile").findings}
             for one in (AUDIO, later)]  # fmt: skip
    assert ["version-does-not-exist" in each for each in codes] == [False, True]


def test_on_musl_an_index_that_is_passed_over_is_not_told_beside_the_cause():
    text = "FROM {}\nRUN pip install torchvision --extra-index-url https://download.pytorch.org/whl/cu118\n"
    musl, glibc = ({one.code for one in judged(text.format(base), "Dockerfile").findings}
                   for base in ("python:3.10-alpine", "python:3.10"))  # fmt: skip
    assert ("musl-libc" in musl, "extra-index-shadowed" in musl) == (True, False)
    assert ("musl-libc" in glibc, "extra-index-shadowed" in glibc) == (False, True)


PLACE = "https://download.pytorch.org/whl/cu124"


def test_a_place_behind_a_requirement_is_passed_over():
    inline = judged(f"torch==2.5.1+cu124 -f {PLACE}\n", "requirements.txt").findings
    told = [one.detail for one in inline if one.severity != "info"]
    assert told == ["torch==2.5.1+cu124 is not on the default index, and pip passes over the -f behind it."]
    plain = judged(f"torch==2.5.1 --index-url {PLACE}\nnumpy\n", "requirements.txt").findings
    (found,) = (one for one in plain if one.code == "requirement-unreadable")
    assert (found.severity, found.fix.text) == ("warning", "Write the option on a line of its own.")
    assert "--index-url behind a requirement" in found.detail
    own_line = judged(f"-f {PLACE}\ntorch==2.5.1+cu124\nnumpy\n", "requirements.txt").findings
    assert [one.code for one in own_line if one.severity in {"error", "warning"}] == []


@pytest.mark.parametrize(("release", "stops"), [("1.9.0-cuda10.2-cudnn7", True), ("2.6.0-cuda12.4-cudnn9", False)])
def test_the_pip_of_today_stops_on_an_image_all_of_whose_pythons_are_older(release, stops):
    text = f"FROM pytorch/pytorch:{release}-runtime\nRUN curl https://bootstrap.pypa.io/get-pip.py | python3\n"
    found = [one.detail for one in judged(text, "Dockerfile").findings if one.code == "python-unsupported"]
    assert ["Python 3.9 at most" in one for one in found] == [True] * stops


# A Dockerfile, the code of a finding of it, and what its fix holds and never holds.
FIXES = [
    (("FROM python:3.9\nRUN pip install torch==2.1.1+cpu torchvision==0.15.2+cpu "
     "--index-url https://download.pytorch.org/whl/cpu\n"),
     "framework-pair-mismatch", "+cpu", "torch==2.0.1."),
    ("FROM python:3.10\nRUN pip install torch==2.7.1+cu121 --index-url https://download.pytorch.org/whl/cu121\n",
     "version-does-not-exist", "2.7.1+cu126", "xpu"),
    (("FROM ubuntu:20.04\nRUN apt-get update && apt-get install -y python3-pip\n"
     "RUN pip3 install --pre 'torch>=2.1.0dev' --index-url https://download.pytorch.org/whl/nightly/cu118\n"),
     "version-does-not-exist", "torch==2.4.1+cu118", "2.7"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "holds", "never"), FIXES, ids=range(len(FIXES)))
def test_what_is_proposed_fits_the_base_and_what_the_file_asks_for(text, code, holds, never):
    found = next(one for one in judged(text, "Dockerfile").findings if one.code == code)
    said = "\n".join([found.fix.text, *found.fix.commands])
    assert holds in said, said
    assert never not in said, said
