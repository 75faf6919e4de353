"""Adding a release, end to end: it is measured, missed, written down, and then found by the resolver."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import crosscheck  # noqa: E402 - found through the line above
import settlements  # noqa: E402
import suggest_rows  # noqa: E402

from compat.matrix import Matrix, canonical, check, matrix, store  # noqa: E402
from compat.resolve import resolve  # noqa: E402
from compat.resolve.target import from_options  # noqa: E402

RELEASE = {
    "date": "2027-01-20",
    "python": ">=3.12",
    "wheels": [
        {
            "for": {"linux_x86_64 2.28": "3.12 3.13", "win_amd64": "3.12 3.13"},
            "requires": [
                "fsspec>=0.8.5",
                'nvidia-cudnn-cu13==9.30.0.1; platform_system == "Linux"',
                'nvidia-nccl-cu13==2.31.1; platform_system == "Linux" and platform_machine == "x86_64"',
                'opt-einsum>=3.3; extra == "opt-einsum"',
                'triton==3.7.1; platform_system == "Linux" and python_version < "3.15"',
            ],
        }
    ],
    "carried": {"linux_x86_64": {"cuda": "13.2", "targets": "sm_75 sm_80 sm_90 sm_100 sm_120", "file": "torch.whl"}},
}
"""A torch 99.0.0 as ``scripts/refresh.py --kernels`` would record it."""


@pytest.fixture
def observed(tmp_path, monkeypatch):
    body = json.loads((ROOT / "matrix" / "observed" / "torch.json").read_text("utf-8"))
    body["releases"]["99.0.0"] = RELEASE
    (tmp_path / "torch.json").write_text(json.dumps(body), "utf-8")
    monkeypatch.setattr(crosscheck, "OBSERVED", tmp_path)
    crosscheck._releases.cache_clear()
    yield tmp_path
    crosscheck._releases.cache_clear()


@pytest.fixture
def overlay(observed, tmp_path, capsys):
    """The rows that the script suggests, pasted into a file of their own."""
    assert suggest_rows.main(["torch", "99.0.0", "--observed", str(observed)]) == 0
    rows = capsys.readouterr().out
    path = tmp_path / "new.toml"
    source = '[sources]\nnew-wheels = "Published wheels, read 2027-01-21"\n'
    named = rows.replace("wheel-metadata", "new-wheels")
    text = f'schema = "envcheck.matrix/1"\n\nbuilds.torch = [\n{named}]\n\n{source}'
    path.write_text(canonical.canonical(text), "utf-8")
    return path


def test_a_release_that_only_the_index_has_is_missed(observed, capsys):
    assert crosscheck.main(["torch"]) == 1
    assert "torch 99.0.0: release: matrix -, wheels there" in capsys.readouterr().out


def test_the_suggested_rows_are_what_the_matrix_wants(overlay):
    assert check.check([overlay]) == []
    left = [found for found in crosscheck.differences(matrix(overlay), ["torch"]) if found.version == "99.0.0"]
    assert left == []


def test_the_rows_say_what_holds_on_each_platform(overlay):
    found = {
        platform: build
        for build in matrix(overlay).builds("torch")
        if build.version == "99.0.0"
        for platform in build.platforms
    }
    assert sorted(found) == ["linux_x86_64", "win_amd64"]
    linux, windows = found["linux_x86_64"], found["win_amd64"]
    assert (linux.runtime, linux.cudnn, linux.nccl, linux.cuda_from) == ("cuda13.2", "9.30.0.1", "2.31.1", "packages")
    assert linux.requires == (
        "nvidia-cudnn-cu13==9.30.0.1",
        "nvidia-nccl-cu13==2.31.1",
        'triton==3.7.1; python_version < "3.15"',
    )
    assert (windows.runtime, windows.requires, windows.glibc) == ("cpu", (), "")


def test_the_resolver_takes_the_new_release(overlay):
    table = matrix(overlay)
    target = from_options(table, gpus=("sm_90",), driver="999.0", python="3.12")
    answer = resolve(["torch==99.0.0"], target, table)
    assert answer.status == "plan"
    assert [build.requirement for build in answer.plan.builds] == ["torch==99.0.0"]
    assert answer.plan.runtime == "cuda13.2"
    assert [gpu.kernels for gpu in answer.plan.gpus] == ["native"]


@pytest.mark.parametrize(
    ("package", "runtime", "inferred"),
    [
        ("libtpu", 'runtime = ""', ""),  # what stands beside it in the matrix has no GPU code of its own
        ("torch", 'runtime = "cuda13.2"', 'inferred = "runtime"'),  # usual on the platform, but nobody read it
    ],
)
def test_a_runtime_that_was_not_read_is_the_usual_one_and_says_so(observed, capsys, package, runtime, inferred):
    path = observed / f"{package}.json"
    unread = {key: value for key, value in RELEASE.items() if key != "carried"}
    path.write_text(json.dumps({"releases": {"99.0.0": unread}}), "utf-8")
    assert suggest_rows.main([package, "99.0.0", "--observed", str(observed)]) == 0
    linux = capsys.readouterr().out.splitlines()[0]
    assert runtime in linux
    assert (inferred or "how") in linux
    assert inferred or "inferred" not in linux


def test_a_release_that_was_not_measured_is_not_made_up(observed, capsys):
    assert suggest_rows.main(["torch", "98.0.0", "--observed", str(observed)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "was not measured" in said.err


def test_every_wheel_that_a_row_can_hold_gets_one_and_no_other():
    places = ("macosx_universal2 10.15", "win32", "linux_s390x 2.17", "linux_x86_64 2.27", "linux_x86_64 2.17")
    group = {"for": dict.fromkeys(places, "3.10"), "requires": ["nvidia-nccl-cu11"]}
    found = suggest_rows.rows("0.1", {"python": ">=3.7", "wheels": [group]}, {"linux_x86_64": "cuda12.0"})
    assert [(row["platforms"], row.get("glibc") or row.get("macos"), row["runtime"]) for row in found] == [
        ("macosx_x86_64 macosx_arm64", "10.15", ""),
        ("win32", None, ""),
        ("linux_x86_64", "2.17", "cuda11"),  # the loosest of two floors, and the CUDA that NVIDIA's package names
    ]


@pytest.mark.parametrize(
    ("raw", "platform", "held"),
    [
        ("numpy>=1.21", "any", "numpy>=1.21"),
        ("fsspec>=0.8.5", "any", ""),
        ("transformers>=4.55.2", "linux_x86_64", "transformers>=4.55.2"),  # a floor on what has rows can clash
        ('torch==2.0.0; extra == "all"', "any", ""),
        ('torch==2.0.0; sys_platform != "emscripten"', "any", "torch==2.0.0"),
        ('torch==2.0.0; sys_platform == "linux"', "any", 'torch==2.0.0; sys_platform == "linux"'),
        ("wrapt<1.15,>=1.11.0", "any", "wrapt<1.15,>=1.11.0"),
        ('torch==2.0.0; sys_platform == "win32"', "linux_x86_64", ""),
        (
            'torch==2.0.0; sys_platform == "win32" or python_version < "3.9"',
            "linux_x86_64",
            'torch==2.0.0; python_version < "3.9"',
        ),
        ('torch==2.0.0; sys_platform == "linux" or python_version < "3.9"', "linux_x86_64", "torch==2.0.0"),
        (
            'torch==2.0.0; platform_machine == "x86_64" and (python_version < "3.9" or python_version > "3.10")',
            "linux_x86_64",
            'torch==2.0.0; (python_version < "3.9" or python_version > "3.10")',
        ),
        ('torch==2.0.0; extra == "all"', "linux_x86_64", ""),
    ],
)
def test_markers_are_settled_as_far_as_the_platform_goes(raw, platform, held):
    assert suggest_rows.held_on(raw, platform) == held


REAL = [
    ("torchao", "0.18.0", "3.10 3.11 3.12 3.13 3.14 3.15", "sm_90a sm_100 compute_120"),
    ("keras", "", "", "-"),
    ("torchvision", "0.29.2", "3.11", "sm_75 sm_80"),
]
"""A stable-ABI wheel with GPU code, a pure package (its newest release), and wheels for one Python each."""


@pytest.mark.parametrize(("package", "version", "python", "kernels"), REAL)
def test_a_published_release_goes_through_the_path_of_the_guide(package, version, python, kernels, tmp_path):
    """Its rows are taken out, suggested anew from what was measured, and pass every law and the comparison."""
    measured = json.loads((ROOT / "matrix" / "observed" / f"{package}.json").read_text("utf-8"))["releases"]
    newest = [name for name in measured if not Version(name).is_prerelease][-1]
    version = version or newest
    folder = tmp_path / "matrix"
    folder.mkdir()
    for path in (ROOT / "matrix").glob("*.toml"):
        document = store.parse_toml(path.read_text("utf-8"), path.name)
        listed = [canonical.cells("builds.x", row) for row in document.get("builds", {}).get(package, [])]
        for row in listed:
            row["versions"] = " ".join(name for name in row["versions"].split() if name != version)
        if listed:
            document["builds"][package] = [row for row in listed if row["versions"]]
        (folder / path.name).write_text(canonical.dump(document, canonical.layout(path.read_text()).comments), "utf-8")
    assert suggest_rows.main([package, version, "--write", "--matrix", str(folder)]) == 0
    table = Matrix(store.Live(folder.glob("*.toml")))
    assert [str(fault) for fault in check.check(sorted(folder.glob("*.toml")), beneath=[])] == []
    settled = settlements.load()
    left = [found for found in crosscheck.differences(table, [package]) if not settlements.settle(found, settled)]
    assert [str(found) for found in left if found.version == version] == []
    rows = [row for row in table.builds_of(package, version) if not row.index]
    assert python in {" ".join(row.python) for row in rows} or not python or any(python in row.python for row in rows)
    assert any(" ".join(row.kernels).startswith(kernels) for row in rows)
