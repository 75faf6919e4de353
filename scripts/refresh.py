"""Measures what a package index says of releases, and writes it to ``matrix/observed/<package>.json``.

For each release of the packages asked for: its day, Requires-Python, and its wheels grouped by platform, glibc floor
and the requirements that decide. With ``--kernels`` also the GPU targets, CUDA and C++ ABI that the wheels carry, read
from the few archive members that hold them. A second run with nothing new changes no byte.

    python scripts/refresh.py torch tensorflow jax
    python scripts/refresh.py --kernels --since 2.10 torch
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).parent))

from index_pages import File
from observed_file import changes, read, write
from polite import Client, UnreachableError, UnreadableError
from simple_index import Index, configured_index
from wheel_facts import is_wheel, platforms, python_key, pythons, requirements
from wheel_members import PLATFORMS, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
R = TypeVar("R")

OBSERVED = Path(__file__).parent.parent / "matrix" / "observed"

INTERRUPTED = 130

Requires = dict[File, tuple[str, ...]]
"""Wheel -> the requirements that decide; a wheel that could not be read is not in it."""


def main(argv: list[str] | None = None) -> int:
    """Measure the packages asked for.

    Returns:
        0; 1 if the index lacks one of them, or if something could not be read and was left as it was recorded; 3 if
        nothing can be written (disk full); 130 if interrupted: what was read is kept, the next run goes on from there.
    """
    options = _options().parse_args(argv)
    client = Client(pause=options.pause, wait=options.wait)
    index = Index(options.index or configured_index(), options.cache, client)
    packages = options.packages or sorted(path.stem for path in options.output.glob("*.json"))
    faults = 0
    try:
        for number, package in enumerate(packages, 1):
            faults += _refresh(index, package, f"[{number}/{len(packages)}] {package}", options)
    except KeyboardInterrupt:
        client.stop()
        print("\ninterrupted; what was read is kept, the same command goes on from here", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        print(f"\n{error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 3
    print(f"{client.requests} requests", file=sys.stderr)
    return 1 if faults else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="packages; without any, all that are recorded")
    parser.add_argument("--index", help="address of a simple index (default: what pip is configured for)")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "envcheck-refresh")
    parser.add_argument("--output", type=Path, default=OBSERVED)
    parser.add_argument("--since", type=Version, default=None, help="leave releases below this as they were recorded")
    parser.add_argument(
        "--again", action="store_true", help="read also releases whose files are those of the last time"
    )
    parser.add_argument(
        "--kernels", action="store_true", help="also read what the wheels carry, where a member tells it"
    )
    parser.add_argument("--deep", action="store_true", help="for all other wheels read the GPU code itself (much more)")
    parser.add_argument(
        "--platform", action="append", choices=list(PLATFORMS), help="only this one for --deep; repeatable"
    )
    parser.add_argument("--pause", type=float, default=0.0, help="seconds before each request")
    parser.add_argument("--wait", type=float, default=2.0, help="seconds before a second try, doubled for each more")
    parser.add_argument("--jobs", type=int, default=6)
    return parser


def _refresh(index: Index, package: str, title: str, options: argparse.Namespace) -> int:
    """Measure one package and write its document; how many faults there were, each of them told."""
    path = options.output / f"{package}.json"
    try:
        body, faults = observe(index, package, title, options)
    except (LookupError, UnreachableError, UnreadableError) as error:
        print(f"\r{package}: {error}; left as it was", file=sys.stderr)
        return 1
    for fault in faults:
        print(f"\r{package} {fault}; left as it was", file=sys.stderr)
    words = changes(read(path).get("releases", {}), body["releases"])
    changed = write(path, body)
    print(f"{title}: {len(body['releases'])} releases, {words if changed else 'as before'}", flush=True)
    return len(faults)


def observe(index: Index, package: str, title: str, options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """The document of a package, and what could not be read.

    What was recorded before stays for releases below ``--since``, and for those of which some wheel cannot be read. Of
    releases that have as many files as the last time only the page is read anew: whether they are withdrawn, say.
    Where each release of the page is recorded the document says so, with the day on which that list was first seen.
    """
    known = read(options.output / f"{package}.json")
    before = known.get("releases", {})
    by_version = by_release(index.files(package))
    if before and not by_version:
        raise UnreadableError(f"the page lists no release, though {len(before)} are recorded")
    wanted = {version for version in by_version if not options.since or version >= options.since}
    fresh = {v for v in wanted if options.again or before.get(str(v), {}).get("files") != len(by_version[v])}
    faults: list[str] = []
    wheels = [file for version in sorted(fresh) for file in by_version[version] if is_wheel(file)]
    requires: Requires = {}
    for wheel, found in _each(lambda file: _required(index, file), wheels, title, options.jobs):
        if isinstance(found, UnreadableError):
            faults.append(str(found))
        else:
            requires[wheel] = found
    releases: dict[str, Any] = {}
    for version in sorted(by_version):
        old, files = before.get(str(version), {}), by_version[version]
        if version in fresh and all(file in requires for file in files if is_wheel(file)):
            releases[str(version)] = _told(files, old) | {"wheels": _wheels(files, requires)} | _kept(old, files)
        elif old:
            read_before = {key: old[key] for key in ("wheels", "carried") if key in old}
            releases[str(version)] = _told(files, old) | read_before if version in wanted - fresh else old
    if options.kernels or options.deep:
        faults += _carry(index, {v: by_version[v] for v in wanted if str(v) in releases}, releases, title, options)
    body = {"package": package, "releases": releases, "schema": "envcheck.observed/1"}
    if all(str(version) in releases for version in by_version):
        body["whole"] = known["whole"] if known.get("whole") and list(before) == list(releases) else _today()
    return body, faults


def _today() -> str:
    return datetime.now(tz=timezone.utc).date().isoformat()


def _carry(
    index: Index, files: dict[Version, list[File]], releases: dict[str, Any], title: str, options: argparse.Namespace
) -> list[str]:
    """Lay what the wheels carry into the releases; what could not be read."""

    def look(version: Version) -> dict[str, Any] | UnreadableError:
        wheels, old = [file for file in files[version] if is_wheel(file)], releases[str(version)].get("carried", {})
        try:
            found = measure(
                index, wheels, {} if options.again else old, options.platform or PLATFORMS, deep=options.deep
            )
        except UnreadableError as error:
            return error
        carried: dict[str, Any] = old | found
        return carried

    faults = []
    for version, carried in _each(look, sorted(files), f"{title} kernels", options.jobs):
        if isinstance(carried, UnreadableError):
            faults.append(str(carried))
        elif carried:
            releases[str(version)]["carried"] = carried
    return faults


def _each(work: Callable[[T], R], items: list[T], title: str, jobs: int) -> Iterator[tuple[T, R]]:
    """Items with what the work made of them, a few at a time; when the reader leaves, what has not begun never does."""
    pool = ThreadPoolExecutor(max(jobs, 1))
    try:
        for done, (item, result) in enumerate(zip(items, pool.map(work, items), strict=True), 1):
            _progress(title, done, len(items))
            yield item, result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        _progress("", 0, 0)


def _required(index: Index, file: File) -> tuple[str, ...] | UnreadableError:
    try:
        return requirements(index.metadata(file))
    except UnreadableError as error:
        return error


def by_release(files: list[File]) -> dict[Version, list[File]]:
    """All releases with their files, previews too; a file whose name says no version is none of ours."""
    found: dict[Version, list[File]] = defaultdict(list)
    for file in sorted(files, key=lambda file: file.name):
        version = _version(file.name)
        if version is not None:
            found[version].append(file)
    return found


def _version(name: str) -> Version | None:
    try:
        if name.endswith(".whl"):
            return parse_wheel_filename(name)[1]
        return Version(re.sub(r"\.(tar\.gz|zip|tar\.bz2)$", "", name).rpartition("-")[2])
    except (InvalidWheelFilename, ValueError):
        return None


def _told(files: list[File], old: dict[str, Any]) -> dict[str, Any]:
    """What the page alone tells of a release; the day as it was recorded where this index tells none."""
    pythons = Counter(file.requires_python for file in files if file.requires_python)
    told: dict[str, Any] = {
        "date": min((file.uploaded for file in files if file.uploaded), default=old.get("date", "")),
        "python": min(pythons, key=lambda text: (-pythons[text], text), default=""),
        "files": len(files),
    }
    if any(not is_wheel(file) for file in files):
        told["source"] = True
    if files and all(file.yanked for file in files):
        told["yanked"] = True
    return told


def _kept(old: dict[str, Any], files: list[File]) -> dict[str, Any]:
    """What wheels carry that were looked into before and are still there."""
    names = {file.name for file in files}
    carried = {platform: facts for platform, facts in old.get("carried", {}).items() if facts.get("file") in names}
    return {"carried": carried} if carried else {}


def _wheels(files: list[File], requires: Requires) -> list[dict[str, Any]]:
    groups: dict[tuple[tuple[str, ...], str], set[str]] = defaultdict(set)
    for file in filter(is_wheel, files):
        for platform in platforms(file.name):
            groups[requires[file], platform].update(pythons(file.name))
    return _grouped(groups)


def _grouped(groups: dict[tuple[tuple[str, ...], str], set[str]]) -> list[dict[str, Any]]:
    """Wheels with the same requirements in one group: ``{"for": {platform: pythons}, "requires": [...]}``."""
    merged: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for requires, platform in sorted(groups):
        merged[requires][platform] = " ".join(sorted(groups[requires, platform], key=python_key))
    return [{"for": wheels, "requires": list(requires)} for requires, wheels in merged.items()]


def _progress(title: str, done: int, total: int) -> None:
    """A bar on a terminal; elsewhere nothing, as each package tells when it is done."""
    if sys.stderr.isatty():
        bar = f"{title} {'#' * (20 * done // total):.<20} {done}/{total}" if total else ""
        print(f"\r{bar[:100]:<100}" + ("" if total else "\r"), end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    if status == INTERRUPTED:
        os._exit(status)  # not waiting for answers that are under way; all files are written whole or not at all
    sys.exit(status)
