"""Why this plan and no other: for each decision what was chosen, what lost to it, and by which measure.

The reasons are recomputed from the search's own verdicts and measures, so that they cannot drift from what decided.
They are cheap (one pass over a package's builds) and therefore part of every plan, stored with it for ``--explain``.
"""

from __future__ import annotations

from itertools import combinations, islice
from typing import TYPE_CHECKING, Final

from compat.plan import Choice
from compat.resolve.alternatives import FITS
from compat.resolve.pins import agreed
from compat.resolve.preference import MEASURES
from compat.resolve.search import need_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.resolve.build_fit import Weighed
    from compat.resolve.preference import Preference
    from compat.resolve.search import Assignment, Search
    from compat.resolve.variables import Variable

# Losers named per decision.
_MOST: Final = 6


def choices(search: Search, found: Assignment) -> tuple[Choice, ...]:
    """One choice per package, then the base image and the Python."""
    return (*_builds(search, found), *_footing(search, found))


def _builds(search: Search, found: Assignment) -> Iterator[Choice]:
    """One choice per package that has builds; a wish about a shared dependency chooses nothing."""
    preference = search.preference(found.place)
    for variable, taken in zip(search.variables, found.chosen, strict=True):
        if taken.option.version:
            yield _build(search, found, variable, taken, preference)


def _build(search: Search, found: Assignment, variable: Variable, taken: Weighed, preference: Preference) -> Choice:
    """What a package's chosen build won against, newest first.

    Listed are builds that something excludes, and the other variants of the chosen release with the measure by which
    they lost; releases that merely are older need no reason.
    """
    own = preference.own(taken)
    rejected = []
    for weighed in search.domain(variable, found.place):
        if weighed.option is taken.option or _is_foreign(search, weighed):
            continue
        why = _why_not(search, found, weighed, taken)
        if why or weighed.option.version == taken.option.version:
            rejected.append(
                f"{weighed.option.full} {weighed.option.runtime}".strip()
                + f": {why or _lost(preference, own, weighed)}"
            )
        if len(rejected) == _MOST:
            break
    said = f"{taken.option.full} {taken.option.runtime}".strip()
    return Choice(subject=variable.package, chosen=said, rejected=tuple(rejected), why="; ".join(_reasons(preference)))


def _is_foreign(search: Search, weighed: Weighed) -> bool:
    """Whether a build is for the GPUs of a maker that the target has none of: it was no candidate."""
    return bool(search.target.vendors) and weighed.option.vendor not in {"", "cpu", *search.target.vendors}


def _reasons(preference: Preference) -> Iterator[str]:
    """The order in words, without the final measure, which only breaks ties."""
    return (MEASURES[name].why for name in preference.names[:-1])


def _why_not(search: Search, found: Assignment, weighed: Weighed, taken: Weighed) -> str:
    """What a build breaks; empty if it could stand in the chosen one's place."""
    if weighed.violations != FITS:
        bits = min(weighed.violations, key=lambda one: (one.bit_count(), one))
        return "breaks " + ", ".join(soft.text for soft in search.target.softs if soft.bit & bits)
    joints = search.joints(found.place)
    python = search.known.pythons.bits((found.footing.python,))
    for other in found.chosen:
        if other is not taken and not joints.pythons(other.option, weighed.option):
            return f"does not fit {other.option.package} {other.option.full}"
    return "" if weighed.option.pythons & python else f"has no wheel for Python {found.footing.python}"


def _lost(preference: Preference, own: tuple[int, ...], weighed: Weighed) -> str:
    """The first measure by which a build that also fits is worse."""
    for name, mine, theirs in zip(preference.names, own, preference.own(weighed), strict=True):
        if mine < theirs:
            return MEASURES[name].why
    return "another build decides"


def _footing(search: Search, found: Assignment) -> Iterator[Choice]:
    """The base image with its reason, and the Python with where it comes from; each with what lost to it."""
    image, bits = found.footing.image, _shared_pythons(search, found)
    if image is not None:
        need = need_of(found.chosen, found.place, bits)
        lost = islice(search.images.losers(need, image.image), _MOST)
        yield Choice(
            subject="base image",
            chosen=image.image,
            rejected=tuple(f"{name}: {why}" for name, why in lost),
            why=image.why,
        )
    source = (
        f"from the {image.python_from}" if image is not None and image.python_from != "uv" else "a standalone build"
    )
    asked = "asked for" if search.target.python else f"suits all builds, {source}"
    others = () if search.target.python or bits < 0 else _other_pythons(search, found, bits)
    yield Choice(subject="python", chosen=found.footing.python, rejected=tuple(others), why=asked)


def _shared_pythons(search: Search, found: Assignment) -> int:
    """The Pythons on which all of a plan's builds agree."""
    joints, bits = search.joints(found.place), search.python_bits
    for one in found.chosen:
        bits &= one.option.pythons
    for one, other in combinations(found.chosen, 2):
        bits &= joints.pythons(one.option, other.option)
    return agreed(found.chosen, bits, found.place, search.known)


def _other_pythons(search: Search, found: Assignment, bits: int) -> Iterator[str]:
    """The other Pythons that all builds share, and why the image's was taken."""
    image = found.footing.image
    system = search.known.system(image.os) if image else None
    for python in search.known.pythons.of(bits):
        if python != found.footing.python:
            is_there = system is not None and python in {system.python, *system.pythons}
            named = f"is not the python3 of {image.os}" if is_there and image else "would be a standalone build"
            yield f"{python}: {named if image else 'lost to the newest that a distribution has as its own'}"
