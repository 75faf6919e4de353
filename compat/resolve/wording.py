"""Conflicts in words: the members of each minimal core, wishes first, and the rows that set them at odds.

The core itself comes from the search; nothing here decides. Between two packages the dispute is shown for the pair of
builds that comes nearest to an agreement, since "another CUDA major" is true of most pairs and explains nothing, while
"one pins cuDNN 8.9.2.26 and the other asks for 9" does.

A conflict's members show a few rows; the refusal rests on every build that meets the wishes. It is proven where each of
them breaks some fact of the core by a field that somebody saw, else it is likely and no more.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.joints.build import is_tagged, is_unseen
from compat.joints.packages import Objection, apart, has_unread, is_proven
from compat.joints.packages import told as sentence
from compat.joints.platform import is_at
from compat.joints.verdict import is_inferred
from compat.plan import Conflict, Member, code
from compat.resolve.corrections import conflicts
from compat.resolve.options import ANY_PYTHON
from compat.resolve.reasons import fact_reasons
from compat.resolve.situation import FITS, Soft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compat.matrix import Matrix
    from compat.resolve.build_fit import Weighed
    from compat.resolve.options import Option
    from compat.resolve.request import Variable
    from compat.resolve.search import Search

_KINDS: Final = {"wish": 0, "option": 1, "host": 2}
# Pairs of builds whose dispute is looked into; the newest come first.
_PAIRS: Final = 400

# Rows named of one kind; the rest is counted.
_MOST: Final = 4


def told(search: Search, sets: Sequence[int]) -> tuple[Conflict, ...]:
    """Every minimal conflict, those with the fewest members first, and in them the wishes before options and facts."""
    return tuple(_conflict(search, bits) for bits in conflicts(sets))


def _conflict(search: Search, bits: int) -> Conflict:
    """One core as members: wishes, options, facts of the host, then the rows of the matrix."""
    softs = sorted(
        (soft for soft in search.target.softs if soft.bit & bits), key=lambda soft: (_KINDS[soft.kind], soft.bit)
    )
    rows = _reasons(search, softs, bits)
    named = {one.package for one in search.variables if one.bits & bits}
    # another wish has no part in it, but for a framework that a package of the core brings
    concerned = [
        one for one in search.variables if one.bits & bits or not one.bits or named.intersection(one.followers)
    ]
    if not any(row.likely for row in rows) and _is_open(search, softs, concerned, _place_of(search, (), bits)):
        rows = [
            *rows[:-1],
            replace(rows[-1], text=f"{rows[-1].text}; of other builds this is only inferred", likely=True),
        ]
    members = [Member(soft.kind, soft.text, soft.source) for soft in softs]
    return Conflict((*members, *rows), why=_sentence(softs))


def _sentence(softs: Sequence[Soft]) -> str:
    """The core in one sentence; its rows are members, and not repeated here."""
    named = [soft.text for soft in softs]
    if len(named) == 1:
        return f"{named[0]} cannot be had"
    return f"{', '.join(named[:-1])} and {named[-1]} do not go together"


def _reasons(search: Search, softs: Sequence[Soft], bits: int) -> list[Member]:
    """Rows of the matrix that a core rests on; never none, since a conflict without a fact is no reason.

    A fact may concern a package only through its framework: those are asked where the package itself has no answer.
    """
    asked = [variable for variable in search.variables if variable.bits & bits]
    names = {one.package for one in asked}
    leaders = [one for one in search.variables if one not in asked and names.intersection(one.followers)]
    place = _place_of(search, asked, bits)
    found = [*_of_facts(search, softs, asked, bits, place)]
    found = found or [*_of_facts(search, softs, leaders, bits, place)]
    if len(asked) > 1:
        found += _of_pairs(search, asked, bits, place) or _of_pairs(search, [*asked, *leaders], bits, place)
    found = found or _of_pairs(search, [*asked, *leaders], bits, place)
    found = found or [*_of_images(search, softs, [*asked, *leaders], bits, place)]
    found = found or [one for variable in asked for one in _lone_reason(search, variable)]
    return list(dict.fromkeys(found))  # an architecture and a platform rest on the same rows


def _place_of(search: Search, asked: Sequence[Variable], bits: int) -> str:
    """Where a core's builds are shown: the target's place, or, where some have none there, one that the core leaves."""
    places = [place for place, cost in search.target.places if not cost & bits]
    return next((place for place in places if all(search.domain(one, place) for one in asked)), places[0])


def _of_facts(
    search: Search, softs: Sequence[Soft], packages: Sequence[Variable], bits: int, place: str
) -> Iterator[Member]:
    """What the rows say of each fact of a core, package by package."""
    facts = [soft for soft in softs if soft.kind != "wish"]
    for soft, variable in product(facts, packages):
        yield from fact_reasons(search, soft, variable, bits, place)


def _of_images(
    search: Search, softs: Sequence[Soft], packages: Sequence[Variable], bits: int, place: str
) -> Iterator[Member]:
    """That the images which hold what builds take from the system do not start with a driver (NVIDIA_REQUIRE_CUDA)."""
    drivers = [soft.text for soft in softs if soft.subject == "driver"]
    needy = [one for variable in packages for one in _kept(search, variable, bits, place) if one.option.build.system]
    stands = (search.footings([one], place, search.python_bits & one.option.pythons) for one in needy if drivers)
    for one, stand in zip(needy, stands, strict=False):
        if image := next((each.image for each in stand if each.image), None):
            held = " and ".join(one.option.build.system)
            text = f"{one.option.label} takes {held} from the image, and no image of these starts with {drivers[0]}"
            yield Member("matrix", text, f"{search.known.matrix.cite(one.option.build)}; {image.source}")
            return


def _of_pairs(search: Search, packages: Sequence[Variable], bits: int, place: str) -> list[Member]:
    """What packages of a core dispute among themselves."""
    kept = {variable.package: tuple(_kept(search, variable, bits, place)) for variable in packages}
    return list(_pair_reasons(search, packages, kept, place))


def _kept(search: Search, variable: Variable, bits: int, place: str) -> Iterator[Weighed]:
    """Builds of a package that break none of the core's constraints by themselves."""
    pythons = search.python_bits if bits & search.target.python_bit else ANY_PYTHON
    for weighed in search.domain(variable, place):
        if weighed.option.pythons & pythons and any(not violated & bits for violated in weighed.violations):
            yield weighed


def _lone_reason(search: Search, variable: Variable) -> Iterator[Member]:
    """A wish that fails by itself: published only for other places, or only as a CPU build.

    It shows what exists, so that the difference to the target is plain.
    """
    place = search.target.place
    named = search.known.named(variable.package, tuple(wish for wish, _ in variable.wishes))
    if search.target.cpu and (said := _gpu_extra(search, variable, named)):
        yield said
        return
    if lacking := [extra for wish, _ in variable.wishes for extra in wish.extras if _is_lacking(search, extra, named)]:
        row = next((option.build for option in named if option.build.note), named[0].build)
        text = f"no build of {variable.package} {named[0].version} is known that has the extra {' and '.join(lacking)}"
        yield Member("matrix", f"{text} ({row.note})" if row.note else text, search.known.matrix.cite(row))
        return
    brought = (one for one in search.variables if variable.package in one.followers)
    if absent := next((one for one in brought if not any(search.domain(one, place))), None):
        yield from _lone_reason(search, absent)
        return
    if said := _imageless(search, variable):
        yield said
        return
    extras = {one for wish, _ in variable.wishes for one in wish.extras} & {*search.known.extras(variable.package)}
    named = tuple(one for one in named if extras <= {*one.build.extras, *one.build.also}) or named
    named = tuple(option for option in named if option.version == named[0].version)
    kinds = sorted({option.runtime or code(option.build.kernels) for option in named}, key=str)
    places = sorted({platform for option in named for platform in option.build.platforms})
    if named:
        name = f"{variable.package} {named[0].version}"
        text = f"{name} is published as {', '.join(kinds)} for {', '.join(places)}"
        here = {option.runtime for option in named if is_at(option.build, place)}
        if here and search.target.cpu and "cpu" not in here:
            known = ", ".join(sorted(filter(None, here))) or "GPU code alone"
            text = f"{name} is published for {place} as {known}, and a CPU build is asked for"
        elif here == {"cpu"} and not search.target.cpu:
            text = f"{name} is published for {place} as a CPU build alone, which is chosen only with --cpu"
        elif not here:
            text += f", and the plan is for {place}"
        deciding = ("platforms", "runtime") if here == {"cpu"} else ("platforms",)
        likely = any(is_unseen(search.known.matrix, option.build, one) for option in named for one in deciding)
        text = f"{text}; this is only inferred" if likely else text
        yield Member("matrix", text, search.known.matrix.cite(named[0].build), likely)


def _gpu_extra(search: Search, variable: Variable, named: Sequence[Option]) -> Member | None:
    """That an extra chooses builds for GPUs, where a CPU build is asked for."""
    for extra in (extra for wish, _ in variable.wishes for extra in wish.extras):
        chosen = [option for option in named if extra in (*option.build.extras, *option.build.also)]
        if chosen and all(option.vendor not in {"", "cpu"} for option in chosen):
            text = f"the extra {extra} of {variable.package} chooses its build for {chosen[0].runtime}, and a CPU build"
            return Member("matrix", f"{text} is asked for", search.known.matrix.cite(chosen[0].build))
    return None


def _imageless(search: Search, variable: Variable) -> Member | None:
    """That the image which a build needs does not exist (any more), where builds are what is asked for."""
    place, matrix = search.target.place, search.known.matrix
    asked = list(_kept(search, variable, variable.bits, place))
    asked = [weighed for weighed in asked if weighed.violations == FITS or weighed.option.build.system]
    one = min(asked, key=lambda weighed: weighed.violations != FITS).option if asked else None
    if one is None or not place.startswith("linux"):
        return None
    name = one.label
    if not one.build.system:
        pythons = search.known.pythons.of(one.pythons)
        minors = ", ".join(sorted(pythons, key=versions.release))
        if not one.pythons & search.python_bits:
            reason = f"{name} has wheels for Python {minors}, and the marker is true on none of these"
        elif not any(map(search.images.is_ready, pythons)):
            reason = f"no image can be made with a Python that {name} has wheels for ({minors})"
        else:
            reason = f"why no image carries {name} is not known"
        weak = any(
            other.option.build.how == "inferred" or other.option.build.inferred
            for name in search.variables
            for other in search.domain(name, place)
        )
        return Member("matrix", f"{reason}; this is only inferred" if weak else reason, matrix.cite(one.build), weak)
    held = " and ".join(one.build.system)
    gone = next((row for row in matrix.table("images") if row.runtime == one.runtime and row.status == "gone"), None)
    cites = "; ".join(matrix.cite(row) for row in (one.build, gone) if row)
    end = f"the images that held {one.runtime} were removed" if gone else f"no image with {held} is known"
    others = (other.option.build for each in search.variables for other in search.domain(each, place))
    weak = is_inferred(one.build, "runtime") or any(is_unseen(matrix, other, "runtime") for other in others)
    text = f"{name} takes {held} from the image, and {end}"
    return Member("matrix", f"{text}; this is only inferred" if weak else text, cites, weak)


def _is_lacking(search: Search, extra: str, named: Sequence[Option]) -> bool:
    """Whether an extra that brings a device's code is one that none of some builds has."""
    known = search.known.extras(named[0].package, "none") if named else ()
    return extra in known and all(extra not in (*one.build.extras, *one.build.also) for one in named)


def _pair_reasons(
    search: Search, variables: Sequence[Variable], kept: dict[str, tuple[Weighed, ...]], place: str
) -> Iterator[Member]:
    """What two packages dispute: the objections of the pair of builds that comes nearest to an agreement.

    Pairs that could agree are passed over: then the dispute lies with a third package.
    """
    joints, matrix = search.joints(place), search.known.matrix
    for one, other in combinations(variables, 2):
        pairs = list(product(_unlike(search, one, kept), _unlike(search, other, kept)))
        if any(joints.pythons(left.option, right.option) for left, right in pairs):
            continue
        near = [(left, right) for left, right in pairs if joints.goes(left.option, right.option)]
        # that the runtimes of the others do not go together may be a guess: then all else has to keep them apart
        far = [(left, right) for left, right in pairs if not joints.goes(left.option, right.option)]
        near = near or sorted(pairs, key=lambda pair: apart(pair[0].option.runtime, pair[1].option.runtime))[:1]
        disputes = [(list(joints.objections(left.option, right.option)), left, right) for left, right in near[:_PAIRS]]
        if disputes:
            proven = all(
                any(_is_sure(matrix, each, left.option, right.option) for each in said)
                for said, left, right in (*disputes, *((joints.objections(a.option, b.option), a, b) for a, b in far))
            )
            yield from _dispute(search, *min(disputes, key=lambda dispute: _severity(dispute[0])), likely=not proven)


def _is_sure(matrix: Matrix, objection: Objection, left: Option, right: Option) -> bool:
    """Whether an objection is proven: that of runtimes is not where the index of one has unread files of the other."""
    pairs = ((left, right), (right, left)) if objection.kind == "runtime" else ()
    unread = any(has_unread(matrix, one.build.index, other.package) for one, other in pairs)
    return not unread and is_proven(matrix, objection, left, right)


def _unlike(search: Search, variable: Variable, kept: dict[str, tuple[Weighed, ...]]) -> tuple[Weighed, ...]:
    """One build of each kind that other packages can tell apart, newest first."""
    found: dict[object, Weighed] = {}
    for weighed in kept[variable.package]:
        found.setdefault(search.joint_of(variable, weighed), weighed)
    return tuple(found.values())


def _severity(objections: Sequence[Objection]) -> int:
    """How far two builds are from an agreement: another runtime is far, one pinned dependency is near.

    Another minor of one CUDA is nearer than another major, and that nearer than another maker's runtime.
    """
    weights = {"runtime": 1000, "system": 100, "requires": 50, "python": 20, "files": 2, "shared": 1}
    steps = (apart(one.left, one.right) if one.kind == "runtime" else 0 for one in objections)
    return sum(weights[one.kind] * (1 + step) for one, step in zip(objections, steps, strict=True))


def _dispute(
    search: Search, objections: Sequence[Objection], left: Weighed, right: Weighed, *, likely: bool
) -> Iterator[Member]:
    """What the two builds that come nearest to an agreement still dispute, a few points of it.

    It is likely and no proof where some pair of builds is kept apart by nothing but rows that are only inferred.
    """
    cites = "; ".join(dict.fromkeys(search.known.matrix.cite(weighed.option.build) for weighed in (left, right)))
    for objection in objections[:_MOST]:
        text = sentence(objection, left.option, right.option)
        yield Member("matrix", f"{text}; this is only inferred" if likely else text, cites, likely)


# --- whether a conflict is proven ---

# What a fact is about -> the fields of a build by which the two do not fit.
_FIELDS: Final = {
    "gpu": ("kernels",),
    "driver": ("runtime", "driver"),
    "amdgpu": ("runtime",),
    "l4t": ("runtime",),
    "no-gpu": ("runtime",),
    "runtime": ("runtime",),
    "python": ("python",),
    "glibc": ("glibc",),
    "libc": ("platforms",),
    "os": ("glibc", "system"),
    "cpu_flags": ("cpu",),
    "arch": ("platforms",),
    "platform": ("platforms",),
}


def _is_open(search: Search, softs: Iterable[Soft], packages: Iterable[Variable], place: str) -> bool:
    """Whether some build of a core's packages, at a place, might do without breaking it, were it known better."""
    facts = [soft for soft in softs if soft.kind != "wish"]
    if any(
        search.scale.unserved(device, place) != FITS
        for device in search.target.devices
        for soft in facts
        if device.bit == soft.bit
    ):
        return False
    wishes = sum(soft.bit for soft in softs if soft.kind == "wish")
    return any(
        not _is_out(search, weighed, facts, wishes)
        for variable in packages
        for weighed in search.domain(variable, place)
        if weighed.option.build.how == "inferred" or weighed.option.build.inferred
    )


def _is_out(search: Search, weighed: Weighed, facts: list[Soft], wishes: int) -> bool:
    """Whether a build is surely refused: each way to have it breaks a wish, or a fact by a field that was seen.

    A build that breaks nothing of the core by itself is refused by the other packages, which are judged as pairs; one
    for the GPUs of another maker is no candidate.
    """
    vendors, build = search.target.vendors, weighed.option.build
    if vendors and weighed.option.vendor not in {*vendors, "", "cpu"}:
        return True
    core = wishes + sum(soft.bit for soft in facts)
    ways = [way & core for way in weighed.violations]
    seen = sum(soft.bit for soft in facts if _is_seen(search, weighed, soft))
    if not all(ways):
        told = ("python", "glibc", "system", *(["runtime"] if facts else []))
        return not any(is_unseen(search.known.matrix, build, name) for name in told)
    return all(way & (wishes | seen) for way in ways)


def _is_seen(search: Search, weighed: Weighed, soft: Soft) -> bool:
    """Whether somebody saw what decides of a build on a fact; a local tag (``+cu118``) names the runtime."""
    subject = "gpu" if soft.subject.startswith("gpu") else soft.subject
    build = weighed.option.build
    device = next((one for one in search.target.devices if one.bit == soft.bit), None)
    if device and weighed.option.vendor != device.vendor:
        return True
    if subject in {"driver", "no-gpu"} and is_tagged(build, kind=True):
        return True
    fields = _FIELDS.get(subject, ())
    # other runtimes of a release carry other code and need other drivers
    kin = {name: ("runtime",) if name in {"kernels", "driver", "system"} else () for name in fields}
    return not any(is_unseen(search.known.matrix, build, name, *more) for name, more in kin.items())
