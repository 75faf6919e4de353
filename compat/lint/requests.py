"""Lint of what is installed: which build each request really gets, and whether that is the one meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import compat.lint.nearest as nearest
import compat.lint.origins as origins
import compat.lint.vendors as vendors
from compat import versions
from compat.findings import Confidence, Evidence, Finding, Severity
from compat.joints.build import is_unseen
from compat.joints.libc import is_read
from compat.joints.python import in_order, is_for
from compat.joints.verdict import is_inferred
from compat.lint.finding import of_request, seen
from compat.lint.scene import pythons_of_apt
from compat.lint.worlds import parts_of, together
from compat.matrix import measured
from compat.sources.requirements import BEHIND, HASHED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from compat.lint.scene import Scene
    from compat.lint.walk import Taken
    from compat.matrix.rows import Build, Notice
    from compat.sources.values import Request

_PIPS: Final = ("pip-names", "pip-three")  # the first pip that reads the names of all wheels, and the first of Python 3
_MARKS: Final = {"Windows": "win32", "macOS": "darwin"}
_LOCAL_CUDA: Final = re.compile(r"\+(cu\d+|rocm[\d.]+|cuda\d+.*)$")


def unmet(scene: Scene) -> Iterator[Finding]:
    """index-missing, version-does-not-exist, python-unsupported: nothing satisfies the request."""
    told: set[int] = set()  # steps whose only index has not got all
    for item in scene.own:
        if _is_of_two(item, scene):
            continue
        wheel = unquote(item.request.url.partition("#")[0].rpartition("/")[2])
        here = {world.python for world in scene.worlds if scene.pythons and together((item.request.marker,), (world,))}
        made, pythons = versions.wheel_pythons(wheel), {item.python} if item.python else here
        old = made == ["2.7"] and item.python  # a system may have a second pip, of Python 2
        if made and pythons and not old and not pythons & {*made}:
            detail = f"{wheel} is for Python {' or '.join(made)}, and here is {' or '.join(in_order(pythons))}."
            yield of_request("python-unsupported", item, scene, detail)
        elif pythons and _out_of_reach(item, pythons, scene):
            yield _no_python(item, scene, pythons)
        if item.outcome.why == "foreign" and (id(item.step) in told or _may_be_there(item, scene)):
            continue
        told |= {id(item.step)} if item.outcome.why == "foreign" else set()
        if item.build and item.request.exact and not is_read(item.build, item.named):
            yield from _not_read(item, item.build, scene)
        if item.outcome.status == "none":
            yield from _none(item, scene)
        elif _only_default(item, scene):
            yield _index_missing(item, scene)
        elif item.outcome.status == "unknown":
            yield from _removed(item, scene)


def _is_of_two(item: Taken, scene: Scene) -> bool:
    """Whether a bare ``pip`` is Python 2's, which a system's package python-pip brings, and takes what was for that."""
    own = item.step.python or item.step.home or item.request.exact
    if item.step.manager != "pip" or own or item.outcome.why != "fails":
        return False
    return {one.name for one in scene.apt if one.name in {"python-pip", "python3-pip"}} == {"python-pip"}


def _none(item: Taken, scene: Scene) -> Iterator[Finding]:
    """Why an installer finds nothing for a request."""
    why = item.outcome.why
    nowhere = why == "version" and all(place.url == "" for place in item.origins)
    if why == "elsewhere" or (nowhere and _LOCAL_CUDA.search(item.request.exact)):
        yield _index_missing(item, scene)
    elif why in {"version", "newer"}:
        yield from (_no_version(item, scene),) if item.request.spec else ()
    elif why in _REASONS:
        yield _REASONS[why](item, scene)


def _may_be_there(item: Taken, scene: Scene) -> bool:
    """Whether a package without rows may have come before: with the base, from a list not at hand, or in a lock."""
    unread = any(step.files and step.line < item.step.line for part in scene.chain for step in part.installs)
    base = scene.base
    brought = base is not None and (bool(base.installed) or base.kind not in {"cuda", "python", "plain"})
    before = "--locked" in item.step.options or unread or brought or bool(scene.conda)
    return before and scene.matrix.package(item.request.name) is None


def _removed(item: Taken, scene: Scene) -> Iterator[Finding]:
    """A pinned release that a whole list of the default index lacks, and that nothing else can have brought."""
    base, request = scene.base, item.request
    elsewhere = request.url or item.by or any(place.url or place.index for place in item.origins)
    kept = item.outcome.why == "kept" or (base and request.name in base.installed)
    if kept or elsewhere or not request.exact:
        return
    day, later = measured.gone(request.name, request.exact)
    if day and not _may_be_there(item, scene):
        detail = f"{request.text} is not on the default index: the next release that it had on {day} is {later}."
        fix = f"Ask for {request.name}=={later}, or name the index that still has it."
        yield of_request("version-does-not-exist", item, scene, detail, fix=fix, confidence="likely")


def _only_default(item: Taken, scene: Scene) -> bool:
    """Whether a local version is asked of the default index alone, which takes no upload of any.

    Source: packaging specifications, "Version specifiers", section "Local version identifiers".
    """
    local = "+" in item.request.exact and not item.request.url and not item.base and scene.ask.kind != "lock"
    kept = item.outcome.why == "kept" or item.outcome.status == "build" or bool(item.by)
    return local and not kept and all(place.index == "" and not place.url for place in item.origins)


def _index_missing(item: Taken, scene: Scene) -> Finding:
    """A local version without its index; the fix names the index where the matrix knows it."""
    url, option = index_of(item, scene)
    named = ", ".join(place.url for place in item.origins if place.url)
    behind = [BEHIND.search(text) for line, text in item.step.refused if line == item.request.line]
    lacks = f"nor at {named}" if named else "and no other is named"
    lacks = f"and pip passes over the {behind[0][1]} behind it" if behind and behind[0] and not named else lacks
    detail = f"{item.request.text} is not on the default index, {lacks}."
    build, fix = _elsewhere(item, scene), f"Add {option} {url}" if url else ""
    return of_request("index-missing", item, scene, detail, fix=(build and _by_file(item, build, scene)) or fix)


def _renamed(item: Taken, scene: Scene) -> Finding:
    """A wheel that was renamed after its build, which pip discards where it is asked for by name."""
    build = item.outcome.build
    assert build is not None
    detail = f"pip discards the file of {item.request.text}: it was renamed, and its metadata says {build.version}."
    fix = _by_file(item, build, scene)
    return of_request("version-does-not-exist", item, scene, detail, fix=fix, rows=(build,))


def _by_file(item: Taken, build: Build, scene: Scene) -> str:
    """Ask for a wheel by its address, where its index cannot be asked by name; else empty."""
    python = item.python or scene.python
    if address := scene.matrix.address(build, python or build.python[-1]):
        page = f"by its address, from {scene.matrix.index_url(build)}"
        return f"Ask for the file{f': {build.install_name} @ {address}' if python else f' of your Python {page}'}"
    return ""


def _foreign(item: Taken, scene: Scene) -> Finding:
    """What is looked for on a framework's index alone, which has not got it; told once for a step."""
    where = ", ".join(place.url for place in item.origins)
    others = sum(one.outcome.why == "foreign" for one in scene.own if one.step is item.step) - 1
    what = f"{item.request.text} and {others} more are" if others else f"{item.request.text} is"
    detail = f"{what} not at {where}, and no other index is named."
    fix = "Install what that index has by itself: --index-url replaces the default index for all else too."
    sure: Confidence = "certain" if scene.matrix.package(item.request.name) else "likely"
    return of_request("index-missing", item, scene, detail, fix=fix, confidence=sure)


def _extra_elsewhere(item: Taken, scene: Scene) -> Finding:
    """An extra that pins a build of an index that is not named."""
    build = item.outcome.build
    assert build is not None
    where = ", ".join(place.url or "the default index" for place in item.origins)
    detail, fix = f"{item.request.text} pins a build that is not at {where}.", scene.matrix.index_url(build)
    return of_request("index-missing", item, scene, detail, fix=f"Add --find-links {fix}", rows=(build,))


def index_of(item: Taken, scene: Scene) -> tuple[str, str]:
    """Address of the index or page that has a local version, and the option that names it; empty if none is known."""
    if (build := _elsewhere(item, scene)) is None:
        return "", ""
    return scene.matrix.index_url(build), "--find-links" if scene.matrix.is_page(build) else "--extra-index-url"


def _elsewhere(item: Taken, scene: Scene) -> Build | None:
    """The build of another index that a local version names."""
    builds = scene.rows(item.request.name)
    return next((build for build in builds if build.full_version == item.request.exact and build.index), None)


def _no_version(item: Taken, scene: Scene) -> Finding:
    """A version that the named indexes do not have; a warning where the matrix may be older than the index."""
    newer = item.outcome.why == "newer"
    package = scene.matrix.package(item.request.name)
    unsure = newer or (package is not None and package.kind != "framework" and "+" in item.request.exact)
    first, *others = dict.fromkeys(place.url or "the default index" for place in item.origins)
    detail = f"No build of {item.request.text} is published at {first}"
    if others:
        detail = f"{item.request.text} is published neither at {' nor at '.join((first, *others))}"
    level: Severity = "warning" if unsure else "error"  # not every variant of every companion is listed
    return of_request(
        "version-does-not-exist", item, scene, detail + (", or it is newer than this matrix." if newer else "."),
        severity=level, fix=nearest.around(item, scene), confidence="likely",
    )  # fmt: skip


def _out_of_reach(item: Taken, pythons: Collection[str], scene: Scene) -> bool:
    """Whether a release has wheels, and none of them for a Python that the base image can have.

    Of a package without rows what was measured counts, where no other place than the default index may have more.
    """
    name, exact = item.request.name, item.request.exact
    if not exact or item.request.url:
        return False
    if scene.matrix.package(name) is not None:
        release = exact.partition("+")[0]
        rows = [row for row in scene.rows(name) if row.version == release]
        return not item.python and bool(rows) and all(row.python and not {*row.python} & {*pythons} for row in rows)
    if scene.ask.kind == "lock" or item.outcome.why == "kept" or _may_be_there(item, scene):
        return False
    record = None if origins.elsewhere(item.origins, name, scene.matrix) else measured.release(name, exact)
    return record is not None and not any(record.serves(each, scene.platform, scene.matrix) for each in pythons)


def _not_installable(item: Taken, scene: Scene) -> Finding:
    """A release that is listed and cannot be installed, or whose wheels need a newer C library than the base's."""
    build, base = item.outcome.build, scene.base
    assert build is not None
    fails, extras = item.outcome.why == "fails", item.request.extras
    has = f"{base.reference if base else 'the machine'} has {scene.glibc}"
    detail = (
        f"{item.request.text} resolves to {build.full_version}, which cannot be installed: {build.fails}."
        if fails
        else f"{item.request.text} has wheels for glibc {build.glibc} and later; {has}."
    )
    alike = [row for row in scene.rows(item.request.name) if any(place.has(row) for place in item.origins)]
    fitting = [row for row in alike if {*extras} <= {*row.extras, *row.also} and item.python in row.python]
    name = item.request.name + (f"[{','.join(extras)}]" if extras else "")
    last = max(fitting, key=lambda row: versions.parsed(row.version), default=None)
    fix = f"Ask for {name}=={last.version}." if fails and last else ""
    if fails and not last and (newest := max(alike, key=lambda row: versions.parsed(row.version), default=None)):
        fix = f"Ask for '{name}<={newest.version}'."
    code, field = ("version-does-not-exist", "fails") if fails else ("glibc-too-old", "glibc")
    sure: Confidence = "likely" if is_inferred(build, field) else "certain"
    return of_request(code, item, scene, detail, fix=fix, rows=(build,), confidence=sure)


def _not_read(item: Taken, build: Build, scene: Scene) -> Iterator[Finding]:
    """version-does-not-exist: a release of which the system's pip reads no wheel, as their names are newer than it."""
    row, first, last = (scene.matrix.system(scene.base.os if scene.base else ""), *map(scene.matrix.turn, _PIPS))
    package = scene.matrix.package(build.package)
    if row is None or package is None or not package.wheels_alone:
        return
    what = f"{item.request.text} has wheels for glibc {build.glibc} and later alone"
    detail = f"{what}, and the pip of {row.os} is too old to read their names."
    fix = f"Before it: RUN pip3 install 'pip>={first.version},<{last.version}'"
    yield of_request("version-does-not-exist", item, scene, detail, fix=fix, rows=(build, row, first))


def nowhere(scene: Scene) -> Iterator[Finding]:
    """index-missing, version-does-not-exist: names that the default index has not, or not for this system."""
    passed = {*scene.stage.env, *(name for command in scene.commands for name, _ in command.settings)}
    notices = {row.name: row for row in scene.matrix.table("notices") if row.unless not in passed}
    torch = any(item.request.name == "torch" for item in scene.env)
    sources = {row.name: row for row in scene.matrix.table("repositories") if torch or not row.taken}
    confined = {row.name: row for row in scene.matrix.table("confined") if not scene.platform.startswith(row.system)}
    conda = {row.name for row in scene.matrix.table("conda") if scene.matrix.package(row.name) is None}
    names = {item.request.name for item in scene.own}
    for_pip = any(row.distribution in names for row in scene.matrix.table("conda") if row.distribution)  # torch
    if scene.ask.kind == "requirements" and "python" in names and not for_pip:
        return  # a list for `conda create --file`
    for item in scene.own:
        request = item.request
        loose = request.url or request.marker or item.step.branch
        if loose or origins.elsewhere(item.origins, request.name, scene.matrix):
            continue
        source, code = sources.get(request.name), "version-does-not-exist"
        if source:
            has = f"another project named {request.name}" if source.taken else f"no {request.name} for this system"
            what, fix, code = f"The default index has {has}", f"Ask for {source.address}.", "index-missing"
        elif request.name in conda:
            what, fix = f"{request.text} is a package of conda, and on no index of pip", "Leave it to conda."
        elif scene.base and request.name in confined:  # of a list it is not known where it is installed
            system = {"win": "Windows", "macosx": "macOS"}[confined[request.name].system]
            what, fix = (
                f"{request.name} has wheels for {system} alone",
                f"Mark it: ; sys_platform == '{_MARKS[system]}'",
            )
        elif (row := notices.get(request.name)) and _is_notice(row, request):
            what, fix = f"{request.text} is only a notice to take another package", f"Ask for {row.instead}."
        else:
            continue
        then = "that one is installed" if source and source.taken else "the install stops"
        yield of_request(code, item, scene, f"{what}: {then}.", fix=fix)


def _is_notice(row: Notice, request: Request) -> bool:
    """Whether an installer takes a release that is one, if only the newest."""
    return not (row.versions and request.exact) or versions.admits(row.versions, request.exact) is True


def _no_python(item: Taken, scene: Scene, here: Collection[str] = ()) -> Finding:
    """A release that has no wheel for the stage's Python, with those that it has."""
    exact, platforms = item.request.exact, {"any", scene.platform}
    rows = scene.rows(item.request.name) or [part.build for part in parts_of(item.request, None, scene.matrix)]
    builds = [b for b in rows if b.version == exact.partition("+")[0] and platforms & {*b.platforms}]
    builds = [b for b in builds if b.full_version == exact] or builds
    builds = [b for b in builds if {*item.request.extras} & {*b.extras, *b.also}] or builds
    pythons = sorted({p for b in builds for p in b.python}, key=origins.number)
    python = item.step.python or item.python or " or ".join(in_order(here))
    offered = f"; it has {pythons[0]} to {pythons[-1]}" if pythons else ""
    known = scene.matrix.package(item.request.name) is not None
    moved = nearest.there(item, scene) if scene.python and exact and known else ""
    beside = in_order({*pythons} & pythons_of_apt(scene.apt)) if item.step.manager == "pip" and item.python else ()
    if beside and not item.step.python and not moved:
        moved = f"Write python{beside[-1]} -m pip: a bare pip is that of Python {item.python}."
    one = f"a release of {item.request.name} for {python if python.count('.') == 1 else 'one of these'}"
    return of_request(
        "python-unsupported", item, scene, f"{item.request.text} has no wheel for Python {python}{offered}.",
        fix=moved or (f"Use Python {pythons[-1]}, or {one}." if pythons else ""), rows=builds,
        confidence="likely" if any(is_unseen(scene.matrix, row, "python") for row in builds) else "certain",
        evidence=(seen(item, scene), Evidence("python", python, scene.ask.file)),
    )  # fmt: skip


def shadowed(scene: Scene) -> Iterator[Finding]:
    """extra-index-shadowed: the default index answers where an extra one was meant to."""
    if scene.base is not None and scene.base.musl:
        return  # none of the wheels is for it: told by itself
    for item in scene.own:
        extra = [place for place in item.origins[1:] if place.index and place.variant]
        loose = not _LOCAL_CUDA.search(item.request.spec) and HASHED not in item.step.options
        if not extra or item.origins[0].url or not loose or item.build is None or origins.first_index_wins(item.step):
            continue
        # none where the extra places are not about this package at all
        meant = {row.runtime for row in scene.rows(item.request.name) if any(place.has(row) for place in extra)}
        behind = any(_is_behind(item, place, scene) for place in extra)  # that may have so new a release, or not
        if item.outcome.origin in extra or not meant or item.build.runtime in meant or behind:
            continue
        listed = _of_page(item, extra, scene)
        wanted = listed or f"a {', '.join(place.variant for place in extra)} build"
        never = not any(has_match(item, place, scene) for place in extra)
        other = {re.match(r"cu|rocm|xpu|", place.variant).group() for place in extra}  # type: ignore[union-attr]
        vendor = other <= {"rocm", "xpu"} and item.build.runtime.startswith("cuda")
        got = f"the default index's {item.build.full_version} ({item.build.runtime or 'source'})"
        why = ": that index has none that fits." if never else "."
        detail = f"{item.request.text} resolves to {got}, not to {wanted}{why}"
        apart = item.build.runtime.partition(".")[0] not in {one.partition(".")[0] for one in meant}  # another driver
        level: Severity = "error" if vendor or (never and apart and item.request.spec) else "warning"
        fix = f"Use --index-url {extra[0].url} for this step, or pin a version with +{extra[0].variant}."
        fix = f"Ask for {listed}." if listed else fix
        if never and (row := _nearest_variant(item, extra[0], scene)):
            fix = f"Name {scene.matrix.index_url(row)} in its place: it has {item.request.name} {row.version}."
        yield of_request("extra-index-shadowed", item, scene, detail, severity=level, fix=fix, rows=(item.build,))


def _fitting(item: Taken, scene: Scene) -> list[Build]:
    """The builds of what is asked for, wherever they are, that an installer could take here."""
    rows = (row for row in scene.rows(item.request.name) if scene.platform in row.platforms)
    here = (row for row in rows if item.python in {"", *row.python})
    return [row for row in here if versions.admits(item.request.spec, row.version) is not False]


def _of_page(item: Taken, places: Sequence[origins.Origin], scene: Scene) -> str:
    """The newest release with a tag of its own that a page of files has, as a pin; empty if it is no page."""
    rows = (row for row in _fitting(item, scene) if "+" in row.full_version and scene.matrix.is_page(row))
    found = (row.full_version for row in rows if any(place.has(row) for place in places))
    newest = max(found, key=versions.parsed, default="")
    return newest and f"{item.request.name}=={newest}"


def _nearest_variant(item: Taken, place: origins.Origin, scene: Scene) -> Build | None:
    """The newest build of what is asked for in another variant of a place's index: the next one, else the last."""
    kind = place.variant.rstrip("0123456789.")
    here = (row for row in _fitting(item, scene) if row.index == place.index)
    rows = [row for row in here if row.variant and row.variant.rstrip("0123456789.") == kind]
    newest = max((versions.parsed(row.version) for row in rows), default=None)
    same = (row for row in rows if versions.parsed(row.version) == newest)
    last = sorted(same, key=lambda row: origins.number(row.variant))
    later = (row for row in last if origins.number(row.variant) > origins.number(place.variant))
    return next(later, last[-1] if last else None)


def _is_behind(item: Taken, place: origins.Origin, scene: Scene) -> bool:
    """Whether a place goes on with the newest framework, and what it has of a companion by then is not known."""
    package = scene.matrix.package(item.request.name)
    leaders = scene.matrix.builds(package.follows) if package and package.follows else ()
    known = [versions.parsed(row.version) for row in scene.rows(item.request.name) if place.has(row)]
    if not leaders or not known or item.build is None or max(known) >= versions.parsed(item.build.version):
        return False
    return any(place.has(row) and row.version == leaders[-1].version for row in leaders)


def has_match(item: Taken, place: origins.Origin, scene: Scene) -> bool:
    """Whether a place has a build of what is asked for."""
    rows = (row for row in scene.rows(item.request.name) if place.has(row) and is_for(row, scene.python))
    return any(versions.admits(item.request.spec, row.full_version) for row in rows)


_REASONS: Final[Mapping[str, Callable[[Taken, Scene], Finding]]] = {
    "extra": _extra_elsewhere,
    "foreign": _foreign,
    "python": _no_python,
    "fails": _not_installable,
    "glibc": _not_installable,
    "renamed": _renamed,
}

RULES: Final = (unmet, nowhere, shadowed, vendors.wrong_vendor)
