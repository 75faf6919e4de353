"""What a package's requirements ask in their turn: bounds on frameworks and CUDA libraries, some steps away.

An installer takes one release of each package that another requires. What each of those that it may take asks, the one
that requires it asks too: ``sglang[srt]==0.4.3`` requires ``vllm<=0.7.2,>=0.6.4.post1``, and all of these bound torch.
Only what was measured counts (``matrix/observed``): a package that nobody recorded asks nothing, and releases that ask
differently ask no more than the range that holds what each of them does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from compat.matrix import measured
from compat.versions import Environment, Line, holds, marker_of, meets, read_requirement, tightened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from compat.matrix import Matrix

_STEPS: Final = 3  # cuDF's library, CUDA's toolkit, what that pins
_PLACES: Final = ("linux_x86_64", "linux_aarch64", "win_amd64")  # where wheels for all places meet GPUs


def brought(
    matrix: Matrix, name: str, version: str, places: Iterable[str], extras: tuple[str, ...], stated: frozenset[Line]
) -> Iterator[Line]:
    """What the requirements of a build bring, beyond those themselves; each says by which of them (``via``).

    ``version``: of the default index, whose record has requirements of names without rows too; empty of another index.
    ``stated``: the requirements of its row.
    """
    for place in _PLACES if "any" in places else places:
        world = Environment(place, "", extras)
        told: dict[str, tuple[str, ...]] = {}
        for line in stated:
            told[line.name] = (*told.get(line.name, ()), line.spec)
        for line in sorted(stated.union(_lines(name, version, world)), key=lambda one: one.text):
            if line.name != name and holds(line.marker, world):
                asked = _asked(matrix, line.name, line.spec, replace(world, extras=line.extras), _STEPS)
                yield from _new(asked, told, marker_of(place), f"{line.name}{line.spec}")


def _new(asked: Mapping[str, str], told: dict[str, tuple[str, ...]], marker: str, via: str) -> Iterator[Line]:
    """Requirements that bound more than what was told of the same names, to which they are added."""
    for name, spec in asked.items():
        known = told.get(name)
        if known is None or tightened((*known, spec)) != tightened(known):
            told[name] = (*(known or ()), spec)
            yield Line(name, spec, marker, via=via)


@lru_cache(maxsize=16384)
def _asked(matrix: Matrix, name: str, spec: str, world: Environment, steps: int) -> Mapping[str, str]:
    """What every release of a package that meets a specifier asks, by name.

    Nothing where one of them is unknown, and of a framework, whose wheels of other indexes ask other things.
    """
    found: dict[str, set[str]] | None = None
    for version, facts in () if not steps or _is_framework(matrix, name) else measured.releases(name).items():
        if not facts.get("yanked") and meets(spec, version):
            own = _of_release(matrix, name, version, world, steps)
            found = {key: {*(found or {key: set()})[key], own[key]} for key in own if found is None or key in found}
            if not found:
                break
    return {key: _hull(key, specs) for key, specs in (found or {}).items()}


@lru_cache(maxsize=16384)
def _of_release(matrix: Matrix, name: str, version: str, world: Environment, steps: int) -> Mapping[str, str]:
    """What one release asks, its own requirements and what those ask."""
    found: dict[str, set[str]] = {}
    for line in _lines(name, version, world):
        if holds(line.marker, world):
            if _is_framework(matrix, line.name) or line.name.startswith(("nvidia-", "cuda-")):
                found.setdefault(line.name, set()).add(line.spec)
            for other, spec in _asked(
                matrix, line.name, line.spec, replace(world, extras=line.extras), steps - 1
            ).items():
                found.setdefault(other, set()).add(spec)
    return {name: tightened(tuple(sorted(filter(None, specs)))) for name, specs in found.items()}


def _lines(name: str, version: str, world: Environment) -> frozenset[Line]:
    """Requirements of a release: of its wheels for a place, or of all where none is for it; none if not measured."""
    groups = measured.releases(name).get(version, {}).get("wheels", ())
    here = [one for one in groups if {world.place, "any"} & {key.partition(" ")[0] for key in one["for"]}] or groups
    lines = (frozenset(map(read_requirement, one["requires"])) for one in here)
    return frozenset.intersection(*lines) if here else frozenset()


def _is_framework(matrix: Matrix, name: str) -> bool:
    row = matrix.packages.get(name)
    return row is not None and row.kind == "framework"


def _hull(name: str, specs: set[str]) -> str:
    """The narrowest range that holds all releases of a package that one of several specifiers takes."""
    if len(specs) == 1 or "" in specs:
        return min(specs)
    known = list(measured.releases(name))
    taken = [one for one in known if any(meets(spec, one) for spec in specs)]
    bounds = {f">={taken[0]}": known[0], f"<={taken[-1]}": known[-1]} if taken else {}
    return ",".join(sorted(bound for bound, end in bounds.items() if bound.lstrip("<>=") != end))
