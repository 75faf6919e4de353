#!/usr/bin/env python3
"""What an installation takes on the disk, and how long its first command does, for envcheck and its peers.

Usage: ``bench_footprint.py [--envcheck WHEEL_OR_FOLDER] [--runs N]``; pip must reach a package index.

Each tool gets an environment of its own, without pip in it. Its size is that of all files of its packages, compiled
bytecode included. ``cold`` is its ``--help`` after the pages of all these files were dropped from the file cache
(posix_fadvise, which needs no rights; the interpreter's own files stay), ``warm`` the same at once again: medians.
Of envcheck each package that it brings is listed, for what might become an extra.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import distributions
from pathlib import Path

TOOLS = {
    "envcheck": "envcheck",
    "uv": "uv",
    "light-the-torch": "ltt",
    "torchruntime": "torchruntime",
    "env-doctor": "env-doctor",
}


def main() -> None:
    """Install each tool, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envcheck", default=str(Path(__file__).parents[1]))
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    print(f"{'tool':18}{'packages':>9}{'MB':>8}{'cold':>10}{'warm':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for tool, program in TOOLS.items():
            place = Path(folder, tool)
            if why := installed(place, given.envcheck if tool == "envcheck" else tool):
                print(f"{tool:18}not installed: {why}")
                continue
            sizes = packages(place)
            cold, warm = started(place, program, given.runs)
            print(f"{tool:18}{len(sizes):9}{sum(sizes.values()) / 1e6:8.1f}{cold * 1e3:7.0f} ms{warm * 1e3:7.0f} ms")
        print("\nof envcheck:")
        for name, size in sorted(packages(Path(folder, "envcheck")).items(), key=lambda item: -item[1]):
            print(f"  {name:24}{size / 1e6:8.1f} MB")


def installed(place: Path, requirement: str) -> str:
    """Make an environment with a tool; returns why it could not be made."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    words = ["--python", str(place / "bin" / "python"), "install", "--quiet", requirement]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2][:120] if done.returncode else ""


def packages(place: Path) -> dict[str, int]:
    """Bytes of each installed package's files, their bytecode included."""
    (site,) = place.glob("lib/python*/site-packages")
    sizes = {}
    for one in distributions(path=[str(site)]):
        files = [Path(str(one.locate_file(file))) for file in one.files or ()]
        sizes[one.metadata["Name"]] = sum(file.stat().st_size for file in files if file.is_file())
    return sizes


def started(place: Path, program: str, runs: int) -> tuple[float, float]:
    """Seconds of the first command with a cold and with a warm file cache."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        forget(place)
        for kind in seconds:
            start = time.perf_counter()
            subprocess.run([place / "bin" / program, "--help"], capture_output=True, check=False)
            kind.append(time.perf_counter() - start)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def forget(place: Path) -> None:
    """Drop the pages of all files of a folder from the cache."""
    os.sync()  # pages that are not written yet stay
    for path in place.rglob("*"):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    main()
