"""What must hold for every row of frameworks and companions, and agreement with another project's tables."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.matrix import matrix

M = matrix()
PACKAGES = sorted(name.removeprefix("builds.") for name in M.names() if name.startswith("builds."))
DATA = Path(__file__).parent / "data"


@cache
def builds(package, version):
    return tuple(build for build in M.builds(package) if build.version == version)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_row_can_be_read_and_traced(package):
    indexes = {row.name for row in M.table("indexes")}
    for build in M.builds(package):
        assert Version(build.full_version)
        assert all(Requirement(line) for line in (*build.requires, *build.pins))
        assert set(build.source) <= M.citations.keys(), build.version
        assert build.index in indexes | {""}
        assert build.platforms


@pytest.mark.parametrize("package", PACKAGES)
def test_no_row_is_hidden_by_another(package):
    keys = [tuple(getattr(build, name) for name in ("version", "runtime", "index", "local", "platforms", "python", "extras", "distribution", "published")) for build in M.builds(package)]  # fmt: skip
    assert len(keys) == len(set(keys))


def test_every_package_has_builds_or_says_why_not():
    for name, package in M.packages.items():
        assert M.builds(name) or package.note, name
        assert canonicalize_name(name) == name


@pytest.mark.parametrize("package", [name for name in PACKAGES if M.packages[name].follows])
def test_companions_name_a_framework_release_that_exists(package):
    framework = M.packages[package].follows
    known = {build.version for build in M.builds(framework)}
    for build in M.builds(package):
        for line in build.requires:
            wish = Requirement(line)
            exact = [item for item in wish.specifier if item.operator == "==" and not item.version.endswith("*")]
            if wish.name == framework and exact:
                assert exact[0].version.partition("+")[0] in known, (build.full_version, line)


NEVER_BEFORE = {
    "3.10": "2021-05-01",
    "3.11": "2022-05-01",
    "3.12": "2023-05-01",
    "3.13": "2024-05-01",
    "3.14": "2025-05-01",
}
"""A Python has no wheels before its first beta (PEP 619, 664, 693, 719, 745)."""


@pytest.mark.parametrize("package", ["torch", "tensorflow", "jaxlib", "paddlepaddle"])
def test_no_python_has_wheels_before_its_time(package):
    for build in M.builds(package):
        for python in build.python:
            assert not build.date or build.date >= NEVER_BEFORE.get(python.rstrip("t"), ""), (
                build.full_version,
                python,
            )


@pytest.mark.parametrize("package", ["torch", "tensorflow", "paddlepaddle"])
def test_kernels_lie_within_what_the_toolkit_can_make(package):
    for build in M.builds(package):
        toolkit = M.cuda(build.runtime.removeprefix("cuda")) if build.runtime.startswith("cuda") else None
        if toolkit and toolkit.targets:
            made = {target.replace("compute_", "sm_") for target in build.kernels}
            assert made <= set(toolkit.targets), (build.full_version, build.runtime)


def test_torch_releases_leave_no_gap_between_first_and_newest():
    releases = sorted({Version(build.version) for build in M.builds("torch")})
    assert releases[0] == Version("1.0.0")
    assert releases[-1] >= Version("2.15.0")
    minors = [version.release[:2] for version in releases]
    assert {(1, minor) for minor in range(14)} | {(2, minor) for minor in range(16)} <= set(minors)


@pytest.mark.parametrize(
    "version",
    sorted({build.version for build in M.builds("torch") if Version(build.version) in SpecifierSet(">=1.11")}),
)
def test_every_torch_release_has_cuda_rocm_and_cpu_on_linux(version):
    kinds = {
        build.runtime.rstrip("0123456789.") for build in builds("torch", version) if "linux_x86_64" in build.platforms
    }
    assert {"cuda", "rocm", "cpu"} <= kinds


# --- a second source -------------------------------------------------------------------------------------------------

# Replicate's cog keeps its own tables of what to install (github.com/replicate/cog, pkg/config/torch_compatibility.json
# and tf_compatibility.json at 6110c912); they were made without ours, and the other way round.


def table(name):
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def on_linux(package, full):
    version, _, local = full.partition("+")
    return [
        build
        for build in builds(package, version)
        if build.local == local and "linux_x86_64" in build.platforms and not build.distribution
    ]


@pytest.mark.parametrize("row", table("cog_torch.csv"), ids=lambda row: row["torch"])
def test_cog_agrees_on_the_cuda_and_pythons_of_torch(row):
    found = on_linux("torch", row["torch"])
    assert {build.runtime.removeprefix("cuda") for build in found} == {row["cuda"]}
    assert set(row["pythons"].split()) <= {python for build in found for python in build.python}


@pytest.mark.parametrize("row", table("cog_torch.csv"), ids=lambda row: row["torch"])
@pytest.mark.parametrize("companion", ["torchvision", "torchaudio"])
def test_cog_agrees_on_what_goes_with_torch(row, companion):
    torch, wanted = row["torch"].partition("+")[0], row[companion].partition("+")[0]
    pins = [Requirement(line) for build in builds(companion, wanted) for line in build.requires]
    assert any(torch in pin.specifier for pin in pins if pin.name == "torch")


@pytest.mark.parametrize("row", table("cog_tensorflow.csv"), ids=lambda row: row["tensorflow"])
def test_cog_agrees_on_the_cuda_and_cudnn_of_tensorflow(row):
    found = [build for build in on_linux("tensorflow", row["tensorflow"]) if build.cuda_from == "system"]
    assert {(build.runtime, build.cudnn) for build in found} == {(f"cuda{row['cuda']}", row["cudnn"])}
    assert set(row["pythons"].split()) <= {python for build in found for python in build.python}
