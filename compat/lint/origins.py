"""Where packages may come from, and what an installer would take: pip's and uv's choice among the matrix's builds.

pip gathers the candidates of all indexes and pages and takes the highest version, of equal ones that of the place it
reads last: pages come before the indexes (``PackageFinder.find_all_candidates``). A local tag sorts above none (PEP
440). uv takes the first index that has the name at all, extra indexes before the default one (uv documentation, "index
strategy"). Only names that the matrix covers are decided; everything else is not known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from compat import versions
from compat.joints.libc import reaches
from compat.joints.platform import is_at
from compat.joints.python import is_for
from compat.lazy import dataclass
from compat.names import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from packaging.version import Version

    from compat.matrix import Matrix
    from compat.matrix.rows import Build
    from compat.sources.values import Install, Request

# Extras that ask for a GPU build; their names changed from release to release.
GPU_EXTRA: Final = re.compile(r"cuda|rocm|gpu")
# Packages of which every release is on the default index as source, whatever else lies on other pages.
_SOURCE_EVERYWHERE: Final = frozenset({"jax"})

_STABLE_PAGE: Final = re.compile(r"/whl/(?:(?P<variant>[a-z0-9.]+)/)?(?:torch_stable)\.?(?:html)?$")
_MIRROR_PARTS: Final = 3  # of a mirror's path at most: ``/pypi/web/simple``


@dataclass(frozen=True, slots=True)
class Origin:
    """One place that packages may come from.

    Attributes:
        url: its address; empty for the default index.
        index: name of the matrix's index, or empty for the default; ``None`` if the matrix does not know the place.
        variant: the variant it is limited to (``cu118``), empty for all.
        nightly: whether it holds nightly builds.
        apart: whether it holds no framework (a page of extensions).
        partial: whether it may hold more of what the matrix knows than the matrix says.
        mirror: whether it looks like a mirror of the default index (its path ends in ``/simple``): it has what that
            one has, and perhaps more.
        beside: what else it has, of packages that the matrix has no builds of; empty where that is not known.
        renamed: whether pip discards its wheels where they are asked for by name (:class:`compat.matrix.rows.Index`).
    """

    url: str
    index: str | None
    variant: str = ""
    nightly: bool = False
    mirror: bool = False
    apart: bool = False
    partial: bool = False
    beside: tuple[str, ...] = ()
    renamed: bool = False

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
        why: reason of ``none`` or ``unknown``: ``version``, ``newer`` (than all that the matrix knows), ``python``,
            ``platform``, ``glibc``, ``place``, ``package``, ``fails`` (``build`` is listed and cannot be installed),
            ``extra`` (``build`` is what the extra asks for, and lies elsewhere), ``foreign`` (the places are another
            framework's).
    """

    status: Literal["build", "none", "unknown"]
    build: Build | None = None
    origin: Origin | None = None
    why: str = ""


def _family(index: str) -> str:
    """Pages of links and the index that followed them hold the same builds: ``pytorch-links`` and ``pytorch``."""
    return index.removesuffix("-links")


DEFAULT: Final = Origin("", "")


def origins(step: Install, matrix: Matrix, name: str = "") -> tuple[Origin, ...]:
    """The places of one install step: the replaced or default index first, then the others in order.

    With the name of a framework those that can have none are left out.
    """
    first = origin(step.index, matrix) if step.index and "--no-index" not in step.options else DEFAULT
    if "--no-index" in step.options:
        first = Origin("no index", None)
    backend = next((item.partition("=")[2] for item in step.options if item.startswith("--torch-backend=")), "")
    chosen = (Origin(f"--torch-backend={backend}", "pytorch", backend),) if backend not in {"", "auto"} else ()
    feeds = (_feed(url, matrix) if first is DEFAULT else origin(url, matrix) for url in step.extra_indexes)
    others = (*feeds, *(origin(url, matrix) for url in step.find_links))
    return (first, *chosen, *(place for place in others if not (place.apart and name in settled(matrix))))


def elsewhere(places: Iterable[Origin], name: str, matrix: Matrix) -> bool:
    """Whether a place beside the default index may have a package, as far as what the places hold is known.

    A page of extensions may be one that the matrix lists no files of: that of a patch release, or of an older torch.
    """
    package = matrix.package(name)
    rows = [row for row in matrix.builds(package.name) if row.install_name == name] if package else []
    for place in places:
        named = not place.beside or name in place.beside
        listed = place.partial or place.index is None or any(map(place.has, rows))
        if place.url and (listed if rows and not place.apart else named):
            return True
    return False


def _feed(url: str, matrix: Matrix) -> Origin:
    """The place behind an index that is asked beside the default one.

    One of a longer path than that of a mirror is somebody's own feed: what it has is not known, and of a version that
    both have pip takes the one of the index named last (pip, ``PackageFinder.find_all_candidates``).
    """
    place = origin(url, matrix)
    own = place.mirror and len(urlsplit(url).path.strip("/").split("/")) > _MIRROR_PARTS
    return Origin(url, None) if own else place


def origin(url: str, matrix: Matrix) -> Origin:
    """The place behind an address, by the matrix's indexes; variables in it leave it unknown."""
    parts = urlsplit(url)
    if "/lts/" in parts.path:  # releases of their own, which the matrix does not have
        return Origin(url, None)
    if "nightly" in parts.path:
        return Origin(url, None, nightly=True)
    if found := _STABLE_PAGE.search(parts.path) if "pytorch" in parts.netloc else None:
        own = next(row for row in matrix.table("indexes") if row.name == "pytorch")
        return Origin(url, "pytorch", found["variant"] or "", beside=own.beside)
    for row in matrix.table("indexes"):
        variant = r"(?P<variant>[\w.+%/-]+)" if row.apart else r"(?P<variant>[\w.-]+)"
        pattern = re.escape(row.url.rstrip("/")).replace(re.escape("{variant}"), variant)
        if found := re.fullmatch(pattern + r"/?(?:index\.html)?", url):
            variant = found.groupdict().get("variant") or ""
            kept = {"apart": row.apart, "partial": row.partial, "beside": row.beside, "renamed": bool(row.file)}
            return Origin(url, row.name, variant, **kept)
        if "{variant}" in row.url and url.rstrip("/") == row.url.rpartition("/{variant}")[0].rstrip("/"):
            return Origin(url, row.name, partial=row.partial)
    mirror = re.search(r"/simple/?$", parts.path) is not None and "$" not in url
    return Origin(url, "" if mirror else None, mirror=mirror)


@dataclass(frozen=True, slots=True)
class Place:
    """What an installer's choice depends on: Python (empty if not known), platform, and glibc (empty likewise)."""

    python: str = ""
    platform: str = "linux_x86_64"
    glibc: str = ""


def outcome(request: Request, step: Install, matrix: Matrix, place: Place) -> Outcome:
    """What the installer of ``step`` takes for ``request``."""
    package = matrix.package(request.name)
    places = tuple(place for place in origins(step, matrix, request.name) if not (place.nightly and _released(request)))
    if package is None or request.url:  # a name that only looks like a wheel's is looked up as text
        known = package is not None and bool(request.exact)
        if not (known or request.url) and all(one.beside and request.name not in one.beside for one in places):
            return Outcome("none", why="foreign")
        return _by_address(request, matrix, request.name) if known else Outcome("unknown", why="package")
    unread = versions.specifier(request.spec) is None or "===" in request.spec
    if unread or any(item.index is None or _has_ended(item, request) for item in places):
        return Outcome("unknown", why="place")
    asked = frozenset(normalise(name) for name in request.extras)
    named = [build for build in matrix.builds(package.name) if build.install_name == request.name]
    everything = [build for build in named if build.is_asked_by(asked)]
    broken = [build for build in matrix.failing(package.name) if build.is_asked_by(asked)]
    if not everything:
        return Outcome("unknown", why="package")
    pre = "--pre" in step.options or "--prerelease=allow" in step.options
    admitted = _admitted(request.spec, (*everything, *broken), pre=pre)
    published = _with_extra([(build, item) for build in admitted for item in places if item.has(build)], asked)
    if not published:
        # a release that a sibling's rows have, and this one's skip, may well be there
        others = (build for build in matrix.builds(package.name) if build.install_name != request.name)
        here, there = ({build.full_version for build in each} for each in (everything, others))
        skipped = request.exact in there - here
        return _nowhere(request, everything, places, place, package.name in settled(matrix) and not skipped)
    chosen = _by_extras(_choice(published, step, place), named, asked, places)
    if chosen.origin and chosen.origin.renamed and "+" in request.exact and step.manager != "uv":
        chosen = Outcome("none", chosen.build, chosen.origin, "renamed")
    return Outcome("unknown", why="python") if _may_be_older(request, chosen, everything, place) else chosen


def _has_ended(place: Origin, request: Request) -> bool:
    """Whether the newest of a page is asked for that PyTorch no longer adds to; what that is is not known."""
    family = request.name.startswith("torch")  # what it holds at all
    return family and "torch_stable" in place.url and not place.variant and not request.exact


def _with_extra(published: list[tuple[Build, Origin]], asked: frozenset[str]) -> list[tuple[Build, Origin]]:
    """The builds without those that an extra passes over: of a release that has the extra, what it requires counts.

    Where that has no wheel for a platform or a Python the installer stops, and takes no build without it.
    """
    having = {build.version for build, _ in published if asked & {*build.extras, *build.also}}
    return [
        (build, place)
        for build, place in published
        if build.version not in having or asked & {*build.extras, *build.also}
    ]


def _nowhere(request: Request, known: list[Build], places: tuple[Origin, ...], place: Place, whole: bool) -> Outcome:
    """What follows from no place having a release: proof only where all of the package and of the places is known."""
    if whole and all(_is_foreign(item, known) for item in places):
        return Outcome("none", why="foreign")
    covered = all(any(item.has(build) for build in known) for item in places if item.url and not item.mirror)
    open_ = any(item.mirror or item.partial or _has_gap(request, known, item) for item in places)
    if not (whole and covered) or open_:
        return Outcome("unknown", why="place")
    return _absent(request, known, place, named=any(item.url for item in places))


def _is_foreign(place: Origin, known: list[Build]) -> bool:
    """Whether an index that is known whole holds nothing of a framework, as it is another one's."""
    whole = bool(place.url) and bool(place.index) and not (place.partial or place.apart or place.mirror)
    return whole and not any(_family(build.index) == _family(place.index or "") for build in known)


def _has_gap(request: Request, known: list[Build], place: Origin) -> bool:
    """Whether a release lies between those that a place is known to have, and somebody only inferred these.

    Such a place may have it: that no row says so is no proof.
    """
    wanted = versions.parsed(request.exact) if request.exact else None
    here = [build for build in known if place.url and place.variant and place.has(build)]
    releases = [versions.parsed(build.version) for build in here]
    if wanted is None or not releases or (wanted.local or place.variant) != place.variant:
        return False
    if all(build.how != "inferred" for build in here):
        return False
    exists = any(versions.parsed(build.version).release == wanted.release for build in known)
    return exists and min(releases).release < wanted.release < max(releases).release


def _released(request: Request) -> bool:
    """Whether a request is for one release, which no index of nightlies holds."""
    exact = versions.specifier(request.spec) is not None and request.exact
    return bool(exact) and not versions.parsed(request.exact).is_prerelease


def _by_extras(chosen: Outcome, named: list[Build], asked: frozenset[str], places: tuple[Origin, ...]) -> Outcome:
    """What becomes of a choice that none of the GPU extras asked for has led to.

    If a build of the same release has the extra, on an index that is not asked, the installer finds nothing: the extra
    pins that build. (A page of the project's own may hold more than is listed.) If the release is from before the
    default index had GPU extras, its extras are not all known. What is left is a release that has dropped the extra,
    with which installers only warn and go on.
    """
    wanted = {extra for extra in asked if GPU_EXTRA.match(extra)}
    build = chosen.build
    if chosen.status != "build" or build is None or not wanted or wanted & {*build.extras, *build.also}:
        return chosen
    meant = [row for row in named if row.version == build.version and wanted & {*row.extras, *row.also}]
    own_page = any(place.url and place.has(row) for row in named for place in places)
    if meant and not own_page and not any(place.has(row) for row in meant for place in places):
        return Outcome("none", meant[-1], why="extra")
    complete = [
        versions.parsed(row.version) for row in named if any(map(GPU_EXTRA.match, row.extras)) and not row.index
    ]
    return chosen if complete and versions.parsed(build.version) >= min(complete) else Outcome("unknown", why="extra")


def _may_be_older(request: Request, chosen: Outcome, known: list[Build], place: Place) -> bool:
    """Whether a release from before the matrix may fit: no version is named, and the Python is older than all known."""
    if chosen.why != "python" or request.exact or not place.python:
        return False
    pythons = {python for build in known for python in build.python}
    return bool(pythons) and number(place.python) < min(map(number, pythons))


def settled(matrix: Matrix) -> frozenset[str]:
    """Packages of which every release is in the matrix: the frameworks, and what follows one release by release."""
    frameworks = {name for name, row in matrix.packages.items() if row.kind == "framework"}
    return frozenset(frameworks | {"torchvision", "torchaudio", "jaxlib"})


def _absent(request: Request, known: list[Build], place: Place, *, named: bool) -> Outcome:
    """Whether a release that the matrix lacks does not exist, or lies outside of what it covers.

    One from before has no wheel for a Python that the first releases of the matrix had none for yet.
    ``named``: whether an index is named, beside the default one or in its place.
    """
    releases = [versions.parsed(build.version) for build in known]
    wanted = versions.parsed(request.exact) if request.exact else None
    if request.name in _SOURCE_EVERYWHERE and (wanted is None or wanted in releases):
        return Outcome("unknown", why="place")
    listed = [versions.parsed(build.version) for build in known if "+" in build.full_version]
    if wanted is not None and wanted.local and (not listed or wanted < min(listed)):
        return Outcome("unknown", why="version")  # its variants are not listed
    if wanted is None:
        return Outcome("unknown" if _reaches_below(request.spec, min(releases)) else "none", why="version")
    if wanted < min(releases) and place.python and request.name != "jax":  # whose source installs anywhere
        first = [build for build in known if versions.parsed(build.version) == min(releases)]
        newest = max(number(python) for build in first for python in build.python)
        return Outcome("none", why="python") if number(place.python) > newest else Outcome("unknown", why="version")
    variant = bool(wanted.local) or wanted.is_postrelease  # Paddle's variants are post releases
    elsewhere = (variant or not named) and any(build.full_version == request.exact for build in known)
    if not elsewhere and (wanted.is_prerelease or wanted.is_postrelease or wanted < min(releases)):
        return Outcome("unknown", why="version")
    newer = wanted.release > max(releases).release
    return Outcome("none", why="elsewhere" if elsewhere else "newer" if newer else "version")


def _reaches_below(spec: str, oldest: Version) -> bool:
    """Whether a range ends at or before the oldest release that is known, so that older ones may meet it."""
    bounds = [item for item in versions.specifier(spec) or () if item.operator in {"<", "<=", "==", "~="}]
    return any(versions.parsed(item.version.removesuffix(".*")) <= oldest for item in bounds)


def _by_address(request: Request, matrix: Matrix, package: str) -> Outcome:
    """The build behind a wheel's address, where it lies on an index that the matrix knows."""
    hosts = {urlsplit(row.url).netloc for row in matrix.table("indexes")} - {"github.com"}
    if urlsplit(request.url).netloc not in hosts:
        return Outcome("unknown", why="package")
    found = next((build for build in matrix.builds(package) if build.full_version == request.exact), None)
    return Outcome("build", found, Origin(request.url, found.index)) if found else Outcome("unknown", why="place")


def _choice(published: list[tuple[Build, Origin]], step: Install, place: Place) -> Outcome:
    """The newest of what fits; a listed release that cannot be installed stops the installer where it is newest."""
    fitting = published
    checks: dict[str, Callable[[Build], bool]] = {
        "platform": lambda build: is_at(build, place.platform),
        "python": lambda build: is_for(build, place.python),
        "glibc": lambda build: not place.glibc or not build.glibc or reaches(place.glibc, build.glibc),
    }
    for why, holds in checks.items():
        left = [pair for pair in fitting if holds(pair[0])]
        if not left:
            return Outcome("none", why=why, build=max(fitting, key=_rank)[0])
        fitting = left
    if first_index_wins(step):
        indexes = [found for _, found in fitting if found.url not in step.find_links]
        extra = (*step.extra_indexes, *(found.url for found in indexes if found.url.startswith("--torch-backend")))
        first = min(indexes, key=lambda found: found.url not in extra, default=None)
        fitting = [pair for pair in fitting if pair[1] is first or pair[1].url in step.find_links]
    later = (*step.find_links, step.index, *step.extra_indexes) if step.manager != "uv" else ()
    build, origin_ = max(fitting, key=lambda pair: (_rank(pair), pair[1].url in later and later.index(pair[1].url)))
    return Outcome("none", build, origin_, "fails") if build.fails else Outcome("build", build, origin_)


def _rank(pair: tuple[Build, Origin]) -> tuple[Version, int, tuple[int, ...]]:
    """By which an installer compares: the version with its local tag; then the fuller variant and the newer Python."""
    build = pair[0]
    return versions.parsed(build.full_version), len(build.extras), max(map(number, build.python), default=())


def number(text: str) -> tuple[int, ...]:
    """The numbers of a text as they compare."""
    return tuple(int(part) for part in re.findall(r"\d+", text))


def first_index_wins(step: Install) -> bool:
    """Whether the installer takes the first index that has a name (uv), rather than the best version of all (pip)."""
    return step.manager == "uv" and not any(option.startswith("--index-strategy=unsafe") for option in step.options)


def _admitted(spec: str, builds: Sequence[Build], *, pre: bool) -> list[Build]:
    """The builds that a specifier admits; a yanked one only where it is pinned (PEP 592)."""
    wanted, pinned = versions.specifier(spec), spec.startswith("==")
    if wanted is None:
        return []
    stem = re.sub(r"(?:\.0)+$", "", spec[2:]) if re.fullmatch(r"==(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*))+", spec) else ""
    # a list may hold thousands of pins: each is read against few releases
    offered = [(build.full_version, build) for build in builds if pinned or not build.yanked]
    numbers = {each for each, _ in offered if each.startswith(stem)}
    loose = True if pre or pinned else None
    admitted = {each for each in numbers if wanted.contains(versions.parsed(each), prereleases=loose)}
    return [build for each, build in offered if each in admitted]
