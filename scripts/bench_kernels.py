"""Time kernel inspection against cuobjdump and against reading the file once.

    python scripts/bench_kernels.py LIBRARY [--cuobjdump PATH] [--site-packages FOLDER]

Everything is measured warm (the file is in the page cache), as the median of several runs in this process; start-up of
Python is reported apart. ``touched`` is what the readers asked for: headers, names and tables.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from compat.kernels import inspect, inspect_file
from compat.kernels.window import Stream, Window

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7


class Counted(Stream):
    """A source that counts what is read."""

    def __init__(self, file: object) -> None:
        super().__init__(file)
        self.reads = self.bytes = 0

    def read_at(self, offset: int, count: int) -> bytes:
        """As the stream does, counted."""
        self.reads, self.bytes = self.reads + 1, self.bytes + count
        return super().read_at(offset, count)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--cuobjdump", default=shutil.which("cuobjdump"))
    parser.add_argument("--site-packages", type=Path)
    options = parser.parse_args()
    size = options.library.stat().st_size
    reading = timed(lambda: read_once(options.library))
    ours = timed(lambda: inspect(options.library))
    images = sum(sum(code.images.values()) for code in inspect(options.library).objects)
    print(f"{options.library.name}: {size / 1e6:.0f} MB, {images} images")
    print(f"  inspect               {ours * 1e3:9.1f} ms   touched {touched(options.library)}")
    print(f"  reading it once       {reading * 1e3:9.1f} ms   {reading / ours:7.0f} times as long")
    if options.cuobjdump:
        theirs = timed(lambda: quietly(options.cuobjdump, "--list-elf", str(options.library)), rounds=3)
        print(f"  cuobjdump --list-elf  {theirs * 1e3:9.1f} ms   {theirs / ours:7.0f} times as long")
    fresh = timed(lambda: quietly(sys.executable, __file__, "--fresh", str(options.library)), rounds=3)
    print(f"  in a fresh Python     {fresh * 1e3:9.1f} ms   start-up included")
    if options.site_packages:
        found = inspect(options.site_packages)
        whole = timed(lambda: inspect(options.site_packages), rounds=3)
        print(f"{options.site_packages}: {found.scanned} binaries in {whole * 1e3:.0f} ms")


def timed(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median seconds of some rounds, after one that does not count."""
    work()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def touched(path: Path) -> str:
    """How much of a file an inspection asks for."""
    with path.open("rb", buffering=0) as file:
        source = Counted(file)
        inspect_file(Window(source), path.name)
        return f"{source.bytes / 1e3:.0f} kB in {source.reads} reads"


def read_once(path: Path) -> None:
    """Read every byte in pieces of a megabyte."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 20):
            pass


def quietly(*command: str) -> None:
    """Run a program and drop what it prints."""
    subprocess.run(command, capture_output=True, check=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fresh"]:
        inspect(sys.argv[2])
    else:
        main()
