"""Python projects and their lock files: pyproject.toml, uv.lock, poetry.lock, pdm.lock, pylock.toml, Pipfile.lock.

Sources: PEP 621 (project metadata), PEP 735 (dependency groups), PEP 751 (pylock), the tools' own documentation.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from compat.errors import InputError
from compat.names import normalise
from compat.sources import requirements
from compat.sources.values import Ask, Install, Request, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_project(text: str, file: str) -> Ask:
    """What a pyproject.toml asks for, dependency groups and tool-specific indexes included.

    Raises:
        InputError: if it is not TOML.
    """
    document = _toml(text, file)
    project, tool = _table(document.get("project")), _table(document.get("tool"))
    indexes = tuple(_indexes(tool))
    main = [*_requests(project.get("dependencies"), text), *_poetry(_dependencies(tool), text)]
    installs = [Install(manager="uv", requests=tuple(main), extra_indexes=indexes)]
    for section in (_table(project.get("optional-dependencies")), _table(document.get("dependency-groups"))):
        for name, lines in section.items():  # groups may exclude each other: each is an arm of its own
            found = tuple(_requests(lines, text))
            installs.append(Install(manager="uv", requests=found, extra_indexes=indexes, branch=name))
    python = project.get("requires-python") or _dependencies(tool).get("python") or ""
    return Ask(file=file, kind="pyproject", stages=(Stage(installs=tuple(installs)),), python=str(python))


def read_lock(text: str, file: str) -> Ask:
    """What a lock file settles: every package at its exact version, with the index it came from where it says.

    Raises:
        InputError: if it is neither TOML nor JSON, or no lock of a known kind.
    """
    packages = _pipfile(text, file) if file.endswith("Pipfile.lock") else _locked(_toml(text, file), file)
    requests = [
        Request(name=normalise(name), spec=f"=={version}", line=_line_of(text, name)) for name, version, _ in packages
    ]
    urls = dict.fromkeys(url for _, _, url in packages if url)
    install = Install(manager="uv", requests=tuple(requests), extra_indexes=tuple(urls), options=("--locked",))
    return Ask(file=file, kind="lock", stages=(Stage(installs=(install,)),))


def _locked(document: dict[str, Any], file: str) -> list[tuple[str, str, str]]:
    """Name, version and origin of each package of a lock file.

    Raises:
        InputError: if it has no list of packages.
    """
    rows = document.get("package", document.get("packages"))
    if not isinstance(rows, list):
        raise InputError("holds no packages", where=file, expected="a uv, poetry, pdm or pylock lock file")
    return list(_rows(rows))


def _rows(rows: Iterable[Any]) -> Iterable[tuple[str, str, str]]:
    """The rows that name a package; anything else in the list is passed over."""
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("name"), str) and isinstance(row.get("version"), str):
            source = _table(row.get("source"))
            yield (
                row["name"],
                row["version"],
                str(source.get("registry") or source.get("url") or row.get("index") or ""),
            )


def _pipfile(text: str, file: str) -> list[tuple[str, str, str]]:
    """Packages of a ``Pipfile.lock``, its development ones included.

    Raises:
        InputError: if it is not JSON.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("not valid JSON", where=file) from None
    sections = (_table(_table(document).get(name)) for name in ("default", "develop"))
    return [
        (name, str(row["version"]).lstrip("="), "")
        for section in sections
        for name, row in section.items()
        if isinstance(row, dict) and "version" in row
    ]


def _dependencies(tool: dict[str, Any]) -> dict[str, Any]:
    """Poetry's own table of dependencies."""
    return _table(_table(tool.get("poetry")).get("dependencies"))


def _requests(raw: Any, text: str) -> list[Request]:
    """Requirement lines of a list, each with the line of the file it stands on."""
    return [found for line in _strings(raw) if (found := requirements.request(line, _line_of(text, line)))]


def _poetry(table: dict[str, Any], text: str) -> list[Request]:
    """Poetry's own dependency table: a caret or tilde is kept loose, an exact version exact."""
    found = []
    for name, wanted in table.items():
        spec = wanted if isinstance(wanted, str) else _table(wanted).get("version", "")
        if name == "python" or not isinstance(spec, str):
            continue
        spec = f"=={spec}" if re.fullmatch(r"\d[\w.+]*", spec) else "" if spec[:1] in "^~*" else spec
        found.append(Request(name=normalise(name), spec=spec.replace(" ", ""), line=_line_of(text, name)))
    return found


def _indexes(tool: dict[str, Any]) -> list[str]:
    """Addresses of the indexes that uv's or poetry's tables name."""
    rows = _table(tool.get("uv")).get("index") or _table(tool.get("poetry")).get("source") or []
    urls = (
        [row["url"] for row in rows if isinstance(row, dict) and isinstance(row.get("url"), str)]
        if isinstance(rows, list)
        else []
    )
    return urls + _strings(_table(tool.get("uv")).get("extra-index-url"))


def _line_of(text: str, needle: str) -> int:
    place = text.find(needle)
    return text.count("\n", 0, place) + 1 if place >= 0 else 0


def _table(raw: Any) -> dict[str, Any]:
    return raw if isinstance(raw, dict) else {}


def _strings(raw: Any) -> list[str]:
    return [item for item in raw if isinstance(item, str)] if isinstance(raw, list) else []


def _toml(text: str, file: str) -> dict[str, Any]:
    """The document of a TOML text.

    Raises:
        InputError: with the parser's own words, if it is none.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"not valid TOML: {error}", where=file) from None
    return document
