"""Existing files -> what they ask for. The kind of a file is told by its name, else by its content.

Knows no matrix and gives no verdict; :mod:`compat.lint` judges.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from compat.errors import InputError
from compat.sources import requirements
from compat.sources.values import Ask, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from compat.sources.values import Kind

_DEVCONTAINER = re.compile(r'"(?:runArgs|hostRequirements|postCreateCommand|dockerComposeFile|containerEnv)"')
_IGNORE = re.compile(r"#\s*envcheck:\s*ignore(?:\[([\w\s,-]*)\])?\s*$")
_LOCKS = frozenset({"uv.lock", "poetry.lock", "pdm.lock", "pipfile.lock"})


def read(text: str, file: str) -> Ask:
    """What the file ``file`` with content ``text`` asks for.

    Raises:
        InputError: if its kind cannot be told, or it is not what its name says.
    """
    from compat.sources import compose, devcontainer, dockerfile, environment, locks, project

    readers: dict[Kind, Callable[[str, str], Ask]] = {
        "dockerfile": dockerfile.read,
        "devcontainer": devcontainer.read,
        "compose": compose.read,
        "conda": environment.read,
        "pyproject": project.read_project,
        "pipfile": project.read_pipfile,
        "lock": locks.read,
        "requirements": _requirements,
    }
    return replace(readers[kind_of(text, file)](text, file), silenced=_silenced(text))


def _silenced(text: str) -> dict[int, frozenset[str]]:
    """Lines that a comment ``# envcheck: ignore[code, code]`` silences: its own, and the one below a comment alone."""
    found: dict[int, frozenset[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if comment := _IGNORE.search(line):
            codes = frozenset(part.strip() for part in (comment[1] or "").split(",") if part.strip())
            found[number + 1 if line.lstrip().startswith("#") else number] = codes
    return found


def _requirements(text: str, file: str) -> Ask:
    install, unread = requirements.from_text(text)
    return Ask(file=file, kind="requirements", stages=(Stage(installs=(install,)),), unread=unread)


def kind_of(text: str, file: str) -> Kind:
    """The kind of a file.

    Raises:
        InputError: if neither name nor content tells.
    """
    name = PurePath(file).name.lower()
    if name in _LOCKS or (name.startswith("pylock.") and name.endswith(".toml")):
        return "lock"
    if name in {"pyproject.toml", "pipfile"}:
        return "pyproject" if name.endswith(".toml") else "pipfile"
    if name.endswith("devcontainer.json") or (name.endswith((".json", ".jsonc")) and _DEVCONTAINER.search(text)):
        return "devcontainer"
    if name.endswith((".yml", ".yaml")):
        return _yaml_kind(text, file)
    if "dockerfile" in name or "containerfile" in name or re.search(r"(?m)^FROM\s+\S+", text):
        return "dockerfile"
    if name.endswith((".txt", ".in", ".pip")) or re.search(r"(?m)^[A-Za-z][\w.-]*\s*([=<>~!]=|$)", text):
        return "requirements"
    raise InputError(
        "what kind of file this is cannot be told",
        where=file,
        expected="Dockerfile, requirements, devcontainer, YAML, TOML or a lock",
    )


def _yaml_kind(text: str, file: str) -> Kind:
    """Compose file, conda environment or conda-lock file, told by the keys that each must have.

    Raises:
        InputError: if it has neither.
    """
    if re.search(r"(?m)^package\s*:", text) and re.search(r"(?m)^metadata\s*:", text):
        return "lock"
    if re.search(r"(?m)^services\s*:", text):
        return "compose"
    if re.search(r"(?m)^dependencies\s*:", text):
        return "conda"
    raise InputError(
        "neither a compose file nor a conda environment", where=file, expected="services: or dependencies:"
    )
