"""The hook of pre-commit and the composite action: read as their tools read them, and their steps run."""

import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from compat import cli
from compat.app.folders import _is_known as is_known

ROOT = Path(__file__).resolve().parents[2]
HOOK = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))[0]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = ACTION["runs"]["steps"]
BAD = "torch==2.1.0\ntorchvision==0.20.0\n"


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("Dockerfile", True),
        ("docker/gpu.Dockerfile", True),
        ("docker/Dockerfile.gpu", True),
        ("Containerfile", True),
        ("src/dockerfile.py", False),
        ("templates/Dockerfile.j2", False),
        ("docs/Dockerfile.md", False),
        ("requirements.txt", True),
        ("requirements-dev.in", True),
        ("requirements/gpu.txt", True),
        ("a/constraints.txt", True),
        ("notes.txt", False),
        ("pyproject.toml", True),
        ("Cargo.toml", False),
        ("pixi.toml", True),
        ("models/cog.yaml", True),
        ("cog-notes.yaml", False),
        ("setup.py", True),
        ("tools/setup.cfg", True),
        ("setup.sh", False),
        ("jobs/train.sbatch", True),
        ("train.slurm", True),
        ("uv.lock", True),
        ("pylock.gpu.toml", True),
        ("Pipfile", True),
        ("environment.yml", True),
        ("conda/environment-gpu.yaml", True),
        (".github/workflows/ci.yml", True),
        (".github/labels.yml", False),
        ("compose.yaml", True),
        ("docker-compose.gpu.yml", True),
        (".devcontainer/devcontainer.json", True),
        ("package.json", False),
    ],
)
def test_the_hook_and_lint_of_a_folder_take_the_same_files(path, known):
    assert is_known(path) is known
    assert bool(re.search(HOOK["files"], path)) is known


def test_the_hook_fails_for_a_file_that_does_not_fit(tmp_path, capsys):
    (tmp_path / "requirements.txt").write_text(BAD)
    words = shlex.split(HOOK["entry"])
    assert words[0] == "envcheck"
    assert cli.run([*words[1:], str(tmp_path / "requirements.txt")]) == 1
    (tmp_path / "requirements.txt").write_text("torch==2.9.1\n")
    assert cli.run([*words[1:], str(tmp_path / "requirements.txt")]) == 0
    capsys.readouterr()


def test_actions_are_pinned_by_commit_and_inputs_never_become_shell_text():
    for step in STEPS:
        assert "run" in step or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])
        assert "${{" not in step.get("run", "")
    named = set(re.findall(r"inputs\.([\w-]+)", yaml.safe_dump(STEPS)))
    assert named == set(ACTION["inputs"])


@pytest.fixture
def runner(tmp_path):
    """Run the action's steps as GitHub would, in a folder, for some inputs; gives the exit code of each by name."""
    program = tmp_path / "temp" / "envcheck" / "bin" / "envcheck"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m compat "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def go(folder, **given):
        inputs = {name.replace("-", "_"): row["default"] for name, row in ACTION["inputs"].items()} | given
        known = {**os.environ, "RUNNER_TEMP": str(tmp_path / "temp"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
        codes = {}
        for step in STEPS:
            asked = re.fullmatch(r"inputs\.([\w-]+) == 'true'", step.get("if", ""))
            if "run" not in step or step["name"] == "Install" or (asked and inputs[asked[1]] != "true"):
                continue
            own = {
                key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda name: inputs[name[1].replace("-", "_")], text)
                for key, text in step.get("env", {}).items()
            }
            script = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
            env = {**known, **own, "PYTHONPATH": str(ROOT)}
            codes[step["name"]] = subprocess.run(script, cwd=folder, env=env, check=False).returncode
        return codes

    return go


def test_the_steps_of_the_action_run(runner, tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "requirements.txt").write_text(BAD)
    assert runner(folder, doctor="true", sarif="true") == {"Doctor": 0, "Findings for code scanning": 0, "Lint": 1}
    assert "Python" in (tmp_path / "summary").read_text()
    assert '"2.1.0"' in (folder / "envcheck.sarif").read_text()
    assert runner(folder, fail_on="never") == {"Lint": 0}
    assert runner(folder, files="other.txt") == {"Lint": 2}
    (folder / "requirements.txt").write_text("torch==2.0.1\n")
    assert runner(folder) == {"Lint": 0}
    assert runner(folder, options="--gpu 5090") == {"Lint": 1}
    assert runner(folder, files="requirements.txt; touch hacked") == {"Lint": 2}
    assert not (folder / "hacked").exists()
