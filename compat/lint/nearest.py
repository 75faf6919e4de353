"""What to ask for instead of a pin of a file: the resolver's answer, as the doctor and ``resolve`` give it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import compat.lint.origins as origins
from compat import versions
from compat.facts import Fact, Host
from compat.joints.python import is_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.lint.scene import Scene
    from compat.lint.walk import Taken
    from compat.matrix.rows.software import Build
    from compat.plan import Plan, PlannedBuild

# What a container finds of the machine that it runs on; everything else it brings itself.
DEVICES: Final = (
    *("gpus", "driver", "driver_cuda", "driver_branch", "amdgpu", "platform", "arch", "l4t", "kernel"),
    *("cpu_flags", "cpu"),
)
# Pairs of one file for which a release is looked for: each costs a search, and a file may hold thousands.
_MOST: Final = 20
# Packages that have to stay as they are; the search grows with each, most where they do not fit one another.
_COMPANY: Final = 6


def pin(item: Taken) -> str:
    """What pins a request's package: ``torch==2.3.0``, ``jax[cuda12]==0.5.0``."""
    return f"{_named(item)}=={item.version}"


def _named(item: Taken) -> str:
    """A request's package with the extras that it asks for, without which it may be a CPU build."""
    extras = ",".join(item.request.extras)
    return f"{item.request.name}[{extras}]" if extras else item.request.name


def plan(wish: str, beside: tuple[str, ...], machine: Host, scene: Scene) -> Plan | None:
    """The nearest plan for a pin with others beside it, which stay where they can; ``None`` if there is none.

    ``machine``: facts of the machine; the scene's Python, where it is known, takes the place of its own.
    """
    from compat.resolve import nearest

    if scene.python:
        machine = Host({**machine.readings, "python": Fact(scene.python, scene.ask.file)})
    return nearest(wish, beside, machine, scene.matrix)


def together(wish: str, machine: Host, scene: Scene) -> str:
    """The releases for a machine that the resolver finds nearest to a pin and the file's others; empty if none."""
    known = [item.request for item in scene.env if not item.base and scene.matrix.package(item.request.name)]
    pins = [f"{one.name}=={one.exact}" for one in known if one.exact]
    others = tuple(one for one in pins if one.partition("==")[0] != wish.partition("==")[0])
    found = plan(wish, others, machine, scene)
    asked = [(one, _index_of(one, scene)) for one in found.builds if one.asked] if found else []
    new = [(one, place) for one, place in asked if place or one.requirement not in {wish, *others}]
    places: dict[str, list[str]] = {}
    for one, place in new:
        places.setdefault(place, []).append(one.requirement)
    names = " and ".join(" and ".join(held) + place for place, held in places.items())
    return f"Ask for {names} ({found.runtime}{found.ptx_of(new[0][0].name)})." if found and new else ""


def _index_of(build: PlannedBuild, scene: Scene) -> str:
    """The index of a build, for the end of a sentence; empty where a place that the file names has one of its CUDA."""
    public = build.version.partition("+")[0]
    rows = [row for row in scene.rows(build.name) if (row.version, row.runtime) == (public, build.runtime)]
    return _away(build.name, rows, build.index, scene)


def _away(name: str, rows: Sequence[Build], index: str, scene: Scene) -> str:
    """The index that has builds of a package, for the end of a sentence; empty where a place of the file has one."""
    places = [place for item in scene.env if item.request.name == name for place in item.origins]
    there = any(place.has(row) for place in places for row in rows)
    return "" if there or not places or not index else f" from {index}"


def instead(moving: Taken, kept: Taken, scene: Scene) -> str:
    """What to ask for in the place of two pins of which the first needs another release of the second.

    The first one moves where it can alone; on a machine that has no use for the second either, both do.
    """
    if found := beside(moving, kept, scene):
        return f"Ask for {found}."
    return there(kept, scene) if scene.machine is not None else ""


def there(item: Taken, scene: Scene) -> str:
    """What to ask for in the place of a pin that has no build for the scene's Python, or for its machine's GPUs."""
    known, wish = scene.nearest, pin(item)
    if len(known) < _MOST and (wish, ()) not in known:
        known[wish, ()] = together(wish, _machine(scene), scene)
    return known.get((wish, ()), "")


def beside(moving: Taken, kept: Taken, scene: Scene) -> str:
    """The release of a package that goes with another one as that is pinned: ``torchvision==0.18.0``.

    What else follows that other package stays as it is too. Where both releases stay, it is the build of the other one
    that fits: ``torch==2.1.0+cu121``. Empty where nothing is known that leaves the other release alone.
    """
    if len(scene.nearest) >= _MOST:
        return ""
    name, tag = moving.request.name, "+" in moving.version
    wish = f"{_named(moving)}=={moving.version.partition('+')[0]}"  # its local tag need not exist
    others = (one for one in scene.env if one.request.exact and not one.base and _follows(one, kept, scene))
    rest = tuple(dict.fromkeys((pin(kept), *(pin(one) for one in islice(others, _MOST) if one.request.name != name))))
    known = scene.nearest
    if len(rest) <= _COMPANY and (wish, rest) not in known:
        found = plan(wish, rest, _machine(scene), scene)
        asked = {one.name: one for one in found.builds} if found else {}
        new, other = asked.get(name), asked.get(kept.request.name)
        stays = other is not None and other.version.partition("+")[0] == kept.version.partition("+")[0]
        public = new.version.partition("+")[0] if new else ""
        version = new.version if new and (tag or f"{_named(moving)}=={public}" == wish) else public
        told = f"{_named(moving)}=={version}"
        if not stays or not new or not other:
            told = ""
        elif told == pin(moving):  # where neither release moves, it is another build of the one that stays
            told = f"{_named(kept)}=={other.version}"
        elif place := _index_of(new, scene):
            told = new.requirement + place
        known[wish, rest] = told if told != pin(kept) else ""
    return known.get((wish, rest), "")


def around(item: Taken, scene: Scene) -> str:
    """The releases of the places before and after the one asked for: of a local version its variant's, and its own."""
    wanted = versions.parsed(item.request.exact)
    there = [build for build in scene.rows(item.request.name) if any(place.has(build) for place in item.origins)]
    tag = wanted.local or ""
    kind = tag.rstrip("0123456789.")
    if tag:
        there = [one for one in there if one.local == tag or (one.version == wanted.public and kind in one.local)]
    known = sorted({one.full_version if tag else one.version for one in there}, key=versions.parsed)
    before, after = ([one for one in known if (versions.parsed(one) < wanted) is side] for side in (True, False))
    near = ", ".join((*before[-2:], *after[:2]))
    others = {one.full_version for one in scene.rows(item.request.name) if tag and one.version == wanted.public}
    local = sorted(one for one in others - {*known} if tag and kind in one)
    own = f" The release asked for is published as {', '.join(local)}." if local else ""
    return f"The nearest releases there are {near}.{own}" if near else own.strip()


def required(item: Taken, other: Taken, spec: str, scene: Scene) -> str:
    """To pin what a package requires of another, where the places of that one have it; else what to ask for instead.

    What places have is known of the packages of which every release is in the matrix.
    """
    name, places, asked = other.request.name, other.origins, other.request.exact.partition("+")[2]
    asker = next((one for one in scene.taken if one.request.text == other.by), None) if other.by else None
    before = next((old for old, new in scene.replaced if new is other), None)
    if asker and before and (found := beside(asker, before, scene)):
        return f"Ask for {found}."
    meant = [row for row in scene.rows(name) if versions.admits(spec, row.full_version)]
    if meant and item.python and not any(is_for(row, item.python) for row in meant):
        found = beside(item, other, scene)
        return f"Ask for {found}." if found else f"No {name}{spec} has a wheel for Python {item.python}."
    known = name in origins.settled(scene.matrix) and bool(places)
    open_ = any(place.index is None or place.partial or place.mirror for place in places)
    there = [row for row in scene.rows(name) if any(place.has(row) for place in places)]
    tag = asked or other.version.partition("+")[2]
    if tag and any(f"=={row.full_version}" == f"{spec}+{tag}" for row in (scene.rows(name) if asked else there)):
        return f"Pin {name}{spec}+{tag}."
    if not known or open_ or any(versions.admits(spec, row.full_version) for row in there):
        return f"Pin {name}{spec}."
    where = " or ".join(dict.fromkeys(place.url or "the default index" for place in places))
    return f"Ask for another release of {item.request.name}, or name another index: no {name}{spec} is at {where}."


def belonging(item: Taken, kept: Taken) -> str:
    """To ask for the companion of a framework that stays, where the release of it is not known."""
    return f"Ask for the release of {item.request.name} that goes with {kept.request.name} {kept.version}.".rstrip()


def tagged(one: Taken, other: Taken, scene: Scene) -> str:
    """The build of a companion for the runtime of its framework as that is pinned; empty where none of two is one."""
    for moving, kept in ((one, other), (other, one)):
        if _follows(moving, kept, scene) and moving.version and kept.version:
            name, plain, tag = moving.request.name, moving.version.partition("+")[0], kept.version.partition("+")[2]
            rows = [row for row in scene.matrix.builds_of(name, plain) if tag and row.local == tag]
            if rows:
                return f"{name}=={plain}+{tag}{_away(name, rows, scene.matrix.index_url(rows[0]), scene)}"
            found = beside(moving, kept, scene)
            return found if found != pin(moving) else ""
    return ""


def _machine(scene: Scene) -> Host:
    """Where a scene's packages are installed, and the devices of the machine that it is meant for."""
    system, _, arch = scene.platform.partition("_")
    name = {"win": "windows", "macosx": "darwin"}.get(system, system)
    place = {"platform": name, "arch": "x86_64" if arch == "amd64" else arch}
    found = scene.machine.readings if scene.machine else {}
    given = {name: found[name] for name in DEVICES if name in found}
    return Host({**given, **{key: Fact(value, scene.ask.file) for key, value in place.items()}})


def _follows(item: Taken, other: Taken, scene: Scene) -> bool:
    package = scene.matrix.package(item.request.name)
    return package is not None and package.follows == other.request.name
