"""Lint of shared packages that nothing bounds: the installer takes a release that older frameworks do not load with.

Of the bounds that a build has, an installer knows those alone that its metadata declares; the rows name the others
(``undeclared``).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import compat.joints.build as builds
from compat import versions
from compat.lint.disputes import alternatives
from compat.lint.finding import of_request
from compat.lint.walk import LOOSE, Taken, alike, has_end
from compat.lint.worlds import parts_of
from compat.sources.requirements import HASHED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding, Severity
    from compat.joints.build import Part
    from compat.lint.scene import Scene
    from compat.matrix.rows import Major
    from compat.sources.values import Request

# Conda packages that bring none of the shared ones.
_ALONE: Final = re.compile(r"python|pip|setuptools|wheel|cuda.*|cudnn")
# The same for one of these: what computes with NumPy brings no protobuf, and OpenCV its C++ library alone (conda-forge,
# opencv-feedstock, recipe/meta.yaml).
_WITHOUT: Final = {
    "protobuf": re.compile(
        rf"{_ALONE.pattern}|numpy|scipy|pandas|pillow|matplotlib|seaborn|scikit-\w+|cython|h5py|opencv"
    )
}
_LED: Final = frozenset({"led", "beside"})  # outcomes that the framework beside decides


def unbounded(scene: Scene) -> Iterator[Finding]:
    """numpy-abi-mismatch, framework-pair-mismatch: a framework from before a release that nothing keeps away."""
    if scene.ask.kind == "lock":
        return
    told: set[str] = set()
    taken: dict[tuple[int, int], bool] = {}  # of a row in a step: a file may ask for thousands of frameworks
    for item in scene.env:
        parts = () if item.base else parts_of(_released(item.request), item.build, scene.matrix)
        if "+" in item.request.exact and not any(part.full == item.request.exact for part in parts):
            continue  # a maker's own build is compiled as its maker chose
        own = item.python or _own(item.request)
        for row in _reached(scene, own or _newest(parts)) if parts else ():
            bound = _excluding(row, parts) if _is_bare(scene, row.name) else ""
            if not bound or row.name in told:
                continue
            key = id(row), id(item.step)
            taken[key] = taken[key] if key in taken else _is_taken(row, item, scene)
            if not taken[key] or _is_bounded(row, parts, scene):
                continue
            told.add(row.name)
            older = any(versions.release(one) < versions.release(row.python) for one in _pythons(parts))
            open_ = not item.python and (scene.base is not None or older)  # it may be an older one, which gets another
            mild = open_ or item.request.name == "torch"  # which loads without NumPy
            level: Severity = "warning" if mild else "error"
            where = "" if own else f" on Python {row.python} and later"
            yield of_request(
                _code(row), item, scene,
                f"{item.text} does not work with {row.name} {row.version} and later, and nothing bounds {row.name}: "
                f"the newest one is installed{where}.",
                severity=level, confidence="likely", fix=f"Add {row.name}{bound}.", rows=(row, parts[0].build),
            )  # fmt: skip


def compiled_before(scene: Scene) -> Iterator[Finding]:
    """numpy-abi-mismatch, framework-pair-mismatch: a package whose metadata lets it meet what it does not load with."""
    for row in scene.matrix.table("majors") if scene.ask.kind != "lock" else ():
        pins = [(one, _settled(one, scene)) for one in scene.env if one.request.name == row.name]
        package = scene.matrix.package(row.name)
        led = f", and the {package.follows} of that release" if package and package.follows else ""
        for item in scene.env:
            old = item.python and versions.release(item.python) < versions.release(row.python)
            if old or not any(_names(one, item.request) for one in row.breaks) or _is_patched(item, scene):
                continue
            beside = [
                one for one in pins if one[1] and alike(one[0].step, item.step) and not alternatives(one[0], item)
            ]
            last = next((one for one, release in beside if versions.at_least(release, row.version)), None)
            unread = any(step.files for part in scene.chain for step in part.installs)
            open_ = not unread and _is_bare(scene, row.name) and _is_taken(row, item, scene, own=True)
            if last is None and (beside or not open_ or _is_bounded(row, (), scene)):
                continue
            comes = "comes" if last and (last.base or last.by or not last.request.exact) else "is asked for"
            takes = f"{last.label} {comes}" if last else f"nothing bounds {row.name}"
            bound = versions.major(row.version) or versions.minor(row.version)
            yield of_request(
                _code(row), item, scene,
                f"{item.text} does not load with {row.name} {row.version} and later, and {takes}.",
                severity="error" if last else "warning", confidence="certain" if last else "likely",
                fix=f"{'Pin' if last else 'Add'} {row.name}<{bound}{led}.", rows=(row,),
            )  # fmt: skip
            break


def _code(row: Major) -> str:
    return "numpy-abi-mismatch" if row.name == "numpy" else "framework-pair-mismatch"


def _settled(item: Taken, scene: Scene) -> str:
    """The pinned release, or the newest that the framework beside it leaves; empty if it may be any, or is a base's."""
    led = (part.build.version for part in _may_be(item, scene) if item.outcome.why in _LED)
    return "" if item.base else item.request.exact or max(led, key=versions.parsed, default="")


def _is_patched(item: Taken, scene: Scene) -> bool:
    """Whether a source of its own is asked for, or a step changes files of the package where they lie."""
    return bool(item.request.url) or any(f"/{item.request.name}/" in one.text for one in scene.commands)


def _released(request: Request) -> Request:
    """The release that a candidate came before (``2.3.0rc0``): what it does not load with they do not either."""
    version = versions.public(request.exact) if request.exact else None
    return replace(request, spec=f"=={version.base_version}") if version and version.pre else request


def _is_bare(scene: Scene, name: str) -> bool:
    """Whether nothing but the file's own steps can have brought a shared package."""
    alone = _WITHOUT.get(name, _ALONE)
    base = scene.base
    known = base is None or base.kind in {"python", "plain"} or (bool(base.flavour) and not base.installed)
    return known and all(alone.fullmatch(request.name) for request in scene.conda)


def _reached(scene: Scene, python: str) -> Iterator[Major]:
    """The rows for a Python, of each package the one for the newest Python up to it."""
    found: dict[str, Major] = {}
    for row in scene.matrix.table("majors"):
        if python and versions.release(row.python) <= versions.release(python):
            found[row.name] = max(row, found.get(row.name, row), key=lambda each: versions.release(each.python))
    yield from found.values()


def _own(request: Request) -> str:
    """The one Python that a wheel's name says; empty if it says none, or several."""
    pythons = versions.wheel_pythons(unquote(request.url.partition("#")[0].rpartition("/")[2]))
    return pythons[0] if len(pythons) == 1 else ""


def _newest(parts: tuple[Part, ...]) -> str:
    """The newest Python that a release has wheels for."""
    return max(_pythons(parts), key=versions.release, default="")


def _pythons(parts: tuple[Part, ...]) -> list[str]:
    return [python for part in parts for python in part.build.python if python[-1:].isdigit()]


def _excluding(row: Major, parts: tuple[Part, ...]) -> str:
    """The bound that keeps the release away from every build and that none declares; empty if one works with it."""
    hidden = [part.lines.get(row.name, ()) if row.name in part.build.undeclared else () for part in parts]
    found = [next((line.spec for line in lines if _ends_before(line.spec, row)), "") for lines in hidden]
    return found[0] if found and all(found) else ""


def _ends_before(spec: str, row: Major) -> bool:
    """Whether a specifier ends before a release; one that begins after it says nothing of that."""
    ends = [item for item in versions.specifier(spec) or () if item.operator in {"<", "<=", "==", "~="}]
    last = versions.parsed(row.version)
    low = any(versions.parsed(item.version.removesuffix(".*")) <= last for item in ends)
    return low and versions.admits(spec, row.version) is False


def _names(line: str, request: Request) -> bool:
    """Whether a requirement names what a request is for, and admits its release; one without an end, the newest."""
    found = versions.requirement(line)
    if found is None or found.name != request.name:
        return False
    return versions.admits(found.spec, request.exact) is True if request.exact else not has_end(found.spec)


def _is_taken(row: Major, item: Taken, scene: Scene, *, own: bool = False) -> bool:
    """Whether an installer takes the release, or a later one: what is asked for, or requires it, admits it.

    ``own``: whether the package itself requires it, of any release.
    """
    asked = [one.request for one in (*scene.taken, *scene.env) if one.request.name == row.name and not one.base]
    # what a file of constraints bounds is not all known here: a step may have written it
    if item.step.constraints or HASHED in item.step.options:
        return False
    beside = (one for one in scene.env if alike(one.step, item.step) and not LOOSE & {*one.step.options})
    lines = [[_declared(row, part) for part in _may_be(one, scene)] for one in beside]
    naming = [each for each in lines if each and all(each)]
    open_ = all(any(_admits(spec, row) for spec in specs) for each in naming for specs in each)
    bounded = any(one.exact or one.url or not _admits(one.spec, row) for one in asked)
    return bool(own or naming or asked) and open_ and not bounded


def _may_be(item: Taken, scene: Scene) -> tuple[Part, ...]:
    """The builds that a request may get; where the framework beside it decides, all that are for that release of it."""
    package = scene.matrix.package(item.request.name) if item.outcome.why in _LED else None
    lead = next((one for one in scene.env if package and one.request.name == package.follows and one.version), None)
    if package is None or lead is None:
        return parts_of(_released(item.request), item.build, scene.matrix)
    every = (builds.part(scene.matrix, row, row.package) for row in scene.matrix.builds(package.name))
    asked = (
        (part, part.lines.get(package.follows, ())) for part in every if part.build.install_name == item.request.name
    )
    return tuple(part for part, lines in asked if any(versions.admits(one.spec, lead.version) for one in lines))


def _declared(row: Major, part: Part) -> list[str]:
    """What the metadata of a build says of a shared package, where it names it."""
    specs = [line.spec for line in part.lines.get(row.name, ())]
    return [one for one in specs if row.name not in part.build.undeclared or not _ends_before(one, row)]


def _admits(spec: str, row: Major) -> bool:
    return not spec or (versions.admits(spec, row.version) is not False and not has_end(spec))


def _is_bounded(row: Major, parts: tuple[Part, ...], scene: Scene) -> bool:
    """Whether something else keeps the release away: an older release of a package that did, or one of the system."""
    asked = [*(one.request for one in (*scene.taken, *scene.env)), *scene.conda]
    if any(request.name.endswith(row.name) for request in scene.apt):
        return True
    for bound in filter(None, map(versions.requirement, row.bounded_by)):
        required = (line.spec for part in parts for line in part.lines.get(bound.name, ()))
        given = ("" if one.url else one.spec for one in asked if one.name == bound.name)
        if any(_falls_in(spec, bound.spec) for spec in {*required, *given}):
            return True
    return False


def _falls_in(spec: str, releases: str) -> bool:
    """Whether the release that an installer takes for a specifier is one of ``releases``: the newest, or an older one.

    Of a range that reaches beyond these releases it takes a later one.
    """
    _, ends, last = releases.partition("<=")
    numbers = versions.release(last) if ends else ()
    later = f"{numbers[0]}.{numbers[1] + 1}" if len(numbers) > 1 else ""
    beyond = bool(later) and (not spec or versions.admits(spec, later) is not False)
    return not beyond and not versions.clashes(spec, releases)


RULES: Final = (unbounded, compiled_before)
