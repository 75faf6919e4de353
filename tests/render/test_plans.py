"""Plans told to people and to installers."""

import dataclasses
import sys

import pytest

from compat import ci, lock, plan, survey
from compat.render.ink import Ink, table
from compat.render.plan import answer as as_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TORCH = plan.PlannedBuild(
    name="torch", version="2.0.1+cu118", runtime="cuda11.8", index="https://download.pytorch.org/whl/cu118"
)
JAX = plan.PlannedBuild(
    name="jax",
    version="0.4.20",
    pins=("jaxlib==0.4.20+cuda11.cudnn86",),
    index="https://storage.googleapis.com/jax-releases/jax_cuda_releases.html",
    links=True,
)
TF = plan.PlannedBuild(name="tensorflow", version="2.12.0", runtime="cuda11.8", cuda_from="system")
PLAN = plan.Plan(
    runtime="cuda11.8", python="3.10", builds=(TORCH, TF, JAX), constraints=("numpy<1.24",), system=("cuda11.8", "cudnn8"),
    driver=plan.DriverNeed(minimum="450.80.02", note="minor-version compatibility"),
    base_image=plan.BaseImage(image="nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04", why="TensorFlow takes CUDA from the system"),
    gpus=(plan.GpuVerdict(name="NVIDIA A100", target="sm_80", kernels="native"), plan.GpuVerdict(name="sm_90", target="sm_90", kernels="ptx")),
    choices=(plan.Choice(subject="runtime", chosen="cuda11.8", rejected=("cuda11.7",), why="TensorFlow was built for it"),),
)  # fmt: skip
CONFLICT = plan.Answer(
    status="conflict",
    conflicts=(
        plan.Conflict((plan.Member("wish", "torch==2.0.1", "argument"), plan.Member("host", "GPU sm_120", "NVML"))),
    ),
    fixes=(plan.Remedy(text="Take torch 2.8.0", changes={"torch": "2.8.0"}, command="envcheck resolve torch==2.8.0"),),
)


def test_a_plan_is_told_with_all_that_must_hold():
    text = as_text(plan.Answer(status="plan", plan=PLAN, conditions=("no driver given",)))
    for words in (
        "cuda11.8, Python 3.10", "torch==2.0.1+cu118", "default index", "nvidia/cuda:11.8.0-cudnn8", ">= 450.80.02", "numpy<1.24",
        "NVIDIA A100 (sm_80): native kernels", "sm_90: PTX", "? no driver given",
    ):  # fmt: skip
        assert words in text
    assert "cuda11.7" not in text


def test_a_citation_is_numbered_where_it_is_used_and_written_out_once():
    """Two rows of one release share their sources: in full behind each, they bury what clashes."""
    first, second = "NVIDIA's table, read 2026-11-20", "the wheel's own list, read 2026-11-21"
    members = (
        plan.Member("option", "GPU sm_120", "--gpu"),
        plan.Member("matrix", "cu126 has no sm_120", f"{first}; {second}"),
        plan.Member("matrix", "cu124 has no sm_120", second),
    )
    answer = plan.Answer(status="conflict", conflicts=(plan.Conflict(members), plan.Conflict(members[1:])))
    short = as_text(answer)
    assert "matrix: cu126 has no sm_120\n" in short
    assert "NVIDIA's table" not in short
    text = as_text(answer, explain=True)
    assert "option: GPU sm_120  [--gpu]" in text
    assert text.count("matrix: cu126 has no sm_120  [1, 2]") == 2
    assert text.count("matrix: cu124 has no sm_120  [2]") == 2
    assert text.count(first) == text.count(second) == 1
    assert text.index("[1] NVIDIA's") < text.index("[2] the wheel's")


def test_explain_tells_what_lost_and_why():
    text = as_text(plan.Answer(status="plan", plan=PLAN), explain=True)
    assert "runtime: cuda11.8, TensorFlow was built for it\n    - not cuda11.7" in text


def test_an_order_that_several_choices_follow_is_told_once():
    why = "native kernels first; the newest release"
    both = tuple(plan.Choice(subject=name, chosen="1.0", rejected=("0.9: older",), why=why) for name in ("a", "b"))
    text = as_text(plan.Answer(status="plan", plan=dataclasses.replace(PLAN, choices=both)), explain=True)
    assert text.count("native kernels first") == 1
    assert text.count("- not 0.9: older") == 2
    assert "1. native kernels first" in text
    assert "2. the newest release" in text


def test_a_conflict_names_its_members_and_the_ways_out():
    text = as_text(CONFLICT)
    assert "wish: torch==2.0.1  [argument]" in text
    assert "$ envcheck resolve torch==2.8.0" in text


def test_unknown_is_not_shown_as_a_plan():
    text = as_text(plan.Answer(status="unknown", conditions=("nobody knows",)))
    assert "No answer" in text
    assert "✓" not in text


def test_requirements_name_each_index_once_and_pages_as_pages():
    lines = lock.write(PLAN, "requirements").splitlines()
    assert lines[1:3] == [
        "--extra-index-url https://download.pytorch.org/whl/cu118",
        "--find-links https://storage.googleapis.com/jax-releases/jax_cuda_releases.html",
    ]
    assert lines[3:] == [
        "torch==2.0.1+cu118",
        "tensorflow==2.12.0",
        "jax==0.4.20",
        "jaxlib==0.4.20+cuda11.cudnn86",
        "numpy<1.24",
    ]


def test_uv_fragment_is_toml_with_explicit_sources():
    document = tomllib.loads(lock.write(PLAN, "uv"))
    assert document["project"]["requires-python"] == "==3.10.*"
    assert document["tool"]["uv"]["sources"]["torch"]["index"] in {
        item["name"] for item in document["tool"]["uv"]["index"]
    }
    explicit = {item["url"] for item in document["tool"]["uv"]["index"] if item.get("explicit")}
    assert explicit == {TORCH.index}, "jaxlib comes from the page of links, but nothing names it"
    assert "tensorflow" not in document["tool"]["uv"]["sources"]


def test_conda_environment_asks_pip_for_the_planned_wheels():
    text = lock.write(PLAN, "conda")
    assert "- python=3.10" in text
    assert '- "torch==2.0.1+cu118"' in text


def grid():
    cell = survey.Cell(
        name="torch-cu118", requirements=("torch==2.0.1",), plan=PLAN, dockerfile="ARG A=1\nFROM x:${A}\n"
    )
    return survey.Grid((cell,), (survey.Excluded("torch-rocm", ("torch==2.0.1",), "no such build"),))


@pytest.mark.parametrize("format_", ci.FORMATS)
def test_every_ci_format_holds_the_cell_and_never_the_excluded_one_as_a_job(format_):
    jobs = ci.Jobs(install="envcheck-gpu==1.0")
    files = ci.pipeline(grid(), format_, jobs) if format_ in ci.PIPELINES else {"": ci.write(grid(), format_)}
    text = "".join(files.values())
    assert "torch-cu118" in text
    assert ("torch-rocm" in text) == (format_ in {"json", "text"})


def test_a_bake_file_keeps_dockerfile_variables_for_the_builder():
    import json

    target = json.loads(ci.write(grid(), "bake"))["target"]["torch-cu118"]
    assert target["dockerfile-inline"] == "ARG A=1\nFROM x:$${A}\n"
    assert target["platforms"] == ["linux/amd64"]


def test_a_cells_plan_is_replayed_from_the_github_matrix():
    import json

    document = json.loads(ci.write(grid(), "json"))
    assert plan.load(document["cells"][0]["plan"], "ci").plan == PLAN
    assert json.loads(ci.write(grid(), "github"))["include"][0]["gpu"] is True


def test_job_names_are_safe_and_short():
    assert ci.slug("torch==2.9.1", "cuda12.6", "", "py3.11") == "torch-2-9-1-cuda12-6-py3-11"
    assert len(ci.slug("x" * 500)) == 100
    assert ci.slug("$(rm -rf /)") == "rm-rf"


def test_wrapping_never_breaks_a_word():
    path = "/a/very/long/path/" + "x" * 200
    assert path in "".join(Ink(width=60).wrap(f"see {path} there", "  "))
    assert table([("a", "b"), ("ccc", "d")], Ink(), head=("x", "y")) == ["x    y", "a    b", "ccc  d"]
    assert table([], Ink()) == []
