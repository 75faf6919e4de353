"""Every ``envcheck`` command that we print is understood: in help, README, docs, hints, pages of findings, remedies.

A command's name alone (``envcheck lint``) names it and is not meant to be typed so.
"""

import io
import json
import re
import shlex
from pathlib import Path

import pytest

from compat import cli
from compat.cli import COMMANDS
from compat.cli.application import application

ROOT = Path(__file__).parents[2]
CODE = sorted((ROOT / "compat").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# What stands for a value: a word in capitals, dots, a value that the code fills in.
_BLANK = re.compile(r"\b[A-Z][A-Z_]+\b|\.\.\.|[{}<>]|\bX\.Y\b|NNN")


def printed():
    """Commands in backquotes, fenced blocks and after a dollar sign."""
    found = {}
    for path in (*CODE, *PAGES):
        text = path.read_text("utf-8")
        quoted = re.findall(r"(?<!`)`(envcheck [a-z][^`\n]*)`(?!`)", text)
        lines = re.findall(r"^(?:\s*\$ |\s*Example: |)(envcheck [a-z]+(?: [^\n]*)?)$", text, re.MULTILINE)
        for command in (*quoted, *lines):
            found.setdefault(command.partition("  ")[0].partition(" > ")[0].strip(), path.relative_to(ROOT))
    return {
        command: path
        for command, path in found.items()
        if len(command.split()) > 2 and command.split()[1] in COMMANDS and not _BLANK.search(command)
    }


COMMANDS_PRINTED = printed()


def parse(words):
    """Read the words as the command line does, without running anything."""
    app = application([words[0]])
    import typer

    group = typer.main.get_command(app)
    with group.make_context("envcheck", list(words), resilient_parsing=False) as context:
        name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
        while hasattr(command, "resolve_command") and rest:
            inner = command.make_context(name, list(rest), parent=context)
            name, command, rest = command.resolve_command(inner, [*inner._protected_args, *inner.args])
        command.make_context(name, list(rest), parent=context)


def test_commands_are_found_at_all():
    assert len(COMMANDS_PRINTED) > 30
    assert "envcheck matrix list gpus" in COMMANDS_PRINTED


@pytest.mark.parametrize("command", sorted(COMMANDS_PRINTED))
def test_a_printed_command_is_understood(command):
    try:
        parse(shlex.split(command)[1:])
    except Exception as error:  # noqa: BLE001 - Typer's usage errors have no importable base
        pytest.fail(f"{COMMANDS_PRINTED[command]}: {command}: {error!r} {getattr(error, 'message', '')}")


def _kubernetes():
    """What ``kubectl get nodes -o json`` prints of one node."""
    labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/cuda.driver-version.full": "535.104.05"}
    return json.dumps({"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "n1", "labels": labels}}]})


# A folder that the node exporter's package makes.
COLLECTOR = "/var/lib/node_exporter/textfile_collector/"
_IMAGE = [f"scripts/deploy/image/{name}" for name in ("plan.json", "image.toml")]
# Files that commands name, as a person would have them; those behind --output are ours to write.
FILES = {
    "Dockerfile": "FROM python:3.11-slim\nRUN pip install torch==2.9.1\n",
    "requirements.txt": "torch==2.9.1\n",
    "pyproject.toml": '[tool.envcheck.matrix]\nframeworks = ["jax"]\nruntime = ["cpu"]\n[tool.envcheck.ci]\ninstall = "x"\n',
    "issue.md": "NVIDIA-SMI 535.54.03   Driver Version: 535.54.03   CUDA Version: 12.2\ntorch==2.9.1+cu128\n",
    "nodes.json": _kubernetes(),
    "my-rows.toml": 'schema = "envcheck.matrix/1"\n',
    "docs/example-host.toml": (ROOT / "docs" / "example-host.toml").read_text("utf-8"),
    **{path.name: path.read_text("utf-8") for path in (ROOT / "docs/howto/files").iterdir()},
    **{name: (ROOT / name).read_text("utf-8") for name in _IMAGE},
    "node7.json": '{"os": "ubuntu22.04", "gpus": [{"name": "A100"}], "driver": "550.54.14"}',
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the files, without an engine, and with an index that nobody serves."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-engine.sock")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    (tmp_path / "before").mkdir()
    for folder in (here, tmp_path / "before"):
        (folder / "matrix").symlink_to(ROOT / "matrix", target_is_directory=True)
    return here


@pytest.mark.parametrize("command", sorted(COMMANDS_PRINTED))
def test_a_printed_command_runs(command, place, capsys, monkeypatch):
    """It answers (0, 1), or says that this machine has no engine, device or network (3): never that it was mistyped."""
    words = shlex.split(command.partition(" && ")[0].partition(" | ")[0].replace(COLLECTOR, ""))[1:]
    for before, word in zip(("", *words), words, strict=False):
        if word in FILES and before != "--output":
            (place / word).parent.mkdir(parents=True, exist_ok=True)
            (place / word).write_text(FILES[word])
    if words[0] == "fleet" and not set(words) & set(
        FILES
    ):  # sources beside those: files of the nodes that a person has
        source = next((word for word in words[1:] if "=" not in word and not word.startswith("--")), "")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(FILES["nodes.json"].encode())))
        if source.endswith("/"):
            (place / source).mkdir(parents=True)
            (place / source / "node7.json").write_text(FILES["node7.json"])
        elif source not in {"", "-"}:
            (place / source).parent.mkdir(parents=True, exist_ok=True)
            (place / source).write_text(FILES["node7.json"])
    if words[:1] == ["ci"] and "--plan" not in words:
        (place / "pyproject.toml").write_text(FILES["pyproject.toml"])
    if "plan.json" in words:
        assert cli.run(["resolve", "jax", "--cpu", "--format", "json", "--output", "plan.json"]) == 0
    code = cli.run(words)
    said = capsys.readouterr()
    lacking = {"build", "verify", "probe", "inspect", "doctor", "fleet", "resolve"}
    assert code in ({0, 1, 3} if words[0] in lacking else {0, 1}), said.err
    assert "unknown" not in said.err


def test_a_command_that_is_mistyped_would_be_noticed(place):
    assert cli.run(["matrix", "list", "gpuss"]) == 2
