"""Which wheel brings a shared library: the rows as shipped, and the runs of releases that the measuring script makes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.app.showing import show
from compat.matrix import matrix

SCRIPTS = str(Path(__file__).parents[2] / "scripts")


@pytest.mark.parametrize(
    ("soname", "package", "has", "lacks"),
    [
        ("libcudnn.so.8", "nvidia-cudnn-cu12", "8.9.2.26", "9.1.0.70"),
        ("libcudnn.so.9", "nvidia-cudnn-cu12", "9.1.0.70", "8.9.2.26"),
        ("libcublas.so.13", "nvidia-cublas", "13.0.0.19", ""),
        ("libcupti.so.11.7", "nvidia-cuda-cupti-cu11", "11.7.101", "11.8.87"),
        ("cudart64_12.dll", "nvidia-cuda-runtime-cu12", "12.4.127", ""),
        ("libcufft.so.11", "nvidia-cufft-cu12", "11.0.2.54", ""),
    ],
)
def test_a_library_is_found_in_the_releases_that_bring_it(soname, package, has, lacks):
    spans = [SpecifierSet(row.versions) for row in matrix().select("sonames", soname=soname) if row.package == package]
    assert any(Version(has) in span for span in spans)
    assert not lacks or not any(Version(lacks) in span for span in spans)


def test_a_library_of_no_wheel_has_no_row():
    assert matrix().select("sonames", soname="libm.so.6") == ()


def test_show_tells_the_packages_of_a_library():
    (told,) = show(matrix(), "libcudnn.so.8")
    assert {line.cells[0] for line in told.lines} == {"nvidia-cudnn-cu11", "nvidia-cudnn-cu12"}


@pytest.mark.parametrize(
    ("has", "spans"),
    [
        ("1.0+ 1.1+ 2.0-", [">=1.0,<2.0"]),
        ("1.0- 1.1+ 2.0+", [">=1.1"]),
        ("1.0+ 1.9- 1.10+", [">=1.0,<1.9", ">=1.10"]),
        ("1.0-", []),
    ],
)
def test_runs_of_releases_become_specifiers(monkeypatch, has, spans):
    monkeypatch.syspath_prepend(SCRIPTS)
    sys.modules.pop("sonames", None)
    import sonames

    assert list(sonames.spans({Version(item[:-1]): item[-1] == "+" for item in has.split()})) == spans


def test_show_tells_the_libraries_and_the_day_of_a_release_of_a_vendors_package():
    told = show(matrix(), "nvidia-cudnn-cu12==8.9.2.26")[0]
    assert told.title == "Libraries of nvidia-cudnn-cu12 8.9.2.26, 2023-06-01"
    assert "libcudnn.so.8" in {line.cells[0] for line in told.lines}
    assert "libcudnn.so.9" not in {line.cells[0] for line in told.lines}
