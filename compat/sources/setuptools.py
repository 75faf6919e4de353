"""Projects of setuptools: setup.cfg, and setup.py as far as it says its requirements in plain literals; never run.

Source: setuptools documentation, "Dependencies Management in Setuptools" (``install_requires``, ``extras_require``).
"""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterable, Iterator
from typing import Any, Final

from compat.errors import InputError
from compat.sources import requirements
from compat.sources.values import Ask, Install, Stage

_OPEN: Final = "setup.py: {} is no plain list; what it holds is known when it runs"


def read_cfg(text: str, file: str) -> Ask:
    """What a setup.cfg asks for, its extras as groups.

    Raises:
        InputError: if it is no such file.
    """
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError) as error:
        raise InputError(
            f"cannot be read: {str(error).splitlines()[0]}", where=file, expected="sections and keys"
        ) from None
    lines = text.splitlines()
    options = parser["options"] if parser.has_section("options") else {}
    installs = list(_step(_located(str(options.get("install_requires", "")).splitlines(), lines), ""))
    if parser.has_section("options.extras_require"):
        for name, listed in parser["options.extras_require"].items():
            installs += _step(_located(listed.splitlines(), lines), f"+{name}")
    python = str(options.get("python_requires", ""))
    return Ask(file=file, kind="pyproject", stages=(Stage(installs=tuple(installs)),), python=python)


def _located(wanted: Iterable[str], lines: list[str]) -> Iterator[tuple[str, int]]:
    """Requirement lines with the line of the file that holds each."""
    for each in (line.strip() for line in wanted):
        if each:
            yield each, next((number for number, line in enumerate(lines, 1) if each in line), 1)


def _step(wanted: Iterable[tuple[str, int]], branch: str) -> Iterator[Install]:
    found = [request for text, line in wanted if (request := requirements.request(text, line))]
    if found:
        yield Install(manager="pip", requests=tuple(found), branch=branch, line=found[0].line)


def read_py(text: str, file: str) -> Ask:
    """What a setup.py asks for in literals; a name that is set to a list once stands for it.

    Raises:
        InputError: if it is not Python.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"is not Python: {error}", where=file) from None
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    installs: list[Install] = []
    unread: list[str] = []
    python = ""
    for word in _words(tree):
        value = named.get(word.value.id, word.value) if isinstance(word.value, ast.Name) else word.value
        if word.arg == "install_requires":
            listed = _texts(value)
            installs += _step(listed or (), "")
            unread += [] if listed is not None else [_OPEN.format(word.arg)]
        elif word.arg == "extras_require" and isinstance(value, ast.Dict):
            for key, item in zip(value.keys, value.values, strict=True):
                group = str(key.value) if isinstance(key, ast.Constant) else ""
                installs += _step(_texts(item) or (), f"+{group}")
        elif word.arg == "python_requires" and isinstance(value, ast.Constant):
            python = str(value.value)
    stages = (Stage(installs=tuple(installs)),)
    return Ask(file=file, kind="pyproject", stages=stages, python=python, unread=tuple(unread))


def _words(tree: ast.AST) -> Iterator[ast.keyword]:
    """The keywords of the calls of ``setup``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "setup":
            yield from node.keywords


def _texts(node: Any) -> list[tuple[str, int]] | None:
    """The texts of a literal list with their lines; ``None`` for anything else."""
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    return [
        (item.value, item.lineno)
        for item in node.elts
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]
