"""Conda environment files: channels, match specifications, and the pip section inside; and Cog's cog.yaml.

Source: Cog documentation, "cog.yaml" (``build``: ``gpu``, ``python_version``, ``python_packages``, ``run``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from compat.errors import InputError
from compat.sources import installers, requirements, shell
from compat.sources.documents import Located, read_yaml
from compat.sources.values import Ask, Install, Stage

_LISTS: Final = ("pre_install", "python_packages", "run", "system_packages")  # keys of Cog's ``build``


def read(text: str, file: str) -> Ask:
    """What a conda environment file asks for.

    Raises:
        InputError: if it is not YAML.
    """
    document = read_yaml(text, file)
    dependencies = document.get("dependencies")
    requests = [found for item in dependencies.items() if (found := installers.conda_request(item.text, item.line))]
    python = next((item.spec for item in requests if item.name == "python"), "")
    channels = tuple(item.text for item in document.get("channels").items())
    conda = Install(manager="conda", requests=tuple(requests), channels=channels, line=dependencies.line)
    installs = [conda, *(_pip(item.get("pip")) for item in dependencies.items() if item.get("pip").value)]
    env = {name: item.text for name, item in document.get("variables").table().items()}
    stage = Stage(installs=tuple(installs), env=env)
    return Ask(file=file, kind="conda", stages=(stage,), python=python.strip("=").removesuffix(".*"))


def read_cog(text: str, file: str) -> Ask:
    """What a cog.yaml asks for: its packages, or its list of them, then what it runs.

    Raises:
        InputError: if it is not YAML, or a part is of another kind than Cog's own schema says.
    """
    build = read_yaml(text, file).get("build")
    for key, part in (("build", build), *((f"build.{name}", build.get(name)) for name in _LISTS)):
        if not isinstance(part.value, (dict if part is build else list, type(None))):
            expected = "a table" if part is build else "a list, each item on a line that begins with `- `"
            raise InputError(f"{key} is of another kind", where=f"{file}:{part.line}", expected=expected)
    files = tuple(item.text for item in build.get("python_requirements").items())
    packages = _pip(build.get("python_packages"))
    runs = [*build.get("pre_install").items(), *build.get("run").items()]
    commands = tuple(
        found
        for item in runs
        for found in shell.commands((item.get("command") if item.table() else item).text, item.line)
    )
    installs = (replace(packages, files=(*packages.files, *files)), *installers.installs(commands))
    stage = Stage(installs=installs, commands=commands)
    python, gpu = build.get("python_version").text, build.get("gpu").text.lower() == "true"
    return Ask(file=file, kind="conda", stages=(stage,), python=python, gpu=gpu)


def _pip(section: Located) -> Install:
    """The pip section; each of its items is one requirement line."""
    steps = [requirements.from_text(item.text, item.line)[0] for item in section.items()]
    return Install(
        manager="pip",
        requests=tuple(request for step in steps for request in step.requests),
        index=next((step.index for step in steps if step.index), ""),
        extra_indexes=tuple(url for step in steps for url in step.extra_indexes),
        find_links=tuple(url for step in steps for url in step.find_links),
        files=tuple(name for step in steps for name in step.files),
        options=tuple(option for step in steps for option in step.options),
        refused=tuple(line for step in steps for line in step.refused),
        line=section.line,
    )
