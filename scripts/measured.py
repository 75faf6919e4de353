"""Prints how the build rows are known, by kind of runtime: each release of a row counts once."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from compat.matrix import matrix

KINDS = {"cuda": "GPU", "rocm": "GPU", "cpu": "CPU", "": "none"}
"""Beginning of a runtime -> the kind that it counts as; ``other`` for all others."""


def main() -> int:
    """Print a line for each kind and one for all."""
    known = matrix()
    counts: dict[str, Counter[str]] = {}
    for name in known.packages:
        for build in known.table(f"builds.{name}"):
            kind = KINDS.get(build.runtime.rstrip(".0123456789"), "other")
            for key in (kind, "all"):
                counts.setdefault(key, Counter())[build.how] += 1
    for kind, found in sorted(counts.items()):
        told = ", ".join(f"{how} {found[how]}" for how in ("measured", "documented", "inferred"))
        print(f"{kind:6} {found.total():5} rows, {found['measured'] / found.total():.1%} measured: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
