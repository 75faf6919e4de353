"""Lint of what must fit together: pairs of packages, their variants, CUDA majors, ROCm."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, islice, permutations
from typing import TYPE_CHECKING, Final

import compat.joints.build as builds
import compat.joints.libraries as libraries
import compat.joints.packages as joint
import compat.lint.nearest as nearest
from compat import versions
from compat.joints.verdict import Clash
from compat.lint.disputes import NAMED, alternatives, between, cited, disputes, solved_together
from compat.lint.finding import finding
from compat.lint.walk import LOOSE, Taken, alike
from compat.lint.worlds import needs, none_fits, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compat.findings import Confidence, Finding, Severity
    from compat.joints.build import Part
    from compat.joints.packages import Dispute
    from compat.lint.scene import Scene

_MOST: Final = 1000  # pairs of one environment that are weighed; a file of people has some tens


def tied(scene: Scene) -> Iterator[Finding]:
    """Pairs that name each other; then what puts another framework there of which none of these findings tells."""
    found = (*_pairs(scene), *_recompiled(scene))
    yield from found
    yield from _silently(scene, {each.place.line for each in found if each.place})


def _pairs(scene: Scene) -> Iterator[Finding]:
    """What one package requires of another excludes it, or the two are built for different runtimes.

    Packages that are solved together must fit as they are asked for; of those of several steps what is there in the
    end counts.
    """
    there = {id(item) for item in scene.env}
    naming = _naming(scene)
    for item, other, specs in islice(naming, _MOST):
        at_once = solved_together(item, other, scene)
        stuck = item.request.exact or item.settled or none_fits(item.request, other.request, scene.matrix, scene.worlds)
        hidden = item.build and other.request.name in item.build.undeclared and _is_framework(other, scene)
        if at_once and not (stuck or hidden):
            continue  # an installer goes back to a release that fits
        open_ = at_once and not hidden and not (other.request.exact or other.settled or other.by)
        if open_ and not all(versions.clashes(other.request.spec, one) for one in specs):
            continue
        if (at_once or {id(item), id(other)} <= there) and _may_meet(item, other, scene):
            yield from _mismatches(item, other, scene)
    if next(naming, None):
        scene.left.append(f"of the pairs of its packages that name each other only the first {_MOST:,} are weighed")


def _naming(scene: Scene) -> Iterator[tuple[Taken, Taken, set[str]]]:
    """Each request with each other one whose package it requires, and how: with n versions of each of two n * n."""
    by_name: dict[str, list[Taken]] = {}
    own = scene.base.installed if scene.base else ()
    taken = _distinct((*scene.asked, *(item for item in scene.env if item.base and item.request.name in own)))
    for item in (*taken, *(item for item in scene.env if item.by)):
        by_name.setdefault(item.request.name, []).append(item)
    for item in taken:
        if item.version and item.outcome.why != "kept" and not _unbound(item, scene):
            for name, specs in needs(item.request, item.build, scene.matrix, scene.worlds).items():
                yield from ((item, other, specs) for other in by_name.get(name, ()))


def _distinct(items: Iterable[Taken]) -> list[Taken]:
    """Requests without those that only say an earlier line of their step once more."""
    first: dict[object, Taken] = {}
    for item in items:
        first.setdefault((id(item.step), replace(item.request, line=0)), item)
    return list(first.values())


def _may_meet(item: Taken, other: Taken, scene: Scene) -> bool:
    """Whether some environment holds both; what was asked for without its dependencies bounds nothing."""
    if other is item or other.base or alternatives(item, other) or not alike(item.step, other.step):
        return False
    if item.base or item.of_conda or other.of_conda:  # what else conda's builds require is not what the wheels do
        known = scene.matrix.package(other.request.name) or other.request.name == "numpy"
        if not known or (item.request.build and other.request.build):
            return False
    plain = versions.public(other.version) if other.version else None
    if plain is not None and plain.pre:
        return False  # a maker's own build of that release (2.1.0a0): what it stands for is not known
    loose = LOOSE & {*other.step.options}
    return not loose and together((item.request.marker, other.request.marker), scene.worlds)


def _unbound(item: Taken, scene: Scene) -> bool:
    """Whether pip checks nothing of a request, and nothing else ties it: it is not compiled against a framework."""
    package = scene.matrix.package(item.request.name)
    return bool(LOOSE & {*item.step.options}) and not (package and package.follows)


def _recompiled(scene: Scene) -> Iterator[Finding]:
    """abi-mismatch: an extension was compiled against a framework that a later step replaces."""
    there = {id(item) for item in scene.env}
    for item, framework in scene.built:
        new = next((new for old, new in scene.replaced if old is framework and id(new) in there), None)
        if new is None or id(item) not in there or not new.version or not framework.version or not new.mine:
            continue
        if not isinstance(joint.loads(framework.version, new.version), Clash):
            continue
        detail = (
            f"{item.text} is compiled against {framework.text}; {new.by or new.request.text} then puts "
            f"{new.request.name} {new.version} in its place."
        )
        yield finding(
            "abi-mismatch", scene, new.request.line, detail,
            fix=f"Install {new.by or new.request.text} first, and compile {item.request.name} after it.",
        )  # fmt: skip


def _mismatches(item: Taken, other: Taken, scene: Scene) -> Iterator[Finding]:
    """Two packages of which the first names the other: what it requires, then their runtimes and third packages."""
    found = disputes(item, other, scene)
    asked = [one for one in found if one.objection.name == one.right.package and one.objection.asked[0][0] is one.left]
    if asked:  # variants of other releases are for other runtimes, too: no fault of its own
        yield _mismatch(item, other, asked[0], cited(found, scene), scene)
        found = tuple(one for one in found if one.objection.kind == "runtime" and not _are_twins(one, scene))
    yield from _apart(item, other, found, scene)


def _has_other_line(item: Taken, scene: Scene) -> bool:
    """Whether another line asks for the same package elsewhere, so that the clash is one of some Pythons alone."""
    mine = item.request.marker
    others = (one.request.marker for one in scene.taken if one.request.name == item.request.name and one is not item)
    return bool(mine) and any(other and not together((mine, other), scene.worlds) for other in others)


def _mismatch(item: Taken, other: Taken, dispute: Dispute, sources: tuple[str, ...], scene: Scene) -> Finding:
    """Two packages of which one needs another release of the other.

    In one step pip refuses the pair; of two steps the later one replaces silently what the earlier one needs.
    """
    spec = dispute.objection.left
    package = scene.matrix.package(other.request.name)
    hidden = dispute.objection.name in dispute.left.build.undeclared
    own = scene.matrix.package(item.request.name)
    led = hidden and item.settled and not item.request.exact and own is not None and own.follows == other.request.name
    both = package is not None and package.kind == "framework"
    newest = hidden and other.request.exact and not item.request.exact  # which moves, as nothing holds it
    asked = newest or ((item.request.exact or led) and not other.by)
    moved = nearest.instead(item, other, scene) if both and asked and not (item.base or item.by) else ""
    separate = not solved_together(item, other, scene)
    compiled = other.request.name == "numpy" and item.request.name.startswith("torch")  # not in torch's metadata
    what = "was compiled for" if compiled else "is for" if hidden else "requires"
    then = "comes" if other.by or not other.request.spec else "is asked for"
    code = "numpy-abi-mismatch" if compiled else "framework-pair-mismatch"
    untold = ", which its metadata does not say" if hidden and not compiled else ""
    has = other.text if other.by else other.label
    detail = f"{item.label} {what} {other.request.name}{spec}{untold}, and {has} {then}."
    loose = separate and not (item.request.exact or item.by or other.request.exact)  # today's newest of two steps
    sure = both or compiled or not separate or _does_not_load(item, other, spec, scene)
    sure = sure and not (loose or _has_other_line(item, scene) or led)
    level: Severity = "error" if sure else "warning"
    fix = moved or nearest.required(item, other, spec, scene)
    return between(code, item, other, scene, detail, dispute, severity=level, fix=fix, sources=sources)


def _does_not_load(item: Taken, other: Taken, spec: str, scene: Scene) -> bool:
    """Whether a framework that was compiled for NumPy 1 gets NumPy 2, whose ABI is another one."""
    two = next(f">={row.version}" for row in scene.matrix.table("majors") if row.name == "numpy")
    return (
        other.request.name == "numpy"
        and _is_framework(item, scene)
        and versions.clashes(spec, two)
        and versions.admits(two, other.version) is True
    )


def _silently(scene: Scene, told: set[int]) -> Iterator[Finding]:
    """framework-pair-mismatch: a step puts another release over a pinned framework, because a package requires it."""
    there = {id(item) for item in scene.env}
    for old, new in scene.replaced:
        package = scene.matrix.package(old.request.name)
        if not new.by or old.base or id(new) not in there or not new.mine or package is None:
            continue
        asker = next((one for one in scene.taken if one.request.text == new.by), None)
        if asker is None or package.kind != "framework" or not old.request.exact or new.request.line in told:
            continue
        if found := disputes(asker, old, scene):
            asks = f"{new.by} requires {new.request.name}{new.spec}"
            detail = f"{asks}, and {old.text} is there: pip puts another in its place."
            yield finding(
                "framework-pair-mismatch", scene, new.request.line, detail, severity="warning", confidence="likely",
                fix=nearest.instead(asker, old, scene) or nearest.belonging(asker, old),
                sources=cited(found, scene),
            )  # fmt: skip


def beside(scene: Scene) -> Iterator[Finding]:
    """What stands between packages that do not name each other: other runtimes, or third packages that both require."""
    told: set[str] = set()  # one finding for each pair of runtimes
    items = _side_by_side(scene)
    named = {id(item): needs(item.request, item.build, scene.matrix, scene.worlds) for item in items}
    for item, other in combinations(items, 2):
        tied = other.request.name in named[id(item)] or item.request.name in named[id(other)]
        markers = (item.request.marker, other.request.marker)
        if tied or alternatives(item, other) or not alike(item.step, other.step) or _go_back(item, other, scene):
            continue
        if together(markers, scene.worlds) and (found := disputes(item, other, scene)):
            majors = " ".join(sorted(f"{part.kind}{part.number.partition('.')[0]}" for part in found[0].both))
            if found[0].objection.kind != "runtime" or majors not in told:
                told.add(majors)
                yield from _apart(item, other, found, scene)


def _go_back(item: Taken, other: Taken, scene: Scene) -> bool:
    """Whether an installer takes other releases of two open requests, as the newest ones need one framework's two."""
    packages = [scene.matrix.package(one.request.name) for one in (item, other)]
    follows = {package.follows if package else "" for package in packages}
    open_ = not any(one.request.exact or one.settled for one in (item, other))
    return open_ and len(follows) == 1 and follows != {""} and solved_together(item, other, scene)


def _side_by_side(scene: Scene) -> list[Taken]:
    """What is there of a known build, or of a name that tells its CUDA major; one per package, frameworks first."""
    found = {
        item.request.name: item
        for item in scene.env
        if not item.base
        and not item.step.branch
        and together((item.request.marker,), scene.worlds)
        and (item.build or NAMED.search(item.request.name))
    }
    return sorted(found.values(), key=lambda item: not _is_framework(item, scene))


def _is_framework(item: Taken, scene: Scene) -> bool:
    package = scene.matrix.package(item.request.name)
    return package is not None and package.kind == "framework"


def _apart(item: Taken, other: Taken, found: Sequence[Dispute], scene: Scene) -> Iterator[Finding]:
    """Two packages whose builds are for other runtimes, or require a third in versions that exclude each other."""
    parted = next((one for one in found if one.objection.kind == "runtime"), None)
    others = [one for one in found if one is not parted]
    near = parted is None
    if parted and _is_chosen(item) and _is_chosen(other):
        yield from _mixed(item, other, parted, scene)
        near = not joint.apart(parted.left.runtime, parted.right.runtime) and not _are_twins(parted, scene)
    pinned = item.request.exact and other.request.exact and not LOOSE & {*item.step.options, *other.step.options}
    if others and near and pinned:
        third = others[0].objection.name
        if any(one.request.name == third and one.request.exact for one in (item, other, *scene.env)):
            return  # it is judged against each of the two, or is one of them: see tied
        level: Severity = "error" if solved_together(item, other, scene) else "warning"
        if others[0].objection.kind == "system":  # an installer gives both, and a system may hold both under two names
            level = "warning" if scene.base else "info"
        detail, sources = f"{others[0].clash.why if others[0].clash else ''}.", cited(others, scene)
        code, fix = "frameworks-conflict", nearest.instead(other, item, scene) if level == "error" else ""
        yield between(code, item, other, scene, detail, others[0], severity=level, fix=fix, sources=sources)


def _is_chosen(item: Taken) -> bool:
    """Whether it is known which build a request gets: the installer's choice, a local tag, or the package's name."""
    return bool(item.build or "+" in item.request.exact or NAMED.search(item.request.name))


def _are_twins(dispute: Dispute, scene: Scene) -> bool:
    """Whether one of two builds is made for each build of the other."""
    return any(joint.is_twin(scene.matrix, *two) for two in permutations(dispute.both))


def _mixed(item: Taken, other: Taken, dispute: Dispute, scene: Scene) -> Iterator[Finding]:
    """Two packages of different runtimes: variants of one framework, or majors of CUDA or ROCm in one environment.

    Of what a project and its extra both ask for, the extra gets the one of the place that it names.
    """
    for outside, inside in permutations((item, other)):
        own = {one.request.name for one in scene.taken if one.step.branch == inside.step.branch}
        if inside.step.branch and not outside.step.branch and outside.request.name in own:
            return
        package = scene.matrix.package(inside.request.name)
        if package and inside.build and package.follows in inside.build.undeclared and not inside.request.exact:
            return  # another release of its framework than the one that is there: told as a pair
    parts = sorted(
        ((item, dispute.left), (other, dispute.right)),
        key=lambda each: (each[1].kind, versions.release(each[1].number or "0")),
    )
    kinds = sorted({part.kind for _, part in parts})
    place, sources = max(item.request.line, other.request.line), cited([dispute], scene)
    why = dispute.clash.why if dispute.clash else ""
    if _are_twins(dispute, scene):
        mild = "rocm" in kinds or item.of_conda or other.of_conda  # ROCm's minors were published crosswise
        level: Severity = "warning" if mild else "error"
        asked = nearest.tagged(item, other, scene)
        fix = f"Ask for {asked}." if asked else ""
        yield finding("framework-build-tag-mismatch", scene, place, f"{why}.", severity=level, fix=fix, sources=sources)
        return
    if item.step.branch or other.step.branch or scene.named == "cpu":
        return  # an arm of an "if" is for one of several kinds of machine; a file for the CPU loads no CUDA
    held: Severity = "warning" if scene.base else "info"  # what a system holds that no image names is not known
    if not joint.apart(dispute.left.runtime, dispute.right.runtime):
        code = "frameworks-conflict"
        yield finding(code, scene, place, f"{why}.", severity=held, confidence="possible", sources=sources)
        return
    code = {"cuda": "cuda-major-mixed-in-env", "rocm": "rocm-libs-mixed"}.get("".join(kinds), "frameworks-conflict")
    names = {"cuda": "CUDA", "rocm": "ROCm"}
    what = " and ".join(
        f"{each.request.text} ({names.get(part.kind, part.kind)} {part.number.partition('.')[0]})"
        for each, part in parts
    )
    detail = f"One environment holds {what}"
    systems = [part for _, part in parts if part.build.cuda_from == "system"]
    if not (systems and all(_is_framework(each, scene) for each in (item, other))):
        guess = any(builds.is_unseen(scene.matrix, part.build, "runtime") for _, part in parts)
        sure: Confidence = "likely" if guess else "certain"
        yield finding(code, scene, place, f"{detail}.", severity="warning", confidence=sure, sources=sources)
        return
    bundled = any(part.build.cuda_from == "wheel" for _, part in parts)  # libraries of its own, under names of its own
    if not (bundled or all(_is_provided(part, scene) for part in systems)):
        why = "the one that takes CUDA from the system cannot load the other's"
        code, detail = "frameworks-conflict", f"{detail}; {why}"
        pinned = bool(item.request.exact and other.request.exact)  # else an older release may be there, of one CUDA
        held = "warning" if len(kinds) == 1 and pinned else held  # of other vendors each may serve one machine
        yield finding(code, scene, place, f"{detail}.", severity=held, confidence="likely", sources=sources)


def _is_provided(part: Part, scene: Scene) -> bool:
    """Whether the base has the CUDA that a build takes from the system, or is the image of that release itself."""
    base = scene.base
    own = base is not None and part.version.partition("+")[0] in base.installed.values()
    return own or bool(base and base.cuda and versions.major(base.cuda) == versions.major(part.number))


def rocm(scene: Scene) -> Iterator[Finding]:
    """rocm-libs-mixed, framework-duplicate-install: what replaces the framework that the base brings."""
    base = scene.base
    if base is None:
        return
    for item in scene.shipped:
        kind, brought = builds.split_runtime(item.build.runtime if item.build else "")
        if item.build is None or base.kind != "rocm" or kind != "rocm":
            continue
        judged = libraries.rocm(item.request.text, brought, base.rocm, item.build)
        if isinstance(judged, Clash):
            detail = f"{item.request.text} brings ROCm {brought} beside the {base.rocm} of {base.reference}."
            sources = tuple(map(scene.matrix.cite, judged.rows))
            yield finding("rocm-libs-mixed", scene, item.request.line, detail, severity="warning", sources=sources)
            return


RULES: Final = (tied, beside, rocm)
