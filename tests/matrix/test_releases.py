"""Builds of one release: the same rows that a walk over all of them finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat import matrix, versions

OBSERVED = Path(__file__).resolve().parents[2] / "matrix" / "observed"


@pytest.mark.parametrize("package", ["torch", "tensorflow", "jax", "paddlepaddle", "torchvision"])
def test_builds_of_a_release_are_those_that_a_walk_over_all_finds(package):
    """The oracle reads every row; what is asked reads none but its own, on a matrix that has read nothing yet."""
    every = matrix.matrix().builds(package)
    fresh = matrix.matrix()
    for version in dict.fromkeys(row.version for row in every):
        same = tuple(row for row in every if versions.same_release(row.version, version))
        assert fresh.builds_of(package, version) == same


@pytest.mark.parametrize(("asked", "found"), [("2.1", "2.1.0"), ("2.1.0", "2.1.0"), ("2.1.0.0", "2.1.0")])
def test_short_spellings_name_the_first_release(asked, found):
    assert {row.version for row in matrix.matrix().builds_of("torch", asked)} == {found}


@pytest.mark.parametrize("whole", [False, True])
def test_a_release_is_found_by_the_version_that_it_is_published_under(whole):
    """``pip list`` says 2.2.2.post112; whether or not the table was read before."""
    table = matrix.Matrix(*matrix.shipped()._stores)
    every = table.builds("paddlepaddle") if whole else ()
    found = table.builds_of("paddlepaddle", "2.2.2.post112")
    assert {(row.version, row.runtime) for row in found} == {("2.2.2", "cuda11.2")}
    assert {*found} <= {*every} or not whole


@pytest.mark.parametrize("asked", ["", "9.9.9", "2.1rc1", "no version"])
def test_what_is_no_release_has_no_builds(asked):
    assert matrix.matrix().builds_of("torch", asked) == ()


def test_overlay_counts_for_one_release_too(tmp_path):
    overlay = tmp_path / "mine.toml"
    row = 'versions = "2.1.0", runtime = "cuda12.1", index = "https://example.org/simple", python = "3.11"'
    overlay.write_text(
        'schema = "envcheck.matrix/1"\n\nbuilds.torch = [\n'
        f'  {{ {row}, platforms = "linux_x86_64", source = "us", how = "measured" }},\n]\n\n[sources]\nus = "us"\n'
    )
    both = matrix.matrix(overlay)
    assert "https://example.org/simple" in {build.index for build in both.builds_of("torch", "2.1")}
    assert len(both.builds_of("torch", "2.1")) > 1


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [("2.1", "2.1.0", True), ("2.1.0", "2.1.1", False), ("2.1", "2.1rc1", False), ("x", "x", True), ("x", "y", False)],
)
def test_releases_are_compared_by_their_numbers(left, right, same):
    assert versions.same_release(left, right) is same


def test_a_package_of_wheels_alone_has_no_release_as_source():
    alone = [name for name, row in matrix.matrix().packages.items() if row.wheels_alone]
    assert alone
    for name in alone:
        releases = json.loads((OBSERVED / f"{name}.json").read_text("utf-8"))["releases"]
        assert [number for number, told in releases.items() if told.get("source") and told["wheels"]] == [], name
