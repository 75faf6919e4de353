"""What a package's requirements ask in their turn: bounds on frameworks and CUDA libraries, some steps away.

An installer takes one release of each package that another requires. What each of those that it may take asks, the one
that requires it asks too: ``sglang[srt]==0.4.3`` requires ``vllm<=0.7.2,>=0.6.4.post1``, and all of these bound torch.
Only what was measured counts (``matrix/observed``): a package that nobody recorded asks nothing, and releases that ask
differently ask no more than the range that holds what each of them does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from compat.markers import Environment, holds, marker_of
from compat.matrix import measured
from compat.versions import Line, meets, name_of, read_requirement, tightened

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
        for line in sorted(stated.union(_lines(matrix, name, version, world)), key=lambda one: one.text):
            if line.name != name and _leads(matrix, line.name, _STEPS) and holds(line.marker, world):
                asked = _asked(matrix, line.name, line.spec, Environment(world.place, "", line.extras), _STEPS)
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
    """What every release of a package that meets a specifier asks, by name; nothing where one of them is unknown."""
    asked = {_of_release(matrix, name, version, world, steps) for version in _meeting(name, spec)}
    found = [dict(one) for one in asked]
    shared = sorted(set.intersection(*map(set, found))) if found else ()
    return {key: _hull(key, {one[key] for one in found}) for key in shared}


@lru_cache(maxsize=16384)
def _meeting(name: str, spec: str) -> tuple[str, ...]:
    """The releases of a package that an installer may take for a specifier, as far as they are measured.

    A withdrawn one only where it is asked for as it is written (PEP 592).
    """
    known = measured.releases(name)
    if spec.removeprefix("==") in known:
        return (spec.removeprefix("=="),)
    return tuple(version for version in known if not known[version].get("yanked") and meets(spec, version))


@lru_cache(maxsize=4096)
def _leads(matrix: Matrix, name: str, steps: int) -> bool:
    """Whether some release of a package asks for what counts, itself or through others: most packages never do.

    No framework leads on: its wheels of other indexes ask other things.
    """
    if not steps or _is_framework(matrix, name):
        return False
    asked = measured.names(name)
    return any(_counts(matrix, one) for one in asked) or any(_leads(matrix, one, steps - 1) for one in asked)


@lru_cache(maxsize=16384)
def _of_release(matrix: Matrix, name: str, version: str, world: Environment, steps: int) -> tuple[tuple[str, str], ...]:
    """What one release asks, its own requirements and what those ask: names and their specifiers."""
    found: dict[str, set[str]] = {}
    for line in _lines(matrix, name, version, world):
        counts, leads = _counts(matrix, line.name), _leads(matrix, line.name, steps - 1)
        if (counts or leads) and holds(line.marker, world):
            if counts:
                found.setdefault(line.name, set()).add(line.spec)
            inner = Environment(world.place, "", line.extras)
            for other, spec in _asked(matrix, line.name, line.spec, inner, steps - 1).items() if leads else ():
                found.setdefault(other, set()).add(spec)
    return tuple((name, tightened(tuple(sorted(filter(None, found[name]))))) for name in sorted(found))


def _lines(matrix: Matrix, name: str, version: str, world: Environment) -> frozenset[Line]:
    """Requirements of a release that count or lead on: of its wheels for a place, or of all where none is for it."""
    groups = measured.releases(name).get(version, {}).get("wheels", ())
    here = [one for one in groups if {world.place, "any"} & {key.partition(" ")[0] for key in one["for"]}] or groups
    texts = frozenset.intersection(*(frozenset(one["requires"]) for one in here)) if here else frozenset()
    telling = (text for text in texts if _counts(matrix, name_of(text)) or _leads(matrix, name_of(text), _STEPS))
    return frozenset(map(read_requirement, telling))


def _counts(matrix: Matrix, name: str) -> bool:
    return _is_framework(matrix, name) or name.startswith(("nvidia-", "cuda-"))


def _is_framework(matrix: Matrix, name: str) -> bool:
    row = matrix.packages.get(name)
    return row is not None and row.kind == "framework"


def _hull(name: str, specs: set[str]) -> str:
    """The narrowest range that holds all releases of a package that one of several specifiers takes."""
    if len(specs) == 1 or "" in specs:
        return min(specs)
    known = list(measured.releases(name))
    taken = sorted({one for spec in specs for one in _meeting(name, spec)}, key=known.index)
    bounds = {f">={taken[0]}": known[0], f"<={taken[-1]}": known[-1]} if taken else {}
    return ",".join(sorted(bound for bound, end in bounds.items() if bound.lstrip("<>=") != end))
