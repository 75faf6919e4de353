"""Workflows of GitHub Actions: the container of each job, and what its ``run`` steps install.

Source: GitHub documentation, "Workflow syntax for GitHub Actions" (``jobs.<id>.container``, ``steps[*].run``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from compat.sources import installers, shell
from compat.sources.documents import Located, read_yaml
from compat.sources.values import Ask, Command, Install, Stage

_EXPRESSION: Final = re.compile(r"\$\{\{.*?\}\}")
_OF_MATRIX: Final = re.compile(r"\$\{\{ *matrix\.([\w-]+) *\}\}")
_MOST: Final = 16  # images of one job, each with all of its steps
_PYTHON: Final = re.compile(r"3\.\d{1,2}")


def read(text: str, file: str) -> Ask:
    """What the jobs of a workflow ask for, one stage for each of its images; other values of the matrix are not known.

    Raises:
        InputError: if it is not YAML.
    """
    document = read_yaml(text, file)
    jobs = document.get("jobs").table()
    jobs_ = ((name, body) for name, body in jobs.items() if body.get("steps").items())
    stages = tuple(_stage(name, body, image) for name, body in jobs_ for image in _images(body))
    return Ask(file=file, kind="workflow", stages=stages)


def _images(job: Located) -> list[Located]:
    """The image of a job's container, or those that its matrix has for it; one without text where it has none."""
    container = job.get("container")
    image = container.get("image") if container.table() else container
    known = {each.text: each for each in (*_of(image, job), *_included(image, job)) if "${{" not in each.text}
    return [*known.values()][:_MOST] or [image]


def _stage(name: str, job: Located, image: Located) -> Stage:
    """One job; without a container it runs on GitHub's machine, which has a Python of its own."""
    python = ""
    commands: list[Command] = []
    installs: list[Install] = []
    for step in job.get("steps").items():
        uses, asked = step.get("uses"), step.get("with").get("python-version")
        if uses.text.startswith("actions/setup-python"):
            python = number if _PYTHON.fullmatch(number := _number(asked)) else ""
            surely = not step.get("if").text
            commands += (
                Command(("feature", uses.text, _number(each)), each.line, build=surely) for each in _of(asked, job)
            )
        elif uses.text:  # an action brings what it likes, as a feature of a development container does
            commands.append(Command(("feature", uses.text), uses.line, build=False))
        found = [replace(each, guarded=True) for each in _commands(step)]
        commands += found
        folder = step.get("working-directory").text or job.get("defaults").get("run").get("working-directory").text
        for command in found:
            folder = f"{folder}/{command.words[-1]}" if command.words[0] == "cd" else folder
            installs += (_known(each, python, folder) for each in installers.installs([command]))
    base = "" if "${{" in image.text else image.text
    env = {key: item.text for key, item in job.get("env").table().items() if "${{" not in item.text}
    commands += _machines(job)
    return Stage(
        name=name, base=base,
        written=image.text, line=image.line or job.line, installs=tuple(installs),
        commands=tuple(commands), env=env,
    )  # fmt: skip


def _number(value: Located) -> str:
    """A text, or a number as it is passed on: 3.10 without quotes is 3.1."""
    return value.text.rstrip("0") if value.plain and re.fullmatch(r"\d\.\d*[1-9]0+", value.text) else value.text


def _machines(job: Located) -> Iterator[Command]:
    """The machines of GitHub that a job starts on; one that its matrix includes has the entries of its own alone."""
    asked = job.get("runs-on")
    labels = _of(asked, job)
    if not any(each.text == "self-hosted" for each in labels):
        yield from (Command(("runs-on", each.text), each.line) for each in labels if each.text)
    yield from (Command(("runs-on", each.text), each.line, build=False) for each in _included(asked, job))


def _included(value: Located, job: Located) -> list[Located]:
    """What the entries that a job's matrix includes have in the place of a value."""
    named, included = _OF_MATRIX.fullmatch(value.text), job.get("strategy").get("matrix").get("include").items()
    return [each for entry in included if named and (each := entry.get(named[1])).text]


def _of(value: Located, job: Located) -> list[Located]:
    """The values that a job has for an entry: those of its matrix where that leaves none out, else its own."""
    named, matrix = _OF_MATRIX.fullmatch(value.text), job.get("strategy").get("matrix")
    listed = matrix.get(named[1]).items() if named and not matrix.get("exclude").items() else []
    return listed or value.items() or [value]


def _commands(step: Located) -> Iterator[Command]:
    """The commands of a step that runs a script in a shell of Linux."""
    run = step.get("run")
    if run.text and step.get("shell").text in {"", "bash", "sh"} and not step.get("if").text:
        # a block begins on the line below its key
        yield from shell.commands(_EXPRESSION.sub("$EXPRESSION", run.text), run.line + ("\n" in run.text))


def _known(step: Install, python: str, folder: str) -> Install:
    """A step with the job's Python and its files from the root, without what a value of the matrix decides."""
    requests = tuple(each for each in step.requests if "$" not in each.name + each.spec + each.url)
    files = tuple(f"{folder}/{name}" if folder else name for name in step.files)
    return replace(step, requests=requests, files=files, python=step.python or python)
