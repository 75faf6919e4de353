"""Lint of what must fit together: pairs of packages, their variants, CUDA majors, ROCm."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

import compat.joints.build as builds
import compat.joints.packages as joint
from compat import versions
from compat.findings import Evidence
from compat.joints.verdict import Clash
from compat.lint.finding import finding
from compat.lint.walk import LOOSE, alike, needs, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.findings import Finding
    from compat.joints.build import Part
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
                at_once = _solved_together(item, other, scene)
                if at_once and not item.request.exact and not item.settled:
                    continue  # an installer goes back to a release that fits
                if (at_once or {id(item), id(other)} <= there) and _clash(item, other, specs, scene):
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
    outside = not one or not two
    return one != two and not (outside and (one or two).startswith("+"))


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


def beside(scene: Scene) -> Iterator[Finding]:
    """cuda-major-mixed-in-env, rocm-libs-mixed, frameworks-conflict: two packages that do not go together.

    Of packages that name each other only the runtimes count here; what they require is told of each (see pairs).
    """
    told: set[frozenset[str]] = set()  # one finding for each pair of runtimes
    for item, other in combinations(_parted(scene), 2):
        (one, left), (two, right) = item, other
        if _alternatives(one, two) or not alike(one.step, two.step):
            continue
        if not together((one.request.marker, two.request.marker), scene.worlds):
            continue
        if not joint.runtimes_go(scene.matrix, left, right):
            majors = frozenset(f"{part.kind} {part.number.partition('.')[0]}" for part in (left, right))
            if len(majors) > 1 and majors not in told:
                told.add(majors)
                mixed = _mixed((one, left), (two, right), scene)
                yield mixed
                frameworks = _is_framework(one, scene) and _is_framework(two, scene)
                if frameworks and "system" in {left.build.cuda_from, right.build.cuda_from}:
                    why = "the one that takes CUDA from the system cannot load the other's."
                    detail = f"{mixed.detail[:-1]}; {why}"
                    line = max(one.request.line, two.request.line)
                    yield finding(
                        "frameworks-conflict", scene, line, detail, severity="warning", confidence="likely",
                        sources=mixed.sources,
                    )  # fmt: skip
        elif one.request.exact and two.request.exact and not LOOSE & {*one.step.options, *two.step.options}:
            yield from _excluded((one, left), (two, right), scene)


def _parted(scene: Scene) -> list[tuple[Taken, Part]]:
    """What is there as parts, frameworks first: of a known build, or of a name that tells its CUDA major."""
    found: dict[str, tuple[Taken, Part]] = {}
    for item in scene.env:
        named = _NAMED.search(item.request.name)
        if item.base or item.step.branch or not together((item.request.marker,), scene.worlds):
            continue
        if item.build:
            rows = builds.release(scene.matrix, item.request.name, item.build.full_version)
            found |= {one.package: (item, one) for one in rows if one.build is item.build}
        elif named:
            plain = builds.without_rows(item.request.name, item.version)
            found[item.request.name] = item, replace(plain, vendor="nvidia", kind="cuda", number=named[1])
    return sorted(found.values(), key=lambda each: not _is_framework(each[0], scene))


def _is_framework(item: Taken, scene: Scene) -> bool:
    package = scene.matrix.package(item.request.name)
    return package is not None and package.kind == "framework"


def _mixed(one: tuple[Taken, Part], two: tuple[Taken, Part], scene: Scene) -> Finding:
    """Two packages of different runtimes."""
    names = {"cuda": "CUDA", "rocm": "ROCm"}
    what = " and ".join(
        f"{item.request.text} ({names.get(part.kind, part.kind)} {part.number.partition('.')[0]})"
        for item, part in sorted((one, two), key=lambda each: (each[1].kind, versions.release(each[1].number or "0")))
    )
    kinds = {part.kind for _, part in (one, two)}
    code = {"cuda": "cuda-major-mixed-in-env", "rocm": "rocm-libs-mixed"}.get(kinds.pop() if len(kinds) == 1 else "")
    return finding(
        code or "frameworks-conflict",
        scene,
        max(item.request.line for item, _ in (one, two)),
        f"One environment holds {what}.",
        severity="warning",
        sources=tuple(scene.matrix.cite(item.build) for item, _ in (one, two) if item.build),
    )


def _excluded(one: tuple[Taken, Part], two: tuple[Taken, Part], scene: Scene) -> Iterator[Finding]:
    """Two packages whose builds require a third in versions that exclude each other, in every environment."""
    (item, left), (other, right) = one, two
    if right.package in left.lines or left.package in right.lines:
        return
    found = [joint.verdict(scene.matrix, left, right, world) for world in scene.worlds]
    if found and all(isinstance(each, Clash) for each in found):
        at_once = _solved_together(item, other, scene)
        yield finding(
            "frameworks-conflict",
            scene,
            max(item.request.line, other.request.line),
            f"{getattr(found[0], 'why', '')}.",
            severity="error" if at_once else "warning",
            confidence="certain" if at_once else "likely",
            sources=tuple(scene.matrix.cite(row) for row in getattr(found[0], "rows", ())),
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


RULES: Final = (pairs, recompiled, silently, tags, told_by_name, beside, rocm)
