"""Existing files -> what they ask for. The kind of a file is told by its name, else by its content.

Knows no matrix and gives no verdict; :mod:`compat.lint` judges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from compat.errors import InputError, UnknownKindError
from compat.sources import requirements
from compat.sources.values import Ask, Kind, Stage

_DEVCONTAINER = re.compile(r'"(?:runArgs|hostRequirements|postCreateCommand|dockerComposeFile|containerEnv)"')
_IGNORE = re.compile(r"#\s*envcheck:\s*ignore(?:\[([\w\s,-]*)\])?\s*$")
_JOB = re.compile(r"(?m)^#SBATCH\s")
_BY_NAME: Mapping[str, Kind] = {
    "pyproject.toml": "pyproject", "pipfile": "pipfile", "pixi.toml": "pixi",
    "setup.py": "pyproject", "setup.cfg": "pyproject", "cog.yaml": "cog",
}  # fmt: skip
# Keys that a YAML file of a kind has at its top; the first kind whose keys are all there counts.
_KEYS: Mapping[Kind, tuple[str, ...]] = {
    "lock": (r"^package\s*:", r"^metadata\s*:"),
    "kubernetes": (r"^apiVersion\s*:", r"^kind\s*:"),
    "workflow": (r"^jobs\s*:", r"^['\"]?on['\"]?\s*:"),
    "compose": (r"^services\s*:",),
    "conda": (r"^dependencies\s*:",),
}
# What ends no line where people see one, though it does for str.splitlines.
_NO_ENDS = str.maketrans(dict.fromkeys("\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "))
LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock")
_LOCKS = frozenset(map(str.lower, LOCKS))


def read(text: str, file: str) -> Ask:
    """What the file ``file`` with content ``text`` asks for.

    Raises:
        UnknownKindError: if its kind cannot be told.
        InputError: if it is not what its name says.
    """
    from compat.sources import (
        compose,
        devcontainer,
        dockerfile,
        environment,
        jobs,
        kubernetes,
        locks,
        pixi,
        project,
        workflow,
    )
    from compat.sources import setuptools as setup

    readers: dict[Kind, Callable[[str, str], Ask]] = {
        "dockerfile": dockerfile.read,
        "devcontainer": devcontainer.read,
        "compose": compose.read,
        "conda": environment.read,
        "cog": environment.read_cog,
        "pyproject": {"setup.py": setup.read_py, "setup.cfg": setup.read_cfg}.get(
            PurePath(file).name, project.read_project
        ),
        "kubernetes": kubernetes.read,
        "job": jobs.read,
        "workflow": workflow.read,
        "pixi": pixi.read,
        "pipfile": project.read_pipfile,
        "lock": locks.read,
        "requirements": _requirements,
    }
    text = text.translate(_NO_ENDS)
    return replace(readers[kind_of(text, file)](text, file), silenced=_silenced(text))


def joined(ask: Ask, files: Sequence[Ask]) -> Ask:
    """What a devcontainer.json asks for with what its compose files say: :func:`compat.sources.devcontainer.joined`."""
    from compat.sources import devcontainer

    return devcontainer.joined(ask, [one for one in files if one.kind == "compose"])


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
        UnknownKindError: if neither name nor content tells.
    """
    name = PurePath(file).name.lower()
    if name in _LOCKS or re.fullmatch(r"pylock\.(?:.*\.)?toml|pipfile\..*lock.*", name):
        return "lock"
    bare = "pipfile" if name.startswith("pipfile.") else name  # one for each machine: Pipfile.gpu
    if found := _BY_NAME.get(bare) or ("job" if _JOB.search(text) else None):
        return found
    if name.endswith("devcontainer.json") or (name.endswith((".json", ".jsonc")) and _DEVCONTAINER.search(text)):
        return "devcontainer"
    if name.endswith((".yml", ".yaml")):
        return _yaml_kind(text, file)
    if "dockerfile" in name or "containerfile" in name or re.search(r"(?m)^FROM\s+\S+", text):
        return "dockerfile"
    if name.endswith((".txt", ".in", ".pip")) or _lists(text):
        return "requirements"
    raise UnknownKindError(
        "what kind of file this is cannot be told",
        where=file,
        expected="Dockerfile, requirements, devcontainer, YAML, TOML or a lock",
    )


def _lists(text: str) -> bool:
    """Whether a text lists requirements, and is no program or prose in which a line looks like one."""
    install, unread = requirements.from_text(text)
    return len(install.requests) > len(unread) and not text.startswith("#!")


def _yaml_kind(text: str, file: str) -> Kind:
    """Compose file, manifest, workflow, conda environment or conda-lock file, told by the keys that each must have."""
    for kind, keys in _KEYS.items():
        if all(re.search(key, text, re.MULTILINE) for key in keys):
            return kind
    raise InputError(
        "neither a compose file nor a conda environment nor a manifest",
        where=file,
        expected="services:, dependencies:, apiVersion: with kind:, or jobs: with on:",
    )
