"""What reaches a command is of the type that it declares, though Typer's own conversion runs only where it must."""

import json
import os
import subprocess
import sys
from typing import Annotated, Any

import pytest
import typer

from compat.cli.conversion import Command, Group

COMMANDS = {
    "doctor": ["doctor", "--format", "json", "--fail-on", "never"],
    "resolve": ["resolve", "torch", "--gpu", "A100", "--driver", "550", "--format", "json"],
}


def given(*words: str) -> dict[str, Any]:
    """What a command with one parameter of each kind is called with."""
    told: dict[str, Any] = {}
    app = typer.Typer(cls=Group, add_completion=False, rich_markup_mode=None)

    @app.command(cls=Command)
    def command(
        names: Annotated[list[str] | None, typer.Argument()] = None,
        *,
        text: Annotated[str, typer.Option()] = "plain",
        many: Annotated[list[str] | None, typer.Option()] = None,
        seconds: Annotated[float, typer.Option(min=0.1)] = 5.0,
        count: Annotated[int, typer.Option()] = 3,
        flag: Annotated[bool, typer.Option("--flag")] = False,
    ) -> None:
        told.update(names=names, text=text, many=many, seconds=seconds, count=count, flag=flag)

    app(args=list(words), standalone_mode=False)
    return told


DEFAULTS = {"text": "plain", "seconds": 5.0, "count": 3, "flag": False}


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        ((), {}),
        (("torch", "jax"), {"names": ["torch", "jax"]}),
        (("--text", "1.10"), {"text": "1.10"}),
        (("--many", "a b", "--many", "a b"), {"many": ["a b", "a b"]}),
        (("--seconds", "2"), {"seconds": 2.0}),
        (("--seconds", "5.0"), {"seconds": 5.0}),
        (("--count", "12"), {"count": 12}),
        (("--flag",), {"flag": True}),
        (("--text=", "--flag", "x"), {"text": "", "flag": True, "names": ["x"]}),
    ],
)
def test_values_have_their_declared_type(words: tuple[str, ...], changed: dict[str, Any]) -> None:
    told = given(*words)
    for name in ("names", "many"):
        assert list(told.pop(name) or ()) == changed.get(name, [])
    wanted = DEFAULTS | {name: value for name, value in changed.items() if name in DEFAULTS}
    assert told == wanted
    assert {name: type(value) for name, value in told.items()} == {name: type(value) for name, value in wanted.items()}


@pytest.mark.parametrize("words", [("--seconds", "soon"), ("--seconds", "0.01"), ("--count", "1.5"), ("--count", "")])
def test_values_of_another_type_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(typer.BadParameter) as caught:
        given(*words)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_short_command_loads_nothing_that_it_does_not_need(name: str) -> None:
    script = "import json, sys; from compat.__main__ import main; main(); print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script, *COMMANDS[name]],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    roots = {module.partition(".")[0] for module in json.loads(done.stdout.splitlines()[-1])}
    assert "typer" in roots
    assert not roots & {"pydantic", "pydantic_core", "rich", "docker", "requests", "jinja2", "yaml", "torch", "numpy"}
