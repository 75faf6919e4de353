"""Measure how long reports and logs of ten megabytes take to read, whatever is in them.

Usage: bench_reports.py [MEGABYTES] [--only WORD]

Per kind of text: seconds of processor time for the report readers and for the messages of the matrix, the same for a
quarter of the text, and the ratio, which is 4 where time is linear.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from compat import matrix, reading
from compat.reading import messages
from compat.reading.programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLES = sorted((Path(__file__).resolve().parents[1] / "tests" / "reports").glob("*/*.txt"))

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def repeated() -> dict[str, str]:
    """Pieces that a text repeats: logs as they come, and repetitions made to hurt."""
    return {
        "training log": "2024-05-01 12:07:31,523 - mmdet - INFO - Epoch [7][450/7330] lr: 2.0e-02, loss: 0.5123\n",
        "serving log": "INFO 04-11 09:49:33 [engine.py:310] Avg prompt throughput: 812.0 tokens/s, Running: 3 reqs\n",
        "device rows": "|   0  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |\n",
        "package rows": "[conda] numpy                     1.18.5           py38_0 conda-forge\n",
        "agents": "  Name:      gfx1030\n  Marketing Name:      AMD Radeon RX 6900 XT\n  Device Type:      GPU\n",
        "one line": "CUDA Version: 12.2 GPU 0: NVIDIA ",
        "one token": "a",
        "one word": "nvidia ",
        "empty lines": "\n",
        "carriage returns": "GPU 0: NVIDIA A100\r",
        "null bytes": "\x00",
        "quotes": "> ",
        "nested quotes": "> > > > > > > > > Python version: 3.8\n",
        "brackets": "(((([[[[{{{{",
        "tags": "<details ",
        "entities": "&lt;&#",
        "dictionary": "('GPU 0', 'NVIDIA A100'), ",
        "every sample": "\n".join(path.read_text(encoding="utf-8") for path in SAMPLES) + "\n",
    }


def different(size: int) -> dict[str, Callable[[random.Random], str]]:
    """Texts of which no two lines are alike, each made of a seeded generator."""
    labels = sorted({label for program in PROGRAMS for label in program.vocabulary})
    patterns = [row.pattern for row in matrix.matrix().table("signals")]
    words = sorted({word for pattern in patterns for word in pattern.replace("\\", " ").split() if word.isalpha()})

    def word(of: random.Random) -> str:
        return "".join(of.choices(LETTERS, k=6))

    def lines(make: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
        def text(of: random.Random) -> str:
            made, length = [], 0
            while length < size:
                made.append(make(of))
                length += len(made[-1]) + 1
            return "\n".join(made)

        return text

    return {
        "prose": lines(lambda of: " ".join(of.choices(words, k=12))),
        "labels": lines(lambda of: f"{of.choice(labels)}: {word(of)} {of.random()} {word(of)}"),
        "short labels": lines(lambda of: f"{of.choice(labels)}: {of.randint(1, 9)}.{word(of)[:2]}"),
        "near matches": lines(lambda of: f"{of.choice(patterns)[: of.randint(9, 60)]}{word(of)}"),
        "table": lines(lambda of: f"|   0  {word(of)} {word(of)}  Off  | 00000000:00:04.0 Off |  {word(of)} |"),
        "agents apart": lines(lambda of: f"  Name: gfx90a\n  Marketing Name:  AMD {word(of)}\n  Device Type:  GPU"),
        "wide lines": lines(lambda of: f"GPU 0: {word(of)}, CUDA version ({word(of)}) " * 90),
        "packages": lines(lambda of: f"{word(of)}=={of.randint(0, 99)}.{of.randint(0, 9)}"),
        "package table": lines(lambda of: f"{word(of)}     1.2.3     py38_{word(of)}    conda-forge"),
        "random letters": lambda of: "".join(of.choices(f"{LETTERS} {LETTERS.upper()} 0123:=_/\n", k=size)),
        "random bytes": lambda of: of.randbytes(size).decode("utf-8", "replace"),
        "random latin": lambda of: of.randbytes(size).decode("latin-1"),
    }


def texts(size: int) -> dict[str, str]:
    """Kinds of text of about ``size`` characters."""
    made = {name: piece * (size // len(piece)) for name, piece in repeated().items()}
    return made | {name: make(random.Random(name)) for name, make in different(size).items()}


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    """Time each kind of text once, whole and a quarter of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("megabytes", type=float, nargs="?", default=10.0)
    parser.add_argument("--only", default="", help="kinds whose name contains this")
    given = parser.parse_args()
    data = matrix.matrix()

    def read(text: str) -> float:
        return seconds(lambda: reading.read(text))

    def heard(text: str) -> float:
        return seconds(lambda: messages.recognise(text, data))

    read("warm"), heard("warm")
    print(f"{'':18}{'MB':>6}{'report':>9}{'ratio':>7}{'messages':>10}{'ratio':>7}")
    for name, text in texts(int(given.megabytes * 1e6)).items():
        if given.only in name:
            part = text[: len(text) // 4]
            report, message = read(text), heard(text)
            ratios = report / max(read(part), 0.01), message / max(heard(part), 0.01)
            row = f"{name:18}{len(text) / 1e6:6.1f}{report:9.2f}{ratios[0]:7.1f}{message:10.2f}{ratios[1]:7.1f}"
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
