"""Writes ``matrix/dates.toml``: the day of each release that was measured, of the packages that have rows.

python scripts/refresh.py
python scripts/lay_dates.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from observed_file import read  # noqa: E402 - found through the line above
from packaging.utils import canonicalize_name  # noqa: E402
from packaging.version import Version  # noqa: E402
from simple_index import write_whole  # noqa: E402

from compat.matrix import canonical, matrix  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDTH = 160
"""Characters of releases in a row, so that a row fits a review."""


def main() -> int:
    """Write the file."""
    rows = [
        {"package": package, "days": days, "source": "wheel-uploads", "how": "measured"}
        for package in sorted(_packages())
        for days in _lines(package)
    ]
    sources = {"wheel-uploads": "Upload days of the published files, as matrix/observed holds them"}
    path = ROOT / "matrix" / "dates.toml"
    comments = canonical.layout(path.read_text("utf-8")).comments if path.is_file() else {}
    body = {"schema": canonical.SCHEMA, "dates": rows, "sources": sources}
    write_whole(path, canonical.dump(body, comments).encode())
    return 0


def _packages() -> set[str]:
    """Distributions that rows of the matrix install, or that bring a library."""
    known = matrix()
    built = {build.install_name for name in known.packages for build in known.table(f"builds.{name}")}
    return built | {row.package for row in known.table("sonames")}


def _lines(package: str) -> Iterator[str]:
    """``2.9.0:2025-10-15 2.9.1:2025-11-12``, as much as a row holds at a time."""
    releases = read(ROOT / "matrix" / "observed" / f"{canonicalize_name(package)}.json")["releases"]
    words: list[str] = []
    for version in sorted(releases, key=Version):
        if (day := releases[version]["date"]) and not Version(version).is_prerelease:
            words.append(f"{version}:{day}")
        if len(" ".join(words)) > _WIDTH:
            yield " ".join(words)
            words = []
    if words:
        yield " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
