"""Packages without rows, judged by what the index publishes of them: ``resolve --online``.

The index is the one that the installer is configured for. Of each package the newest releases that the requirement
takes are read: the names of their wheels, and the metadata of one wheel for each platform. Nothing is downloaded
whole, and nothing is asked without ``--online``.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

from compat.errors import CannotCheckError, InputError
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from compat.matrix import Matrix

_RELEASES: Final = 3  # of a package: each costs a question for each platform
_PACKAGES: Final = 20
_SOURCE: Final = "index-online"


def laid_over(requirements: Iterable[str], matrix: Matrix) -> tuple[Matrix, tuple[str, ...]]:
    """The matrix with rows of the packages that it has none of; and a sentence for each that stays unjudged.

    Args:
        requirements: what is wanted; a line that is none, or of a package that has rows, is passed over.
        matrix: what is known without the index.
    """
    from compat.matrix import store
    from compat.resolve.knowledge import Knowledge
    from compat.versions import requirement

    shared = Knowledge(matrix).shared_names
    tables: dict[str, list[dict[str, Any]]] = {"packages": []}
    failed: dict[str, str] = {}
    lines = (found for text in dict.fromkeys(requirements) if (found := requirement(text)) and not found.url)
    for line in lines:
        if line.name in shared or matrix.package(line.name) or f"builds.{line.name}" in tables:
            continue
        try:
            rows = [*_rows(line.name, line.spec, matrix, shared)] if len(tables) <= _PACKAGES else []
        except (InputError, CannotCheckError) as error:
            failed[line.name] = f"{line.name} stays unjudged: {error}"
            continue
        if rows:
            named = {"name": line.name, "title": line.name, "kind": "companion", "source": _SOURCE, "how": "measured"}
            tables["packages"].append(named)
            tables[f"builds.{line.name}"] = rows
        else:
            failed[line.name] = f"{line.name} stays unjudged: no wheel of {line.text} was read"
    if not tables["packages"]:
        return matrix, tuple(failed.values())
    day = datetime.now(timezone.utc).date().isoformat()
    cited = {_SOURCE: f"Names and metadata of the wheels on the index that the installer is configured for, read {day}"}
    return matrix.beneath(store.Held(tables, cited)), tuple(failed.values())


def _rows(name: str, spec: str, matrix: Matrix, shared: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Rows of the newest releases of a package that a specifier takes.

    Where an archive of sources is there too, a Python or platform without a wheel may compile it: that a wheel lacks is
    no proof, so the row infers those.
    """
    from compat.matrix import store
    from compat.matrix.measured import Measured

    for version, release in _newest(name, spec).items():
        for keys in release.wheels.values():
            for build in Measured(name, version, _facts(keys, matrix, shared)).builds(matrix):
                row = store.stated(build)
                told = {key: value for key, value in row.items() if value not in ("", [], False)}
                inferred = {"inferred": "python platforms glibc macos"} if release.sources else {}
                yield {**told, "runtime": "", "source": _SOURCE, **inferred}


@dataclass(frozen=True, slots=True)
class _Release:
    """A release on the index: platform -> platform with its floor and its Pythons -> address of a wheel; sources."""

    wheels: dict[str, dict[tuple[str, str], str]]
    sources: bool


def _newest(name: str, spec: str) -> dict[str, _Release]:
    """The newest releases that a specifier takes, newest first."""
    from packaging.specifiers import SpecifierSet
    from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename

    from compat.matrix.schema import PLATFORM
    from compat.registry import indexes, wheels

    found: dict[Any, dict[str, dict[tuple[str, str], str]]] = {}
    sources: set[Any] = set()
    for url in indexes.files(name):
        file = url.partition("#")[0].rpartition("/")[2].replace("%2B", "+")
        try:
            if not file.endswith(".whl"):
                sources.add(parse_sdist_filename(file)[1])
                continue
            version = parse_wheel_filename(file)[1]
        except (InvalidWheelFilename, InvalidSdistFilename):
            continue
        for key in filter(lambda one: PLATFORM.fits(one.partition(" ")[0]), wheels.platforms(file)):
            held = found.setdefault(version, {}).setdefault(key.partition(" ")[0], {})
            held[key, " ".join(sorted(wheels.pythons(file)))] = url
    taken = sorted(SpecifierSet(spec).filter(found), reverse=True)[:_RELEASES]
    return {str(version): _Release(found[version], version in sources) for version in taken}


def _facts(keys: Mapping[tuple[str, str], str], matrix: Matrix, shared: frozenset[str]) -> dict[str, Any]:
    """What a platform's wheels of a release say, the requirements from the metadata of the first of them.

    Requirements of extras are left out, and those that no row of the matrix can decide.
    """
    from email.parser import HeaderParser

    from compat.registry import indexes
    from compat.versions import requirement

    told = HeaderParser().parsestr(indexes.metadata(next(iter(keys.values()))))
    lines = [found for raw in told.get_all("Requires-Dist") or () if (found := requirement(raw))]
    kept = [line for line in lines if not line.url and "extra" not in line.marker]
    pythons: dict[str, set[str]] = {}
    for key, listed in keys:
        pythons.setdefault(key, set()).update(listed.split())
    requires = sorted(line.text for line in kept if matrix.package(line.name) or line.name in shared)
    groups = {key: " ".join(sorted(listed)) for key, listed in pythons.items()}
    return {"python": told.get("Requires-Python") or "", "wheels": [{"for": groups, "requires": requires}]}
