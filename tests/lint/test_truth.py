"""Whole files of several steps: what lint says of them is what they do, and what it proposes serves them."""

import pytest

from compat import sources
from compat.app.lint import lint_files
from compat.errors import InputError
from compat.lint import lint
from compat.matrix import matrix

MATRIX = matrix()
SLIM = "FROM python:3.10-slim-bookworm\n"
WHL = "https://download.pytorch.org/whl"


def said(text, code, file="Dockerfile"):
    """What is told under a code, what follows from it included, with its fix."""
    found = [one for one in lint(sources.read(text, file), MATRIX).findings if one.code == code]
    every = [each for one in found for each in (one, *one.consequences)]
    return "\n".join(f"{one.severity}, {one.confidence}: {one.detail} {one.fix.text}" for one in every)


SOUND = [
    # what is known of no release may have put another torch there, of which the next line is told nothing then
    ((f"{SLIM}RUN pip install torch==2.4.0\nRUN pip install -U torch-tensorrt --index-url {WHL}/cu124\n"
     "RUN pip install transformers==5.20.0\n"), "framework-pair-mismatch"),
    # what another package requires within bounds is there, and meets a bare name
    ("FROM python:3.7-slim\nRUN pip install tensorflow==2.6.2 'protobuf<4'\nRUN pip install keras\n", "framework-pair-mismatch"),
    # a program of dnf may be written in Python, which comes with it
    ("FROM rockylinux:8\nRUN dnf -y install blivet-gui\nRUN python3 -c 'import gi'\n", "base-python-missing"),
    (("FROM ubuntu:latest\nENV PIP_BREAK_SYSTEM_PACKAGES=1\nRUN apt-get update && apt-get install -y python3-pip\n"
     "RUN pip3 install torch\n"), "python-externally-managed"),
    ("FROM ubuntu:latest\nRUN apt-get update && apt-get install -y python3.12 python3-pip\n", "base-python-missing"),
    # an environment of conda that a file makes has a Python of its own
    (("FROM debian:12\nENV PATH=/opt/miniconda3/bin:$PATH\nRUN wget https://repo.anaconda.com/miniconda/"
     "Miniconda3-latest-Linux-x86_64.sh && bash Miniconda3-latest-Linux-x86_64.sh -b -p /opt/miniconda3\n"
     "RUN conda env create -f env.yml && . activate dot && pip install torch==2.0.1\n"), "python-unsupported"),
    ("FROM alpine:3.20\nRUN apk add py3-numpy\nRUN python3 -c 'import numpy'\n", "base-python-missing"),
    # nothing of the image is in an environment that the file makes
    (("FROM pytorch/pytorch:2.3.0-cuda12.1-cudnn8-devel\nRUN conda create -n work python=3.10 -y\n"
     "RUN conda run -n work pip install torch==2.9.0\n"), "framework-duplicate-install"),
    (("FROM pytorch/pytorch:2.3.0-cuda12.1-cudnn8-devel\nRUN python -m venv /v && /v/bin/pip install torch==2.9.0\n"),
     "framework-duplicate-install"),
    # an image of which nothing is known may bring what is asked for without a release
    ("FROM serving/of-one-maker:latest\nRUN pip install 'sglang>=0.5.2' sgl-kernel\n", "framework-pair-mismatch"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code"), SOUND)
def test_nothing_false_is_told_of_what_earlier_steps_left(text, code):
    assert said(text, code) == ""


LISTS = [
    ("torch==1.8.1\ntensorflow==2.4.1\n", "frameworks-conflict"),  # torch has its own CUDA inside
    ("torch-scatter==2.1.2+pt22cu118\n", "build-tools-missing"),  # a variant is always a wheel
    ("torch-scatter==2.1.77\n", "build-tools-missing"),  # nobody saw it
    # of one release at two indexes pip takes that of the index named last
    (f"--extra-index-url {WHL}/cu130\ntorch==2.11.0+cu130\nxformers==0.0.35\n", "framework-build-tag-mismatch"),
    (f"--extra-index-url {WHL}/cu130\ntorch==2.11.0+cu130\nxformers==0.0.35\n", "extra-index-shadowed"),
    ("open3d==0.19.0\ntorch==2.13.0\n", "cuda-major-mixed-in-env"),  # CUDA is linked in, but for its part for PyTorch
]


@pytest.mark.parametrize(("text", "code"), LISTS)
def test_what_loads_no_library_of_the_environment_is_in_nobodys_way(text, code):
    assert said(text, code, "requirements.txt") == ""


def test_the_device_that_every_machine_has_is_only_a_hint():
    for ids, level in (("['0']", "info"), ("['0', '1']", "warning")):
        assert said(RESERVED % f"device_ids: {ids}", "devices-hardcoded", "compose.yaml").startswith(level)


@pytest.mark.parametrize(
    ("text", "where"),
    [("build: 5\n", "1: build is"), ("build:\n  run:\n    a: b\n", "3: build.run is"),
     ("build:\n  python_packages: torch==2.0.1\n", "2: build.python_packages is")],
)  # fmt: skip
def test_a_cog_file_of_other_kinds_is_refused_by_the_key(text, where):
    with pytest.raises(InputError, match=f"^cog.yaml:{where} of another kind; expected a"):
        sources.read(text, "cog.yaml")


FLOWS = [
    "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n",
    "on: push\njobs: {}\n",
]


@pytest.mark.parametrize("text", FLOWS)
def test_a_workflow_that_asks_for_nothing_is_sound(tmp_path, text):
    path = tmp_path / ".github" / "workflows" / "ci.yml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert lint_files([str(path)], MATRIX).judged


def test_only_pins_are_told_to_take_cuda_from_two_places():
    def severities(text):
        found = lint(sources.read(text, "requirements.txt"), MATRIX).findings
        return {one.severity for one in found if one.code == "frameworks-conflict"}

    assert severities("tensorflow==2.13.0\ntorch==2.13.0\n") == {"warning"}
    assert severities("tensorflow==2.13.0\ntorch>=2.2\n") <= {"info"}  # an older torch may be there, of one CUDA


def test_one_extra_has_one_answer_in_whichever_spelling():
    text = "jax[cuda11_pip]==0.4.35\n"
    fixes = {one.fix.text for one in lint(sources.read(text, "requirements.txt"), MATRIX).findings}
    assert "Ask for jax[cuda12]." in fixes
    assert not any("cuda11" in one for one in fixes)


TOLD = [
    # a known bound that no metadata declares is called so
    (f"{SLIM}RUN pip install torch torchtext\n", "framework-pair-mismatch",
     "torchtext 0.18.0 is for torch<2.4, which its metadata does not say, and torch 2.14.1 comes."),
    (f"{SLIM}RUN pip install tensorflow-macos==2.70\n", "version-does-not-exist",
     "tensorflow-macos has wheels for macOS alone"),
    # a fix is one for the file's own Python
    ((f"FROM nvidia/cuda:12.4.1-base-ubuntu20.04\nRUN apt-get update && apt-get install -y python3-pip\n"
     f"RUN pip3 install --pre torch --index-url {WHL}/nightly/cu118\n"), "version-does-not-exist",
     "Ask for torch==2.4.1+cu118, or name"),
    # and keeps the variant that is asked for
    (f"{SLIM}RUN pip install torch==2.1.1+cpu torchvision==0.15.2+cpu torchaudio==2.0.2+cpu -f {WHL}/torch_stable.html\n",
     "framework-pair-mismatch", "Pin torch==2.0.1+cpu."),
    # or names what brought the wrong release
    ((f"{SLIM}RUN pip install torch==2.0.1+cu118 torchvision==0.15.2+cu118 --index-url {WHL}/cu118\n"
     "RUN pip install xformers\n"), "framework-pair-mismatch", "Ask for xformers==0.0.22."),
    (("FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3.11 python3-pip\n"
     "RUN pip3 install tensorflow-gpu\n"), "version-does-not-exist", "Ask for tensorflow-gpu==2.11.0."),
    # ends of systems, by number, code name, stream, or a tag that stood still
    ("FROM centos:7\nRUN yum install -y gcc\n", "base-tag-eol",
     "Take quay.io/centos/centos:stream9, whose system has Python 3.9."),
    ("FROM centos\nRUN yum install -y gcc\n", "base-tag-eol", "The packages of centos8 left the mirrors"),
    ("FROM quay.io/centos/centos:stream8\nRUN dnf -y install gcc\n", "base-tag-eol",
     "Take quay.io/centos/centos:stream9, whose system has Python 3.9."),
    ("FROM ubuntu:mantic\nRUN apt-get update\n", "base-tag-eol", "Take ubuntu:24.04, whose system has Python 3.12."),
    ("FROM python:3.7-slim-stretch\nRUN apt-get update\n", "base-tag-eol", "`apt-get update` fails"),
    ("FROM fedora:36\nRUN dnf install -y gcc\n", "base-tag-eol", "warning, certain: fedora36 left standard support"),
    # what each system that an image without a number may hold has, or has not
    ("FROM ubuntu\nRUN apt-get update && apt-get install -y python3.10 python3-pip\n", "base-python-missing",
     "ubuntu24.04 and ubuntu26.04 have no package python3.10"),
    ("FROM ubuntu:latest\nRUN apt-get update && apt-get install -y python3-pip\nRUN pip3 install torch\n",
     "python-externally-managed", "error, certain: `pip3 install torch`: pip of ubuntu24.04 and ubuntu26.04 refuses"),
    # what nothing holds moves, and not what is pinned, or came with a pin
    (f"{SLIM}RUN pip install torch==2.1.0\nRUN pip install transformers\n", "framework-pair-mismatch",
     "Ask for transformers==4.57.6."),
    (f"{SLIM}RUN pip install vllm==0.6.3\nRUN pip install transformers\n", "framework-pair-mismatch",
     "torch 2.4.0 of vllm==0.6.3 comes. Ask for transformers==5.14.1."),
    # a page of files is no index: what it has is asked for by its own tag
    ("FROM python:3.8\nRUN pip install torch-scatter -f https://data.pyg.org/whl/torch-1.13.0+cu116.html\n",
     "extra-index-shadowed", "2.1.2 (source), not to torch-scatter==2.1.1+pt113cu116. Ask for torch-scatter==2.1.1+pt"),
    ("FROM nvidia/cuda:10.0-cudnn7-runtime-ubuntu18.04\n", "base-tag-gone",
     "No image of CUDA 10 is left, and what is built for it needs another release."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "words"), TOLD)
def test_a_finding_says_what_it_rests_on_and_its_fix_serves_the_file(text, code, words):
    assert words in said(text, code)


def test_no_debian_command_is_proposed_on_another_system():
    found = lint(sources.read("FROM alpine:3.20\nRUN pip install torch\n", "Dockerfile"), MATRIX).findings
    assert [one.fix.commands for one in found if one.code == "base-python-missing"] == [()]


JOB = "#!/bin/bash\n#SBATCH --time=1:00:00\n{}\n#SBATCH --gres=gpu:1\npip install torch==2.6.0\n"
FLOW = "on: push\njobs:\n  a:\n    runs-on: {}\n    strategy: {{matrix: {{py: [{}]}}}}\n    steps:\n{}"
SETUP = "      - uses: actions/setup-python@v5\n        with: {python-version: '${{ matrix.py }}'}\n"
CONDA = (
    "FROM ubuntu:22.04\nRUN wget https://repo.anaconda.com/miniconda/{}.sh && bash {}.sh -b -p /opt/conda\n"
    "ENV PATH=/opt/conda/bin:$PATH\nRUN pip install tensorflow==2.13.0\n"
)
DEVEL = (
    "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
    "ENV TORCH_CUDA_ARCH_LIST=8.6\nRUN pip3 install torch{}\nRUN pip3 install --no-build-isolation {}\n"
)
APT = "RUN apt-get update && apt-get install -y {} && rm -rf /var/lib/apt/lists/*\n"
FOCAL = "FROM ubuntu:20.04\nRUN add-apt-repository ppa:deadsnakes/ppa\n" + APT.format("python3.10 python3-pip")
BIONIC = "FROM ubuntu:18.04\n" + APT.format("python3 curl") + "RUN ln -sf /usr/bin/python3.6 /usr/bin/python\n"
GET = "RUN curl -O https://bootstrap.pypa.io/{}get-pip.py && python get-pip.py\n"
RESERVED = "services:\n  a:\n    image: x:1\n    deploy:\n      resources:\n        reservations:\n          devices:\n"
RESERVED += "            - {driver: nvidia, capabilities: [gpu], %s}\n"
GIT = "RUN pip install git+https://github.com/openai/whisper.git\n"

COG = """build:
  gpu: true
  python_version: "3.10"
  python_packages:
    - "{} --extra-index-url https://download.pytorch.org/whl/cu118"
    - torchvision=={}
    - numpy<2
  run:
    - pip install xformers==0.0.23
"""
LAID = "channels: [pytorch, nvidia]\ndependencies:\n  - python=3.10\n  - pytorch=2.3.1\n  - pytorch-cuda=11.8\n"
LAID += "  - pip:\n    - --index-url https://download.pytorch.org/whl{}\n    - torch=={}\n"
SHADOW = "FROM nvidia/cuda:11.6.2-cudnn8-devel-ubuntu20.04\nRUN apt-get update && apt-get install -y git python3-pip\n"
SHADOW += "RUN pip3 install torch --{}index-url https://download.pytorch.org/whl/cu116\n"
SHADOW += "RUN pip3 install git+https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch\n"
BASIC = "FROM python:3.10\nRUN pip install torch==2.2.2 torchvision 'numpy<2'\nRUN pip install basicsr\n"
WHEEL = "RUN pip install https://example.org/dir/a-{}.whl\n"
PAIRS = [
    # what sbatch reads ends with the first command
    (JOB.format("module load cuda/12.4"), JOB.format("# a comment"), "job.sh", "gpus-too-few"),
    # it refuses a script that names no program in its first line; one that a shell writes begins where it is written
    ("\n" + JOB.format(""), "cat <<EOF > job.sh\n" + JOB.format("") + "EOF\n", "job.sh", "instruction-unknown"),
    ("# of whom\n" + JOB.format(""), JOB.format(""), "job.sh", "instruction-unknown"),
    # what setup-python has for the system of GitHub's machine
    (FLOW.format("ubuntu-latest", "'3.7', '3.8'", SETUP), FLOW.format("ubuntu-22.04", "'3.7', '3.8'", SETUP),
     ".github/workflows/ci.yml", "python-unsupported"),
    # the newest Miniconda has one of the newest Pythons, a named one its own
    (CONDA.format("Miniconda3-latest-Linux-x86_64", "Miniconda3-latest-Linux-x86_64"),
     CONDA.format("Miniconda3-py310_25.1.1-2-Linux-x86_64", "Miniconda3-py310_25.1.1-2-Linux-x86_64"),
     "Dockerfile", "python-unsupported"),
    ("FROM python:3-slim\nRUN pip install tensorflow==2.13.0\n", "FROM python:3.11-slim\nRUN pip install tensorflow==2.13.0\n",
     "Dockerfile", "python-unsupported"),
    # a package without rows of its own is judged by its recorded metadata
    ("FROM python:3.11\nRUN pip install docling==2.15.0 torch==2.1.0\n",
     "FROM python:3.11\nRUN pip install docling==2.15.0 torch==2.5.1\n", "Dockerfile", "framework-pair-mismatch"),
    # a name has five parts or six, and no shell and no server looks for a file by a pattern
    *(("FROM python:3.10\n" + WHEEL.format(name), "FROM python:3.10\n" + WHEEL.format(sound), "Dockerfile", "source-gone")
      for name in ("cp310-cp310-any", "1.*-cp310-cp310-any", "1-a-cp310-cp310-any")
      for sound in ("1-cp310-cp310-any", "1-2-cp310-cp310-any", "1%2Bcpu-cp310-cp310-any", "${A}-any")),
    ("FROM python:3.10\n" + WHEEL.format("1.*-cp310-cp310-any"),
     "FROM python:3.10\n" + WHEEL.format("1.*-cp310-cp310-any").replace(".whl", ".whl || true"), "Dockerfile", "source-gone"),
    ("FROM python:3.10\nRUN curl -O https://example.org/a-*-py3-none-any.whl\n",
     "FROM python:3.10\nRUN curl -O https://example.org/a.whl\n", "Dockerfile", "source-gone"),
    # a list of words in single quotes is none
    ("FROM python:3.11\nCMD ['python3','main.py']\n", 'FROM python:3.11\nCMD ["python3","main.py"]\n',
     "Dockerfile", "instruction-unknown"),
    # a folder of CUDA code is built by the image's nvcc
    (DEVEL.format("==2.13.0", "."), DEVEL.format("==2.6.0", "."), "Dockerfile", "toolkit-mismatch-extension"),
    ("FROM python:3.11-slim\n" + GIT, "FROM python:3.11\n" + GIT, "Dockerfile", "build-tools-missing"),
    ("FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip\n" + GIT,
     "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip git\n" + GIT,
     "Dockerfile", "build-tools-missing"),
    # such images ship no lists of packages, and a step may remove what an earlier one has fetched
    ("FROM ubuntu:22.04\nRUN apt-get install -y git\n", "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y git\n",
     "Dockerfile", "apt-lists-missing"),
    ("FROM python:3.11-slim\n" + APT.format("git") + "RUN apt-get install -y ffmpeg\n",
     "FROM python:3.11-slim\n" + APT.format("git") + "RUN apt-get update -y\nRUN apt-get install -y ffmpeg\n",
     "Dockerfile", "apt-lists-missing"),
    ("FROM debian:12\n" + APT.format("git") + "RUN apt-get install -y git ffmpeg\n",
     "FROM debian:12\n" + APT.format("git") + "RUN apt-get install -y git ca-certificates\n",
     "Dockerfile", "apt-lists-missing"),
    # a bare pip is that of the system's Python, unless a link or another pip has taken its name
    (FOCAL + "RUN pip3 install torch==2.5.0\n", FOCAL + "RUN python3.10 -m pip install torch==2.5.0\n",
     "Dockerfile", "python-unsupported"),
    (FOCAL + "RUN python3 -m pip install -U pip && pip install torch==2.5.0\n",
     FOCAL + "RUN python3.10 -m pip install -U pip && pip install torch==2.5.0\n", "Dockerfile", "python-unsupported"),
    (FOCAL + "RUN ln -s /usr/bin/python3.10 /usr/local/bin/python\nRUN pip install torch==2.5.0\n",
     FOCAL + "RUN ln -sf /usr/bin/python3.10 /usr/bin/python3\nRUN pip install torch==2.5.0\n",
     "Dockerfile", "python-unsupported"),
    (BIONIC + GET.format(""), BIONIC + GET.format("pip/3.6/"), "Dockerfile", "python-unsupported"),
    # an image of Python that names no system is made from the newest Debian
    ("FROM python:3.11-slim\n" + APT.format("libgl1-mesa-glx"), "FROM python:3.11.4-slim\n" + APT.format("libgl1-mesa-glx"),
     "Dockerfile", "source-gone"),
    ("FROM python:3\n" + APT.format("libgl1-mesa-glx"), "FROM python:3.8-slim\n" + APT.format("libgl1-mesa-glx"),
     "Dockerfile", "source-gone"),
    # GitHub's machines that are no more, and a number whose last zero YAML drops
    (FLOW.format("ubuntu-20.04", "'3.8'", SETUP), FLOW.format("ubuntu-22.04", "'3.8'", SETUP),
     ".github/workflows/ci.yml", "source-gone"),
    (FLOW.format("[self-hosted, ubuntu-22.04]\n    container: x:1\n  b:\n    runs-on: macos-12", "'3.8'", SETUP),
     FLOW.format("[self-hosted, macos-12]", "'3.8'", SETUP), ".github/workflows/ci.yml", "source-gone"),
    (FLOW.format("ubuntu-latest", "3.10", SETUP), FLOW.format("ubuntu-latest", "'3.10'", SETUP),
     ".github/workflows/ci.yml", "python-unsupported"),
    (RESERVED % "count: 2, device_ids: ['0', '1']", RESERVED % "device_ids: ['0', '1']", "compose.yaml", "instruction-unknown"),
    (RESERVED % "driver: rocm", RESERVED % "driver: $DRIVER", "compose.yaml", "instruction-unknown"),
    ("opencv-python==4.9.0.80\nnumpy==2.2.6\n", "opencv-python==4.10.0.84\nnumpy==2.2.6\n",
     "requirements.txt", "numpy-abi-mismatch"),
    ("opencv-python==4.9.0.80\nnumpy==2.2.6\n", "opencv-python==4.9.0.80\nnumpy==1.26.4\n",
     "requirements.txt", "numpy-abi-mismatch"),
    # it imports a module of torchvision that went with 0.17, unless a step mends its file
    ("torchvision==0.17.2\nbasicsr==1.4.2\n", "torchvision==0.16.2\nbasicsr==1.4.2\n", "requirements.txt",
     "framework-pair-mismatch"),
    (BASIC, BASIC + "RUN sed -i s/al_tensor/al/ /usr/local/lib/python3.10/site-packages/basicsr/data/degradations.py\n",
     "Dockerfile", "framework-pair-mismatch"),
    ("FROM pytorch/pytorch:1.5-cuda10.1-cudnn7-devel\nRUN apt-get update\n",
     "FROM pytorch/pytorch:1.5-cuda10.1-cudnn7-runtime\nRUN apt-get update\n", "Dockerfile", "base-apt-key-rotated"),
    # BuildKit's documents: a word of their own outside quotes opens one
    ("FROM ubuntu:22.04\nRUN cat <<EOF > a\nx\n", "FROM ubuntu:22.04\nRUN echo '<<EOF'\nRUN cat <<EOF > a\nx\nEOF\n",
     "Dockerfile", "instruction-unknown"),
    ("build:\n  python_packages:\n    - torch==2.0.1 numpy\n", "build:\n  python_packages:\n    - torch==2.0.1\n", "cog.yaml",
     "requirement-unreadable"),
    ("dependencies:\n  - pip:\n    - torch==2.0.1 numpy\n", "dependencies:\n  - pip:\n    - torch==2.0.1\n    - -e .\n",
     "environment.yml", "requirement-unreadable"),
    (COG.format("torch==2.0.1", "0.15.2"), COG.format("torch==2.1.1", "0.16.1"), "cog.yaml", "framework-pair-mismatch"),
    # what only its repository has is compiled by the image's nvcc
    (SHADOW.format("extra-"), SHADOW.format(""), "Dockerfile", "toolkit-mismatch-extension"),
    # names that the default index has not, or has for another project
    ("torch==2.1.2\nnumpy<2\ntinycudann\n", "torch==2.1.2\nnumpy<2\nflash-attn\n", "requirements.txt", "index-missing"),
    ("torch==2.1.2\nnumpy<2\napex\n", "pyramid\napex\n", "requirements.txt", "index-missing"),
    (LAID.format("/cpu", "2.2.1"), LAID.format("/cu118", "2.2.1"), "environment.yml", "accidental-cpu-wheel"),
    (LAID.format("/cpu", "2.2.1"), LAID.format("/cpu", "2.3.1"), "environment.yml", "accidental-cpu-wheel"),
    # nothing is installed before all of pip's list was read
    ("dependencies:\n  - pip=22.1\n  - pip:\n    - torch==1.11.0\n    - torch-scatter==2.0.9\n",
     "dependencies:\n  - pip=22.1\n  - pip:\n    - torch==1.11.0\n    - torch-geometric==2.0.4\n",
     "environment.yml", "build-tools-missing"),
]  # fmt: skip

PAIRS += [
    # torch is pip's name, and pytorch conda's
    ("python==3.8\ntorch==1.10.1\n", "python==3.8\npytorch==1.10.1\n", "requirements.txt", "version-does-not-exist"),
    # its siblings' releases stay on the default index, its own went to Paddle's
    ("paddlepaddle-gpu==3.1.0\n", "paddlepaddle==3.1.0\n", "requirements.txt", "index-missing"),
    ("paddlepaddle-gpu==3.1.0\n", "paddlepaddle-gpu==2.6.2\n", "requirements.txt", "index-missing"),
]
WHISPER = "RUN pip install {} openai-whisper=={}\n"
PAIRS += [
    # its build script imports pkg_resources: no setuptools from 82 on has it, and those ask for Python 3.9
    ("FROM python:3.11\n" + WHISPER.format("", "20240930"), sound, "Dockerfile", "build-tools-missing")
    for sound in (
        "FROM python:3.11\n" + WHISPER.format("", "20250625"),
        "FROM python:3.8\n" + WHISPER.format("", "20240930"),
        "FROM python:3.11\nRUN pip install 'setuptools<82'\n" + WHISPER.format("--no-build-isolation", "20240930"),
        "FROM python:3.11\nENV PIP_BUILD_CONSTRAINT=/c.txt\n" + WHISPER.format("", "20240930"),
    )
]


@pytest.mark.parametrize(("faulty", "sound", "file", "code"), PAIRS)
def test_a_step_that_cannot_work_is_told_and_its_neighbour_is_not(faulty, sound, file, code):
    assert said(faulty, code, file).startswith("error")
    assert said(sound, code, file) == ""


SBATCH = "#!/bin/bash\n#SBATCH --time=1:00:00\n{}module load cuda cudnn\npython train.py\n"
FEATURE = '{"image": "python:3.11", "features": {"ghcr.io/devcontainers/features/nvidia-cuda:1": {}}%s}'
CONDA = "FROM nvidia/cuda:11.8.0-{}-ubuntu22.04\nRUN conda install pytorch=2.1.0 pytorch-cuda=11.8 -c pytorch -c nvidia\nRUN pip install mmcv-full\n"
EXTRA = "RUN pip install torchvision --extra-index-url https://download.pytorch.org/whl/{}\n"
AUDIO = "RUN pip install torch==2.2.0 torchaudio 'numpy<2'\n"
PAGE = "torch==2.1.0\n--find-links https://data.pyg.org/whl/torch-2.1.0+{}.html\ntorch-scatter\ntorch-sparse\n"
MILD = [
    # conda's runtime has no nvcc, with which an extension is compiled
    (CONDA.format("runtime"), CONDA.format("devel"), "Dockerfile", "double-cuda"),
    # what an index has of a companion beside the newest framework is not known; one that has ended has none
    ("FROM python:3.11\n" + EXTRA.format("cu118"), "FROM python:3.11\n" + EXTRA.format("cpu"), "Dockerfile",
     "extra-index-shadowed"),
    # source alone, and an older pip of whoever installs it may build it beside an older setuptools
    ("torch\nmmcv-full\n", "torch\n-f https://download.openmmlab.com/mmcv/dist/cu121/torch2.1/index.html\nmmcv\n",
     "requirements.txt", "build-tools-missing"),
    (SBATCH.format(""), SBATCH.format("#SBATCH --partition=gpu\n"), "job.sh", "gpus-too-few"),
    (SBATCH.format(""), SBATCH.format("").replace("python train.py", "pip install torch"), "job.sh", "gpus-too-few"),
    (FEATURE % "", FEATURE % ', "hostRequirements": {"gpu": "optional"}', "devcontainer.json", "container-no-gpu"),
    # pip takes the newest companion whose metadata does not name the framework, where the Python has it
    ("FROM python:3.11\n" + AUDIO, "FROM python:3.9\n" + AUDIO, "Dockerfile", "framework-pair-mismatch"),
    (PAGE.format("cpu"), PAGE.format("cu121"), "requirements.txt", "framework-build-tag-mismatch"),
    # of a line that begins with an option pip reads options alone
    ("-f https://a.example/wheels.html jax[cuda12]\n", "-f https://a.example/wheels.html\njax[cuda12]\n",
     "requirements.txt", "requirement-unreadable"),
    ("opencv-python==4.8.1.78\ntqdm\n", "opencv-python==4.8.1.78\nnumpy<2\n", "requirements.txt", "numpy-abi-mismatch"),
    ("torch\ntorchvision\nbasicsr\n", "torch==2.1.2\ntorchvision\nnumpy<2\nbasicsr\n", "requirements.txt",
     "framework-pair-mismatch"),
]  # fmt: skip


@pytest.mark.parametrize(("faulty", "sound", "file", "code"), MILD)
def test_what_somebody_would_want_to_know_is_a_warning_and_its_neighbour_is_not(faulty, sound, file, code):
    assert said(faulty, code, file).startswith("warning")
    assert said(sound, code, file) == ""


def test_a_page_of_a_patch_release_may_hold_the_extensions():
    text = "FROM python:3.11\nRUN pip install -U pip torch==2.1.2\nRUN pip install torch-scatter -f {}\n"
    page = "https://data.pyg.org/whl/torch-2.1.2+cu121.html"
    assert said(text.format(page), "build-tools-missing") == ""


def test_one_cause_on_a_base_is_told_once():
    text = "FROM python:3.10-slim-buster\nRUN apt-get update\n"
    assert said(text, "base-tag-eol").splitlines()[1:] == []


def test_the_image_to_start_from_is_of_the_own_family_of_systems():
    text = "FROM nvidia/cuda:12.2.0-devel-ubuntu20.04\nRUN pip3 install jax[cuda]==0.3.15 -f {}\n"
    page = "https://storage.googleapis.com/jax-releases/jax_cuda_releases.html"
    assert "-cudnn8-devel-ubuntu" in said(text.format(page), "library-missing")
