"""Conflicts in existing files: the requests of a Dockerfile, requirements file, ... weighed against the matrix.

Each request is resolved as its installer would, rather than compared as text, so that lean and right forms pass.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from compat.errors import InputError
from compat.findings import Finding, Place, Report, Unchecked, ranked
from compat.lint import (
    compiled,
    compilers,
    conda,
    cpu_builds,
    doubled,
    drift,
    fits,
    images,
    libraries,
    machine,
    majors,
    metadata,
    requests,
    serving,
    steps,
    systems,
)
from compat.lint.pages import RULES
from compat.lint.stages import scenes
from compat.lint.worlds import together, worlds_of
from compat.sources.values import ORDERED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compat.facts import Host
    from compat.lint.scene import Scene
    from compat.matrix import Matrix
    from compat.sources.values import Ask, Stage

__all__ = ["RULES", "lint"]

# Wheel platforms that a marker may be for, beside that of most machines with a GPU.
_PLACES: Final = ("linux_aarch64", "win_amd64", "macosx_arm64")
# What a batch script has in an image's place is a toolkit of the machine, which nobody ships; a compose file's images
# are told of as its services.
_OF_IMAGES: Final = (images, doubled, systems)
_FAMILIES: Final = (
    doubled,
    images,
    requests,
    cpu_builds,
    drift,
    fits,
    compiled,
    compilers,
    libraries,
    conda,
    majors,
    metadata,
    steps,
    systems,
    machine,
    serving,
)

_MOST: Final = 500  # different versions of one package that a file may name; each is weighed against all of its builds
_REQUESTS: Final = 20_000  # of one file: ten times what the largest locks hold
_MARKERS: Final = 2000  # different environment markers of a file; each is judged in every environment that it may meet


def lint(
    ask: Ask, matrix: Matrix, *, on: Host | None = None, select: Sequence[str] = (), ignore: Sequence[str] = ()
) -> Report:
    """Findings of one file, each with its line; what could not be read is listed as not checked.

    ``on``: facts of the machine that it is meant for; its GPUs, driver and processor are weighed too.

    Raises:
        InputError: for a file that names more versions of a package, or more markers, than a person writes.
    """
    _bounded(ask, matrix)
    stages = tuple(_trying(scene, matrix) for scene in scenes(ask, matrix, on))
    told = (*_findings(ask, stages, matrix, on), *(_elsewhere(ask, stages, matrix) if on is None else ()))
    found = [finding for finding in told if _chosen(finding.code, select, ignore)]
    kept = [finding for finding in found if not _silenced(finding, ask)]
    left = (why for scene in stages for why in scene.left)
    unread = [Unchecked(ask.file, why) for why in (*ask.unread, *dict.fromkeys(left))]
    return Report(_folded(kept), (), (*unread, *(item for each in stages for item in machine.not_judged(each))))


def _bounded(ask: Ask, matrix: Matrix) -> None:
    """Refuse more requests than :data:`_REQUESTS`, or than :data:`_MOST` versions of a package, or too many markers."""
    requests = [each for stage in ask.stages for step in stage.installs for each in step.requests]
    markers = {request.marker for request in requests}
    if len(markers) > _MARKERS:
        raise InputError(
            f"names {len(markers):,} different environment markers",
            where=ask.file,
            expected=f"at most {_MARKERS} in one file",
        )
    asked = {(request.name, request.spec): request.line for request in requests}
    for name, count in Counter(name for name, _ in asked).items():
        if count > _MOST and matrix.package(name) is not None:
            line = min(line for (one, _), line in asked.items() if one == name)
            raise InputError(
                f"names {count:,} versions of {name}",
                where=f"{ask.file}:{line}",
                expected=f"at most {_MOST} of a package in one file",
            )
    if len(requests) > _REQUESTS:
        expected = f"at most {_REQUESTS:,} in one file"
        raise InputError(f"names {len(requests):,} packages", where=ask.file, expected=expected)


def _trying(scene: Scene, matrix: Matrix) -> Scene:
    """A scene in which an image can be tried in the place of its base."""

    def errors(image: str) -> frozenset[tuple[str, int]]:
        first, *rest = family
        return _errors(replace(scene.ask, stages=(replace(first, base=image), *rest)), matrix, scene.machine)

    family, base = _upon(scene), scene.chain[0].base
    known = cache(lambda: errors(base))
    return replace(scene, trial=lambda image: errors(image) <= known())


def _upon(scene: Scene) -> list[Stage]:
    """The stage that a scene's base is of, and all that stand upon it, numbered anew."""
    new: dict[int, int] = {}
    for number, stage in enumerate(scene.ask.stages):
        if stage is scene.chain[0] or stage.parent in new:
            new[number] = len(new)
    return [replace(scene.ask.stages[old], parent=new.get(scene.ask.stages[old].parent, -1)) for old in new]


def _errors(ask: Ask, matrix: Matrix, on: Host | None) -> frozenset[tuple[str, int]]:
    """The code and the line of each error of a file, where no other base is tried."""
    found = _findings(ask, tuple(scenes(ask, matrix, on)), matrix, on)
    return frozenset((one.code, one.place.line) for one in found if one.severity == "error" and one.place)


def _findings(ask: Ask, stages: Sequence[Scene], matrix: Matrix, on: Host | None) -> Iterator[Finding]:
    """Every family of rules over every stage; services of a compose file have no stage and are asked by themselves."""
    for scene in stages:
        for family in _FAMILIES:
            if scene.ask.kind in {"job", "compose"} and family in _OF_IMAGES:
                continue
            for rule in family.RULES:
                yield from rule(scene)
    yield from steps.refused(ask)
    yield from steps.services(ask, matrix)
    yield from serving.services(ask, matrix, on)


def _elsewhere(ask: Ask, stages: Sequence[Scene], matrix: Matrix) -> Iterator[Finding]:
    """Pairs on lines that another platform alone installs, by their markers: each half of a split is judged by itself.

    An image has one platform, and what a lock holds was solved.
    """
    if ask.kind in ORDERED or ask.kind == "lock" or not stages:
        return
    asked = [each for stage in ask.stages for step in stage.installs for each in step.requests if each.marker]
    left = [each for each in asked if not together((each.marker,), stages[0].worlds)]
    for place in _PLACES if left else ():
        worlds = worlds_of(place, stages[0].pythons, ask.python)
        lines = {each.line for each in left if together((each.marker,), worlds)}
        for scene in scenes(ask, matrix, None, place) if lines else ():
            yield from (one for one in fits.tied(scene) if one.place and one.place.line in lines)


def _folded(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each code and line, the worst one; what else there is of its kind goes under it."""
    groups: dict[tuple[str, Place | None], dict[str, Finding]] = {}
    for finding in ranked(found):
        groups.setdefault((finding.code, finding.place), {}).setdefault(finding.detail, finding)
    folded = []
    for group in groups.values():
        first, *others = group.values()
        folded.append(replace(first, consequences=(*first.consequences, *others)) if others else first)
    return ranked(folded)


def _silenced(finding: Finding, ask: Ask) -> bool:
    """Whether the file says to leave this finding out: ``# envcheck: ignore[code]`` at its line or right above."""
    codes = ask.silenced.get(finding.place.line) if finding.place else None
    return codes is not None and (not codes or finding.code in codes)


def _chosen(code: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    wanted = not select or any(code.startswith(prefix) for prefix in select)
    return wanted and not any(code.startswith(prefix) for prefix in ignore)
