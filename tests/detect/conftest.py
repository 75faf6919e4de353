from __future__ import annotations

import pytest
import replay as machines


@pytest.fixture(scope="session")
def replay():
    return machines


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
