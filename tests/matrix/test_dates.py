"""Every release has its day: from its row, or from the table of days."""

from __future__ import annotations

import pytest

from compat.matrix import matrix

UNREAD = {
    "jax-links",
    "amd-manylinux",
    "pyg",
    "intel-xpu",
    "flash-attn",
    "dgl",
    "dgl-torch21",
    "dgl-torch22",
    "dgl-torch23",
}
"""Indexes of which no file was read."""


def test_builds_of_readable_indexes_have_a_day():
    known = matrix()
    builds = [build for name in known.packages for build in known.table(f"builds.{name}")]
    assert [build for build in builds if not build.date and build.index not in UNREAD] == []


@pytest.mark.parametrize(
    ("package", "version", "distribution", "day"),
    [("torchvision", "0.21.0", "torchvision", "2025-01-29"), ("vllm", "0.10.1.1", "vllm", "2025-08-20")],
)
def test_the_day_is_that_of_the_first_upload(package, version, distribution, day):
    found = {b.date for b in matrix().builds_of(package, version) if b.install_name == distribution and not b.index}
    assert found == {day}


@pytest.mark.parametrize(
    ("local", "day"),
    [("pt21cu121", "2023-10-06"), ("pt212cu130", ""), ("pt28cpu", "")],
    ids=lambda value: value or "none",
)
def test_a_build_made_for_a_later_framework_has_not_the_day_of_its_release(local, day):
    assert [b.date for b in matrix().builds_of("torch-scatter", "2.1.2") if b.local == local] == [day]


def test_an_overlay_may_tell_the_day_of_its_own_release(tmp_path):
    overlay = tmp_path / "own.toml"
    overlay.write_text(
        """schema = "envcheck.matrix/1"
dates = [
  { package = "torchao", days = "99.0:2030-01-02", source = "us", how = "measured" },
]
builds.torchao = [
  { versions = "99.0", runtime = "", platforms = "any", source = "us", how = "measured" },
]
[sources]
us = "ours"
"""
    )
    assert [build.date for build in matrix(overlay).builds_of("torchao", "99.0")] == ["2030-01-02"]
