"""Rows that a run of the probes contributes: no more than it proved, and files that the matrix takes."""

import json

import pytest

from compat.app import contribution, hosts
from compat.build import Verification, outcome
from compat.matrix import matrix
from compat.matrix.check import shape_faults
from compat.matrix.overlays import load
from compat.resolve import resolve

DRIVER = [
    ("driver.load", "pass", {"cuda": "12.8", "libcuda": ["/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.10"]}),
    ("driver.device0", "pass", {"name": "NVIDIA H100", "target": "sm_90"}),
]
GPU = {"device": "cuda", "name": "NVIDIA H100", "count": 1}
CPU = {"device": "cpu"}


def run(
    module="torch", version="2.9.1+cu128", runtime="cuda12.8", device=GPU, python="3.12.4", last="pass", kernels=()
):
    told = [
        *(DRIVER if device is GPU else []),
        (f"{module}.import", "pass", {"version": version, "python": python, "platform": "linux-x86_64"}),
        (f"{module}.build", "pass", {"runtime": runtime, "kernels": list(kernels)}),
        (f"{module}.device", "pass", device),
        (f"{module}.exact", "pass", {}),
        (f"{module}.linalg", last, {}),
    ]
    lines = [
        json.dumps({"event": "probe", "name": name, "status": status, "figures": figures})
        for name, status, figures in told
    ]
    probes, _ = outcome.read(lines)
    return Verification(image="mine:1", level="framework", probes=probes)


def contributed(tmp_path, done):
    path = tmp_path / "rows.toml"
    path.write_text(contribution.text(done, matrix()))
    assert shape_faults([path]) == []
    both = load([path], {})
    package = "paddlepaddle" if done.probes[-1].name.startswith("paddle") else done.probes[-1].name.partition(".")[0]
    return both, [build for build in both.builds(package) if build.evidence]


def test_a_run_on_a_gpu_repeats_the_row_with_where_it_ran_and_what_passed(tmp_path):
    both, (build,) = contributed(tmp_path, run())
    ours = next(
        row for row in matrix().builds("torch") if row.full_version == "2.9.1+cu128" and "linux_x86_64" in row.platforms
    )
    assert (build.runtime, build.requires, build.kernels, build.how) == (
        ours.runtime,
        ours.requires,
        ours.kernels,
        ours.how,
    )
    assert build.evidence == "run on a device"
    assert build.note.startswith(f"{ours.note}. Ran on ")
    assert "NVIDIA H100 (sm_90) with driver 570.86.10 under Python 3.12.4; passed: exact, linalg." in build.note
    assert "mine:1" not in both.cite(build)
    assert len(both.builds_of("torch", "2.9.1")) == len(matrix().builds_of("torch", "2.9.1"))


@pytest.mark.parametrize(
    ("done", "evidence"),
    [
        (run(device=CPU), "imported"),
        (run(version="2.9.1+cpu", runtime="cpu", device=CPU), "imported"),
        (run("jax", "0.4.30", "cpu", CPU), "imported"),
        (run(last="skip"), "run on a device"),
    ],
)
def test_a_run_without_a_gpu_counts_as_imported(tmp_path, done, evidence):
    _, (build,) = contributed(tmp_path, done)
    assert build.evidence == evidence
    assert ("the processor" in build.note) == (evidence == "imported")


def test_a_build_without_a_row_gets_one_with_what_it_said_of_itself(tmp_path):
    _, (build,) = contributed(tmp_path, run(version="99.1.0+corp", kernels=["sm_90", "compute_90"]))
    assert (build.full_version, build.python, build.platforms, build.kernels, build.how) == (
        "99.1.0+corp",
        ("3.12",),
        ("linux_x86_64",),
        ("sm_90", "compute_90"),
        "measured",
    )


@pytest.mark.parametrize("done", [run(last="fail"), Verification(image="", level="driver"), run(runtime="")])
def test_what_failed_or_was_not_told_is_not_contributed(done):
    assert contribution.text(done, matrix()) == ""


@pytest.mark.parametrize(
    ("requirement", "laid_over", "evidence"),
    [
        ("torch==2.9.1", False, "metadata"),
        ("torch==2.9.1", True, "run on a device"),
        ("torch==2.9.1+cu128", False, ""),  # documented: nobody read its wheel
    ],
)
def test_a_plan_tells_what_its_measured_rows_were_read_from(tmp_path, requirement, laid_over, evidence):
    both, _ = contributed(tmp_path, run(version="2.9.1"))
    path = tmp_path / "node.json"
    path.write_text('{"gpus": [{"name": "NVIDIA H100"}], "driver": "570.86.10", "arch": "x86_64", "platform": "linux"}')
    answer = resolve([requirement], hosts.from_file(str(path), matrix()), both if laid_over else matrix())
    assert [build.evidence for build in answer.plan.builds] == [evidence]
