"""Waiting for processes, for the tests of this folder."""

import time
from pathlib import Path


def until(holds, seconds=40):
    """Wait until something holds; whether it came to that."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.005)
    return holds()


def alive(pid):
    """Whether a process runs: neither gone nor waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False
