"""What stands between two packages that one file asks for, as their joint says, and the finding that tells it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.joints.build as builds
import compat.joints.packages as joint
import compat.joints.releases as releases
from compat.findings import Evidence, Finding, Severity
from compat.joints.platform import is_at
from compat.joints.python import is_for
from compat.joints.verdict import Clash
from compat.lint.finding import finding
from compat.lint.worlds import parts_of, together
from compat.sources.values import ORDERED, PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.joints.build import Part
    from compat.joints.packages import Dispute
    from compat.lint.scene import Scene
    from compat.lint.walk import Taken
    from compat.markers import Environment

# Names that tell their CUDA major: ``nvidia-cublas-cu12``, ``cupy-cuda12x``, ``cupy-cuda117``.
NAMED: Final = re.compile(r"-cu(?:da)?(1\d)(?:x|\d)?$")


def solved_together(item: Taken, other: Taken, scene: Scene) -> bool:
    """Whether one run of an installer has to give both."""
    project = item.step.home == other.step.home == PROJECT
    return item.step is other.step or project or scene.ask.kind not in ORDERED


def disputes(item: Taken, other: Taken, scene: Scene) -> tuple[Dispute, ...]:
    """What stands between two packages in every environment that holds both, as the joint says; else nothing."""
    markers = (item.request.marker, other.request.marker)
    worlds = [world for world in scene.worlds if together(markers, (world,))]
    both = [releases.Release(one.request.name, one.version) for one in (item, other)]
    shared = [world for world in worlds if all(releases.is_published(scene.matrix, one, world) for one in both)]
    first: tuple[Dispute, ...] = ()
    for world in shared or worlds:
        ours, theirs = (_parts(one, world, scene) for one in (item, other))
        found = tuple(one for one in joint.nearest(scene.matrix, ours, theirs, world) if one.clash)
        if not found:
            return ()
        first = first or found
    return first


def _parts(item: Taken, world: Environment, scene: Scene) -> tuple[Part, ...]:
    """The builds that a request may get somewhere; where nothing tells its version, what bounds it."""
    found = parts_of(item.request, item.build, scene.matrix)
    if not found:
        named = NAMED.search(item.request.name)
        bare = builds.without_rows(item.request.name, item.version, item.spec)
        return (replace(bare, vendor="nvidia", kind="cuda", number=named[1]) if named else bare,)
    if item.build:
        return found if is_for(item.build, world.python) else _of_python(item, world, scene) or found
    local = item.version.partition("+")[2]
    here = tuple(one for one in found if is_at(one.build, world.place) and is_for(one.build, world.python))
    found = releases.parts(scene.matrix, releases.Release(item.request.name, item.version), world) or here or found
    listed = not local or any(part.build.local == local for part in found)
    # of a variant that no row lists the release's requirements are known, and its runtime is not
    return found if listed else tuple(replace(part, kind="", number="", vendor="") for part in found)


def _of_python(item: Taken, world: Environment, scene: Scene) -> tuple[Part, ...]:
    """The same build as another Python gets it, whose wheel may require other things."""
    build = item.build
    every = builds.release(scene.matrix, item.request.name, item.version)
    same = (one for one in every if build and (one.build.runtime, one.build.index) == (build.runtime, build.index))
    return tuple(one for one in same if is_at(one.build, world.place) and is_for(one.build, world.python))


def alternatives(item: Taken, other: Taken) -> bool:
    """Whether two requests stand in different arms of one ``if``, or in one arm and outside.

    An extra of a project is installed together with what the project itself asks for.
    """
    one, two = item.step.branch, other.step.branch
    outside = not one or not two
    return one != two and not (outside and (one or two).startswith("+"))


def cited(found: Iterable[Dispute], scene: Scene) -> tuple[str, ...]:
    """The rows that disputes rest on."""
    return tuple(dict.fromkeys(scene.matrix.cite(row) for one in found if one.clash for row in one.clash.rows))


def between(
    code: str,
    item: Taken,
    other: Taken,
    scene: Scene,
    detail: str,
    dispute: Dispute,
    *,
    severity: Severity,
    sources: tuple[str, ...],
    fix: str = "",
) -> Finding:
    """A finding about two requests, at the later one; it is certain where one run of an installer has to give both."""
    mild = item.of_conda or other.of_conda
    severity = "warning" if mild and severity == "error" else severity
    sure = isinstance(dispute.verdict, Clash) and solved_together(item, other, scene) and not mild
    told = ((each.by or each.request.text, f"{scene.ask.file}:{each.request.line}") for each in (item, other))
    return finding(
        code, scene, max(item.request.line, other.request.line), detail, severity=severity, fix=fix, sources=sources,
        evidence=tuple(Evidence("requirement", *each) for each in told), confidence="certain" if sure else "likely",
    )  # fmt: skip
