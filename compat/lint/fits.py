"""Lint of what must fit together: pairs of packages, their variants, CUDA majors, ROCm."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.findings import Evidence
from compat.lint.finding import finding
from compat.lint.walk import LOOSE, alike, needs, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.findings import Finding
    from compat.lint.scene import Scene
    from compat.lint.walk import Taken
    from compat.matrix.rows import Build

# Names that tell their CUDA major: ``nvidia-cublas-cu12``, ``cupy-cuda12x``, ``cupy-cuda117``.
_NAMED: Final = re.compile(r"-cu(?:da)?(1\d)(?:x|\d)?$")
# The torch that a wheel's local version names: ``+cu12torch2.4cxx11abiFALSE``, ``+pt24cu124``.
_OF_TORCH: Final = re.compile(r"\+(?:cu\d+torch(\d+\.\d+)|pt(\d)(\d{1,2})(?:cu|cpu))")


def pairs(scene: Scene) -> Iterator[Finding]:
    """framework-pair-mismatch, numpy-abi-mismatch: what one package requires excludes another.

    Packages that are solved together must fit as they are asked for; of those of several steps what is there in the
    end counts.
    """
    there = {id(item) for item in scene.env}
    by_name: dict[str, list[Taken]] = {}
    taken = _distinct(scene.taken)
    for item in (*taken, *(item for item in scene.env if item.by)):
        by_name.setdefault(item.request.name, []).append(item)
    for item in taken:
        if not item.version or item.outcome.why == "kept" or _unbound(item, scene):
            continue
        for name, specs in needs(item.request, item.build, scene.matrix, scene.worlds).items():
            for other in by_name.get(name, ()):
                joint = _solved_together(item, other, scene)
                if joint and not item.request.exact and not item.settled:
                    continue  # an installer goes back to a release that fits
                if (joint or {id(item), id(other)} <= there) and _clash(item, other, specs, scene):
                    yield _mismatch(item, other, min(specs), scene)


def _distinct(items: Iterable[Taken]) -> list[Taken]:
    """Requests without those that only say an earlier line of their step once more."""
    first: dict[object, Taken] = {}
    for item in items:
        first.setdefault((id(item.step), replace(item.request, line=0)), item)
    return list(first.values())


def _solved_together(item: Taken, other: Taken, scene: Scene) -> bool:
    """Whether one run of an installer has to give both."""
    return item.step is other.step or scene.ask.kind not in {"dockerfile", "devcontainer"}


def _clash(item: Taken, other: Taken, specs: set[str], scene: Scene) -> bool:
    """Whether none of the builds that a package may be fits another one, in any environment that asks for both."""
    if other is item or other.base or _alternatives(item, other) or not alike(item.step, other.step):
        return False
    if LOOSE & {*other.step.options} or not together((item.request.marker, other.request.marker), scene.worlds):
        return False
    if other.version:
        plain = versions.public(other.version)
        if plain is None or plain.is_prerelease:
            return False  # a maker's own build of that release (2.1.0a0): what it stands for is not known
        return all(versions.admits(spec, other.version) is False for spec in specs)
    return all(versions.clashes(spec, other.spec) for spec in specs)


def _unbound(item: Taken, scene: Scene) -> bool:
    """Whether pip checks nothing of a request, and nothing else ties it: it is not compiled against a framework."""
    package = scene.matrix.package(item.request.name)
    return bool(LOOSE & {*item.step.options}) and not (package and package.follows)


def recompiled(scene: Scene) -> Iterator[Finding]:
    """abi-mismatch: an extension was compiled against a framework that a later step replaces."""
    there = {id(item) for item in scene.env}
    for item, framework in scene.built:
        new = next((new for old, new in scene.replaced if old is framework and id(new) in there), None)
        if new is None or id(item) not in there or not new.version or not framework.version or not new.mine:
            continue
        if versions.same_series(new.version, framework.version):
            continue
        detail = (
            f"{item.text} is compiled against {framework.text}; {new.by or new.request.text} then puts "
            f"{new.request.name} {new.version} in its place."
        )
        yield finding(
            "abi-mismatch", scene, new.request.line, detail, severity="error",
            fix=f"Install {new.by or new.request.text} first, and compile {item.request.name} after it.",
        )  # fmt: skip


def _alternatives(item: Taken, other: Taken) -> bool:
    """Whether two requests stand in different arms of one ``if``, or in one arm and outside.

    An extra of a project is installed together with what the project itself asks for.
    """
    one, two = item.step.branch, other.step.branch
    joint = not one or not two
    return one != two and not (joint and (one or two).startswith("+"))


def _mismatch(item: Taken, other: Taken, spec: str, scene: Scene) -> Finding:
    """Two packages of which one needs another release of the other.

    In one step pip refuses the pair; of two steps the later one replaces silently what the earlier one needs.
    """
    package = scene.matrix.package(other.request.name)
    both = package is not None and package.kind == "framework"
    later = max(item.request.line, other.request.line)
    separate = not _solved_together(item, other, scene)
    compiled = other.request.name == "numpy" and item.request.name.startswith("torch")  # not in torch's metadata
    what = "was compiled for" if compiled else "requires"
    then = "comes" if other.by else "is asked for"
    return finding(
        "numpy-abi-mismatch" if compiled else "framework-pair-mismatch",
        scene,
        later,
        f"{_named(item)} {what} {other.request.name}{spec}, and {other.text} {then}.",
        severity="error" if both or compiled or not separate else "warning",
        evidence=tuple(
            Evidence("requirement", each.by or each.request.text, f"{scene.ask.file}:{each.request.line}")
            for each in (item, other)
        ),
        fix=f"Pin {other.request.name}{spec}." if both or compiled else "",
        confidence="likely" if separate else "certain",
        sources=(scene.matrix.cite(item.build or _rows(item, scene)[0]),),
    )


def _rows(item: Taken, scene: Scene) -> list[Build]:
    """The builds of a pinned release."""
    release = item.request.exact.partition("+")[0]
    return [row for row in scene.matrix.builds(item.request.name) if row.version == release]


def _named(item: Taken) -> str:
    """A package with the version that it gets; the request alone where that says it."""
    return item.request.text if item.request.exact else f"{item.request.name} {item.version}"


def silently(scene: Scene) -> Iterator[Finding]:
    """framework-pair-mismatch: a step puts another release over a pinned framework, because a package requires it."""
    there = {id(item) for item in scene.env}
    told = {each.place.line for each in (*pairs(scene), *recompiled(scene)) if each.place}
    for old, new in scene.replaced:
        package = scene.matrix.package(old.request.name)
        if not new.by or old.base or id(new) not in there or not new.mine or package is None:
            continue
        if package.kind != "framework" or not old.request.exact or new.request.line in told:
            continue
        detail = (
            f"{new.by} requires {new.request.name}{new.spec}, and {old.text} is there: pip puts another in its place."
        )
        yield finding(
            "framework-pair-mismatch", scene, new.request.line, detail, severity="warning", confidence="likely",
            fix=f"Pin {new.request.name}{new.spec}.",
        )  # fmt: skip


def tags(scene: Scene) -> Iterator[Finding]:
    """framework-build-tag-mismatch: torch and a companion that follows it with different local tags."""
    latest = {item.request.name: item for item in scene.env if "+" in item.request.exact}
    torch = latest.get("torch")
    for name in ("torchvision", "torchaudio"):
        other = latest.get(name)
        if torch is None or other is None or _alternatives(torch, other) or not alike(torch.step, other.step):
            continue
        if not together((torch.request.marker, other.request.marker), scene.worlds):
            continue
        if torch.request.exact.partition("+")[2] != other.request.exact.partition("+")[2]:
            detail = f"{torch.request.text} and {other.request.text} are of different variants."
            line = max(torch.request.line, other.request.line)
            rocm = "+rocm" in torch.request.exact + other.request.exact  # whose minors were published crosswise
            yield finding("framework-build-tag-mismatch", scene, line, detail, severity="warning" if rocm else "error")


def told_by_name(scene: Scene) -> Iterator[Finding]:
    """framework-build-tag-mismatch: an extension whose local version names another torch than the one that is there.

    Source: the names of the wheels of flash-attn, causal-conv1d and mamba-ssm (``+cu12torch2.4cxx11abiFALSE``) and of
    PyTorch Geometric (``+pt24cu124``).
    """
    torches = [item for item in scene.env if item.request.name == "torch" and item.version]
    for item in scene.env:
        found = _OF_TORCH.search(item.request.exact)
        wanted = (found[1] or f"{found[2]}.{found[3]}") if found else ""
        for torch in torches if wanted else ():
            apart = _alternatives(torch, item) or not alike(torch.step, item.step) or not item.mine
            if apart or not together((torch.request.marker, item.request.marker), scene.worlds):
                continue
            if not versions.same_series(torch.version.partition("+")[0], wanted):
                name = f"{item.request.name}=={item.request.exact}"
                yield finding(
                    "framework-build-tag-mismatch",
                    scene,
                    item.request.line,
                    f"{name} is compiled for torch {wanted}, and {torch.text} is there.",
                    severity="error",
                    fix=f"Take the wheel whose name says torch {versions.minor(torch.version.partition('+')[0])}.",
                )


def shared(scene: Scene) -> Iterator[Finding]:
    """cuda-major-mixed-in-env: packages of different CUDA majors; frameworks-conflict: pins that exclude each other."""
    found: dict[str, Taken] = {}
    for item in scene.env:  # a framework stands for its major rather than what goes with it
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
    if item.base or item.step.branch or not together((item.request.marker,), scene.worlds):
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
        and not LOOSE & {*item.step.options}
    ]
    lists = [needs(item.request, item.build, scene.matrix, scene.worlds) for item in rows]
    for place, item in enumerate(rows):
        for other, theirs in zip(rows[place + 1 :], lists[place + 1 :], strict=True):
            if _alternatives(item, other) or not together((item.request.marker, other.request.marker), scene.worlds):
                continue
            for name, specs in lists[place].items():
                mine, spec = min(specs), min(theirs.get(name, {""}))
                if name != "numpy" and versions.clashes(mine, spec):
                    yield _exclusion(item, other, f"{name}{mine} and {name}{spec}", scene)
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
    for item in scene.shipped:
        if item.build is None or base.kind != "rocm" or not base.rocm or not item.build.runtime.startswith("rocm"):
            continue
        if not versions.same_series(item.build.runtime.removeprefix("rocm"), base.rocm):
            brought = item.build.runtime.removeprefix("rocm")
            detail = f"{item.request.text} brings ROCm {brought} beside the {base.rocm} of {base.reference}."
            yield finding("rocm-libs-mixed", scene, item.request.line, detail, severity="warning")
            return


RULES: Final = (pairs, recompiled, silently, tags, told_by_name, shared, rocm)
