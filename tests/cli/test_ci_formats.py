"""CI files against the CI systems' own schemas, and the cells of this repository's own matrix."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compat import plan

ROOT = Path(__file__).resolve().parents[2]
WORDS = ["ci", "torch==2.9.1", "jax==0.6.2", "--runtime", "cpu", "--runtime", "cuda12.8", "--python", "3.12"]


def accepted(path, schema):
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)],
        capture_output=True,
        text=True,
    )
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("format_", "name", "schema"),
    [("workflow", "w.yml", "vendor.github-workflows"), ("gitlab", ".gitlab-ci.yml", "vendor.gitlab-ci")],
)
def test_a_whole_pipeline_is_what_its_system_reads(envcheck, tmp_path, format_, name, schema):
    pytest.importorskip("check_jsonschema")
    code, out, _ = envcheck(*WORDS, "--format", format_)
    assert code == 0
    path = tmp_path / name
    path.write_text(out)
    ok, said = accepted(path, schema)
    assert ok, said


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_our_own_workflows_are_valid(path):
    pytest.importorskip("check_jsonschema")
    ok, said = accepted(path, "vendor.github-workflows")
    assert ok, said


def test_every_cell_of_our_own_matrix_has_a_plan_to_replay(envcheck):
    code, out, _ = envcheck("ci", "--config", str(ROOT / "pyproject.toml"), "--format", "github")
    assert code == 0
    cells = json.loads(out)["include"]
    assert len(cells) >= 6
    assert "\n" not in out.strip()
    for cell in cells:
        stored = plan.load(json.loads(cell["plan"]), cell["name"]).plan
        assert stored.runtime == cell["runtime"]


def test_bake_prints_what_it_would_build(envcheck, tmp_path):
    docker = shutil.which("docker")
    if not docker or subprocess.run([docker, "buildx", "version"], capture_output=True).returncode:
        pytest.skip("no docker buildx here")
    path = tmp_path / "bake.json"
    path.write_text(envcheck(*WORDS, "--format", "bake")[1])
    done = subprocess.run([docker, "buildx", "bake", "--print", "-f", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    targets = json.loads(done.stdout)["target"]
    assert all("FROM ${BASE}" in target["dockerfile-inline"] for target in targets.values())
