"""Measures what a package index says of releases, and writes it to ``matrix/observed/<package>.json``.

For each release of the packages asked for: its day, Requires-Python, and its wheels grouped by platform, glibc floor
and the requirements that decide. With ``--kernels`` also the GPU targets, CUDA and C++ ABI that the wheels carry, read
from the few archive members that hold them. A second run with nothing new changes no byte.

    python scripts/refresh.py torch tensorflow jax
    python scripts/refresh.py --kernels --since 2.10 torch
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).parent))

from simple_index import File, Index, configured_index
from wheel_facts import platforms, python_key, pythons, requirements
from wheel_members import measure

OBSERVED = Path(__file__).parent.parent / "matrix" / "observed"


def main(argv: list[str] | None = None) -> int:
    """Measure the packages asked for; exit 1 if the index lacks one of them."""
    options = _options().parse_args(argv)
    index = Index(options.index or configured_index(), options.cache, pause=options.pause)
    packages = options.packages or sorted(path.stem for path in options.output.glob("*.json"))
    missing = 0
    for number, package in enumerate(packages, 1):
        try:
            files = index.files(package)
        except LookupError as error:
            print(f"{package}: {error}", file=sys.stderr)
            missing += 1
            continue
        body = observe(index, package, files, options)
        changed = write(options.output / f"{package}.json", body)
        state = "changed" if changed else "as before"
        print(f"[{number}/{len(packages)}] {package}: {len(body['releases'])} releases, {state}")
    print(f"{index.requests} requests", file=sys.stderr)
    return 1 if missing else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="packages; without any, all that are recorded")
    parser.add_argument("--index", help="address of a simple index (default: what pip is configured for)")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "envcheck-refresh")
    parser.add_argument("--output", type=Path, default=OBSERVED)
    parser.add_argument("--since", type=Version, default=None, help="leave releases below this as they were recorded")
    parser.add_argument(
        "--kernels", action="store_true", help="also read what the wheels carry, where a member tells it"
    )
    parser.add_argument("--deep", action="store_true", help="for all other wheels read the GPU code itself (much more)")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds before each request")
    parser.add_argument("--jobs", type=int, default=6)
    return parser


def observe(index: Index, package: str, files: list[File], options: argparse.Namespace) -> dict[str, Any]:
    """The document of a package: what was recorded before, with what the index says now laid over it."""
    before = _read(options.output / f"{package}.json")
    releases: dict[str, Any] = {}
    by_version = _by_version(files)
    wanted = [
        file for version in by_version if not options.since or version >= options.since for file in by_version[version]
    ]
    with ThreadPoolExecutor(options.jobs) as pool:  # fills the cache; what is cached already costs nothing
        for done, _ in enumerate(pool.map(index.metadata, filter(_is_wheel, wanted)), 1):
            _progress(package, done, len(wanted), "metadata")
    for done, version in enumerate(sorted(by_version), 1):
        old = before.get("releases", {}).get(str(version))
        if options.since and version < options.since:
            releases |= {str(version): old} if old else {}
            continue
        _progress(package, done, len(by_version), str(version))
        releases[str(version)] = _release(index, by_version[version], old or {}, options)
    _progress(package, 0, 0, "")
    return {"package": package, "releases": releases, "schema": "envcheck.observed/1"}


def _by_version(files: list[File]) -> dict[Version, list[File]]:
    """Final and post releases with their files; a file whose name says no version is none of ours."""
    found: dict[Version, list[File]] = defaultdict(list)
    for file in files:
        version = _version(file.name)
        if version is not None and not version.is_prerelease:
            found[version].append(file)
    return found


def _is_wheel(file: File) -> bool:
    return file.name.endswith(".whl")


def _version(name: str) -> Version | None:
    try:
        if name.endswith(".whl"):
            return parse_wheel_filename(name)[1]
        return Version(re.sub(r"\.(tar\.gz|zip|tar\.bz2)$", "", name).rpartition("-")[2])
    except (InvalidWheelFilename, ValueError):
        return None


def _release(index: Index, files: list[File], old: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    wheels = [file for file in files if _is_wheel(file)]
    texts = [index.metadata(file) for file in wheels]
    groups: dict[tuple[tuple[str, ...], str], set[str]] = defaultdict(set)
    for file, text in zip(wheels, texts, strict=True):
        for platform in platforms(file.name):
            groups[requirements(text), platform].update(pythons(file.name))
    release: dict[str, Any] = {
        "date": min((file.uploaded for file in files if file.uploaded), default=""),
        "python": next((file.requires_python for file in files if file.requires_python), ""),
        "wheels": _grouped(groups),
    }
    if any(not _is_wheel(file) for file in files):
        release["source"] = True
    if files and all(file.yanked for file in files):
        release["yanked"] = True
    carried = measure(index, wheels, deep=options.deep) if options.kernels or options.deep else old.get("carried", {})
    return release | ({"carried": carried} if carried else {})


def _grouped(groups: dict[tuple[tuple[str, ...], str], set[str]]) -> list[dict[str, Any]]:
    """Wheels with the same requirements in one group: ``{"for": {platform: pythons}, "requires": [...]}``."""
    merged: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for requires, platform in sorted(groups):
        merged[requires][platform] = " ".join(sorted(groups[requires, platform], key=python_key))
    return [{"for": wheels, "requires": list(requires)} for requires, wheels in merged.items()]


def write(path: Path, body: dict[str, Any]) -> bool:
    """Write the document in its one spelling; whether any byte changed."""
    text = dump(body)
    if path.is_file() and path.read_text("utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return True


def dump(body: dict[str, Any]) -> str:
    """Canonical JSON: releases in version order, one to a line, keys sorted within."""
    lines = [
        f"  {json.dumps(version)}: {json.dumps(release, sort_keys=True, ensure_ascii=False, separators=(',', ':'))}"
        for version, release in sorted(body["releases"].items(), key=lambda item: Version(item[0]))
    ]
    head = f'{{"schema": "{body["schema"]}", "package": {json.dumps(body["package"])}, "releases": {{\n'
    return head + ",\n".join(lines) + "\n}}\n"


def _read(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return body


def _progress(package: str, done: int, total: int, version: str) -> None:
    if sys.stderr.isatty():
        bar = f"{'#' * (20 * done // total):<20}" if total else ""
        print(
            f"\r{package} {bar} {version:<20}" if total else "\r" + " " * 70 + "\r", end="", file=sys.stderr, flush=True
        )


if __name__ == "__main__":
    sys.exit(main())
