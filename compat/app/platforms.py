"""One plan for several platforms, so that one Dockerfile makes one image for each of them under one name.

A Dockerfile is the same for every platform it is built for, and so are its pins, its index and its base. Each platform
is planned by itself; where the answers differ, what one of them chose is asked for on all.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from compat.app.images import planned
from compat.errors import InputError, NoPlanError
from compat.names import normalise
from compat.plan import Plan, platforms
from compat.versions import read_requirement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.app.plans import Target
    from compat.matrix import Matrix

# Names of platforms by our architecture, with the variants that programs of it run on (containerd's platforms package,
# ``Normalize``; the levels of x86-64 are those of its psABI).
_ARCHS: Final = {
    "x86_64": re.compile(r"linux/(amd64|x86_64)(/v[1-4])?"),
    "aarch64": re.compile(r"linux/(arm64|aarch64)(/v8)?"),
}
# What decides the text of a Dockerfile, in the order in which a difference is told: not where a row was read.
_SAME: Final = ("base_image", "python", "runtime", "builds", "system", "constraints", "asked", "env", "driver")


def named(given: Sequence[str]) -> tuple[str, ...]:
    """The platforms that were asked for, each once; commas part them as well, as the builder's own option has it."""
    return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",")))


def planned_for(names: Sequence[str], requirements: Sequence[str], target: Target, matrix: Matrix) -> Plan:
    """The one plan for an image on every one of some platforms; on the target's own where none is named.

    ``target``: the machine; its architecture is that of the platforms.

    Raises:
        InputError: for a platform that nothing is planned for, or that contradicts the target.
        NoPlanError: with the explanation, if one of them has no plan or all together have none.
    """
    archs = tuple(dict.fromkeys(map(_arch, names)))
    if not archs:
        return planned(requirements, target, matrix)
    if target.stored:
        return _narrowed(planned(requirements, target, matrix), archs)
    if target.arch and platforms(archs) != platforms([_arch_of_machine(target.arch)]):
        raise InputError(f"--arch {target.arch} is not for {', '.join(names)}", where="--platform", hint="drop --arch")
    alone = [planned(requirements, _on(target, arch, names), matrix) for arch in archs]
    if not (told := _differences(alone)):
        return _joined(alone)
    for chosen in alone:
        held = _held(requirements, [_on(target, arch, names) for arch in archs], chosen, matrix)
        if held and not _differences(held):
            return _joined(held)
    raise NoPlanError(_unlike(told))


def demanded(name: str) -> str:
    """A platform as it was typed.

    Raises:
        InputError: if it is none that images are planned for.
    """
    _arch(name)
    return name


def foreign(plan: Plan) -> tuple[str, ...]:
    """The platforms that an engine must be told: those of a plan that is not for a machine like this one alone."""
    import platform

    return () if plan.archs == (_arch_of_machine(platform.machine()),) else plan.platforms


def _arch(name: str) -> str:
    """The architecture of a platform."""
    for arch, pattern in _ARCHS.items():
        if pattern.fullmatch(name):
            return arch
    expected = "linux/amd64 or linux/arm64, several with commas"
    raise InputError(f"{name[:80]!r} is no platform that images are planned for", where="--platform", expected=expected)


def _arch_of_machine(text: str) -> str:
    """The architecture by any of its names: ``arm64`` is ``aarch64``."""
    return next((arch for arch, pattern in _ARCHS.items() if pattern.fullmatch(f"linux/{text}")), text)


def _narrowed(plan: Plan, archs: Sequence[str]) -> Plan:
    """A stored plan for some of its own platforms."""
    if missing := [arch for arch in archs if arch not in plan.archs]:
        why = f"the plan is for {', '.join(plan.platforms)} and not for {', '.join(platforms(missing))}"
        raise InputError(why, where="--platform", hint="resolve again: other files are published for other processors")
    return replace(plan, arch=archs[0], also=tuple(archs[1:]))


def _on(target: Target, arch: str, names: Sequence[str]) -> Target:
    """The target on one platform; a fix keeps all that were asked for, unless it leaves this very architecture."""
    swap = (("arch", arch), ("platform", ",".join(names)))
    return replace(target, arch=arch, asking=replace(target.asking, swap=swap))


def _held(requirements: Sequence[str], targets: Sequence[Target], chosen: Plan, matrix: Matrix) -> list[Plan] | None:
    """The plans of all platforms when what one of them chose is asked for by version; ``None`` if one has none."""
    wishes = tuple(_pinned(requirements, chosen))
    try:
        return [planned(wishes, replace(target, python=chosen.python), matrix) for target in targets]
    except NoPlanError:
        return None


def _pinned(requirements: Sequence[str], chosen: Plan) -> Iterator[str]:
    """The wishes at the versions that a plan chose; one that it serves by another package stays as it is."""
    builds = {normalise(build.name): build for build in chosen.builds}
    for text in requirements:
        wish = read_requirement(text)
        build = builds.get(wish.name)
        extras = f"[{','.join(wish.extras)}]" if wish.extras else ""
        yield f"{wish.name}{extras}=={build.version}" if build else text


def _joined(plans: Sequence[Plan]) -> Plan:
    """Plans that differ in nothing but their platform as one, with what was assumed for any of them."""
    return replace(
        plans[0],
        also=tuple(plan.arch for plan in plans[1:]),
        conditions=tuple(dict.fromkeys(text for plan in plans for text in plan.conditions)),
    )


def _differences(plans: Sequence[Plan]) -> dict[str, list[str]]:
    """What differs between plans -> how each of them has it, behind its platform."""
    found: dict[str, list[str]] = {}
    for name in _SAME:
        values = [_bare(getattr(plan, name)) for plan in plans]
        if any(value != values[0] for value in values):
            found[name] = [
                f"{plan.platforms[0]}: {_said(value) or 'none'}" for plan, value in zip(plans, values, strict=True)
            ]
    return found


def _bare(value: Any) -> Any:
    """A value of a plan without its sources, reasons and GPU code, which say nothing of what is installed."""
    if isinstance(value, tuple):
        return tuple(map(_bare, value))
    reasons = {"source": "", "how": "measured", "why": "", "note": "", "kernels": ()}
    idle = {name: text for name, text in reasons.items() if hasattr(value, name)}
    return replace(value, **idle) if idle else value


def _said(value: Any) -> str:
    """One of the values of a plan in short."""
    match value:
        case tuple():
            return ", ".join(_said(item) for item in value)
        case dict():
            return ", ".join(f"{key}={text}" for key, text in sorted(value.items()))
    index = getattr(value, "index", "")
    short = getattr(value, "requirement", None) or getattr(value, "image", None) or getattr(value, "minimum", None)
    pins = "".join(f" {pin}" for pin in getattr(value, "pins", ()))
    return f"{short}{pins}{index and ' from ' + index}" if short else str(value or "")


def _unlike(told: dict[str, list[str]]) -> str:
    """Why one Dockerfile cannot serve all platforms, and the way that is left."""
    lines = ["✗ No one plan serves all of these platforms: what is published for them differs.", ""]
    for name, rows in told.items():
        lines += [f"  {name.replace('_', ' ')}", *(f"    {row}" for row in rows)]
    return "\n".join(
        [
            *lines,
            "",
            "Build and push an image for each platform alone, then give the images one name:",
            "  $ docker buildx imagetools create --tag NAME NAME-amd64 NAME-arm64",
        ]
    )
