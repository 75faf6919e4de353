"""Measure how long the report readers take on ten megabytes.

Usage: bench_reports.py [MEGABYTES]

Prints seconds of processor time per kind of text; twice the size should take twice the time.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from compat import reports

SAMPLES = sorted((Path(__file__).resolve().parents[1] / "tests" / "reports").glob("*/*.txt"))


def texts(size: int) -> dict[str, str]:
    """Kinds of text of about ``size`` characters: logs as they come, and repetitions made to hurt."""
    training = (
        "2024-05-01 12:07:31,523 - mmdet - INFO - Epoch [7][450/7330] lr: 2.0e-02, eta: 1 day, 2:33:10, loss: 0.5123\n"
    )
    serving = (
        "INFO 04-11 09:49:33 [engine.py:310] Avg prompt throughput: 812.0 tokens/s, Running: 3 reqs, cache: 41.2%\n"
    )
    corpus = "\n".join(path.read_text(encoding="utf-8") for path in SAMPLES) + "\n"
    units = {
        "training log": training,
        "serving log": serving,
        "prose": "It fails on my machine: I have tried everything (really), see below.\n",
        "device rows": "|   0  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |\n",
        "package rows": "[conda] numpy                     1.18.5           py38_0 conda-forge\n",
        "agents": "  Name:      gfx1030\n  Marketing Name:      AMD Radeon RX 6900 XT\n  Device Type:      GPU\n",
        "one line": "CUDA Version: 12.2 GPU 0: NVIDIA ",
        "blank lines": "\n",
        "every sample": corpus,
    }
    return {name: unit * (size // len(unit)) for name, unit in units.items()}


def main() -> int:
    """Time each kind of text once."""
    size = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 10_000_000
    for name, text in texts(size).items():
        start = time.process_time()
        reports.read(text)
        print(f"{name:14}{len(text) / 1e6:6.1f} MB{time.process_time() - start:8.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
