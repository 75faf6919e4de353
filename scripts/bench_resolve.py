"""Measure the resolver in process: random requests on the real matrix, and on 4 and 16 times as many builds.

    python scripts/bench_resolve.py [--requests 2000] [--scales 1,4,16] [--json FILE] [--collect-often]

The sample is seeded: single and several frameworks, companions, pinned and open versions, one or two GPUs, drivers
from the table of branches, some Pythons; satisfiable or not, conflicts and remedies included. Indexes that are built
once per matrix are warmed by a first pass over the same requests with another seed; the first request of all is
printed apart. Memory is collected as seldom as the command does it; ``--collect-often`` leaves Python's own setting,
under which passes over the whole matrix fall into single requests.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from compat import resources
from compat.__main__ import collect_seldom
from compat.errors import InputError
from compat.matrix import Matrix, Store, matrix
from compat.matrix.store import Live
from compat.resolve import resolve
from compat.resolve.target import from_options

GROUPS = (
    ("torch",),
    ("torch", "torchvision"),
    ("torch", "torchvision", "torchaudio"),
    ("tensorflow",),
    ("jax",),
    ("paddlepaddle",),
    ("torch", "tensorflow"),
    ("torch", "jax"),
    ("tensorflow", "jax"),
    ("torch", "tensorflow", "jax"),
    ("torch", "paddlepaddle"),
    ("vllm",),
    ("torch", "xformers"),
    ("torch", "flash-attn"),
    ("torch", "bitsandbytes"),
)
"""What people ask for together; the first are asked more often, see :func:`request`."""


class Scaled:
    """The real tables with every build repeated under further index names: the same answers from more rows."""

    def __init__(self, base: Store, times: int) -> None:
        self._base, self._times = base, times

    def names(self) -> tuple[str, ...]:
        """All table names."""
        return self._base.names()

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Raw rows, builds and indexes repeated."""
        rows = self._base.rows(table)
        if table == "indexes":
            defaults = [{"name": "default", "url": "", "source": "", "how": "measured"}]
            return [
                {**row, "name": _name(row["name"], copy)} for copy in range(self._times) for row in [*rows, *defaults]
            ]
        if table.startswith("builds."):
            return [{**row, "index": _name(row.get("index", ""), copy)} for copy in range(self._times) for row in rows]
        return rows

    def digest(self) -> str:
        """That of the real matrix, as often as it is repeated."""
        return f"{self._base.digest()}x{self._times}"

    def sources(self) -> dict[str, str]:
        """Source id -> citation."""
        return self._base.sources()


def _name(index: str, copy: int) -> str:
    return f"{index or 'default'}-copy{copy}" if copy else index


def request(rng: random.Random, data: Matrix) -> tuple[list[str], dict[str, Any]]:
    """One random request and target."""
    group = GROUPS[min(int(rng.expovariate(0.25)), len(GROUPS) - 1)]
    wishes = [_wish(rng, name, data) for name in group]
    products = [row for row in data.table("gpus") if row.vendor in {"nvidia", "amd"}]
    gpus = [rng.choice(products).target for _ in range(rng.choice((1, 1, 1, 1, 2)))]
    options: dict[str, Any] = {"gpus": [gpu for gpu in gpus if gpu.startswith(("sm_", "gfx"))]}
    if all(gpu.startswith("sm_") for gpu in gpus) and rng.random() < 0.8:
        branches = [row for row in data.table("drivers") if row.first]
        options["driver"] = rng.choice(branches).first
    if rng.random() < 0.3:
        options["python"] = rng.choice(("3.8", "3.10", "3.11", "3.12", "3.13"))
    if rng.random() < 0.1:
        options["os"] = rng.choice(("ubuntu22.04", "ubuntu20.04", "debian12"))
    return wishes, options


def _wish(rng: random.Random, name: str, data: Matrix) -> str:
    if rng.random() < 0.5:
        return name
    versions = sorted({build.version for build in data.builds(name)})
    return f"{name}{rng.choice(('==', '==', '>=', '<='))}{rng.choice(versions)}"


def sample(count: int, seed: int, data: Matrix) -> list[tuple[list[str], dict[str, Any]]]:
    """``count`` random requests."""
    rng = random.Random(seed)
    return [request(rng, data) for _ in range(count)]


def measure(
    requests: list[tuple[list[str], dict[str, Any]]], data: Matrix
) -> tuple[list[float], list[float], dict[str, int], list[Any]]:
    """Milliseconds per request by the wall and by the processor, how many ended in each way, and the slowest."""
    times, spents, ends, slow = [], [], {}, []
    for wishes, options in requests:
        host = from_options(data, **options)
        begin, spent = time.perf_counter(), time.process_time()
        try:
            end = resolve(wishes, host, data).status
        except InputError:
            end = "refused"
        taken = (time.perf_counter() - begin) * 1000
        times.append(taken)
        spents.append((time.process_time() - spent) * 1000)
        ends[end] = ends.get(end, 0) + 1
        slow.append((taken, end, wishes, options))
    return times, spents, ends, sorted(slow, key=lambda one: -one[0])[:5]


def figures(times: list[float]) -> dict[str, float]:
    """Median, p90, p99 and maximum in milliseconds."""
    cuts = statistics.quantiles(times, n=100)
    return {"median": statistics.median(times), "p90": cuts[89], "p99": cuts[98], "max": max(times)}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--scales", default="1,4,16")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--slow", action="store_true", help="name the slowest requests")
    parser.add_argument("--collect-often", action="store_true", help="with Python's own garbage collection")
    options = parser.parse_args()
    if not options.collect_often:
        collect_seldom()
    real = matrix()
    requests = sample(options.requests, 1, real)
    report: dict[str, Any] = {}
    for scale in map(int, options.scales.split(",")):
        data = real if scale == 1 else Matrix(Scaled(Live(resources.matrix_dir().glob("*.toml")), scale))
        begin = time.perf_counter()
        measure(requests[:1], data)
        first = (time.perf_counter() - begin) * 1000
        measure(sample(max(50, options.requests // 10), 2, real), data)
        times, spents, ends, slow = measure(requests if scale == 1 else requests[:200], data)
        report[f"{scale}x"] = {"first_ms": first, "wall": figures(times), "cpu": figures(spents), "ends": ends}
        for name, taken in (("wall", times), ("cpu", spents)):
            told = "  ".join(f"{cut} {value:.2f}" for cut, value in figures(taken).items())
            print(f"{scale:3d}x {name:4}  {told} ms  first {first:.0f} ms  {len(times)} requests {ends}")
        for one in slow if options.slow else ():
            print("     ", *one, file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
