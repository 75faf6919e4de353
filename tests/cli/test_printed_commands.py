"""Every ``envcheck`` command that we print is understood: in help, README, docs, hints, pages of findings, remedies.

A command's name alone (``envcheck lint``) names it and is not meant to be typed so.
"""

import re
import shlex
from pathlib import Path

import pytest

from compat import cli
from compat.cli import COMMANDS
from compat.cli.application import application

ROOT = Path(__file__).parents[2]
CODE = sorted((ROOT / "compat").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
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


# Subjects and codes are looked up only when a command runs; these run without a network and at once.
QUICK = [
    command
    for command in sorted(COMMANDS_PRINTED)
    if command.split()[1] in {"matrix", "explain", "resolve", "dockerfile"}
    and not re.search(r"\.json|\.toml|--output|--host|matrix diff|matrix check|--plan|--lock|-r ", command)
]


@pytest.mark.parametrize("command", QUICK)
def test_a_printed_command_that_needs_no_file_runs(command, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli.run(shlex.split(command)[1:]) in {0, 1}
    assert "unknown" not in capsys.readouterr().err
