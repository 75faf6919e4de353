"""``lint --fix``: what it changes, what it leaves alone, and that the result is clean of what it mends."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compat.app.lint import lint_files
from compat.app.repair import diff as diff_of
from compat.errors import InputError
from compat.matrix import matrix

MATRIX = matrix()
PYTORCH = "https://download.pytorch.org/whl"
PADDLE = "https://www.paddlepaddle.org.cn/whl/linux/mkl/avx/stable.html"


def fixed(folder, name, text):
    path = folder / name
    path.write_bytes(text.encode())
    diff = diff_of(lint_files([str(path)], MATRIX), write=True)
    return path.read_bytes().decode(), diff


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "Dockerfile",
            f"FROM python:3.10\nRUN pip install torch \\\n  torchaudio --extra-index-url {PYTORCH}/cu118\n",
            f"FROM python:3.10\nRUN pip install torch \\\n  torchaudio --index-url {PYTORCH}/cu118\n",
        ),
        (
            "Dockerfile",
            "FROM python:3.10\nRUN pip install torch==1.13.1+cu117 && true\n",
            f"FROM python:3.10\nRUN pip install torch==1.13.1+cu117 --extra-index-url {PYTORCH}/cu117 && true\n",
        ),
        # outside of quotes, and once for all that it serves
        (
            "Dockerfile",
            "FROM python:3.10\nRUN pip install 'torch==1.13.1+cu117' torchvision==0.14.1+cu117\n",
            f"FROM python:3.10\nRUN pip install 'torch==1.13.1+cu117' numpy==1.* --extra-index-url {PYTORCH}/cu117 torchvision==0.14.1+cu117\n",
        ),
        (
            "Dockerfile",
            'FROM python:3.10\nRUN true \\\n && pip install \\\n # why\n "torch==1.13.1+cu117"; true\n',
            f'FROM python:3.10\nRUN true \\\n && pip install \\\n # why\n "torch==1.13.1+cu117" --extra-index-url {PYTORCH}/cu117; true\n',
        ),
        (
            "requirements.txt",
            "torch==1.13.1+cu117 # a\r\nnumpy\r\n",
            f"--extra-index-url {PYTORCH}/cu117\r\ntorch==1.13.1+cu117 # a\r\nnumpy\r\n",
        ),
        # what nothing bounds gets its bound, in words that no shell reads otherwise
        (
            "Dockerfile",
            "FROM python:3.10\nRUN bash -c 'pip install tensorflow==2.10.1 pillow'\n",
            "FROM python:3.10\nRUN bash -c 'pip install tensorflow==2.10.1 numpy==1.* pillow'\n",
        ),
        ("requirements.txt", "tensorflow==2.3.1\n", "protobuf<4\ntensorflow==2.3.1\n"),
        # two indexes
        (
            "requirements.txt",
            "torch==1.13.1+cu117\npaddlepaddle-gpu==2.4.2.post117\n",
            f"numpy<2\n--find-links {PADDLE}\n--extra-index-url {PYTORCH}/cu117\ntorch==1.13.1+cu117\npaddlepaddle-gpu==2.4.2.post117\n",
        ),
        (
            "requirements.txt",
            "numpy\ntorch==1.13.1+cu117\n",
            f"--extra-index-url {PYTORCH}/cu117\nnumpy\ntorch==1.13.1+cu117\n",
        ),
        (
            "Dockerfile",
            "# a\nFROM nvidia/cuda:12.4-devel-ubuntu22.04 AS x\nRUN true\n",
            "# a\nFROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS x\nRUN true\n",
        ),
        (
            "Dockerfile",
            "FROM docker.io/nvidia/cuda:12.2.0-runtime-ubuntu22.04\n",
            "FROM docker.io/nvidia/cuda:12.2.2-runtime-ubuntu22.04\n",
        ),
        (
            "compose.yaml",
            "services:\n  a:\n    image: 'nvidia/cuda:12.6.0-cudnn-runtime-ubuntu24.04' # x\n",
            "services:\n  a:\n    image: 'nvidia/cuda:12.6.3-cudnn-runtime-ubuntu24.04' # x\n",
        ),
        (
            "Dockerfile",
            "FROM python:3.10\nRUN pip install -U 'jax[cuda12_pip]' tqdm\n",
            "FROM python:3.10\nRUN pip install -U 'jax[cuda12]' tqdm\n",
        ),
        ("requirements.txt", "flax\njax[cuda12_pip]>=0.6\n", "flax\njax[cuda12]>=0.6\n"),
        (
            "requirements.txt",
            "\ufefftorch==1.13.1+cu117",
            f"\ufeff--extra-index-url {PYTORCH}/cu117\ntorch==1.13.1+cu117",
        ),
        (
            "Dockerfile",
            "# a page\x0c and a line\u2028 that end nothing\nFROM nvidia/cuda:12.4-devel-ubuntu22.04 AS x",
            "# a page\x0c and a line\u2028 that end nothing\nFROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS x",
        ),
        (
            "Dockerfile",
            "FROM python:3.10\nRUN pip install torch==1.13.1+cu117 \\\n  torchvision==0.14.1+cu117 'numpy<2'\n",
            f"FROM python:3.10\nRUN pip install torch==1.13.1+cu117 --extra-index-url {PYTORCH}/cu117 \\\n  torchvision==0.14.1+cu117 'numpy<2'\n",
        ),
    ],
)
def test_a_safe_edit_is_made_shown_and_enough(tmp_path, name, text, expected):
    after, diff = fixed(tmp_path, name, text)
    assert after == expected
    assert diff.startswith("---")
    left = {finding.code for finding in lint_files([str(tmp_path / name)], MATRIX).findings}
    assert not left & {"extra-index-shadowed", "index-missing", "base-tag-gone", "base-tag-eol", "accidental-cpu-wheel"}
    assert fixed(tmp_path, name, after) == (after, "")


@pytest.mark.parametrize("tag", ["12.4-devel-ubuntu22.04", "12.2.0-runtime-ubuntu22.04", "12.6.0-base-ubuntu24.04"])
def test_what_is_advised_is_what_the_edit_writes(tmp_path, tag):
    (tmp_path / "Dockerfile").write_text(f"FROM nvidia/cuda:{tag}\n")
    told = lint_files([str(tmp_path / "Dockerfile")], MATRIX).findings
    (fix,) = (one.fix for one in told if one.code in {"base-tag-gone", "base-tag-eol"})
    assert f"nvidia/cuda{fix.changes[0].new}." in fix.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Dockerfile", f"FROM python:3.10\nRUN pip install torch transformers --extra-index-url {PYTORCH}/cu118\n"),
        ("Dockerfile", f"FROM python:3.10\nRUN pip install torch -r more.txt --extra-index-url {PYTORCH}/cu118\n"),
        ("Dockerfile", f"FROM python:3.10\nRUN pip install 'torch>=2.8' --extra-index-url {PYTORCH}/cu118\n"),
        ("Dockerfile", "FROM nvidia/cuda:11.0-base\nRUN apt-key add x\nENV CUDA_VISIBLE_DEVICES=0\n"),
        ("Dockerfile", "FROM nvidia/cuda:10.2-base-ubuntu18.04\n"),
        ("Dockerfile", "FROM nvidia/cuda:12.4.0-cudnn8-runtime-ubuntu22.04\n"),
        ("Dockerfile", "ARG C=12.2.0\nFROM nvidia/cuda:${C}-runtime-ubuntu22.04\n"),
        ("Dockerfile", f"FROM nvidia/cuda:12.2.0-runtime-ubuntu22.04@sha256:{'0' * 64}\n"),
        ("Dockerfile", "FROM python:3.10\nRUN pip install 'jax[cuda11_pip]'\n"),
        # the base would be none of that vendor's; the system has ended whatever the tag
        (
            "Dockerfile",
            f"FROM pytorch/pytorch:2.0.0-cuda11.7-cudnn8-runtime\nRUN pip install -U torch --extra-index-url {PYTORCH}/rocm6.2\n",
        ),
        ("Dockerfile", "FROM nvidia/cuda:12.2.0-runtime-ubuntu20.04\n"),
        ("Dockerfile", "FROM python:3.10\nRUN pip install \"torch==1.13.1+cu117; python_version > '3'\"\n"),
        # with a hash in it pip installs from such a file nothing that has none, and asks for the file by its hash
        ("requirements.txt", f"tensorflow==2.3.1 --hash=sha256:{'0' * 64}\n"),
        ("requirements.txt", f"--extra-index-url {PYTORCH}/cu118\ntorch==2.1.0 --hash=sha256:{'0' * 64}\n"),
        ("Dockerfile", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n"),
        ("requirements.txt", "torch==9.9.9+cu999\n"),
        ("requirements.txt", "torch==2.6.0\n"),
    ],
)
def test_what_is_not_safe_stays(tmp_path, name, text):
    assert fixed(tmp_path, name, text) == (text, "")


@pytest.mark.parametrize(
    ("text", "code", "advice"),
    [
        ("FROM debian:bullseye-slim\nCMD true\n", "base-tag-eol", "debian:trixie-slim"),
        ("FROM python:3.11\nRUN pip install -U 'jax[cuda11_pip]'\n", "accidental-cpu-wheel", "jax[cuda12]"),
        # the image's own CUDA without and with the cuDNN that is wanted, and the next minor that has it
        (
            "FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip && pip install tensorflow==2.12.0\n",
            "library-missing",
            "nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04",
        ),
        (
            "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip && pip install onnxruntime-gpu==1.23.2\n",
            "base-runtime-mismatch",
            "nvidia/cuda:12.3.2-cudnn9-runtime-ubuntu22.04",
        ),
        (
            "FROM rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0\nRUN pip install torch==2.4.1\n",
            "wrong-vendor-build",
            f"torch==2.4.1+rocm6.1 from {PYTORCH}/rocm6.1",
        ),
    ],
)
def test_advice_names_what_to_take(tmp_path, text, code, advice):
    (tmp_path / "Dockerfile").write_text(text)
    found = [one for one in lint_files([str(tmp_path / "Dockerfile")], MATRIX).findings if one.code == code]
    assert [advice in one.fix.text for one in found] == [True]
    if advice.startswith("nvidia/cuda"):
        (tmp_path / "Dockerfile").write_text(text.replace(text.split()[1], advice))
        left = lint_files([str(tmp_path / "Dockerfile")], MATRIX).findings
        assert not [one.code for one in left if one.severity == "error"]


def test_no_bare_image_is_advised_in_the_place_of_one_with_a_framework(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM nvcr.io/nvidia/pytorch:25.04-py3\nRUN pip install cupy-cuda111==8.6.0\n")
    found = lint_files([str(tmp_path / "Dockerfile")], MATRIX).findings
    assert [one.fix.text for one in found if "nvcr.io" in one.fix.text or "nvidia/cuda" in one.fix.text] == []


def test_where_nothing_nearer_is_known_the_advice_names_a_python(tmp_path):
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\nsetup(python_requires='>=3.8', install_requires=['tensorflow==1.15.2'])\n"
    )
    found = lint_files([str(tmp_path / "setup.py")], MATRIX).findings
    assert ["Use Python 3.7, or " in one.fix.text for one in found if one.code == "python-unsupported"] == [True]


def test_line_ends_and_bytes_that_are_no_text_are_kept(tmp_path):
    path = tmp_path / "requirements.txt"
    path.write_bytes(b"torch==1.13.1+cu117 # \xff\r\n")
    assert diff_of(lint_files([str(path)], MATRIX), write=True) == ""
    assert path.read_bytes() == b"torch==1.13.1+cu117 # \xff\r\n"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.txt"):
        lint_files([str(tmp_path / "nowhere.txt")], MATRIX)


BASES = [
    "python:3.10",
    "nvidia/cuda:12.4-base-ubuntu22.04",
    "nvidia/cuda:12.2.0-runtime-ubuntu22.04",
    "rocm/dev-ubuntu-22.04:6.2",
]
STEPS = [
    "RUN pip install 'torch==1.13.1+cu117' torchvision==0.14.1+cu117",
    f"RUN pip install torch --extra-index-url {PYTORCH}/cu118",
    f"RUN pip install torch --extra-index-url {PYTORCH}/rocm6.2",
    "RUN true && \\\n    pip install \\\n    # why\n    numpy \\\n    torch==2.0.1+cu118",
    "RUN pip install -U 'jax[cuda12_pip]'",
    'RUN pip install "paddlepaddle-gpu==2.4.2.post117" ; echo "torch==1.13.1+cu117"',
    "# torch==1.13.1+cu117",
    "RUN bash -c 'pip install torch==1.13.1+cu117'",
    "RUN <<E\npip install torch==1.13.1+cu117\nE",
    "ENV A=torch==1.13.1+cu117",
    "",
]
# Of a build that could not be had nothing more was known: what it needs may come to light once it can.
HIDDEN = {"library-missing", "wrong-vendor-build", "base-runtime-mismatch"}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(BASES), st.lists(st.sampled_from(STEPS), max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_a_repair_is_made_once_keeps_all_other_lines_and_brings_no_error(tmp_path, base, steps, ending):
    text = f"FROM {base}\nRUN apt-get update && apt-get install -y python3-pip\n" + "".join(
        f"{step}\n" for step in steps
    )
    text = text.replace("\n", ending)
    (tmp_path / "Dockerfile").write_bytes(text.encode())
    before = errors(tmp_path)
    after, diff = fixed(tmp_path, "Dockerfile", text)
    assert fixed(tmp_path, "Dockerfile", after) == (after, "")
    assert errors(tmp_path) - before <= HIDDEN
    changed = [(old, new) for old, new in zip(text.split(ending), after.split(ending), strict=True) if old != new]
    assert bool(changed) is bool(diff)
    assert all(old.split()[0] == new.split()[0] and not old.startswith("#") for old, new in changed)


def errors(folder):
    report = lint_files([str(folder / "Dockerfile")], MATRIX)
    return {item.code for item in report.findings if item.severity == "error"}
