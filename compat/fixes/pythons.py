"""Fixes where pip finds no build for this Python, platform or index: what is published there, and how to take it.

pip lists the releases that have a file for its own world: a Python, a system with its processor, and the indexes that
it was told of. What facts and list leave open of the worlds that a package is published for is read in one order, the
surest first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.fixes.boards as boards
import compat.fixes.containers as containers
import compat.fixes.plans as plans
from compat import versions
from compat.changes import Command, Install, Package, Python
from compat.facts import Host
from compat.findings import Fix
from compat.joints.python import in_order
from compat.reading.commands import requirements
from compat.reading.message_facts import runtime_of
from compat.rules.lookups import is_version
from compat.rules.stack import plain, platform_tag
from compat.rules.wanted import published, standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compat.fixes.subject import Subject
    from compat.matrix.rows import Build

_PLACES: Final = ("linux_x86_64", "win_amd64")
_MACS: Final = ("macosx_x86_64", "macosx_arm64")
_BITS: Final = Fix("Install the 64-bit Python: nothing is published for one of 32 bits.")


def python(subject: Subject) -> Fix | None:
    """A Python that has a build of the release, beside the present one; or what else the worlds of pip's list tell."""
    unlisted = subject.wish.name if subject.wish and not subject.wished else ""  # of which wheels alone are known
    name = unlisted or subject.framework_name() or subject.wished or next(iter(subject.cited()), "")
    have = subject.release(name) or _pinned(name, subject)
    rows = _of(name, have, subject) if name and is_version(have) else ()
    served = _minor(subject) in (_usual_pythons(rows) or _pythons(rows))
    if subject.host.platform == "darwin" and rows:
        return _last(subject) or (_apple(name, have, subject) if served else None)
    if subject.host.arch == "i686":
        return _BITS
    at_hand = Fix(f"{name} {have} is published for this Python: look at the index and the system that were asked.")
    return (
        (boards.framework(name, subject) if name and boards.is_one(subject) else None)
        or _untagged(name, subject)
        or _by_processor(name, subject)
        or _other_index(name, have, rows, subject)
        or _default_index(subject)
        or _another_system(name, subject)
        or _on_linux(name, have, rows, subject)
        or _unsaid(name, have, rows, subject)
        or (at_hand if served else _beside(name, have, rows, subject))
        or _of_wheel(subject)
        or _next(subject)
        or _by_message(subject)
    )


def metal(subject: Subject) -> Fix | None:
    """A system without builds: what others publish for it, or the last release that had it; no Linux for a Mac."""
    if subject.host.arch == "i686":
        return _BITS
    heard = subject.case.signals.get("docker-kfd-missing", "kfd-no-file")
    asked = heard or any("/dev/kfd" in line for line in subject.case.commands)
    if asked and subject.host.platform in {"windows", "wsl2"}:
        return containers.without_nodes(subject)
    if subject.host.platform != "darwin":
        later = standing(subject.case.signals) == "newer"
        return _of_channel(subject) or _of_others(subject) or (_last(subject) if later else None)
    if fix := _last(subject) or _by_processor(subject.wished, subject) or _on_no_mac(subject):
        return fix
    own = ", or on Apple's own processor the arm64 Python" if subject.host.arch == "x86_64" else ""
    return Fix(f"Take the last release that was published for this macOS and processor{own}.")


# --- the worlds of a package ---


def _of(name: str, version: str, subject: Subject) -> Sequence[Build]:
    """The builds of a release; of a package without rows its wheels, as they were measured."""
    return subject.matrix.builds_of(name, version) or [
        row for row in published(subject.matrix, name) if versions.same_release(row.version, version)
    ]


def _releases(rows: Iterable[Build], place: str = "", python: str = "") -> list[str]:
    """The releases with a file for a place, for a Python, or for both, oldest first."""
    there = (row for row in rows if is_version(row.version) and (not place or place in row.platforms))
    found = dict.fromkeys(row.version for row in there if not python or python in row.python)
    return sorted(found, key=versions.release)


def _pythons(rows: Iterable[Build]) -> list[str]:
    """The Pythons that builds are for, oldest first; none without a lock."""
    return in_order(one for row in rows for one in row.python if not one.endswith("t"))


def _usual_pythons(rows: Iterable[Build], variant: str = "") -> list[str]:
    """Those for which the default index, or that of a variant, has files on Linux and on Windows."""
    mine = [row for row in rows if (row.variant == variant if variant else not row.index)]
    here, there = ([row for row in mine if place in row.platforms] for place in _PLACES)
    return [one for one in _pythons(here) if one in _pythons(there)]


def _minor(subject: Subject) -> str:
    """The Python that is stated; empty if none is."""
    return versions.minor(subject.host.python or "") if is_version(subject.host.python) else ""


def _pinned(name: str, subject: Subject) -> str:
    """The release of a package that the message, the wishes or the commands pin."""
    said = [*subject.case.wishes, subject.case.signals.value("requirement")]
    pinned = {one.partition("==")[0].partition("[")[0]: one.partition("==")[2] for one in said if "==" in one}
    return plain(pinned.get(name, "") or requirements(subject.case.commands).get(name, ""))


def _tag(subject: Subject) -> str:
    """The local tag of the release that the message names, ``cu116``; empty if it has none."""
    return subject.wish.spec.partition("+")[2] if subject.wish else ""


def _exactly(text: str, name: str, version: str) -> Fix:
    """A release from the default index."""
    return Fix(text, changes=(Install(packages=(Package(name=name, version=version),)),))


# --- what is told of them, the surest first ---


def _untagged(name: str, subject: Subject) -> Fix | None:
    """A build of CUDA that pip lists beside the plain one on Linux and Windows of x86_64, and not here."""
    wish, listed, matrix, tag = subject.wish, subject.listed, subject.matrix, _tag(subject)
    if not wish or not tag or not listed or any("+" in one for one in listed) or subject.host.platform:
        return None
    paged = any("torch_stable.html" in one for one in subject.said("links"))
    until = matrix.turn("torch-page").version if paged else ""
    for version in (plain(wish.spec.removeprefix("==")), listed[-1]):
        rows = matrix.builds_of(name, version) if version in listed else ()
        tagged = {one for row in rows if row.local == tag for one in row.python}
        bare = {one for row in rows if not row.index for one in row.python}
        asked = subject.index == tag or (until and not versions.at_least(version, until))
        if asked and bare and bare <= tagged:
            text = f"pip lists {name} {version} without {tag}: this is no Linux or Windows of x86_64. Take it so."
            return _exactly(text, name, version)
    return None


def _by_processor(name: str, subject: Subject) -> Fix | None:
    """What a Mac can have of a package whose newest releases are for Apple's own processors alone."""
    if not name or subject.host.platform != "darwin" or subject.host.arch:
        return None
    intel, arm = (_releases(published(subject.matrix, name), place)[-1:] for place in _MACS)
    if not intel or not arm or intel == arm:
        return None
    return Fix(f"{name} {intel[0]} is the last for Intel's Macs; on Apple's own processor take an arm64 Python.")


def _on_no_mac(subject: Subject) -> Fix | None:
    """What there is in place of a package that has nothing for a Mac in any release."""
    package = subject.matrix.package(subject.wished)
    rows = published(subject.matrix, package.name) if package else ()
    if not package or not rows or any(_releases(rows, place) for place in (*_MACS, "any")):
        return None
    if package.cpu_name:
        return _exactly(f"{package.name} has no files for a Mac: take {package.cpu_name}.", package.cpu_name, "")
    return Fix(f"{package.name} has no files for a Mac in any release: leave it out, or run on Linux.")


def _other_index(name: str, have: str, rows: Iterable[Build], subject: Subject) -> Fix | None:
    """A release that the index that was asked does not have: the nearest one of that vendor that does."""
    named, place = subject.index or _tag(subject), platform_tag(subject.host)
    asked = runtime_of(named)
    kind = asked.rstrip("0123456789.")
    near = [row for row in rows if kind and row.index and row.runtime.startswith(kind)]
    near = [row for row in near if not place or place in row.platforms]
    tagged = {one for one in subject.listed if "+" in one and plain(one) == have}  # what the page that was asked has
    near = [row for row in near if not tagged or row.full_version in tagged]
    if not near or any(row.runtime == asked for row in near):
        return None
    numbers = {one: versions.release(one[len(kind) :]) for one in (asked, *(row.runtime for row in near))}
    below = [row for row in near if numbers[row.runtime] <= numbers[asked]]
    best = max(below or near, key=lambda row: numbers[row.runtime])
    lacks = f"pip lists none of {named}" if tagged else f"{named} does not have it"
    return _from(best, f"Take {name} {have} from {best.variant}: {lacks}.", subject)


def _from(row: Build, text: str, subject: Subject) -> Fix:
    """A release from the index of one of its builds, with the packages that the commands install beside it."""
    asked = requirements(subject.case.commands)
    beside = [wish for wish in asked if wish != row.package and subject.matrix.package(wish)]
    first = Package(name=row.package, version=row.full_version if _tag(subject) else row.version)
    items = (first, *(Package(name=wish) for wish in beside))
    change = Install(packages=items, index=subject.matrix.index_url(row), links=subject.matrix.is_page(row))
    return Fix(text, changes=(change,))


def _default_index(subject: Subject) -> Fix | None:
    """A package that the index that was asked, and no other, does not have in any release."""
    wish, alone = subject.wish, not any(", " in line for line in subject.said("index"))
    rows = published(subject.matrix, wish.name) if wish and subject.index and alone else ()
    if not wish or not rows or any(row.variant == subject.index for row in rows):
        return None
    version = wish.spec.removeprefix("==")
    text = f"The index {subject.index} has no {wish.name}: install it from the default one."
    return _exactly(text, wish.name, version if is_version(version) else "")


def _another_system(name: str, subject: Subject) -> Fix | None:
    """The last release that pip lists, where no Python of the usual systems ends there: the system has no later one."""
    stated = subject.host.python or subject.host.platform
    if not subject.listed or stated or standing(subject.case.signals) != "newer":
        return None
    rows = [row for row in published(subject.matrix, name) if not row.index]
    ends = [_releases(rows, python=minor)[-1:] for minor in {one for row in rows for one in row.python}]
    return _last(subject) if ends and subject.listed[-1:] not in ends else None


def _on_linux(name: str, have: str, rows: Iterable[Build], subject: Subject) -> Fix | None:
    """A package that is published for Linux alone, where nobody says what system it is."""
    minors = _pythons(rows)
    if not minors or subject.host.platform or _releases(published(subject.matrix, name), _PLACES[1]):
        return None
    windows = getattr(subject.matrix.package(name), "on_windows", "")
    other = "; on Windows take " * bool(windows) + windows
    return Fix(f"{name} {have} is published for Linux alone, for Python {minors[0]} to {minors[-1]}{other}.")


def _unsaid(name: str, have: str, rows: Iterable[Build], subject: Subject) -> Fix | None:
    """What pip's list leaves open where nobody states Python or system: it has the release without its tag, or none."""
    tagged = [row for row in rows if row.index and row.local == _tag(subject)]
    if tagged and (have in subject.listed or "uv-none-found" in subject.case.signals):
        return _from(tagged[0], f"{name} {have} with the tag {tagged[0].local} is at its own index.", subject)
    minors, stated = _usual_pythons(rows), subject.host.python or subject.host.platform
    if subject.listed or not minors or stated or not subject.case.signals.heard:
        return None
    text = f"Take Python {minors[0]} to {minors[-1]} of 64 bits: {name} {have} has files for these on some systems."
    return Fix(text)


def _beside(name: str, have: str, rows: Iterable[Build], subject: Subject) -> Fix | None:
    """The release in an environment with a Python that has it: the one that a plan for any takes, else the newest."""
    asked = _tag(subject) or subject.index
    exactly = next((row.full_version for row in rows if row.local and row.local == asked), have)
    wish, minors = f"{name}=={exactly}", _pythons(rows) if subject.host.platform else _usual_pythons(rows)
    free = Host({key: one for key, one in plans.target(subject).readings.items() if key != "python"})
    usual = plans.planned([wish], free, subject.matrix) if minors else None
    for minor in dict.fromkeys((*([usual.python] if usual else ()), *reversed(minors))):
        if plan := plans.with_ties(wish, name, subject, plans.target(subject, python=minor)):
            later, place = _first(have, subject), platform_tag(subject.host)
            bare = plan.runtime not in {"cpu", "none"} and not plans.with_code(name, later, place, subject.matrix)
            other = ", or use WSL2" if bare and place.startswith("win") else ""
            other = f", or take {later}, the first that pip has here" if later and not bare else other
            text = f"{name} {have} has builds for Python up to {minors[-1]}: make an environment of {minor}{other}."
            return Fix(text, changes=(Python(minor), *plans.changes_of(plan, subject, whole=True)))
    return None


def _of_wheel(subject: Subject) -> Fix | None:
    """The Python that a refused wheel's own name tells."""
    named = re.search(r"-cp(\d)(\d{1,2})-", subject.case.signals.value("wheel"))
    if not named or subject.host.python:
        return None
    text = f"The wheel is for Python {named[1]}.{named[2]} and the system in its name: install it by the pip of that."
    return Fix(text)


def _by_message(subject: Subject) -> Fix | None:
    """What pip's own words leave: where the package has files."""
    if (wish := subject.wish) is None or subject.finding.confidence != "possible":
        return None
    version, every, python = plain(wish.spec.removeprefix("==")), published(subject.matrix, wish.name), _minor(subject)
    served = _releases(every, platform_tag(subject.host) or _PLACES[0], python) if python else []
    if served and not version:
        return Fix(f"Ask for {wish.name} {served[0]} or newer, the first with files for Python {python}, by a new pip.")
    variant = subject.index if any(row.variant == subject.index for row in every) else ""
    newest = _releases(row for row in every if not row.yanked and variant in {"", row.variant})[-1:]
    minors = _usual_pythons(subject.matrix.builds_of(wish.name, newest[0]), variant) if newest and not version else []
    if any(row.package == wish.name for row in subject.matrix.table("sonames")):
        text = f"{wish.name} holds libraries for Linux and Windows: on a Mac install without it"
        return Fix(f"{text}, and elsewhere by a new pip of 64 bits.")
    if not minors or python in minors:
        asked = f"{wish.name} {version}".strip()
        return Fix(f"Take a Python that {asked} has files for, or a release with files for this one.")
    where = f" at {variant}" * bool(variant)
    text = f"Take a Python of 64 bits from {minors[0]} to {minors[-1]}: {wish.name} {newest[0]} has files for those"
    text += f"{where}."
    return Fix(text)


def _next(subject: Subject) -> Fix | None:
    """The first later release that pip lists, or the Python that the one asked for was made for."""
    if (wish := subject.wish) is None:
        return None
    name, version = wish.name, plain(wish.spec.removeprefix("=="))
    if not (first := _first(version, subject)):
        return None
    minors = _pythons(_of(name, version, subject))
    older = f"Python {minors[-1]}" if minors else "an older Python"
    text = f"pip has {name} from {first} on for this Python: take that, or {older} for {version}."
    near = not minors or versions.release(first)[0] == versions.release(version)[0]  # a major is another program
    return _exactly(text, name, first) if near else Fix(text)


def _first(version: str, subject: Subject) -> str:
    """The first release after one that pip lists, and that is no preview; empty if it lists none."""
    newer = [plain(one) for one in subject.listed if versions.is_release(plain(one))] if is_version(version) else []
    newer = [one for one in newer if versions.release(one) > versions.release(version)]
    return min(newer, key=versions.release, default="")


def _apple(name: str, have: str, subject: Subject) -> Fix | None:
    """The first release for Apple's own processors, of a package whose release is made for Intel's Macs alone."""
    there = _releases(published(subject.matrix, name), _MACS[1], _minor(subject))
    first = next((one for one in there if versions.release(one) > versions.release(have)), "")
    if not first or subject.host.arch == "x86_64":
        return None
    text = f"{name} {have} is made for Intel's Macs alone; the first for Apple's own processors is {first}."
    return _exactly(text, name, first)


def _last(subject: Subject) -> Fix | None:
    """The last release that pip lists; for an Intel's Mac, where it lists none, the last that is made for those."""
    name = subject.wished
    made = _releases(published(subject.matrix, name), _MACS[0]) if name and subject.host.arch == "x86_64" else []
    if not name or not (subject.listed or made):
        return None
    last = (subject.listed or made)[-1]
    here = "this Mac's processor or Python" if subject.host.platform == "darwin" else "this system or Python"
    asked = _pinned(name, subject) or (subject.wish.spec if subject.wish else "")
    text = f"{name} {asked} is not made for {here}: {last} is the last that is."
    return _exactly(text.replace("  ", " "), name, last)


def _of_others(subject: Subject) -> Fix | None:
    """What others publish for Windows of a package that has nothing there."""
    package = subject.matrix.package(subject.wished or subject.program)
    if package is None or not package.on_windows or subject.host.platform not in {None, "windows"}:
        return None
    if subject.host.platform is None:
        return Fix(f"On Windows, for which {package.name} has no wheels, take {package.on_windows}, or WSL2.")
    text = f"{package.name} has no wheels for Windows: take those of {package.on_windows}."
    return _exactly(text, package.on_windows, "")


def _of_channel(subject: Subject) -> Fix | None:
    """A package of conda's that the channels that were asked do not have: the channel that has it, or its end."""
    name, release = subject.case.signals.value("requirement"), subject.case.signals.value("conda_release").rstrip(".")
    row = next((row for row in subject.matrix.table("conda") if row.name == name), None)
    if row is None or not row.newest or "conda-not-found" not in subject.case.signals:
        return None
    if release and versions.release(release) > versions.release(row.newest):
        return Fix(f"conda has {name} up to {row.newest}: install the later release by pip, which brings its CUDA.")
    channel, wish = next(iter(row.channels), "conda-forge"), f"{name}={release}" if release else name
    install = Command(f"conda install {wish} -c {channel}")
    return Fix(f"Ask the channel {channel}, which has {name}.", changes=(install,))
