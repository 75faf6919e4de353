"""Dependencies that builds share: whether one version suits all, and the constraint that says so.

A wheel's requirements bind whoever installs it, so two frameworks fit one environment only if the intersection of
what they accept is not empty; pairs are checked on the way, and here all builds of an assignment at once.

Only what is asked of a version range is looked at. That a version exists in the range is the registry's business, and
is known when the requirements are installed or locked; ranges that do not meet can never be.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from compat.versions import both, is_void

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from compat.resolve.build_fit import Weighed
    from compat.resolve.knowledge import Knowledge


def demands(
    chosen: Sequence[Weighed], names: AbstractSet[str], python: str, place: str, known: Knowledge
) -> dict[str, dict[str, str]]:
    """What is required of each of some shared dependencies on one Python: name -> who asks -> specifier."""
    bit = known.pythons.bits((python,))
    found: dict[str, dict[str, str]] = {}
    for weighed in chosen:
        option = weighed.option
        for name in option.lines.keys() & names:
            specs = [
                line.spec
                for line in option.lines[name]
                if known.pythons.applying(line, place, option.build.extras) & bit
            ]
            if specs:
                found.setdefault(name, {})[f"{option.package} {option.full}".strip()] = ",".join(filter(None, specs))
    return found


def agreed(chosen: Sequence[Weighed], pythons: int, place: str, known: Knowledge) -> int:
    """The Pythons on which every shared dependency has a version for all; two builds have been asked as a pair."""
    names = _disputed(chosen, 3)
    if not names:
        return pythons
    bits = 0
    for python in known.pythons.of(pythons):
        sets = demands(chosen, names, python, place, known).values()
        if all(len(specs) < 3 or not is_void(tuple(specs.values())) for specs in sets):
            bits |= known.pythons.bits((python,))
    return bits


def _disputed(chosen: Sequence[Weighed], least: int) -> AbstractSet[str]:
    """Names that at least so many builds require.

    Requirements on packages that are themselves chosen are left out: the pairs have settled those.
    """
    if len(chosen) < least:
        return frozenset()
    askers = Counter(name for weighed in chosen for name in weighed.option.lines)
    inside = {weighed.option.package for weighed in chosen if weighed.option.version}
    return {name for name, count in askers.items() if count >= least} - inside


def asked(chosen: Sequence[Weighed]) -> tuple[str, ...]:
    """The shared dependencies that were asked for by name, in order: the names of what stands for no build."""
    return tuple(
        dict.fromkeys(name for weighed in chosen if not weighed.option.version for name in weighed.option.lines)
    )


def constraints(chosen: Sequence[Weighed], python: str, place: str, known: Knowledge) -> dict[str, str]:
    """Requirements that hold shared dependencies within what every build accepts: name -> requirement.

    A dependency is listed where two builds ask for it, or one bounds it from above: an installer that sees the builds
    one after the other would else move it out of range. What was asked for by name is never left out. What one build
    alone pins, or asks of NVIDIA's packages, follows from that build.
    """
    listed, wanted = {}, asked(chosen)
    for name, specs in sorted(demands(chosen, _disputed(chosen, 1), python, place, known).items()):
        told = [spec for spec in specs.values() if spec]
        own = name.startswith("nvidia-") or name in known.matrix.packages
        bounded = not own and any("<" in spec or "~=" in spec for spec in told)
        if name in wanted or (told and (len(told) > 1 or bounded)):
            listed[name] = f"{name}{tightened(tuple(told))}"
    return listed


@lru_cache(maxsize=4096)
def tightened(specs: tuple[str, ...]) -> str:
    """Several specifiers as one, without those that the others imply."""
    parts = list(dict.fromkeys(part for spec in specs for part in spec.split(",") if part))
    whole = both(tuple(parts)) if parts else None
    for part in tuple(parts):
        rest = tuple(other for other in parts if other != part)
        if rest and both(rest) == whole:
            parts.remove(part)
    return ",".join(sorted(parts, key=lambda part: (part.lstrip("<>=!~"), part)))
