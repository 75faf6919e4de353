"""The shipped workflow's own shell steps, run here in order against an index on loopback, with a stand-in for GitHub."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
pytest.importorskip("requests")

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "refresh.yml"
GH = """#!/bin/sh
printf '%s\\n' "$*" >> "$RUNNER_TEMP/gh.txt"
"""
MATRIX = """schema = "envcheck.matrix/1"

builds.demo = [
  { versions = "1.0", runtime = "cuda12.8", python = "3.11", platforms = "linux_x86_64", source = "s", how = "measured" },
]

[sources]
s = "a source"
"""


def steps():
    job = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]["refresh"]
    return [step["run"] for step in job["steps"] if "run" in step and not step["run"].startswith("pip ")]


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", "-C", folder, *identity, *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def checkout(tmp_path):
    """A repository with the scripts as they are, and a matrix of one package; ``origin`` is a bare one beside it."""
    folder = tmp_path / "checkout"
    (folder / "matrix" / "observed").mkdir(parents=True)
    (folder / "matrix" / "claims").mkdir()
    (folder / "matrix" / "claims" / "sources.csv").write_text("id,citation\n")
    (folder / "matrix" / "disagreements.json").write_text("[]")
    (folder / "matrix" / "demo.toml").write_text(MATRIX)
    empty = {"schema": "envcheck.observed/1", "package": "demo", "releases": {}}
    (folder / "matrix" / "observed" / "demo.json").write_text(json.dumps(empty))
    (folder / "scripts").symlink_to(ROOT / "scripts")
    (folder / "compat").mkdir()
    for part in (ROOT / "compat").iterdir():
        (folder / "compat" / part.name).symlink_to(part)
    (folder / "compat" / "resources.py").unlink()  # which finds the matrix beside itself, so it is here in person
    shutil.copy(ROOT / "compat" / "resources.py", folder / "compat")
    git(tmp_path, "init", "--quiet", "--bare", "origin.git")
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "checkout")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    git(folder, "remote", "add", "origin", str(tmp_path / "origin.git"))
    return folder


@pytest.fixture
def runner(checkout, tmp_path, site):
    """Runs the steps as GitHub would; returns what they printed."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in {
        "gh": GH,
        "envcheck": f'#!/bin/sh\nexec {sys.executable} -m compat "$@"\n',
        "python": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
    }.items():
        (tools / name).write_text(text)
        (tools / name).chmod(stat.S_IRWXU)
    (tmp_path / "temp").mkdir()
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": str(checkout),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_INDEX_URL": site.url,
        "HOME": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path / "temp"),
    }

    def run():
        shutil.rmtree(tmp_path / "temp" / "before", ignore_errors=True)
        printed = ""
        for step in steps():  # GitHub's own way to call the shell of a step without a `shell` key
            done = subprocess.run(
                ["bash", "-e", "-c", step], cwd=checkout, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
            printed += done.stdout
        return printed

    return run


def test_a_new_release_is_proposed_in_words_and_once_merged_no_more(site, wheel, checkout, runner, tmp_path):
    site.add("demo-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", wheel(["numpy<2"]), upload_time="2026-01-20T01:02:03Z")
    site.add("demo-2.0-cp312-cp312-manylinux_2_28_x86_64.whl", wheel(["numpy<3"]), upload_time="2026-02-20T01:02:03Z")
    runner()
    body = (tmp_path / "temp" / "body.md").read_text()
    assert "demo 2.0 measured: 2026-02-20; drops Python 3.11; brings Python 3.12; numpy <2 -> <3" in body
    assert "demo 2.0: release: matrix -, wheels there" in body  # the row that is missing
    assert "the index has no torch" in body  # what could not be read is no secret
    pushed = git(tmp_path / "origin.git", "show", "--stat", "--format=%s", "refresh").splitlines()
    assert pushed[0] == "Refresh the measured matrix"
    assert [line.split()[0] for line in pushed if "|" in line] == ["matrix/observed/demo.json"]
    git(checkout, "switch", "--quiet", "main")
    git(checkout, "merge", "--quiet", "refresh")
    printed = runner()
    assert "nothing changed" in printed
    assert printed.endswith("nothing new\n")
    (call,) = (tmp_path / "temp" / "gh.txt").read_text().splitlines()
    assert call.startswith("pr create --head refresh")
