"""Scores lint against a folder of labelled files: hits, misses and false errors per code.

Usage: score_lint.py DIR [--half A|B] [--verbose]

Each folder of DIR holds ``expect.toml`` (files, errors, warnings, may, clean) and the files. A labelled code counts as
found if any finding has it; an error-level finding whose code is not labelled is a false error. ``root-user`` and
``pin-missing`` never count as false. The last line reads ``found 0.950 false_errors 0/25``: the share of labelled
errors reported, and the clean files on which an error was reported.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from compat.app.lint import lint_files
from compat.matrix import Matrix, matrix

FREE = {"root-user", "pin-missing"}


def main() -> None:
    """Score the folder and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=["A", "B"])
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    knowledge = matrix()
    tally: dict[str, Counter[str]] = {}
    found = wanted = clean = spoilt = 0
    for folder in sorted(path.parent for path in given.folder.glob("*/expect.toml")):
        half = "AB"[hashlib.sha256(folder.name.encode()).digest()[0] % 2]
        if given.half in {None, half}:
            hits, misses, false, is_clean = judge(folder, knowledge, tally, verbose=given.verbose)
            found, wanted = found + hits, wanted + hits + misses
            clean, spoilt = clean + is_clean, spoilt + (is_clean and false > 0)
    for code, counts in sorted(tally.items()):
        print(f"{code:32} " + "  ".join(f"{name} {counts[name]}" for name in ("hit", "miss", "false") if counts[name]))
    print(f"found {found / max(1, wanted):.3f} false_errors {spoilt}/{clean}")


def judge(
    folder: Path, knowledge: Matrix, tally: dict[str, Counter[str]], *, verbose: bool
) -> tuple[int, int, int, bool]:
    """Errors found, errors missed, false errors and whether the entry is clean."""
    expect = tomllib.loads((folder / "expect.toml").read_text("utf-8"))
    names = [str(folder / name) for name in expect["files"]]
    report = lint_files(names[:1] if expect["kind"] == "dockerfile" else names, knowledge)
    said = {finding.code for finding in report.findings}
    allowed = {*expect["errors"], *expect["warnings"], *expect["may"], *FREE}
    false = sorted({item.code for item in report.findings if item.severity == "error"} - allowed)
    for code in (*expect["errors"], *expect["warnings"]):
        tally.setdefault(code, Counter())["hit" if code in said else "miss"] += 1
    for code in false:
        tally.setdefault(code, Counter())["false"] += 1
    missed = [code for code in (*expect["errors"], *expect["warnings"]) if code not in said]
    if verbose and (missed or false):
        print(f"{folder.name}: missed {missed} false {false} said {sorted(said)}")
    hits = sum(code in said for code in expect["errors"])
    return hits, len(expect["errors"]) - hits, len(false), expect["clean"]


if __name__ == "__main__":
    main()
