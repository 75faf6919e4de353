"""Measures which wheel brings a shared library, and writes it to ``matrix/sonames.toml``.

The names of the members of each release's wheels tell it; nothing else of a wheel is read. A library of a package
stands in one row for each run of releases that have it.

    python scripts/sonames.py                     # the packages that are there already
    python scripts/sonames.py nvidia-cudnn-cu13   # one more
"""

from __future__ import annotations

import argparse
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from polite import Client, UnreachableError, UnreadableError  # noqa: E402 - found through the line above
from refresh import by_release  # noqa: E402
from simple_index import Index, configured_index, write_whole  # noqa: E402
from wheel_facts import is_wheel, platforms  # noqa: E402

from compat.matrix import canonical, store  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from index_pages import File
    from packaging.version import Version

TABLE = ROOT / "matrix" / "sonames.toml"

_LIBRARY = re.compile(r"lib[\w+-]+\.so\.\d+(?:\.\d+)?|[A-Za-z_-]+64_\d+(?:_\d+)?\.dll|nvJitLink_\d+_\d+\.dll")
"""What a loader asks for: a library with its number. The parts that a library loads by itself have longer names."""
_INNER = re.compile(r"\.alt\.|_ext\.|bootstrap|transport|commlayer|mtlayer|builtins|_builder_resource")

_SYSTEMS = (("linux_x86_64", "linux_aarch64"), ("win_amd64",))
_SEEN = {"source": "wheel-members", "how": "measured"}


def main(argv: list[str] | None = None) -> int:
    """Measure the packages and write the table; 1 if the index lacks one or did not answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "envcheck-refresh")
    parser.add_argument("--jobs", type=int, default=6)
    options = parser.parse_args(argv)
    index = Index(configured_index(), options.cache, Client())
    text = TABLE.read_text("utf-8") if TABLE.is_file() else ""
    document = store.parse_toml(text, TABLE.name)
    before = document.get("sonames", [])
    names = sorted({*(row["package"] for row in before), *options.packages})
    faults, found = 0, []
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, rows in zip(names, pool.map(lambda name: _rows(index, name), names), strict=True):
            if isinstance(rows, Exception):
                print(f"{name}: {rows}; left as it was", file=sys.stderr)
                faults += 1
            found += [row for row in before if row["package"] == name] if isinstance(rows, Exception) else rows
    found.sort(key=lambda row: (row["soname"].lower(), row["package"]))
    sources = document.get("sources") or {"wheel-members": "Names of the members of the published wheels"}
    body = {"schema": canonical.SCHEMA, "sonames": found, "sources": sources}
    write_whole(TABLE, canonical.dump(body, canonical.layout(text).comments).encode())
    print(f"{len(found)} rows of {len(names)} packages")
    return 1 if faults else 0


def _rows(index: Index, package: str) -> list[dict[str, str]] | Exception:
    """The rows of a package, or why it could not be measured."""
    found: list[dict[str, str]] = []
    try:
        releases = by_release(index.files(package))
        for kinds in _SYSTEMS:
            looked = {version: _libraries(index, releases[version], kinds) for version in releases}
            listed = {version: names for version, names in looked.items() if names is not None}
            for path in sorted({path for paths in listed.values() for path in paths}):
                folder, _, name = path.rpartition("/")
                row = {"soname": name, "package": package, "folder": folder} | _SEEN
                found += [
                    row | {"versions": span} for span in spans({one: path in there for one, there in listed.items()})
                ]
    except (LookupError, UnreachableError, UnreadableError) as error:
        return error
    return found


def _libraries(index: Index, files: list[File], kinds: tuple[str, ...]) -> set[str] | None:
    """Paths of libraries in one wheel of a release for a system; None where it has no wheel for that."""
    wheels = [file for file in files if is_wheel(file)]
    fitting = [file for kind in kinds for file in wheels if any(one.startswith(kind) for one in platforms(file.name))]
    if not fitting:
        return None
    paths = {path: path.rpartition("/")[2] for path in index.names(fitting[0])}
    return {path for path, name in paths.items() if _LIBRARY.fullmatch(name) and not _INNER.search(name)}


def spans(has: dict[Version, bool]) -> Iterator[str]:
    """Runs of releases that have a library, as specifiers: ``>=8.5.0.96,<9.0.0.312``; the last is open at its end."""
    begun: Version | None = None
    for version, there in sorted(has.items()):
        if there and begun is None:
            begun = version
        elif not there and begun is not None:
            yield f">={begun},<{version}"
            begun = None
    if begun is not None:
        yield f">={begun}"


if __name__ == "__main__":
    sys.exit(main())
