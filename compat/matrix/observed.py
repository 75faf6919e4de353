"""What changed between two states of the measured facts, in words: ``torch 2.16.0 measured: CUDA 13.2; drops sm_70``.

The facts are those that ``scripts/refresh.py`` writes: ``observed/<package>.json`` beside the tables, one release to a
line, each ``{"date", "python", "files", "wheels": [{"for": {platform and floor: Pythons}, "requires": [...]}],
"carried": {platform: {"cuda", "targets", ...}}, "source", "yanked"}``. Documents may come from anywhere, so a value of
another kind than that is passed over; only what is no JSON at all is an error.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from compat import versions
from compat.errors import InputError
from compat.matrix.diff import Change
from compat.untrusted import items, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_MOST: Final = 8  # items told of one kind; the others are counted
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")

Release = dict[str, Any]


def diff(old: Path, new: Path) -> tuple[Change, ...]:
    """Every change between two folders of documents, package by package, release by release.

    Raises:
        InputError: a file is no JSON.
    """
    names = sorted({path.stem for folder in (old, new) for path in folder.glob("*.json")})
    return tuple(
        Change(f"observed.{name}", f"{name} {version}", words)
        for name in names
        for version, words in _package(_releases(old / f"{name}.json"), _releases(new / f"{name}.json"))
    )


def _releases(path: Path) -> dict[str, Release]:
    """Releases of a document in the order of their numbers; none where there is no file."""
    if not path.is_file():
        return {}
    try:
        body = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(str(error)[:200], where=str(path), expected="a document of scripts/refresh.py") from error
    found = table(table(body).get("releases"))
    known = [version for version in found if "+" not in version and versions.public(version) is not None]
    return {version: table(found[version]) for version in reversed(versions.newest_first(known))}


def _package(old: dict[str, Release], new: dict[str, Release]) -> Iterator[tuple[str, str]]:
    """Releases that went, came or changed; one that came is compared with the one before it."""
    for version in (version for version in old if version not in new):
        yield version, "is no longer on the index"
    previous = ""
    for version, release in new.items():
        if version not in old:
            yield (
                version,
                "; ".join([f"measured: {_text(release, 'date') or 'no day told'}", *_new(new, previous, version)]),
            )
        elif words := _changed(old[version], release):
            yield version, "; ".join(words)
        previous = version


def _new(releases: dict[str, Release], previous: str, version: str) -> list[str]:
    """What a new release has that the one before it lacked, or that it is like that."""
    words = _facts(releases.get(previous, {}), releases[version])
    return ["withdrawn"] * bool(releases[version].get("yanked")) + (words or [f"like {previous}"] * bool(previous))


def _changed(before: Release, after: Release) -> list[str]:
    """How two states of one release differ; empty if in nothing."""
    words = [*_from_to("date", _text(before, "date"), _text(after, "date")), *_facts(before, after)]
    if bool(before.get("yanked")) != bool(after.get("yanked")):
        words.append("withdrawn" if after.get("yanked") else "no longer withdrawn")
    if before.get("source") != after.get("source"):
        words.append("source archive came" if after.get("source") else "source archive went")
    if not words and "files" in before and before != after:
        words = _from_to("files", str(before.get("files")), str(after.get("files"))) or ["told in other words"]
    return words


def _facts(before: Release, after: Release) -> list[str]:
    """CUDA, targets, Pythons, platforms and requirements of one release beside those of another."""
    words = _from_to("CUDA", ", ".join(_carried(before, "cuda")), ", ".join(_carried(after, "cuda")))
    words += _targets(_carried(before, "targets"), _carried(after, "targets"))
    words += _lists(_pythons(before), _pythons(after), "Python ")
    floors, new_floors = _floors(before), _floors(after)
    words += _lists(list(floors), list(new_floors), "")
    for platform in (platform for platform in floors if platform in new_floors):
        words += _from_to(f"{platform} floor", floors[platform], new_floors[platform])
    return words + (_requirements(before, after) if before else [])


def _from_to(name: str, before: str, after: str) -> list[str]:
    if before == after or not after:
        return []
    return [f"{name} {before} -> {after}" if before else f"{name} {after}"]


def _targets(before: list[str], after: list[str]) -> list[str]:
    """Targets that went and came; where one side tells none, it was not looked into, which is no loss."""
    return _lists(before, after, "") if before else [f"found {_shown(after)}"] * bool(after)


def _lists(before: list[str], after: list[str], word: str) -> list[str]:
    if not before or not after:
        return [f"{word}{_shown(after)}"] * bool(after)
    gone, come = [item for item in before if item not in after], [item for item in after if item not in before]
    return [f"drops {word}{_shown(gone)}"] * bool(gone) + [f"brings {word}{_shown(come)}"] * bool(come)


def _requirements(before: Release, after: Release) -> list[str]:
    """Requirements whose range changed (``numpy <2 -> <3``), came or went; the platform conditions are left out."""
    left, right = _ranges(before), _ranges(after)
    words = [
        f"{name} {left[name] or 'any'} -> {right[name] or 'any'}"
        for name in left
        if name in right and left[name] != right[name]
    ]
    gone = [name for name in left if name not in right]
    come = [f"{name}{right[name]}" for name in right if name not in left]
    words += [f"no longer needs {_shown(gone)}"] * bool(gone) + [f"needs {_shown(come)}"] * bool(come)
    return words if len(words) <= _MOST else [*words[:_MOST], f"{len(words) - _MOST} more requirements changed"]


def _ranges(release: Release) -> dict[str, str]:
    """Package -> its ranges, all of them where wheels differ."""
    found: dict[str, set[str]] = {}
    for group in items(release.get("wheels")):
        for line in filter(lambda line: isinstance(line, str), items(table(group).get("requires"))):
            if name := _NAME.match(line):
                bare = line[name.end() :].partition(";")[0].rpartition("]")[2]
                found.setdefault(name[0], set()).add(bare.strip())
    return {name: " or ".join(sorted(filter(None, ranges))) for name, ranges in sorted(found.items())}


def _carried(release: Release, key: str) -> list[str]:
    """The words that any platform's wheel carries under a key, in order, each once."""
    facts = (_text(table(value), key) for value in table(release.get("carried")).values())
    return list(dict.fromkeys(word for text in facts for word in text.split()))


def _pythons(release: Release) -> list[str]:
    listed = {word for _, text in _platforms(release) for word in text.split()}
    return sorted(listed, key=lambda word: ([int(number[:9]) for number in re.findall(r"\d+", word)], word))


def _floors(release: Release) -> dict[str, str]:
    """Platform -> its floors: glibc of Linux, version of macOS."""
    found: dict[str, set[str]] = {}
    for key, _ in _platforms(release):
        platform, _, floor = key.partition(" ")
        found.setdefault(platform, set()).add(floor)
    return {platform: " and ".join(sorted(filter(None, floors))) for platform, floors in sorted(found.items())}


def _platforms(release: Release) -> Iterator[tuple[str, str]]:
    """Platform with its floor (``linux_x86_64 2.28``), and the Pythons of its wheels."""
    for group in items(release.get("wheels")):
        for platform, pythons in table(table(group).get("for")).items():
            yield platform, pythons if isinstance(pythons, str) else ""


def _shown(items: Iterable[str]) -> str:
    """Items in a line of bearable length; a list with spaces in its items is divided by commas."""
    listed = list(items)
    text = (", " if any(" " in item for item in listed) else " ").join(listed[:_MOST])
    return text if len(listed) <= _MOST else f"{text} and {len(listed) - _MOST} more"


def _text(table: Release, key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""
