"""The cross-check: the shipped matrix agrees with the wheels, and a matrix that did not would be caught."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import crosscheck  # noqa: E402 - found through the line above
import settlements  # noqa: E402

from compat.matrix import matrix  # noqa: E402
from compat.matrix.measured import floor_of  # noqa: E402


@pytest.fixture
def observed(tmp_path, monkeypatch):
    """A copy of what was measured, to be falsified: ``observed(package, change)``."""
    crosscheck._releases.cache_clear()

    def falsify(package, change):
        body = json.loads((ROOT / "matrix" / "observed" / f"{package}.json").read_text("utf-8"))
        change(body["releases"])
        (tmp_path / f"{package}.json").write_text(json.dumps(body), "utf-8")

    monkeypatch.setattr(crosscheck, "OBSERVED", tmp_path)
    yield falsify
    crosscheck._releases.cache_clear()


def test_no_disagreement_is_left_unsettled(capsys):
    assert crosscheck.main([]) == 0
    said = capsys.readouterr().out
    assert "followed: matrix" in said
    assert "0 not settled, 0 stale" in said


def linux(releases, version):
    return next(group for group in releases[version]["wheels"] if any("linux_x86_64" in key for key in group["for"]))


def drop_a_python(releases):
    group = linux(releases, "2.9.1")
    group["for"] = {key: pythons.replace(" 3.14 3.14t", "") for key, pythons in group["for"].items()}


def raise_the_floor(releases):
    group = linux(releases, "2.9.1")
    group["for"] = {key.replace("2.28", "2.34"): pythons for key, pythons in group["for"].items()}


def change_a_pin(releases):
    group = linux(releases, "2.9.1")
    group["requires"] = [line.replace("triton==3.5.1", "triton==3.5.0") for line in group["requires"]]


def carry_other_code(releases):
    releases["2.9.1"]["carried"] = {"linux_x86_64": {"targets": "sm_80", "cuda": "12.8"}}


def carry_other_cuda(releases):
    releases["2.9.1"]["carried"] = {"linux_x86_64": {"cuda": "12.9"}}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (drop_a_python, "python: matrix 3.14 3.14t"),
        (raise_the_floor, "glibc: matrix 2.28, wheels 2.34"),
        (change_a_pin, "requires: matrix triton==3.5.1"),
        (carry_other_code, "kernels: matrix sm_70 sm_75"),
        (carry_other_cuda, "runtime: matrix cuda12.8, wheels cuda12.9"),
        (lambda releases: releases["2.9.1"].update(yanked=True), "yanked: matrix False, wheels True"),
        (lambda releases: releases["2.9.1"].update(date="2025-01-01"), "date: matrix 2025-11-12, wheels 2025-01-01"),
        (lambda releases: releases.pop("2.9.1"), "release: matrix there"),
        (lambda releases: releases.update({"99.0": releases["2.9.1"]}), "release: matrix -, wheels there"),
    ],
)
def test_what_the_wheels_say_otherwise_is_reported(observed, capsys, change, field):
    observed("torch", change)
    assert crosscheck.main(["torch"]) == 1
    assert any(field in line for line in capsys.readouterr().out.splitlines() if line.startswith("NOT SETTLED"))


def test_a_preview_and_a_release_before_the_first_row_need_no_row(observed, capsys):
    def add(releases):
        releases.update({"99.0rc1": releases["2.9.1"], "0.0.1": releases["2.9.1"]})

    observed("torch", add)
    assert crosscheck.main(["--quiet", "torch"]) == 0, capsys.readouterr().out


def test_a_bound_on_a_framework_that_no_row_has_is_reported_whatever_platform_it_is_for(observed, capsys):
    def bound(releases):
        for group in releases["8.4.190"]["wheels"]:
            group["requires"] += ['torch!=2.9.0; sys_platform == "darwin"', 'torch<2.0; extra == "old"']

    observed("ultralytics", bound)
    assert crosscheck.main(["ultralytics"]) == 1
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("NOT SETTLED")]
    assert said == ["NOT SETTLED  ultralytics 8.4.190: requires: matrix -, wheels torch!=2.9.0"]


def test_two_rows_of_one_wheel_that_say_different_things_are_reported():
    rows = [row for row in matrix().builds("torch") if row.version == "2.9.1" and not row.index]
    linux = next(row for row in rows if "linux_x86_64" in row.platforms)
    assert list(crosscheck._contradictions([linux, linux, *rows])) == []
    (found, *_) = crosscheck._contradictions([linux, replace(linux, glibc="2.34")])
    assert str(found).startswith("torch 2.9.1: glibc twice: matrix 2.28 and 2.34 for Python 3.10 on linux_x86_64")
    assert list(crosscheck._contradictions([linux, replace(linux, glibc="2.34", python=("3.8",))])) == []


def test_a_settlement_that_settles_nothing_is_reported(tmp_path, monkeypatch, capsys):
    rows = json.loads(settlements.SETTLED.read_text("utf-8"))
    rows.append({"package": "torch", "field": "glibc", "version": "0.0", "followed": "matrix", "why": "of old"})
    monkeypatch.setattr(settlements, "SETTLED", tmp_path / "settled.json")
    settlements.SETTLED.write_text(json.dumps(rows), "utf-8")
    assert crosscheck.main(["--quiet"]) == 1
    assert "SETTLES NOTHING  torch 0.0 glibc: of old" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("listed", "requires_python", "pythons"),
    [
        (["3.10", "3.13t"], "", {"3.10", "3.13t"}),
        (["3.8+"], ">=3.8,<3.11", {"3.8", "3.9", "3.10"}),
        (["3"], ">=3.9,<3.12", {"3.9", "3.10", "3.11"}),
        (["3.9+"], ">=3.10,<3.12", {"3.10", "3.11"}),
    ],
)
def test_stable_abi_wheels_serve_the_pythons_that_their_metadata_allows(listed, requires_python, pythons):
    assert crosscheck.expand(listed, requires_python) == pythons


def test_a_row_that_joins_distributions_asks_for_no_less_glibc_than_the_one_with_the_code(observed, capsys):
    def raise_the_floor(releases):
        releases["0.4.30"]["carried"]["linux_x86_64"]["glibc"] = "2.34"

    observed("jax", len)
    observed("jaxlib", raise_the_floor)
    assert crosscheck.main(["jax"]) == 1
    assert "NOT SETTLED  jax 0.4.30: glibc: matrix 2.17, wheels 2.34" in capsys.readouterr().out


@pytest.mark.parametrize("package", ["cudf", "cuml"])
def test_the_glibc_of_a_package_whose_code_is_in_a_library_is_the_greatest_that_one_of_both_asks_for(package):
    def floors(name: str, spec: str, place: str):
        for version in SpecifierSet(spec).filter(crosscheck._releases(name)):
            release = crosscheck._releases(name)[version]
            for tag, _, _ in crosscheck._groups(release, place):
                yield Version(floor_of(tag, release.get("carried", {}).get(place, {}), ""))

    def least(line: str, place: str):
        asked = Requirement(line)
        return min(floors(asked.name, str(asked.specifier), place), default=Version("0"))

    for build in matrix().builds(package):
        own = f"{build.install_name}=={build.published or build.version}"
        parts = [line for line in build.requires if Requirement(line).name.startswith(("cudf", "libcu"))]
        parts += [f"lib{line}" for line in parts if line.startswith("cudf")]  # what that one pins in turn
        for place in build.platforms:
            wanted = max(least(line, place) for line in (own, *parts))
            assert Version(build.glibc) == wanted, (build.full_version, build.runtime, place)
