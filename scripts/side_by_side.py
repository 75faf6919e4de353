"""Whole processes timed in turn, for the benchmarks that set programs beside each other."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEADLINE = 120.0
"""Seconds after which a program is given up."""


@dataclass(frozen=True, slots=True)
class Run:
    """One finished process.

    Attributes:
        seconds: wall-clock time from start to end.
        code: exit status, -1 if it was given up.
        text: what it printed, standard output before standard error.
    """

    seconds: float
    code: int
    text: str


def run_once(argv: Sequence[str], env: Mapping[str, str]) -> Run:
    """Run a program to its end and time it."""
    start = time.perf_counter()
    try:
        done = subprocess.run(argv, env=dict(env), capture_output=True, timeout=DEADLINE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Run(time.perf_counter() - start, -1, str(error))
    taken = time.perf_counter() - start
    return Run(taken, done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace"))


def interleave(commands: Mapping[str, Sequence[str]], env: Mapping[str, str], rounds: int) -> dict[str, list[Run]]:
    """Run every command once per round, in turn, so that a busy moment of the machine hits all alike.

    One round more is run first and dropped: it fills the file cache.
    """
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name, argv in commands.items():
            runs[name].append(run_once(argv, env))
    return {name: seen[1:] for name, seen in runs.items()}


def median(runs: Sequence[Run]) -> float:
    """Median wall-clock seconds."""
    return statistics.median(one.seconds for one in runs)


def ratio(ours: Sequence[Run], theirs: Sequence[Run]) -> float:
    """How many times as long as ours theirs took: the median over the rounds of the ratio within one round."""
    return statistics.median(their.seconds / our.seconds for our, their in zip(ours, theirs, strict=True))


def quiet_environment(home: str, path: str) -> dict[str, str]:
    """An environment in which nothing reaches the network or the user's settings.

    Args:
        home: an empty folder; caches of the programs go there.
        path: the ``PATH`` of the children.
    """
    nowhere = "http://127.0.0.1:9"  # the discard port: refused at once, so that no program waits for a name server
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), nowhere)
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    return {**kept, **proxies, "HOME": home, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
