"""Lint of what must fit together: pairs of packages, their variants, CUDA majors, ROCm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.lint.origins as origins
from compat import versions
from compat.findings import Evidence
from compat.lint.finding import finding
from compat.lint.scene import marked
from compat.names import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.findings import Finding
    from compat.lint.scene import Scene, Taken
    from compat.matrix.rows import Build

_DEPENDENCY: Final = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(?:;(.*))?")
_LOOSE: Final = ("--no-deps", "--no-dependencies")
# Names that tell their CUDA major: ``nvidia-cublas-cu12``, ``cupy-cuda12x``, ``cupy-cuda117``.
_NAMED: Final = re.compile(r"-cu(?:da)?(1\d)(?:x|\d)?$")


def pairs(scene: Scene) -> Iterator[Finding]:
    """framework-pair-mismatch, numpy-abi-mismatch: what one build requires excludes another request."""
    pinned = {item.request.name: item for item in scene.taken if item.request.spec and not item.request.marker}
    for item in scene.builds:
        if item.build is None or not item.request.exact or _unbound(item, scene):
            continue
        for name, spec in _requirements(item, scene):
            other = pinned.get(name)
            if other is None or other is item or _alternatives(item, other) or {*_LOOSE} & {*other.step.options}:
                continue
            if not (_allows(spec, other.request.exact) if other.request.exact else meet(spec, other.request.spec)):
                yield _mismatch(item, other, spec, scene)


def _unbound(item: Taken, scene: Scene) -> bool:
    """Whether pip checks nothing of a request, and nothing else ties it: it is not compiled against a framework."""
    package = scene.matrix.package(item.request.name)
    return bool({*_LOOSE} & {*item.step.options}) and not (package and package.follows)


def unresolved_pairs(scene: Scene) -> Iterator[Finding]:
    """framework-pair-mismatch: a companion that no named place has, of a release that excludes the framework's."""
    pinned = {item.request.name: item for item in scene.taken if item.request.exact and not item.request.marker}
    for item in pinned.values():
        if item.build is not None or {*_LOOSE} & {*item.step.options}:
            continue
        release = item.request.exact.partition("+")[0]
        rows = [row for row in scene.matrix.builds(item.request.name) if row.version == release]
        specs = {name: spec for row in rows for name, spec in _required(row, scene)}
        for name, spec in specs.items():
            other = pinned.get(name)
            package = scene.matrix.package(name)
            if other is None or other is item or package is None or package.kind != "framework":
                continue
            excluded = all(not _allows(dict(_required(row, scene)).get(name, ""), other.request.exact) for row in rows)
            if excluded and not _alternatives(item, other):
                yield _mismatch(item, other, spec, scene)


def _alternatives(item: Taken, other: Taken) -> bool:
    """Whether two requests stand in different arms of one ``if``, or in one arm and outside.

    An extra of a project is installed together with what the project itself asks for.
    """
    one, two = item.step.branch, other.step.branch
    joint = not one or not two
    return one != two and not (joint and (one or two).startswith("+"))


def meet(first: str, second: str) -> bool:
    """Whether some version satisfies both specifications; ``True`` if one of them cannot be read.

    It is enough to try the lowest version, those that they name, and those right after them.
    """
    one, two = origins.specifiers(first), origins.specifiers(second)
    if one is None or two is None or re.search(r"[*+]|===", first + second):
        return True
    named = [item.version for item in (*one, *two)]
    candidates = ["0", *named, *(f"{version}.0.0.1" for version in named if version.replace(".", "").isdigit())]
    return not named or any(
        one.contains(version, prereleases=True) and two.contains(version, prereleases=True) for version in candidates
    )


def _requirements(item: Taken, scene: Scene) -> Iterator[tuple[str, str]]:
    assert item.build is not None
    return _required(item.build, scene)


def _required(build: Build, scene: Scene) -> Iterator[tuple[str, str]]:
    """Names and specifications that a build requires where the markers hold."""
    for line in build.requires:
        found = _DEPENDENCY.fullmatch(line.strip())
        if found and _applies(found[3] or "", scene):
            yield normalise(found[1]), found[2].replace(" ", "")


def _applies(marker: str, scene: Scene) -> bool:
    """Whether a marker holds in this scene, as far as it is known: Linux, the stage's architecture and Python.

    A marker that asks for an extra does not hold: nobody asked for it where it is weighed.
    """
    if not marker.strip():
        return True
    from packaging.markers import InvalidMarker, Marker

    values = {**marked(scene.arch, "linux"), "extra": ""}
    python = {"python_version": scene.python, "python_full_version": f"{scene.python}.0"} if scene.python else {}
    try:
        return Marker(marker).evaluate({**values, **python})
    except InvalidMarker:
        return False


def _allows(spec: str, version: str) -> bool:
    """Whether a requirement admits a version; true where that is not known, since a wrong error costs more."""
    wanted = origins.specifiers(spec)
    if origins.specifiers(f"=={version}") is None or origins.version_of(version).is_prerelease:
        return True  # a maker's own build of that release (2.1.0a0): what it stands for is not known
    if wanted is None or ("+" in spec and "+" not in version):
        return True  # which local build an index offers for the plain version is not known here
    return wanted.contains(version if "+" in spec else version.partition("+")[0], prereleases=True)


def _mismatch(item: Taken, other: Taken, spec: str, scene: Scene) -> Finding:
    """Two requests of which one needs another release of the other.

    In one step pip refuses the pair or takes a third; in two steps the later one silently replaces the earlier,
    which is a warning where the file may mean it so.
    """
    package = scene.matrix.package(other.request.name)
    both = package is not None and package.kind == "framework"
    later = max(item.request.line, other.request.line)
    separate = item.step is not other.step and scene.ask.kind not in {"pyproject", "lock"}  # which are solved at once
    follows = separate and item.step.line > other.step.line and not {*_LOOSE} & {*item.step.options}  # pip replaces it
    compiled = other.request.name == "numpy" and item.request.name.startswith("torch")  # not in torch's metadata
    what = "was compiled for" if compiled else "requires"
    return finding(
        "numpy-abi-mismatch" if compiled else "framework-pair-mismatch",
        scene,
        later,
        f"{item.request.text} {what} {other.request.name}{spec}, and {other.request.text} is asked for.",
        severity="warning" if compiled or follows or (separate and not both) else "error",
        evidence=tuple(
            Evidence("requirement", each.request.text, f"{scene.ask.file}:{each.request.line}")
            for each in (item, other)
        ),
        fix=f"Pin {other.request.name}{spec}." if both else "",
        confidence="likely" if separate else "certain",
        sources=(scene.matrix.cite(item.build),) if item.build else (),
    )


def tags(scene: Scene) -> Iterator[Finding]:
    """framework-build-tag-mismatch: torch and a companion that follows it with different local tags."""
    latest = {item.request.name: item for item in scene.taken if "+" in item.request.exact and not item.request.marker}
    torch = latest.get("torch")
    for name in ("torchvision", "torchaudio"):
        other = latest.get(name)
        if torch is None or other is None or _alternatives(torch, other):
            continue
        if torch.request.exact.partition("+")[2] != other.request.exact.partition("+")[2]:
            detail = f"{torch.request.text} and {other.request.text} are of different variants."
            line = max(torch.request.line, other.request.line)
            rocm = "+rocm" in torch.request.exact + other.request.exact  # whose minors were published crosswise
            yield finding("framework-build-tag-mismatch", scene, line, detail, severity="warning" if rocm else "error")


def shared(scene: Scene) -> Iterator[Finding]:
    """cuda-major-mixed-in-env: packages of different CUDA majors; frameworks-conflict: pins that exclude each other."""
    found: dict[str, Taken] = {}
    for item in scene.taken:  # a framework stands for its major rather than what goes with it
        if (major := _cuda_major(item, scene)) and (major not in found or _of_frameworks([item], scene)):
            found[major] = item
    if len(found) > 1:
        what = " and ".join(f"{item.request.text} (CUDA {major})" for major, item in sorted(found.items()))
        line = max(item.request.line for item in found.values())
        yield finding("cuda-major-mixed-in-env", scene, line, f"One environment holds {what}.", severity="warning")
        if _of_frameworks(found.values(), scene) > 1 and any(
            item.build and item.build.cuda_from == "system" for item in found.values()
        ):
            detail = f"One environment holds {what}; the one that takes CUDA from the system cannot load the other's."
            yield finding("frameworks-conflict", scene, line, detail, severity="warning", confidence="likely")
    yield from _excluding(scene)


def _cuda_major(item: Taken, scene: Scene) -> str:
    """CUDA major of a framework, of what takes it from the system, or of a name that says it (``-cu12``)."""
    latest = {each.request.name: each for each in scene.taken}
    if item.request.marker or latest[item.request.name] is not item or item.step.branch:
        return ""
    if said := _NAMED.search(item.request.name):
        return said[1]
    package = scene.matrix.package(item.request.name)
    build = item.build
    if build is None or package is None or not build.runtime.startswith("cuda"):
        return ""
    counts = package.kind == "framework" or build.cuda_from == "system"
    return str(versions.major(build.runtime.removeprefix("cuda"))) if counts else ""


def _of_frameworks(items: Iterable[Taken], scene: Scene) -> int:
    """How many of the requests are for frameworks."""
    kinds = [row.kind for item in items if (row := scene.matrix.package(item.request.name))]
    return kinds.count("framework")


def _excluding(scene: Scene) -> Iterator[Finding]:
    """frameworks-conflict: two frameworks whose builds require one package in versions that exclude each other."""
    rows = [
        item
        for item in scene.builds
        if item.request.exact
        and (package := scene.matrix.package(item.request.name))
        and package.kind == "framework"
        and not {*_LOOSE} & {*item.step.options}
    ]
    for place, item in enumerate(rows):
        mine = dict(_requirements(item, scene))
        for other in rows[place + 1 :]:
            for name, spec in _requirements(other, scene):
                if name in mine and name != "numpy" and not _alternatives(item, other) and not meet(mine[name], spec):
                    yield _exclusion(item, other, f"{name}{mine[name]} and {name}{spec}", scene)
                    break


def _exclusion(item: Taken, other: Taken, what: str, scene: Scene) -> Finding:
    """Two frameworks that need what no one release of a third package gives both."""
    together = item.step is other.step
    return finding(
        "frameworks-conflict",
        scene,
        max(item.request.line, other.request.line),
        f"{item.request.text} and {other.request.text} require {what}.",
        severity="error" if together else "warning",
        confidence="certain" if together else "likely",
        sources=tuple(scene.matrix.cite(each.build) for each in (item, other) if each.build),
    )


def rocm(scene: Scene) -> Iterator[Finding]:
    """rocm-libs-mixed, framework-duplicate-install: what replaces the framework that the base brings."""
    base = scene.base
    if base is None:
        return
    for item in scene.own:
        if item.build is None or base.kind != "rocm" or not base.rocm or not item.build.runtime.startswith("rocm"):
            continue
        if not versions.same_series(item.build.runtime.removeprefix("rocm"), base.rocm):
            brought = item.build.runtime.removeprefix("rocm")
            detail = f"{item.request.text} brings ROCm {brought} beside the {base.rocm} of {base.reference}."
            yield finding("rocm-libs-mixed", scene, item.request.line, detail, severity="warning")
            return


RULES: Final = (pairs, unresolved_pairs, tags, shared, rocm)
