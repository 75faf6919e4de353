"""Which index a project's tools take each package from: what uv, Poetry, PDM and Pipenv say of their sources.

Sources: uv documentation, "Package indexes" (explicit indexes, ``tool.uv.sources``); Poetry documentation,
"Repositories" (priorities, a dependency's ``source``); PDM documentation, "Configure the package indexes"
(``include_packages``); Pipenv documentation, "Specifying package indexes" (a package comes from its index alone).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from compat.markers import Environment, holds
from compat.names import normalise
from compat.sources.settings import UNSEEN
from compat.untrusted import rows, strings, table, word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.sources.values import Manager


@dataclass(frozen=True, slots=True)
class Place:
    """Where a package is asked for: the index that replaces the default one, further ones, and how they are weighed."""

    index: str = ""
    extra: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    manager: Manager = "uv"


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of one project.

    Attributes:
        common: where a package is asked for of which nothing is said.
        urls: address by the name of its index.
        named: what is said of single packages: entries with ``index``, ``marker``, ``extra``, ``group``, ``url``.
        unisolated: packages that are built with the project's own packages at hand.
    """

    common: Place = Place()
    urls: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    unisolated: frozenset[str] = frozenset()

    def of(self, name: str, group: str = "", source: str = "") -> Place | None:
        """Where a package of a group is asked for; ``None`` if it comes from an address or a folder of its own."""
        if source:
            return self._index(source)
        for entry in self.named.get(name, ()):
            if not _applies(entry, group):
                continue
            return self._index(word(entry, "index")) if word(entry, "index") else None
        return self.common

    def _index(self, name: str) -> Place:
        url = self.urls.get(name, self.urls.get(name.lower(), "" if name.lower() == "pypi" else UNSEEN))
        return Place(index=url, manager=self.common.manager)


def _applies(entry: dict[str, Any], group: str) -> bool:
    """Whether a source counts for a group on most machines that have a GPU; what Python decides counts."""
    wanted = entry.get("extra") or entry.get("group")
    if isinstance(wanted, str) and wanted != group:
        return False
    marker = word(entry, "marker") or word(entry, "markers")
    return holds(marker, Environment("linux_x86_64", extras=(group,) if group else ())) is not False


def here(marker: str) -> bool:
    """Whether a marker holds on a Linux machine; one that cannot be read holds."""
    return _applies({"marker": marker}, "") if marker else True


def of_project(tool: Mapping[str, Any]) -> Sources:
    """The sources of a pyproject.toml: those of the tool that names some, uv's first."""
    uv, poetry, pdm = (table(tool.get(name)) for name in ("uv", "poetry", "pdm"))
    return replace(_of_tool(uv, poetry, pdm), unisolated=unisolated(uv) | unisolated(table(uv.get("pip"))))


def unisolated(uv: Mapping[str, Any]) -> frozenset[str]:
    """The packages that a table of uv's excepts from an environment of their own for the build; ``*`` for all."""
    told = [*strings(uv.get("no-build-isolation-package")), *table(uv.get("extra-build-dependencies"))]
    return frozenset([*map(normalise, told), *["*"] * (uv.get("no-build-isolation") is True)])


def _of_tool(uv: dict[str, Any], poetry: dict[str, Any], pdm: dict[str, Any]) -> Sources:
    if rows(uv.get("index")) or uv.get("sources") or uv.get("extra-index-url") or uv.get("index-url"):
        return _uv(uv)
    if rows(poetry.get("source")):
        return _poetry(rows(poetry.get("source")), table(poetry.get("dependencies")))
    return _pdm(rows(pdm.get("source"))) if rows(pdm.get("source")) else Sources()


def _uv(uv: Mapping[str, Any]) -> Sources:
    listed = [row for row in rows(uv.get("index")) if word(row, "url")]
    urls = {word(row, "name"): word(row, "url") for row in listed}
    default = next((word(row, "url") for row in listed if row.get("default") is True), "")
    open_ = tuple(word(row, "url") for row in listed if not row.get("explicit") and not row.get("default"))
    named = {normalise(name): rows(entry) for name, entry in table(uv.get("sources")).items()}
    index = default or (uv["index-url"] if isinstance(uv.get("index-url"), str) else "")
    extra, links = (*open_, *strings(uv.get("extra-index-url"))), tuple(strings(uv.get("find-links")))
    strategy = str(uv.get("index-strategy", ""))
    return Sources(Place(index, extra, links, "pip" if strategy.startswith("unsafe") else "uv"), urls, named)


def _poetry(listed: list[dict[str, Any]], dependencies: dict[str, Any]) -> Sources:
    """Poetry's: explicit sources are for those that name them, supplemental ones for what the others lack.

    Its table of dependencies names the source of those that ``[project]`` lists, too. Whether PyPI is asked beside a
    primary source depends on the release of Poetry, so that this stays open.
    """
    urls = {word(row, "name"): word(row, "url") for row in listed}
    kinds = {word(row, "name"): str(row.get("priority", "primary")).lower() for row in listed}
    kinds |= {word(row, "name"): "supplemental" for row in listed if row.get("secondary") is True}
    primary = [name for name, kind in kinds.items() if kind in {"primary", "default"} and name.lower() != "pypi"]
    named = {
        normalise(name): [{**entry, "index": word(entry, "source")} for entry in rows(wanted) if word(entry, "source")]
        for name, wanted in dependencies.items()
    }
    return Sources(Place(index=UNSEEN if primary else "", manager="pip"), urls, named)


def _pdm(listed: list[dict[str, Any]]) -> Sources:
    """PDM's: the best version of all, but a package that a source includes comes from that one."""
    urls = {word(row, "name") or str(number): word(row, "url") for number, row in enumerate(listed)}
    default = urls.get("pypi", "")
    named = {normalise(package): [{"index": name}] for name, row in zip(urls, listed, strict=True)
             for package in strings(row.get("include_packages"))}  # fmt: skip
    plain = [(url, row) for (name, url), row in zip(urls.items(), listed, strict=True)
             if name != "pypi" and not row.get("include_packages")]  # fmt: skip
    extra = tuple(url for url, row in plain if row.get("type") != "find_links")
    links = tuple(url for url, row in plain if row.get("type") == "find_links")
    return Sources(Place(default, extra, links, "pip"), urls, named)


def of_pipfile(document: Mapping[str, Any]) -> Sources:
    """A Pipfile's: the first source for all that name none."""
    listed = rows(document.get("source"))
    urls = {word(row, "name"): "" if word(row, "name").lower() == "pypi" else word(row, "url") for row in listed}
    return Sources(Place(index=next(iter(urls.values()), ""), manager="pip"), urls)
