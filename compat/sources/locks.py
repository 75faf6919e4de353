"""Lock files: uv.lock, poetry.lock, pdm.lock, pylock.toml, Pipfile.lock, conda-lock.yml. All that they settle.

Of what a lock holds for several platforms that for Linux counts. Sources: PEP 751 (pylock), the tools' documentation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from compat import tomls
from compat.errors import InputError
from compat.names import normalise
from compat.sources import origins
from compat.sources.toml import Finder
from compat.sources.values import Ask, Install, Request, Stage
from compat.untrusted import json_of, rows, strings, table, word

_CONDA_LINE: Final = re.compile(r"(?:- |  )(name|version|manager|platform): *'?\"?([^'\"\s]+)")


class _Locked(NamedTuple):
    """One package of a lock: its version, and the index it came from where the lock says it."""

    name: str
    version: str
    url: str = ""
    line: int = 0


def read(text: str, file: str) -> Ask:
    """What a lock file settles: every package at its exact version, from the index it came from.

    Raises:
        InputError: if it is neither TOML, JSON nor YAML, or no lock of a known kind.
    """
    if file.endswith((".yml", ".yaml")):
        return _conda(text, file)
    packages = list(_pipfile(text, file) if "pipfile" in file.rpartition("/")[2].lower() else _locked(text, file))
    counts = Counter(normalise(item.name) for item in packages)
    places: dict[str, list[Request]] = {}
    for item in packages:
        if counts[normalise(item.name)] == 1:  # of several versions the platform or Python decides
            request = Request(name=normalise(item.name), spec=f"=={item.version}", line=item.line)
            places.setdefault(item.url, []).append(request)
    installs = (
        Install(manager="uv", requests=tuple(found), index=url, options=("--locked",)) for url, found in places.items()
    )
    return Ask(file=file, kind="lock", stages=(Stage(installs=tuple(installs)),))


def _locked(text: str, file: str) -> Iterator[_Locked]:
    """The packages of a lock in TOML."""
    document = tomls.parsed(text, file)
    listed = document.get("package", document.get("packages"))
    if not isinstance(listed, list):
        raise InputError("holds no packages", where=file, expected="a uv, poetry, pdm or pylock lock file")
    finder = Finder(text)
    for row in rows(listed):
        name, version = word(row, "name"), word(row, "version")
        if not name or not version:
            continue
        line = finder.line(f'name = "{name}"')
        markers = strings(row.get("resolution-markers")) or [word(row, "markers") or word(row, "marker")]
        if any(origins.here(marker) for marker in markers):
            source = table(row.get("source"))
            yield _Locked(name, version, word(source, "registry") or word(source, "url") or word(row, "index"), line)


def _pipfile(text: str, file: str) -> Iterator[_Locked]:
    """Packages of a ``Pipfile.lock``, its development ones included."""
    if not isinstance(document := json_of(text), dict):
        raise InputError("not valid JSON", where=file, expected="an object")
    urls = {word(row, "name"): word(row, "url") for row in rows(table(document.get("_meta")).get("sources"))}
    for section in ("default", "develop"):
        finder = Finder(text).after(f'"{section}"')
        for name, row in table(document.get(section)).items():
            version = word(table(row), "version").removeprefix("==")
            if version and origins.here(word(table(row), "markers")):
                place = word(table(row), "index")
                url = "" if place.lower() == "pypi" else urls.get(place, "")
                yield _Locked(name, version, url, finder.line(f'"{name}"'))


def _conda(text: str, file: str) -> Ask:
    """A conda-lock file: its packages for Linux, conda's and pip's apart. Read by lines, for these files are long."""
    found = list(_conda_rows(text.splitlines()))
    if not found:
        raise InputError("holds no packages for Linux", where=file, expected="a conda-lock file")
    installs = []
    for manager in ("conda", "pip"):
        requests = tuple(
            Request(name=normalise(row["name"]), spec=f"=={row['version']}", line=int(row["line"]))
            for row in found
            if row.get("manager") == manager
        )
        installs.append(Install(manager=manager, requests=requests, options=("--locked",), channels=("a lock",)))
    return Ask(file=file, kind="lock", stages=(Stage(installs=tuple(installs)),))


def _conda_rows(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    row: dict[str, str] = {}
    for number, line in enumerate([*lines, "- name: end"], 1):
        found = _CONDA_LINE.match(line)
        if found is None:
            continue
        if line.startswith("- "):
            if {"name", "version"} <= row.keys() and row.get("platform", "linux-64") == "linux-64":
                yield row
            row = {"line": str(number)}
        row.setdefault(found[1], found[2])
