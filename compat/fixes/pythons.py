"""Fixes where no build is published for this Python, platform or index: what is, and how to take it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.fixes.boards as boards
import compat.fixes.plans as plans
from compat import versions
from compat.changes import Command, Install, Package, Python
from compat.facts import Host
from compat.findings import Fix
from compat.reading.commands import index_variant, requirements
from compat.reading.message_facts import runtime_of
from compat.rules.lookups import is_version
from compat.rules.stack import plain, platform_tag
from compat.rules.wanted import standing
from compat.versions import requirement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.fixes.subject import Subject
    from compat.matrix.rows import Build

_PLACES: Final = ("linux_x86_64", "win_amd64")
_BITS: Final = Fix("Install the 64-bit Python: nothing is published for one of 32 bits.")


def python(subject: Subject) -> Fix | None:
    """A Python that has a build of the release, beside the present one."""
    name = subject.framework_name() or _wished_name(subject) or next(iter(subject.cited()), "")
    have = subject.release(name) or _wished(name, subject)
    rows = subject.matrix.builds_of(name, have) if name and is_version(have) else ()
    here = _pythons(rows, "") or _pythons(rows, "linux")
    served = is_version(subject.host.python) and versions.minor(subject.host.python or "") in here
    if subject.host.platform == "darwin" and rows:
        return _last_listed(subject) or (_apple(name, have, subject) if served else None)
    if subject.host.arch == "i686":
        return _BITS
    board = boards.framework(name, subject) if name and boards.is_one(subject) else None
    board = board or _untagged(name, subject) or _by_processor(name, subject)
    indexed = _other_index(name, have, rows, subject) or _default_index(subject)
    minors = sorted(_pythons(rows, subject.host.platform or ""), key=versions.release)
    there = board or indexed or _another_system(name, subject) or _on_linux(name, have, subject)
    if fix := there or _unsaid(name, have, minors, subject):
        return fix
    if served:
        return Fix(f"{name} {have} is published for this Python: look at the index and the system that were asked.")
    free = Host({key: one for key, one in plans.target(subject).readings.items() if key != "python"})
    usual = plans.planned([f"{name}=={have}"], free, subject.matrix) if minors else None
    for minor in dict.fromkeys((*([usual.python] if usual else ()), *reversed(minors))):
        if plan := plans.with_ties(f"{name}=={have}", name, subject, plans.target(subject, python=minor)):
            text = f"{name} {have} has builds for Python up to {minors[-1]}: take {minor} beside yours."
            return Fix(text, changes=(Python(minor), *plans.changes_of(plan, subject, whole=True)))
    return _by_message(subject)


def _unsaid(name: str, have: str, minors: Sequence[str], subject: Subject) -> Fix | None:
    """What pip's list leaves open where nobody states Python or system: it has the release without its tag, or none."""
    listed = _listed(subject)
    if have and have in listed:
        return Fix(
            f"pip lists {name} {have} for this Python: ask for it without the tag, or by the index that has the tag."
        )
    if listed or not minors or subject.host.python or subject.host.platform or not subject.case.signals.heard:
        return None
    return Fix(
        f"Take Python {minors[0]} to {minors[-1]} of 64 bits: {name} {have} has files for these on some systems."
    )


def _untagged(name: str, subject: Subject) -> Fix | None:
    """A build of CUDA that pip lists beside the plain one on Linux and Windows of x86_64, and not here."""
    wish = requirement(subject.case.signals.value("requirement"))
    tag = wish.spec.rpartition("+")[2] if wish and "+" in wish.spec else ""
    listed = _listed(subject)
    if not wish or not tag or not listed or any("+" in one for one in listed) or subject.host.platform:
        return None
    until = (
        subject.matrix.turn("torch-page").version
        if any("torch_stable.html" in one for one in subject.said("links"))
        else ""
    )
    for version in (plain(wish.spec.removeprefix("==")), listed[-1]):
        rows = subject.matrix.builds_of(name, version) if version in listed else ()
        pythons = {one for row in rows if not row.index for one in row.python}
        paged = _asked_index(subject) == tag or (until and not versions.at_least(version, until))
        if paged and pythons and pythons <= {one for row in rows if row.local == tag for one in row.python}:
            text = f"pip lists {name} {version} without {tag}: this is no Linux or Windows of x86_64. Take it so."
            return Fix(text, changes=(Install(packages=(Package(name=name, version=version),)),))
    return None


def _on_linux(name: str, have: str, subject: Subject) -> Fix | None:
    """A package that is published for Linux alone, where nobody says what system it is."""
    minors = sorted(_pythons(subject.matrix.builds_of(name, have), "linux") if name else (), key=versions.release)
    if not minors or subject.host.platform or any(_PLACES[1] in row.platforms for row in subject.matrix.builds(name)):
        return None
    windows = getattr(subject.matrix.package(name), "on_windows", "")
    other = "; on Windows take " * bool(windows) + windows
    return Fix(f"{name} {have} is published for Linux alone, for Python {minors[0]} to {minors[-1]}{other}.")


def _another_system(name: str, subject: Subject) -> Fix | None:
    """The last release that pip lists, where no Python of the usual systems ends there: the system has no later one."""
    listed = _listed(subject)
    if not listed or subject.host.python or subject.host.platform or standing(subject.case.signals) != "newer":
        return None
    last = listed[-1]
    rows = [row for row in subject.matrix.builds(name) if not row.index and is_version(row.version)]
    newest: dict[str, str] = {}
    for row in rows:
        newest.update({minor: max(newest.get(minor, "0"), row.version, key=versions.release) for minor in row.python})
    return None if not newest or last in newest.values() else _last_listed(subject)


def _by_message(subject: Subject) -> Fix | None:
    """What pip's own words leave: the first release that it lists, or the default index where it asked another."""
    named = re.search(r"-cp(\d)(\d{1,2})-", subject.case.signals.value("wheel"))
    if named and not subject.host.python:
        minor = f"{named[1]}.{named[2]}"
        return Fix(f"The wheel is for Python {minor} and the system in its name: install it by the pip of that.")
    wish = requirement(subject.case.signals.value("requirement"))
    if wish is None or subject.finding.confidence != "possible":
        return None
    version, offered = plain(wish.spec.removeprefix("==")), [one for one in _listed(subject) if is_version(one)]
    newer = [one for one in offered if is_version(version) and versions.release(one) > versions.release(version)]
    if newer:
        first = min(newer, key=versions.release)
        minors = {one for row in subject.matrix.builds_of(wish.name, version) for one in row.python if is_version(one)}
        older = f"Python {max(minors, key=versions.release)}" if minors else "an older Python"
        text = f"pip has {wish.name} from {first} on for this Python: take that, or {older} for {version}."
        return Fix(text, changes=(Install(packages=(Package(name=wish.name, version=first),)),))
    python = versions.minor(subject.host.python or "") if is_version(subject.host.python) else ""
    here = platform_tag(subject.host) or _PLACES[0]
    served = [row.version for row in subject.matrix.builds(wish.name) if python in row.python and here in row.platforms]
    if python and served and not version:
        return Fix(f"Ask for {wish.name} {served[0]} or newer, the first with files for Python {python}, by a new pip.")
    asked = f"{wish.name} {version}".strip()
    rows = [row for row in subject.matrix.builds(wish.name) if is_version(row.version) and not row.yanked]
    newest = max((row.version for row in rows), key=versions.release, default="")
    for_it = sorted(_pythons(subject.matrix.builds_of(wish.name, newest), ""), key=versions.release) if newest else []
    if version or not for_it or python in for_it:
        return Fix(f"Take a Python that {asked} has files for, or a release with files for this one.")
    return Fix(f"Take a Python of 64 bits from {for_it[0]} to {for_it[-1]}: {wish.name} {newest} has files for those.")


def _asked_index(subject: Subject) -> str:
    """The variant of the index that was asked, by the command or by pip's own line; empty if none is named."""
    return index_variant((*subject.case.commands, *subject.said("index")))


def _other_index(name: str, have: str, rows: Sequence[Build], subject: Subject) -> Fix | None:
    """A release that the index that was asked does not have: the nearest one of that vendor that does."""
    asked = runtime_of(_asked_index(subject))
    kind = asked.rstrip("0123456789.")
    place = platform_tag(subject.host)
    near = [row for row in rows if kind and row.index and row.runtime.startswith(kind)]
    near = [row for row in near if not place or place in row.platforms]
    if not near or any(row.runtime == asked for row in near):
        return None
    below = [row for row in near if versions.release(row.runtime[len(kind) :]) <= versions.release(asked[len(kind) :])]
    best = max(below or near, key=lambda row: versions.release(row.runtime[len(kind) :]))
    beside = [wish for wish in requirements(subject.case.commands) if wish != name and subject.matrix.package(wish)]
    items = (Package(name=name, version=have), *(Package(name=wish) for wish in beside))
    text = f"Take {name} {have} from {best.variant}: {_asked_index(subject)} does not have it."
    return Fix(
        text,
        changes=(Install(packages=items, index=subject.matrix.index_url(best), links=subject.matrix.is_page(best)),),
    )


def _default_index(subject: Subject) -> Fix | None:
    """A package that the index that was asked does not have in any release."""
    wish, asked = requirement(subject.case.signals.value("requirement")), _asked_index(subject)
    if wish is None or not asked or any(row.variant == asked for row in subject.matrix.builds(wish.name)):
        return None
    if any(", " in line for line in subject.said("index")):
        return None  # the default one was asked too
    version = wish.spec.removeprefix("==")
    item = Package(name=wish.name, version=version if is_version(version) else "")
    text = f"The index {asked} has no {wish.name}: install it from the default one."
    return Fix(text, changes=(Install(packages=(item,)),)) if subject.matrix.builds(wish.name) else None


def _apple(name: str, have: str, subject: Subject) -> Fix | None:
    """The first release for Apple's own processors, of a package whose release is made for Intel's Macs alone."""
    rows = [row for row in subject.matrix.builds(name) if is_version(row.version) and "macosx_arm64" in row.platforms]
    minor = versions.minor(subject.host.python or "")
    newer = [
        row.version for row in rows if minor in row.python and versions.release(row.version) > versions.release(have)
    ]
    if not newer or subject.host.arch == "x86_64":
        return None
    first = min(newer, key=versions.release)
    text = f"{name} {have} is made for Intel's Macs alone; the first for Apple's own processors is {first}."
    return Fix(text, changes=(Install(packages=(Package(name=name, version=first),)),))


def _by_processor(name: str, subject: Subject) -> Fix | None:
    """What a Mac can have of a package whose newest releases are for Apple's own processors alone."""
    rows = [row for row in subject.matrix.builds(name) if is_version(row.version)] if name else []
    ends = {
        place: max(
            (row.version for row in rows if f"macosx_{place}" in row.platforms), key=versions.release, default=""
        )
        for place in ("x86_64", "arm64")
    }
    if (
        subject.host.platform != "darwin"
        or subject.host.arch
        or not all(ends.values())
        or ends["x86_64"] == ends["arm64"]
    ):
        return None
    return Fix(f"{name} {ends['x86_64']} is the last for Intel's Macs; on Apple's own processor take an arm64 Python.")


def _last_listed(subject: Subject) -> Fix | None:
    """The last release that pip lists for a Mac."""
    name, listed = _wished_name(subject), _listed(subject)
    rows = subject.matrix.builds(name) if name else ()
    made = [row.version for row in rows if is_version(row.version) and "macosx_x86_64" in row.platforms]
    if not name or not (listed or (made and subject.host.arch == "x86_64")):
        return None
    last = listed[-1] if listed else max(made, key=versions.release)
    here = "this Mac's processor or Python" if subject.host.platform == "darwin" else "this system or Python"
    wish = requirement(subject.case.signals.value("requirement"))
    asked = _wished(name, subject) or (wish.spec if wish else "")
    text = f"{name} {asked} is not made for {here}: {last} is the last that is."
    return Fix(text.replace("  ", " "), changes=(Install(packages=(Package(name=name, version=last),)),))


def _listed(subject: Subject) -> list[str]:
    """The releases that pip lists, in its order; none where it lists none."""
    return [one.strip() for text in subject.said("listed")[:1] for one in text.split(",")]


def _pythons(rows: Sequence[Build], platform: str) -> set[str]:
    """Minor versions that a release has builds for; on an unknown platform those of the default index for both."""
    known = [(row, {one for one in row.python if not one.endswith("t")}) for row in rows]
    if platform:
        return {one for _, pythons in known for one in pythons}
    plain = [(row.platforms, pythons) for row, pythons in known if not row.index]
    both = [{one for places, pythons in plain if place in places for one in pythons} for place in _PLACES]
    return set.intersection(*both)


def _wished(name: str, subject: Subject) -> str:
    """The release of a framework that the message, the wishes or the commands pin."""
    said = [*subject.case.wishes, subject.case.signals.value("requirement")]
    pinned = {one.partition("==")[0].partition("[")[0]: one.partition("==")[2] for one in said if "==" in one}
    return plain(pinned.get(name, "") or requirements(subject.case.commands).get(name, ""))


def _wished_name(subject: Subject) -> str:
    """The package that the message names."""
    wish = requirement(subject.case.signals.value("requirement"))
    return wish.name if wish and subject.matrix.package(wish.name) else ""


def _of_others(subject: Subject) -> Fix | None:
    """What others publish for Windows of a package that has nothing there."""
    package = subject.matrix.package(_wished_name(subject) or subject.program)
    if package is None or not package.on_windows or subject.host.platform not in {None, "windows"}:
        return None
    if subject.host.platform is None:
        return Fix(f"On Windows, for which {package.name} has no wheels, take {package.on_windows}, or WSL2.")
    text = f"{package.name} has no wheels for Windows: take those of {package.on_windows}."
    return Fix(text, changes=(Install(packages=(Package(name=package.on_windows),)),))


def _of_channel(subject: Subject) -> Fix | None:
    """A package of conda's that the channels that were asked do not have: the channel that has it, or its end."""
    name, release = subject.case.signals.value("requirement"), subject.case.signals.value("conda_release").rstrip(".")
    row = next((row for row in subject.matrix.table("conda") if row.name == name), None)
    if row is None or not row.newest or "conda-not-found" not in subject.case.signals:
        return None
    if release and versions.release(release) > versions.release(row.newest):
        return Fix(f"conda has {name} up to {row.newest}: install the later release by pip, which brings its CUDA.")
    channel, wish = next(iter(row.channels), "conda-forge"), f"{name}={release}" if release else name
    return Fix(
        f"Ask the channel {channel}, which has {name}.", changes=(Command(f"conda install {wish} -c {channel}"),)
    )


def metal(subject: Subject) -> Fix | None:
    """A system without builds: what others publish for it, or the last release that had it; no Linux for a Mac."""
    if subject.host.arch == "i686":
        return _BITS
    if subject.host.platform != "darwin" and (fix := _of_channel(subject)) is not None:
        return fix
    if subject.host.platform != "darwin":
        return _of_others(subject) or (_last_listed(subject) if standing(subject.case.signals) == "newer" else None)
    if fix := _last_listed(subject) or _by_processor(_wished_name(subject), subject):
        return fix
    own = ", or on Apple's own processor the arm64 Python" if subject.host.arch == "x86_64" else ""
    return Fix(f"Take the last release that was published for this macOS and processor{own}.")
