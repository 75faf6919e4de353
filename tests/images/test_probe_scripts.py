"""Single parts of the probe scripts, called in this process."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from compat.build import outcome, parcel

SCRIPTS = parcel.FOLDER


def load(name):
    sys.path.insert(0, str(SCRIPTS))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(SCRIPTS))


@pytest.mark.parametrize(
    ("program", "says"),
    [("false", "exit status 1"), ("sh -c 'exit 3'", "exit status 3"), ("sh -c 'kill -9 $$'", "SIGKILL")],
)
def test_a_child_that_ends_without_a_word_is_a_finding(tmp_path, monkeypatch, capsys, program, says):
    """A Python that cannot start (a broken prefix, a missing library) ends with status 1, as a failed probe does."""
    stub = tmp_path / "python"
    stub.write_text(f"#!/bin/sh\nexec {program}\n")
    stub.chmod(0o755)
    run = load("run")
    monkeypatch.setattr(sys, "executable", str(stub))
    options = SimpleNamespace(expect="", seconds=1.0, timeout=30.0, level="driver", plan="")
    assert run.supervise("cuda", options) == 1
    found, begun = outcome.read(capsys.readouterr().out.splitlines())
    assert begun == ""
    assert [(item.name, item.status) for item in found] == [("cuda.run", "fail")]
    assert says in found[0].why


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (["jax_cuda12_plugin-0.4.30.dist-info", "jaxlib-0.4.30.dist-info"], "cuda12"),
        (["jaxlib-0.3.25+cuda11.cudnn82.dist-info"], "cuda11"),
        (["jax_rocm60_plugin-0.4.35.dist-info"], "rocm6"),
        (["jaxlib-0.4.30.dist-info", "unrelated-1.dist-info", "jax-cuda12-plugin"], "cpu"),
        ([], "cpu"),
    ],
)
def test_the_runtime_of_jax_is_read_from_what_is_installed(tmp_path, monkeypatch, folders, expected):
    for folder in folders:
        (tmp_path / folder).mkdir()
    adapter = load("jax_checks").Jax
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    assert adapter.runtime(None) == expected
