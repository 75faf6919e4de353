"""Packages without rows, judged by the metadata of their wheels: as it was recorded, or as an index publishes it.

Of some packages ``matrix/observed`` holds what a refresh measured though nobody wrote rows of them. With ``--online``
the index is asked instead, the one that the installer is configured for: the names of the wheels, and the metadata of
one wheel for each platform. Either way the newest releases that the requirement takes are read; nothing is downloaded
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
    from compat.matrix.measured import Measured
    from compat.versions import Line

_RELEASES: Final = 3  # of a package: each costs a question for each platform
_PACKAGES: Final = 20
_SOURCE: Final = "index-online"


def laid_over(requirements: Iterable[str], matrix: Matrix, *, online: bool) -> tuple[Matrix, tuple[str, ...]]:
    """The matrix with rows of the packages that it has none of; and a sentence for each that the index does not tell.

    ``requirements``: what is wanted; a line that is none, or of a package that has rows, is passed over. ``online``:
    whether the index is asked; else what was recorded counts.
    """
    from compat.versions import requirement

    lines = [found for text in dict.fromkeys(requirements) if (found := requirement(text)) and not found.url]
    strange = [line for line in lines if not matrix.package(line.name)]
    if not strange:
        return matrix, ()
    from compat.matrix import measured, store
    from compat.resolve.knowledge import Knowledge

    shared = Knowledge(matrix).shared_names
    if strange == lines:  # nothing else is asked for that could bring them
        libraries = {row.package for row in matrix.table("sonames")}
        shared -= {line.name for line in lines if line.name not in libraries and measured.releases(line.name)}
    tables: dict[str, list[dict[str, Any]]] = {"packages": []}
    failed: dict[str, str] = {}
    for line in strange:
        if line.name in shared or f"builds.{line.name}" in tables:
            continue
        try:
            releases = _published(line.name, line.spec) if online else _recorded(line.name, line.spec)
            rows = [*_rows(releases, matrix, shared)] if len(tables) <= _PACKAGES else []
        except (InputError, CannotCheckError) as error:
            failed[line.name] = f"{line.name} stays unjudged: {error}"
            continue
        source = _SOURCE if online else measured.SOURCE
        if rows:
            named = {"name": line.name, "title": line.name, "kind": "companion", "source": source, "how": "measured"}
            tables["packages"].append(named)
            tables[f"builds.{line.name}"] = [{**row, "source": source} for row in rows]
        elif online:
            failed[line.name] = f"{line.name} stays unjudged: no wheel of {line.text} was read"
    if not tables["packages"]:
        return matrix, tuple(failed.values())
    day = datetime.now(timezone.utc).date().isoformat()
    cited = {_SOURCE: f"Names and metadata of the wheels on the index that the installer is configured for, read {day}"}
    return matrix.beneath(store.Held(tables, cited if online else {})), tuple(failed.values())


def _rows(found: Iterable[Measured], matrix: Matrix, shared: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Rows of releases, with those of their requirements that a row of the matrix can decide, none of an extra.

    Where an archive of sources is there too, a Python or platform without a wheel may compile it: that a wheel lacks is
    no proof, so the row infers those.
    """
    from compat.matrix import store
    from compat.versions import requirement

    def decides(line: Line | None) -> bool:
        known = line and not line.url and "extra" not in line.marker
        return bool(known and line and (matrix.package(line.name) or line.name in shared))

    for release in found:
        for build in release.builds(matrix):
            row = store.stated(build)
            row["requires"] = [raw for raw in build.requires if decides(requirement(raw))]
            told = {key: value for key, value in row.items() if value not in ("", [], False)}
            inferred = {"inferred": "python platforms glibc macos"} if release.facts.get("source") else {}
            yield {**told, "runtime": build.runtime, **inferred}


def _recorded(name: str, spec: str) -> Iterator[Measured]:
    """The newest releases that a specifier takes, of those that a refresh measured, newest first."""
    from packaging.specifiers import SpecifierSet

    from compat.matrix.measured import Measured, releases

    kept = {version: facts for version, facts in releases(name).items() if facts["wheels"] and not facts.get("yanked")}
    newest = [*SpecifierSet(spec).filter(kept)][::-1][:_RELEASES]
    return (Measured(name, version, kept[version]) for version in newest)


def _published(name: str, spec: str) -> Iterator[Measured]:
    """The newest releases that a specifier takes, of those on the index, newest first.

    Raises:
        InputError, CannotCheckError: see :mod:`compat.registry.indexes`.
    """
    from compat.matrix.measured import Measured

    for version, release in _newest(name, spec).items():
        for keys in release.wheels.values():
            yield Measured(name, version, {**_facts(keys), "source": release.sources})


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


def _facts(keys: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """What a platform's wheels of a release say, the requirements from the metadata of the first of them."""
    from email.parser import HeaderParser

    from compat.registry import indexes

    told = HeaderParser().parsestr(indexes.metadata(next(iter(keys.values()))))
    pythons: dict[str, set[str]] = {}
    for key, listed in keys:
        pythons.setdefault(key, set()).update(listed.split())
    groups = {key: " ".join(sorted(listed)) for key, listed in pythons.items()}
    requires = sorted(told.get_all("Requires-Dist") or ())
    return {"python": told.get("Requires-Python") or "", "wheels": [{"for": groups, "requires": requires}]}
