"""Variants of a release that only an extra brings: the plan asks for the one that the target needs, and for its parts."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from compat.app.unlisted import laid_over
from compat.commands import Place, installs, typed
from compat.matrix import matrix
from compat.resolve import resolve
from compat.resolve.target import from_options

if TYPE_CHECKING:
    from pathlib import Path

MATRIX = matrix()


@pytest.mark.parametrize(
    ("asked", "runtime", "jaxlib"),
    [
        # as setup.py and README.md of each release's source archive say
        ("jax[cuda]==0.4.3", "cuda11.8", "0.4.3+cuda11.cudnn86"),
        ("jax[cuda11_cudnn82]==0.4.3", "cuda11.4", "0.4.3+cuda11.cudnn82"),
        ("jax[cuda]==0.3.8", "cuda11.4", "0.3.7+cuda11.cudnn82"),
        ("jax[cuda11_cudnn805]==0.3.25", "cuda11.1", "0.3.25+cuda11.cudnn805"),
        ("jax[cuda12_pip]==0.4.8", "cuda12.0", "0.4.7+cuda12.cudnn88"),
        ("jax[cuda12_pip]==0.4.20", "cuda12.2", "0.4.20+cuda12.cudnn89"),
    ],
)
def test_early_jax_gets_the_jaxlib_that_its_extra_pins(asked: str, runtime: str, jaxlib: str) -> None:
    plan = resolve([asked, "jaxlib"], from_options(MATRIX, gpus=["A100"]), MATRIX).plan
    assert plan is not None
    assert {one.name: (one.version, one.runtime) for one in plan.builds}["jaxlib"] == (jaxlib, runtime)


def test_jaxlib_alone_is_planned_with_a_jax_that_imports_it() -> None:
    plan = resolve(["jaxlib"], from_options(MATRIX, gpus=["sm_35"]), MATRIX).plan
    assert plan is not None
    versions = {one.name: one.version.partition("+")[0] for one in plan.builds}
    assert versions["jax"] == versions["jaxlib"]


@pytest.mark.parametrize(
    ("options", "extra"),
    [({"gpus": ["L4"]}, "cuda13"), ({"gpus": ["L4"], "driver": "550.54.14"}, "cuda12"), ({}, "cpu")],
)
def test_mlx_on_linux_is_asked_for_with_the_extra_that_brings_its_library(options: dict[str, str], extra: str) -> None:
    target = from_options(MATRIX, **options, arch="x86_64")  # type: ignore[arg-type]
    plan = resolve(["mlx"], target, MATRIX, cpu=not options).plan
    assert plan is not None
    assert [(one.requirement.partition("==")[0], one.runtime[:4]) for one in plan.builds] == [
        (f"mlx[{extra}]", extra[:4].rstrip("1"))
    ]


CARD = from_options(MATRIX, gpus=["A100"], arch="x86_64")
FILE = "flash_attn-2.8.3+cu12torch2.9cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"


def test_a_wheel_that_was_renamed_is_asked_for_by_its_address() -> None:
    target = from_options(MATRIX, gpus=["RTX 5090"], driver="570.86.10", arch="x86_64")
    plan = resolve(["flash-attn==2.8.3", "torch==2.9.1"], target, MATRIX).plan
    assert plan is not None
    (build,) = [one for one in plan.builds if one.name == "flash-attn"]
    file, _, held = build.address.rpartition("/")[2].partition("#sha256=")
    assert (file, held[:8], len(held)) == (FILE, "4e2f9e39", 64)
    assert plan.versions()["flash-attn"] == "2.8.3"  # that of its metadata, by which an image is checked
    assert typed(installs(plan.builds), Place()) == (f"pip install {build.address} torch==2.9.1",)


@pytest.mark.parametrize(
    ("asked", "refused"),
    [("name", "inconsistent version"), ("address", ""), ("sum", ""), ("other", "DO NOT MATCH THE HASHES")],
)
def test_pip_discards_such_a_wheel_by_name_and_holds_its_address_to_the_sum(
    asked: str, refused: str, tmp_path: Path
) -> None:
    """The rules of the world that the plan above follows, asked of the pip that is here."""
    wheel = tmp_path / "envcheck_renamed-1.0+cu12-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        told = "envcheck_renamed-1.0.dist-info"
        file.writestr(f"{told}/METADATA", "Metadata-Version: 2.1\nName: envcheck-renamed\nVersion: 1.0\n")
        file.writestr(f"{told}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{told}/RECORD", "")
    held = hashlib.sha256(wheel.read_bytes()).hexdigest()
    wanted = {
        "name": ["--find-links", str(tmp_path), "envcheck-renamed==1.0+cu12"],
        "address": [wheel.as_uri()],
        "sum": [f"{wheel.as_uri()}#sha256={held}"],
        "other": [f"{wheel.as_uri()}#sha256={held[::-1]}"],
    }
    line = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-index",
        "--no-deps",
        "--dry-run",
        "--isolated",
        *wanted[asked],
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert (done.returncode == 0) is (not refused), done.stderr
    assert refused in done.stdout + done.stderr


@pytest.mark.parametrize("asked", ["detectron2", "detectron2==0.6"])
def test_what_its_repository_alone_has_is_compiled_from_there_after_its_framework(asked: str) -> None:
    answer = resolve([asked, "torch==2.1.0", "numpy<2"], CARD, MATRIX)
    assert any("whether or not that is ==0.6" in text for text in answer.conditions) is ("==" in asked)
    assert answer.plan is not None
    first, _, last = typed(installs(answer.plan.builds, (*answer.plan.constraints, *answer.plan.unjudged)), Place())
    assert first.startswith("pip install torch==2.1.0")
    assert last == "pip install --no-build-isolation git+https://github.com/facebookresearch/detectron2"


@pytest.mark.parametrize(
    ("name", "told"), [("onnxruntime-genai-cuda", True), ("exllamav2", False), ("accelerate", False)]
)
def test_a_package_of_which_no_wheel_was_read_is_no_silent_cpu_build(name: str, told: bool) -> None:
    measured, _ = laid_over([name], MATRIX, online=False)
    answer = resolve([name, "torch==2.4.0"], CARD, measured)
    assert answer.status == "plan"
    assert any(text.startswith(f"whether {name} ") for text in answer.conditions) is told
