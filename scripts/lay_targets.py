"""Lays the measured kernel targets into the build rows that lack them, and drops guesses where they are now seen.

    python scripts/refresh.py --deep onnxruntime-gpu
    python scripts/lay_targets.py onnxruntime-gpu

Rows of the default index only, each release and platform by its own wheel; a row is split where they differ. A row that
states other targets than were measured is left alone: that is a disagreement, which ``scripts/crosscheck.py`` tells.
"""

from __future__ import annotations

import argparse
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from observed_file import read  # noqa: E402 - found through the line above
from simple_index import write_whole  # noqa: E402

from compat.matrix import canonical, store  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = dict[str, Any]

GUESSED = "kernels as read in "
"""How the note of a row begins whose targets are those of a neighbouring release."""


def main(argv: list[str] | None = None) -> int:
    """Rewrite the tables of the packages named; exit 1 if one has no table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--matrix", type=Path, default=ROOT / "matrix")
    parser.add_argument("--source", default="gpu-code", help="id of the source of what was measured")
    options = parser.parse_args(argv)
    left = set(options.packages)
    for path in sorted(options.matrix.glob("*.toml")):
        text = path.read_text("utf-8")
        document, comments = store.parse_toml(text, path.name), canonical.layout(text).comments
        for package in sorted(left & set(document.get("builds", {}))):
            rows, moved = lay(document["builds"][package], package, options.matrix / "observed", options.source)
            table = f"builds.{package}"
            comments = {_moved(anchor, table, moved): lines for anchor, lines in comments.items()}
            told = sum(row not in document["builds"][package] for row in rows)
            print(f"{package}: {told} of {len(rows)} rows say more than before")
            document["builds"][package] = rows
            left.discard(package)
        write_whole(path, canonical.dump(document, comments).encode())
    for package in sorted(left):
        print(f"{package}: no table builds.{package}", file=sys.stderr)
    return 1 if left else 0


def _moved(anchor: canonical.Anchor, table: str, moved: dict[int, int]) -> canonical.Anchor:
    return ("row", table, moved[anchor[2]]) if anchor[:2] == ("row", table) else anchor


def lay(rows: list[Row], package: str, observed: Path, source: str) -> tuple[list[Row], dict[int, int]]:
    """The rows with what was measured, and where each old row begins among the new ones."""
    found: list[Row] = []
    begins: dict[int, int] = {}
    for number, row in enumerate(rows):
        begins[number] = len(found)
        path = observed / f"{canonicalize_name(row.get('distribution') or package)}.json"
        releases = {} if row.get("index") else read(path)["releases"]
        found += _split(row, releases, source)
    return found, begins


def _split(row: Row, releases: dict[str, Any], source: str) -> Iterator[Row]:
    """A row as several: neighbouring releases whose wheels are alike on the same platforms share one."""

    def by_platform(version: str) -> list[tuple[Row, list[str]]]:
        """The row for each kind of wheel of a release, with the platforms that it is of."""
        kinds: list[tuple[Row, list[str]]] = []
        for platform in row["platforms"].split():
            told = _told(row, releases.get(version, {}).get("carried", {}).get(platform, {}), source)
            same = next((platforms for other, platforms in kinds if other == told), None)
            if same is None:
                kinds.append((told, [platform]))
            else:
                same.append(platform)
        return kinds

    for kinds, versions in groupby(row["versions"].split(), key=by_platform):
        listed = " ".join(versions)
        yield from (told | {"versions": listed, "platforms": " ".join(platforms)} for told, platforms in kinds)


def _told(row: Row, carried: dict[str, Any], source: str) -> Row:
    """The row with the targets that were measured in a wheel of it."""
    variants = carried.get("variants")
    targets = variants.get(row["runtime"], "") if variants else carried.get("targets", "")
    stated, guessed = row.get("kernels", ""), row.get("note", "").startswith(GUESSED)
    if not targets or stated not in {"", targets} or (stated and not guessed):
        return row
    sources = row["source"].split()
    told = row | {"kernels": targets, "source": " ".join([*sources, *({source} - set(sources))])}
    if guessed:
        del told["note"]
        told["how"] = "measured" if row["how"] == "inferred" else row["how"]
    return told


if __name__ == "__main__":
    sys.exit(main())
