"""CI files against the CI systems' own schemas, and the cells of this repository's own matrix."""

import json
import os
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
def test_a_whole_pipeline_is_what_its_system_reads(envcheck, tmp_path, monkeypatch, format_, name, schema):
    pytest.importorskip("check_jsonschema")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.envcheck.ci]\ninstall = "./wheels/envcheck ${{ x }}.whl"\n')
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


def baker():
    """The words that start buildx: as the engine's plug-in, or the plug-in itself where the client does not know it."""
    places = ["/usr/libexec/docker/cli-plugins/docker-buildx", os.environ.get("ENVCHECK_BUILDX", "")]
    tries = [[shutil.which("docker") or "", "buildx"], *([path] for path in places)]
    for words in tries:
        if (
            words[0]
            and os.access(words[0], os.X_OK)
            and not subprocess.run([*words, "version"], capture_output=True).returncode
        ):
            return words
    pytest.skip("no docker buildx here")


def test_bake_prints_what_it_would_build_and_the_same_from_both_spellings(envcheck, tmp_path):
    words, printed = baker(), []
    for format_, name in (("bake", "bake.json"), ("bake-hcl", "docker-bake.hcl")):
        path = tmp_path / name
        code, said, _ = envcheck(*WORDS, "--format", format_, "--output", str(path))
        assert (code, said) == (0, "")
        done = subprocess.run([*words, "bake", "--print", "-f", str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed.append(json.loads(done.stdout))
    assert printed[0] == printed[1]
    assert len(printed[0]["target"]) >= 3
    # newer releases print what could be read again, with the mark of a variable doubled
    files = [target["dockerfile-inline"].replace("$${", "${") for target in printed[0]["target"].values()]
    assert all("FROM ${BASE" in file for file in files)
    environment = os.environ | {"IMAGE": "registry.example/team/gpu"}
    named = subprocess.run(
        [*words, "bake", "--print", "-f", str(path)], capture_output=True, text=True, env=environment
    )
    tags = [tag for target in json.loads(named.stdout)["target"].values() for tag in target["tags"]]
    assert all(tag.startswith("registry.example/team/gpu:") for tag in tags)
