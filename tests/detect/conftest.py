from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

MACHINES = Path(__file__).parent.parent / "machines"


def _replay():
    """The replaying module beside the recordings: test folders are no packages, so it is loaded by its path."""
    name = "envcheck_tests_replay"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, MACHINES / "replay.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def replay():
    return _replay()


@pytest.fixture
def recorded(replay):
    """A host from a recording given as a dict: what a test changes stands in the test."""
    from compat.detect import detect

    def host(said, **options):
        recording = replay.Recording(said)
        return detect(root=recording, run=recording.run, **options)

    return host


@pytest.fixture
def seen(replay):
    """What one detector tells of a recording: ``seen("amd", files={...})["rocm"]``."""
    import time

    from compat.detect import DETECTORS, look
    from compat.detect.machine import Machine

    def read(detector, **said):
        recording = replay.Recording(said)
        return look(DETECTORS[detector], Machine(recording, recording.run, time.monotonic() + 5))

    return read
