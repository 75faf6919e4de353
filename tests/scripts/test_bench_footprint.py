"""The sizes that the benchmark prints are those of the files that an installation laid down."""

import sys
from pathlib import Path

import pytest


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    import bench_footprint

    yield bench_footprint
    sys.modules.pop("bench_footprint", None)


@pytest.fixture
def place(tmp_path):
    """An environment with one package: a module of 100 bytes, its bytecode of 50, and a file that is gone."""
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    (site / "one-1.dist-info").mkdir(parents=True)
    (site / "__pycache__").mkdir()
    (site / "one.py").write_bytes(b"#" * 100)
    (site / "__pycache__" / "one.pyc").write_bytes(b"#" * 50)
    (site / "stray.py").write_bytes(b"#" * 1000)
    (site / "one-1.dist-info" / "METADATA").write_text("Name: one\n")
    (site / "one-1.dist-info" / "RECORD").write_text("one.py,,\n__pycache__/one.pyc,,\ngone.py,,\n")
    return tmp_path


def test_a_package_is_as_large_as_its_files(bench, place):
    assert bench.packages(place) == {"one": 150}


def test_files_that_were_forgotten_are_read_again_from_the_disk(bench, place):
    bench.forget(place)
    assert len((place / "lib/python3.11/site-packages/one.py").read_bytes()) == 100


def test_a_tool_that_cannot_be_installed_is_said(bench, tmp_path):
    assert "nowhere" in bench.installed(tmp_path / "venv", str(tmp_path / "nowhere.whl"))
