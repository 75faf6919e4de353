"""``[tool.envcheck]``: what it may hold, that slips are refused, and what generated CI installs."""

import json
from pathlib import Path

import jsonschema
import pytest

from compat import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text):
        (tmp_path / "pyproject.toml").write_text(text)

    return write


@pytest.mark.parametrize(
    ("document", "sound"),
    [
        ({"image": {"form": "factory", "apt": ["git"], "files": {"app": "/app"}}}, True),
        ({"matrix": {"frameworks": ["torch", ["jax", "numpy"]], "gpu": ["A100"]}}, True),
        ({"image": {"aptt": ["git"]}}, False),
        ({"imagee": {}}, False),
        ({"ci": {"install": 3}}, False),
    ],
)
def test_the_published_schema_takes_what_the_code_takes(document, sound):
    schema = json.loads((ROOT / "docs" / "schemas" / "envcheck.config-1.json").read_text("utf-8"))
    assert jsonschema.Draft202012Validator(schema).is_valid(document) is sound


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.envcheck.imagee]\nform = 'factory'\n", "unknown table 'imagee'"),
        ("[tool.envcheck.image]\nfrom = 'factory'\n", "unknown key 'from'"),
        ("[tool.envcheck.image]\nform = 'short'\n", "plain or factory"),
        ("[tool]\nenvcheck = 3\n", "is no table"),
    ],
)
def test_a_slip_in_the_configuration_is_refused(envcheck, project, text, said):
    project(text)
    code, out, err = envcheck("dockerfile", "torch", "--cpu")
    assert (code, out) == (2, "")
    assert said in err


def test_the_form_of_the_configuration_is_taken_and_an_option_wins(envcheck, project):
    project("[tool.envcheck.image]\nform = 'factory'\nbytecode = false\n")
    assert "AS installer" in envcheck("dockerfile", "torch", "--cpu")[1]
    plain = envcheck("dockerfile", "torch", "--cpu", "--form", "plain")[1]
    assert "AS installer" not in plain
    assert "--no-compile" in plain


@pytest.mark.parametrize(
    ("record", "source"),
    [
        (None, f"envcheck-gpu=={__version__}"),
        ({"url": "file:///home/x/envcheck", "dir_info": {"editable": True}}, ""),
        ({"url": "https://x.example/e.git", "vcs_info": {"vcs": "git", "commit_id": "ab" * 20}}, f"git+https://x.example/e.git@{'ab' * 20}"),
        ({"url": "https://x.example/e.whl", "archive_info": {"hashes": {"sha256": "0" * 64}}}, f"https://x.example/e.whl#sha256={'0' * 64}"),
        ({"url": "https://x.example/e.whl", "archive_info": {}}, ""),
        ({"url": "file:///tmp/e.whl", "archive_info": {"hashes": {"sha256": "0" * 64}}}, ""),
    ],
)  # fmt: skip
def test_generated_jobs_install_what_this_installation_came_from(envcheck, project, monkeypatch, record, source):
    from importlib import metadata

    class Installed:
        def read_text(self, _name):
            return None if record is None else json.dumps(record)

    monkeypatch.setattr(metadata, "distribution", lambda _name: Installed())
    project("[project]\nname = 'x'\n")
    code, _, err = envcheck("ci", "torch", "--runtime", "cpu", "--format", "workflow", "--output", ".")
    assert code == (0 if source else 2)
    if source:
        assert source in Path(".github/workflows/gpu-images.yml").read_text("utf-8")
    else:
        assert "[tool.envcheck.ci]" in err
    project('[tool.envcheck.ci]\ninstall = "./here.whl"\n')
    envcheck("ci", "torch", "--runtime", "cpu", "--format", "workflow", "--output", ".")
    assert "pip install ./here.whl" in Path(".github/workflows/gpu-images.yml").read_text("utf-8")


@pytest.mark.parametrize(
    ("environment", "colours"),
    [({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False), ({"FORCE_COLOR": ""}, False), ({}, False)],
)  # fmt: skip
def test_colours_can_be_forced_where_no_terminal_reads(envcheck, monkeypatch, environment, colours):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in envcheck("explain", "no-gpu-here")[1]) is colours
