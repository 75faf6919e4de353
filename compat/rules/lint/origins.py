"""Where packages may come from, and what an installer would take: pip's and uv's choice among the matrix's builds.

pip gathers the candidates of all indexes and pages and takes the highest version; a local tag sorts above none (PEP
440). uv takes the first index that has the name at all, extra indexes before the default one (uv documentation, "index
strategy"). Only names that the matrix covers are decided; everything else is not known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    from compat.matrix import Matrix
    from compat.matrix.rows import Build
    from compat.sources.values import Install, Request

_STABLE_PAGE: Final = re.compile(r"/whl/(?:(?P<variant>[a-z0-9.]+)/)?(?:torch_stable|lts/.*)\.?(?:html)?$")


@dataclass(frozen=True, slots=True)
class Origin:
    """One place that packages may come from.

    Attributes:
        url: its address; empty for the default index.
        index: name of the matrix's index, or empty for the default; ``None`` if the matrix does not know the place.
        variant: the variant it is limited to (``cu118``), empty for all.
        nightly: whether it holds nightly builds.
    """

    url: str
    index: str | None
    variant: str = ""
    nightly: bool = False

    def has(self, build: Build) -> bool:
        """Whether a build is published here."""
        same = self.index is not None and _family(build.index) == _family(self.index)
        return same and self.variant in {"", build.variant}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an installer would do with a request.

    Attributes:
        status: ``build`` (``build`` is what it takes), ``none`` (nothing fits: see ``why``), ``unknown``.
        build: the build taken.
        origin: where from.
        why: reason of ``none`` or ``unknown``: ``version``, ``python``, ``platform``, ``place``, ``package``.
    """

    status: Literal["build", "none", "unknown"]
    build: Build | None = None
    origin: Origin | None = None
    why: str = ""


def _extra(name: str) -> str:
    """An extra's name as PEP 685 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _family(index: str) -> str:
    """Pages of links and the index that followed them hold the same builds: ``pytorch-links`` and ``pytorch``."""
    return index.removesuffix("-links")


DEFAULT: Final = Origin("", "")


def origins(step: Install, matrix: Matrix) -> tuple[Origin, ...]:
    """The places of one install step: the replaced or default index first, then the others in order."""
    first = origin(step.index, matrix) if step.index else DEFAULT
    return (first, *(origin(url, matrix) for url in (*step.extra_indexes, *step.find_links)))


def origin(url: str, matrix: Matrix) -> Origin:
    """The place behind an address, by the matrix's indexes; variables in it leave it unknown."""
    parts = urlsplit(url)
    if "nightly" in parts.path:
        return Origin(url, None, nightly=True)
    if found := _STABLE_PAGE.search(parts.path) if "pytorch" in parts.netloc else None:
        return Origin(url, "pytorch", found["variant"] or "")
    for row in matrix.table("indexes"):
        pattern = re.escape(row.url.rstrip("/")).replace(re.escape("{variant}"), r"(?P<variant>[\w.-]+)")
        if found := re.fullmatch(pattern + r"/?(?:index\.html)?", url):
            return Origin(url, row.name, found.groupdict().get("variant") or "")
        if "{variant}" in row.url and url.rstrip("/") == row.url.rpartition("/{variant}")[0].rstrip("/"):
            return Origin(url, row.name)
    return Origin(url, None)


def outcome(request: Request, step: Install, matrix: Matrix, *, python: str, arch: str = "x86_64") -> Outcome:
    """What the installer of ``step`` takes for ``request``; ``python`` may be empty if it is not known."""
    package = matrix.package(request.name)
    places = origins(step, matrix)
    if package is None or request.url:
        return Outcome("unknown", why="package")
    if any(place.index is None for place in places):
        return Outcome("unknown", why="place")
    named = [build for build in matrix.builds(package.name) if build.install_name == request.name]
    asked = {_extra(name) for name in request.extras}
    everything = [build for build in named if {_extra(name) for name in build.extras} <= asked]
    if not everything:
        return Outcome("unknown", why="package")
    admitted = [build for build in everything if _admits(request.spec, build, pre="--pre" in step.options)]
    published = [(build, place) for build in admitted for place in places if place.has(build)]
    if not published:
        covered = all(any(place.has(build) for build in everything) for place in places if place.url)
        settled = covered and (package.kind == "framework" or bool(package.follows))
        return Outcome("none", why="version") if settled else Outcome("unknown", why="place")
    return _choice(published, step, python, arch)


def _choice(published: list[tuple[Build, Origin]], step: Install, python: str, arch: str) -> Outcome:
    on_platform = [pair for pair in published if _on_platform(pair[0], arch)]
    if not on_platform:
        return Outcome("none", why="platform")
    fitting = [pair for pair in on_platform if not python or python in pair[0].python or not pair[0].python]
    if not fitting:
        return Outcome("none", why="python")
    if step.manager == "uv":
        first = next((place for place in _uv_order(step, fitting)), None)
        fitting = [pair for pair in fitting if pair[1] is first]
    build, place = max(fitting, key=lambda pair: (version_of(pair[0].full_version), len(pair[0].extras)))
    return Outcome("build", build, place)


def _uv_order(step: Install, fitting: list[tuple[Build, Origin]]) -> list[Origin]:
    """Places as uv asks them: extra indexes before the default one, find-links pages beside the index."""
    places = list({id(place): place for _, place in fitting}.values())
    return sorted(places, key=lambda place: (place.url not in step.extra_indexes, place.url == ""))


def _on_platform(build: Build, arch: str) -> bool:
    return not build.platforms or "any" in build.platforms or f"linux_{arch}" in build.platforms


def _admits(spec: str, build: Build, *, pre: bool) -> bool:
    wanted = specifiers(spec)
    if wanted is None or (build.yanked and not spec.startswith("==")):
        return False
    return wanted.contains(build.full_version, prereleases=True if pre or spec.startswith("==") else None)


@lru_cache(maxsize=4096)
def version_of(text: str) -> Version:
    """A parsed version, kept."""
    from packaging.version import Version

    return Version(text)


@lru_cache(maxsize=1024)
def specifiers(text: str) -> SpecifierSet | None:
    """Parsed specifiers, kept; ``None`` if they are malformed or hold a variable."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None
