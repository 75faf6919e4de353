"""Each format, as its program prints it: what is stated is read, and nothing else of the same kind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from compat import facts, reading

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
SAMPLES = sorted((HERE / "samples").glob("*.txt"))
REAL = sorted((HERE / "real").glob("*.txt"))

SELDOM = {
    "platform",
    "libc",
    "env",
    "conda_packages",
    "builds",
    "cpu_flags",
    "python_environment",
    "os_name",
    "gcc",
    "clang",
    "cmake",
}
"""Facts a sample need not state although its text does: by-products that other tests are about."""


def expected(path: Path) -> dict:
    return tomllib.loads(path.with_suffix(".toml").read_text(encoding="utf-8"))


def names(gpus) -> list[str]:
    return [gpu if isinstance(gpu, str) else gpu.get("name", "") for gpu in gpus]


@pytest.mark.parametrize("path", SAMPLES + REAL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_reads_what_is_stated(path):
    got = facts.dump(reading.read(path.read_text(encoding="utf-8")).host)
    for key, value in expected(path).items():
        if key == "gpus" and value and isinstance(value[0], str):
            assert names(got["gpus"]) == value
        elif key in {"packages", "builds", "env"}:
            assert {name: got.get(key, {}).get(name) for name in value} == value
        else:
            assert got.get(key) == value, key


@pytest.mark.parametrize("path", SAMPLES + REAL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_reads_nothing_that_is_not_stated(path):
    got = reading.read(path.read_text(encoding="utf-8")).host
    assert {key for key in got if got.value(key) is not None} - SELDOM <= set(expected(path))


@pytest.mark.parametrize("path", SAMPLES + REAL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_fact_cites_a_line_that_exists(path):
    text = path.read_text(encoding="utf-8")
    host = reading.read(text).host
    for key in host:
        last = int(host.source(key).replace("-", " ").split()[-1])
        assert 1 <= last <= text.count("\n") + 1
