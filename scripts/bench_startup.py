"""Whole-process times of envcheck's commands against a bare interpreter, interleaved in one run: medians and ratios.

Usage: bench_startup.py [--runs N] [--envcheck PATH]

The interpreter beside which it runs is the one that the given envcheck was installed with, so that both pay for the
same start-up. Ratios are what to compare; milliseconds belong to the machine.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = {
    "python -c pass": None,
    "envcheck --version": ["--version"],
    "envcheck --help": ["--help"],
    "envcheck doctor --format json": ["doctor", "--format", "json", "--fail-on", "never"],
    "envcheck resolve torch==2.9.1": [
        "resolve",
        "torch==2.9.1",
        "--gpu",
        "A100",
        "--driver",
        "570.26",
        "--format",
        "json",
    ],
}


def main() -> None:
    """Time each command ``--runs`` times in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument(
        "--envcheck", default=shutil.which("envcheck") or str(Path(sys.executable).with_name("envcheck"))
    )
    given = parser.parse_args()
    python = Path(given.envcheck).read_text("utf-8").splitlines()[0].removeprefix("#!").strip()
    lines = {
        name: [python, "-c", "pass"] if words is None else [given.envcheck, *words] for name, words in COMMANDS.items()
    }
    times: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(given.runs + 1):  # the first round warms the file cache and is dropped
        for name, argv in lines.items():
            times[name].append(_once(argv))
    floor = statistics.median(times["python -c pass"][1:])
    for name, seen in times.items():
        median = statistics.median(seen[1:])
        spread = f"(min {min(seen[1:]) * 1000:.1f}, max {max(seen[1:]) * 1000:.1f})"
        print(f"{name:34}{median * 1000:8.1f} ms{median / floor:7.1f} x   {spread}")


def _once(argv: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
