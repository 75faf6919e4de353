"""Kinds of files beside Dockerfiles and requirements: each a whole small file, its fault, and the form that is right."""

import pytest

from compat import sources
from compat.app.lint import lint_files
from compat.errors import InputError
from compat.lint import lint
from compat.matrix import matrix

MATRIX = matrix()
POD = """apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec:
  template:
    spec:
      nodeSelector: {NODE}
      containers:
      - name: serve
        image: IMAGE
        resources:
          limits: {RESOURCE: 1}
"""
JOB = """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:TYPE:4
module load python/3.11 MODULE
source .venv/bin/activate
pip install PACKAGES
srun python train.py
"""
PIXI = """[workspace]
channels = ["conda-forge"]
platforms = ["linux-64"]
SYSTEM
[dependencies]
python = "3.12.*"
PACKAGE = "*"
"""
SETUP = """from setuptools import setup

NEEDED = ["torch==2.1.0"]
setup(
    name="x",
    install_requires=NEEDED,
    extras_require={"vision": ["torchvision==VISION"]},
)
"""
CONFIG = "[metadata]\nname = x\n\n[options]\ninstall_requires =\n    torch==2.1.0\n    torchvision==VISION\n"
FLOW = """name: test
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    container: IMAGE
    steps:
    - uses: actions/setup-python@v5
      with: {python-version: "3.11"}
    - run: |
        pip install torch==TORCH
        python -c 'import torch'
    - run: pip install torch==${{ matrix.torch }}
"""
CPU_PATH = "nvidia.com/gpu"


def pod(image, resource=CPU_PATH, node="{}"):
    return POD.replace("IMAGE", image).replace("RESOURCE", resource).replace("{NODE}", node)


def job(packages, kind="a100", module=""):
    return JOB.replace("PACKAGES", packages).replace("TYPE", kind).replace("MODULE", module)


def pixi(package, system=""):
    return PIXI.replace("PACKAGE", package).replace("SYSTEM", system)


def flow(image="ubuntu:24.04", torch="2.6.0"):
    return FLOW.replace("IMAGE", image).replace("TORCH", torch)


V100 = "{nvidia.com/gpu.product: Tesla-V100-SXM2-32GB}"
A100 = "{nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}"
TORCH = "pytorch/pytorch:2.9.0-cuda13.0-cudnn9-runtime"
EXTENSION = "torch==2.6.0 && pip install --no-build-isolation flash-attn==2.7.4.post1"

# file, code, line, the faulty form, the right one
CASES = {
    "an image for another vendor's GPUs than are asked for": (
        "serve.yaml", "wrong-vendor-build", 10, pod(TORCH, "amd.com/gpu"), pod(TORCH),
    ),
    "a node's GPU that the image has no code for": (
        "serve.yaml", "arch-too-old-for-build", 10, pod(TORCH, node=V100), pod(TORCH, node=A100),
    ),
    "a removed tag in a manifest of several documents": (
        "all.yaml", "base-tag-gone", 15, "apiVersion: v1\nkind: Service\nmetadata: {}\nspec: {}\n---\n" + pod("nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04"),
        "apiVersion: v1\nkind: Service\nmetadata: {}\nspec: {}\n---\n" + pod("nvidia/cuda:12.4.1-runtime-ubuntu22.04"),
    ),
    "a job's GPU that a wheel has no code for": (
        "train.sbatch", "arch-too-old-for-build", 6,
        job("torch==2.9.0 --index-url https://download.pytorch.org/whl/cu130", "v100"),
        job("torch==2.9.0 --index-url https://download.pytorch.org/whl/cu130", "a100"),
    ),
    "a module's compiler of another CUDA than torch's": (
        "train.slurm", "toolkit-mismatch-extension", 6, job(EXTENSION, module="cuda/11.8"), job(EXTENSION, module="cuda/12.4"),
    ),
    "a module's CUDA that a wheel does not take": (
        "train.sh", "base-runtime-mismatch", 6, job("tensorflow==2.13.0", module="cuda/12.2 cudnn/8.9"),
        job("tensorflow==2.13.0", module="cuda/11.8 cudnn/8.6"),
    ),
    "GPU builds of a project that declares no CUDA": (
        "pixi.toml", "accidental-cpu-wheel", 7, pixi("pytorch-gpu"), pixi("pytorch-gpu", '[system-requirements]\ncuda = "12.0"'),
    ),
    "pixi's tables in a pyproject": (
        "pyproject.toml", "accidental-cpu-wheel", 8,
        "[project]\nname = 'x'\n[tool.pixi.workspace]\nchannels = ['conda-forge']\nplatforms = ['linux-64']\n\n[tool.pixi.dependencies]\npytorch-gpu = '2.5.*'\n",
        "[project]\nname = 'x'\n[tool.pixi.workspace]\nchannels = ['conda-forge']\nplatforms = ['linux-64']\n\n[tool.pixi.dependencies]\npytorch-gpu = '2.5.*'\n[tool.pixi.system-requirements]\ncuda = '12'\n",
    ),
    "a CPU build by conda's name of it, where the file's name says GPU": (
        "environment_gpu.yml", "accidental-cpu-wheel", 3,
        "channels: [pytorch]\ndependencies:\n  - pytorch=1.10.2=py3.9_cpu_0\n",
        "channels: [pytorch]\ndependencies:\n  - pytorch=1.10.2=py3.9_cuda11.3_cudnn8.2.0_0\n",
    ),
    "a framework without its extra, where the file's name says GPU": (
        "requirements-gpu.txt", "accidental-cpu-wheel", 1, "jax==0.4.30\n", "jax[cuda12]==0.4.30\n",
    ),
    "conda's builds for two devices": (
        "environment.yml", "framework-build-tag-mismatch", 4,
        "channels: [pytorch]\ndependencies:\n  - pytorch=1.10.2=py3.9_cpu_0\n  - torchvision=0.11.3=py39_cu113\n",
        "channels: [pytorch]\ndependencies:\n  - pytorch=1.10.2=py3.9_cuda11.3_cudnn8_0\n  - torchvision=0.11.3=py39_cu113\n",
    ),
    "a pair of an extra in setup.py": (
        "setup.py", "framework-pair-mismatch", 7, SETUP.replace("VISION", "0.20.0"), SETUP.replace("VISION", "0.16.0"),
    ),
    "a pair in setup.cfg": (
        "setup.cfg", "framework-pair-mismatch", 7, CONFIG.replace("VISION", "0.20.0"), CONFIG.replace("VISION", "0.16.0"),
    ),
    "a release that the job's Python has no wheel for": (
        "ci.yml", "python-unsupported", 11, flow(torch="1.12.1"), flow(torch="2.6.0"),
    ),
    "a job in a removed image": (
        "ci.yml", "base-tag-gone", 6, flow("nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04"), flow("nvidia/cuda:12.4.1-devel-ubuntu22.04"),
    ),
}  # fmt: skip


def found(folder, name, text):
    path = folder / name
    path.write_text(text)
    return {(one.code, one.place.line) for one in lint_files([str(path)], MATRIX).findings if one.severity != "info"}


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_told_at_its_line_and_the_right_form_passes(name, tmp_path):
    file, codes, line, faulty, right = CASES[name]
    wanted = set(codes.split("|"))
    told = found(tmp_path, file, faulty)
    assert any((code, line) in told for code in wanted), told
    assert not {code for code, _ in found(tmp_path, file, right)} & wanted


def test_what_runs_on_the_machine_itself_may_ask_for_its_gpu(tmp_path):
    steps = "nvidia-smi\npython -c 'import torch; assert torch.cuda.is_available()'\nconda install -y -c conda-forge pytorch\n"
    assert not found(tmp_path, "train.sbatch", job("numpy", module="cuda/12.4") + steps)
    assert not found(tmp_path, "ci.yml", flow() + "    - run: nvidia-smi\n")


def test_a_value_of_the_matrix_is_not_known(tmp_path):
    assert not [one for one in found(tmp_path, "ci.yml", flow()) if one[1] == 13]


def test_a_chart_that_is_not_filled_in_is_no_manifest(tmp_path):
    with pytest.raises(InputError, match="not valid YAML"):
        found(tmp_path, "chart.yaml", "apiVersion: v1\nkind: Pod\nspec:\n  {{- if .Values.x }}\n  a: {{ .Values.b }}\n")


def test_setup_is_read_and_never_run(tmp_path):
    mark = tmp_path / "ran"
    found(
        tmp_path,
        "setup.py",
        f"open({str(mark)!r}, 'w')\nfrom setuptools import setup\nsetup(install_requires=read())\n",
    )
    assert not mark.exists()


@pytest.mark.parametrize("name", ["pyproject.toml", "compose.yaml"])
def test_a_release_without_a_wheel_for_the_python_of_a_project_or_a_service(name):
    text = {
        "pyproject.toml": '[tool.poetry.dependencies]\npython = "~{}"\ntorch = "2.0.1"\n',
        "compose.yaml": "services:\n  a:\n    image: python:{}-slim\n    command: bash -c 'pip install torch==2.0.1'\n",
    }[name]
    new, old = (lint(sources.read(text.format(python), name), MATRIX).findings for python in ("3.12", "3.11"))
    assert "python-unsupported" in {one.code for one in new}
    if name == "compose.yaml":
        assert any("torch==2.2.0" in one.fix.text for one in new)
    assert "python-unsupported" not in {one.code for one in old}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("--index-url https://download.pytorch.org/whl/cu121\ntorch==2.4.0\nqwen-vl-utils\ngdown\n", 3),  # once
        ("--index-url https://download.pytorch.org/whl/cu121\ntorch==2.4.0\nnumpy\ntqdm\npip\n", 0),
        ("--extra-index-url https://download.pytorch.org/whl/cu121\ntorch==2.4.0\nqwen-vl-utils\n", 0),
        ("--index-url https://mirror.example/whl/cu121\ntorch==2.4.0\nqwen-vl-utils\n", 0),
        ("--index-url https://download.pytorch.org/whl/cu121\ntorch==2.4.0\nqwen @ git+https://h/qwen.git\n", 0),
    ],
)
def test_what_the_only_index_has_not_got_is_told_once(text, line):
    found = lint(sources.read(text, "requirements.txt"), MATRIX).findings
    assert [one.place.line for one in found if one.code == "index-missing"] == [line] * bool(line)


def test_what_a_list_or_a_base_may_have_brought_is_not_looked_for():
    step = "RUN pip install torch==2.4.0 gdown --index-url https://download.pytorch.org/whl/cu121\n"
    for begin, told in (
        ("FROM python:3.11-slim\n", True),
        ("FROM python:3.11-slim\nCOPY r.txt .\nRUN pip install -r r.txt\n", False),
        ("FROM pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime\n", False),
        ("FROM python:3.11-slim\nRUN pip install gdown\n", False),
        ("FROM python:3.11-slim\nRUN conda install -y gdown\n", False),
    ):
        found = {one.code for one in lint(sources.read(begin + step, "Dockerfile"), MATRIX).findings}
        assert ("index-missing" in found) is told, begin


@pytest.mark.parametrize("operator", ["In", "NotIn"])
def test_a_pod_that_may_get_several_gpus_is_judged_on_each(tmp_path, operator):
    (tmp_path / "job.yaml").write_text(
        f"""apiVersion: v1
kind: Pod
metadata: {{name: train}}
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {{key: nvidia.com/gpu.product, operator: {operator}, values: [NVIDIA-A100-SXM4-80GB, NVIDIA-B200]}}
  containers:
  - name: main
    image: pytorch/pytorch:2.0.1-cuda11.7-cudnn8-runtime
    resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
    )
    found = lint_files([str(tmp_path / "job.yaml")], MATRIX).findings
    told = [one.detail for one in found if one.code == "arch-too-new-for-build"]
    assert ["NVIDIA B200" in text for text in told] == ([True] if operator == "In" else [])


@pytest.mark.parametrize(
    ("name", "text", "begins"),
    [
        (
            "ci.yml",
            "on: push\njobs:\n  a:\n    container: debian:12\n    steps:\n    - run: pip install torch==2.6.0\n",
            "apt-get",
        ),
        ("Dockerfile", "FROM debian:12\nRUN pip install torch==2.6.0\n", "RUN apt-get"),
    ],
)
def test_what_is_typed_is_in_the_words_of_the_file(tmp_path, name, text, begins):
    (tmp_path / name).write_text(text)
    found = lint_files([str(tmp_path / name)], MATRIX).findings
    (commands,) = [one.fix.commands for one in found if one.code == "base-python-missing"]
    assert commands[0].startswith(f"{begins} update")
