"""Conda environment files: channels, match specifications, and the pip section inside."""

from __future__ import annotations

from compat.sources import installers, requirements
from compat.sources.documents import Located, read_yaml
from compat.sources.values import Ask, Install, Stage


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
    installs = [conda, *(_pip(item) for item in dependencies.items() if item.get("pip").value)]
    env = {name: item.text for name, item in document.get("variables").table().items()}
    stage = Stage(installs=tuple(installs), env=env)
    return Ask(file=file, kind="conda", stages=(stage,), python=python.strip("=").removesuffix(".*"))


def _pip(section: Located) -> Install:
    """The pip section; each of its items is one requirement line."""
    items = section.get("pip").items()
    steps = [requirements.from_text(item.text, item.line)[0] for item in items]
    return Install(
        manager="pip",
        requests=tuple(request for step in steps for request in step.requests),
        index=next((step.index for step in steps if step.index), ""),
        extra_indexes=tuple(url for step in steps for url in step.extra_indexes),
        find_links=tuple(url for step in steps for url in step.find_links),
        files=tuple(name for step in steps for name in step.files),
        options=tuple(option for step in steps for option in step.options),
        line=section.line,
    )
