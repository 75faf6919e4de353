"""Python projects: pyproject.toml with the tables of uv, Poetry, PDM and Hatch, and Pipfile.

Sources: PEP 621 (project metadata), PEP 735 (dependency groups), the tools' own documentation.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from compat import tomls
from compat.errors import InputError
from compat.names import normalise
from compat.sources import origins, pixi, requirements, settings
from compat.sources.toml import Finder
from compat.sources.values import Ask, Install, Request, Stage
from compat.untrusted import rows, strings, table, word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.sources.origins import Place, Sources

# Poetry's exact version: a bare number; ``2.*`` and the like are ranges.
_BARE: Final = re.compile(r"\d+(?:\.\d+)*(?:\.?(?:a|b|rc|post|dev)\d+)*(?:\+[\w.]+)?")
# Its ranges that end before the next release line: ``^1.2`` before 2, ``~1.2`` before 1.3.
_ENDING: Final = re.compile(r"([~^])\s*(\d+)((?:\.\d+)*)(\+[\w.]+)?")


# What the specifications of a pyproject.toml say of its keys: no tool builds one that differs.
_SHAPES: Final = {
    "project": dict, "project.name": str, "project.requires-python": str, "project.dependencies": list,
    "project.optional-dependencies": dict, "dependency-groups": dict, "build-system": dict, "tool": dict,
}  # fmt: skip
_CALLED: Final = {dict: "a table", str: "a text", list: "a list"}


def read_project(text: str, file: str) -> Ask:
    """What a pyproject.toml asks for, dependency groups and tool-specific indexes included.

    Raises:
        InputError: if it is not TOML, or a key of it has a value of another kind than the specifications say.
    """
    document = tomls.parsed(text, file)
    for path, kind in _SHAPES.items():
        above, _, key = path.rpartition(".")
        value = (table(document.get(above)) if above else document).get(key)
        if value is not None and not isinstance(value, kind):
            raise InputError(f"{path} is {value!r:.60}", where=file, expected=_CALLED[kind])
    project, tool = table(document.get("project")), table(document.get("tool"))
    sources = origins.of_project(tool)
    installs: list[Install] = []
    for group, requests in _groups(document, text):
        installs += _steps(_bounded(requests, table(tool.get("uv"))), group, sources)
    poetry = table(tool.get("poetry"))
    for group, dependencies, finder in _poetry_groups(poetry, text):
        installs += _steps(_dependencies(dependencies, finder), group, sources)
    installs += _hatch(table(tool.get("hatch")), text)
    of_pixi = pixi.of_tables(table(tool.get("pixi")), text, file, "tool.pixi.").stages[0]
    installs += of_pixi.installs
    python = project.get("requires-python") or _spec(word(table(poetry.get("dependencies")), "python"))
    return Ask(
        file=file, kind="pyproject", stages=(Stage(installs=tuple(installs), env=of_pixi.env),), python=str(python)
    )


def read_pipfile(text: str, file: str) -> Ask:
    """What a Pipfile asks for.

    Raises:
        InputError: if it is not TOML.
    """
    document = tomls.parsed(text, file)
    sources = origins.of_pipfile(document)
    installs: list[Install] = []
    for key, group in (("packages", ""), ("dev-packages", "+dev")):
        found = _dependencies(table(document.get(key)), Finder(text).after(f"[{key}]"))
        installs += _steps(found, group, sources)
    python = word(table(document.get("requires")), "python_version")
    return Ask(file=file, kind="pyproject", stages=(Stage(installs=tuple(installs)),), python=python)


def _groups(document: dict[str, Any], text: str) -> Iterator[tuple[str, list[tuple[Request, str]]]]:
    """The project's own dependencies, then each extra and each group; these may exclude each other (``+name``)."""
    project = table(document.get("project"))
    yield "", _requests(project.get("dependencies"), Finder(text).after("[project]", "dependencies"))
    for key, section in (
        ("optional-dependencies", table(project.get("optional-dependencies"))),
        ("dependency-groups", table(document.get("dependency-groups"))),
        ("dev-dependencies", table(table(table(document.get("tool")).get("pdm")).get("dev-dependencies"))),
    ):
        finder = Finder(text).after(key)
        for name, lines in section.items():
            yield f"+{name}", _requests(lines, finder.after(name))


def _requests(raw: Any, finder: Finder) -> list[tuple[Request, str]]:
    """Requirement lines of a list, each with the line of the file it stands on; no source is named there."""
    found = [requirements.request(line, finder.line(line)) for line in strings(raw)]
    return [(each, "") for each in found if each]


def _bounded(requests: list[tuple[Request, str]], uv: dict[str, Any]) -> list[tuple[Request, str]]:
    """The requests with uv's ``constraint-dependencies``, and ``override-dependencies`` in place of what they say."""
    limits = [found for line in strings(uv.get("constraint-dependencies")) if (found := requirements.request(line))]
    overrides = {
        found.name: found.spec
        for line in strings(uv.get("override-dependencies"))
        if (found := requirements.request(line)) and not found.marker
    }
    kept = [(replace(each, spec=overrides.get(each.name, each.spec)), source) for each, source in requests]
    return [(one, source) for each, source in kept for one in requirements.constrained([each], limits)]


def _steps(requests: Iterable[tuple[Request, str]], group: str, sources: Sources) -> Iterator[Install]:
    """One step per place that the packages of a group come from."""
    places: dict[Place, list[Request]] = {}
    for request, source in requests:
        place = sources.of(request.name, group.removeprefix("+"), source)
        if place is not None:
            places.setdefault(place, []).append(request)
    for place, found in places.items():
        told = sources.unisolated & {"*", *(request.name for request in found)}
        yield Install(
            manager=place.manager, requests=tuple(found), index=place.index, extra_indexes=place.extra,
            find_links=place.links, branch=group, line=found[0].line,
            options=("--no-build-isolation",) if told else (),
        )  # fmt: skip


def _poetry_groups(poetry: dict[str, Any], text: str) -> Iterator[tuple[str, dict[str, Any], Finder]]:
    """Poetry's own tables of dependencies: the main one, the old one for development, and each group."""
    yield "", table(poetry.get("dependencies")), Finder(text).after("[tool.poetry.dependencies]")
    yield "+dev", table(poetry.get("dev-dependencies")), Finder(text).after("[tool.poetry.dev-dependencies]")
    for name, group in table(poetry.get("group")).items():
        finder = Finder(text).after(f"[tool.poetry.group.{name}.dependencies]")
        yield f"+{name}", table(table(group).get("dependencies")), finder


def _dependencies(section: dict[str, Any], finder: Finder) -> Iterator[tuple[Request, str]]:
    """Poetry's and Pipenv's tables: name to version, or to a table with ``version``, ``source`` or ``index``.

    Of several entries for one package those for other platforms are left out; where more than one remains, which one
    counts is not known.
    """
    for name, wanted in section.items():
        line = finder.line(name)
        if name == "python":
            continue
        entries = [{"version": wanted}] if isinstance(wanted, str) else rows(wanted)
        entries = [entry for entry in entries if _on_linux(entry)]
        if len(entries) != 1 or {"path", "git"} & entries[0].keys():
            continue
        if address := word(entries[0], "url") or word(entries[0], "file"):
            wheel = requirements.request(address, line)
            yield from [(wheel, "")] if wheel and "://" in address else ()
            continue
        if "source" in entries[0] and "version" not in entries[0]:
            continue  # it only says where a dependency of [project] comes from
        entry = entries[0]
        request = Request(
            name=normalise(name),
            spec=_spec(word(entry, "version")),
            extras=tuple(strings(entry.get("extras"))),
            line=line,
        )
        yield request, word(entry, "source") or word(entry, "index")


def _on_linux(entry: dict[str, Any]) -> bool:
    platform = word(entry, "platform") or "linux"
    marker = word(entry, "markers") or word(entry, "marker")
    system = word(entry, "sys_platform")
    return "linux" in platform and origins.here(marker) and (not system or "linux" in system)


def _spec(text: str) -> str:
    """A version of Poetry's or Pipenv's as a specifier: exact if bare, ``^`` and ``~`` as bounds, ``*`` as none."""
    text = text.strip()
    if found := _ENDING.fullmatch(text):
        first, rest = int(found[2]), [int(part) for part in found[3].split(".") if part]
        within = bool(rest) and (found[1] == "~" or not first)
        return f">={found[2]}{found[3]},<{f'{first}.{rest[0] + 1}' if within else first + 1}"
    if _BARE.fullmatch(text):
        return f"=={text}"
    return "" if text[:1] in "^~*" else text.replace(" ", "")


def _hatch(hatch: dict[str, Any], text: str) -> Iterator[Install]:
    """Hatch's environments, each an arm of its own, with the indexes that their variables set."""
    for name, env in table(hatch.get("envs")).items():
        lines = [*strings(table(env).get("dependencies")), *strings(table(env).get("extra-dependencies"))]
        found = _requests(lines, Finder(text).after(f"[tool.hatch.envs.{name}"))
        values = {key: value for key, value in table(table(env).get("env-vars")).items() if isinstance(value, str)}
        manager = "uv" if table(env).get("installer") == "uv" else "pip"
        step = Install(manager=manager, requests=tuple(each for each, _ in found), branch=f"+{name}")  # type: ignore[arg-type]
        yield settings.applied(step, values)
