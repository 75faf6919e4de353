"""Settings for all tests: no wall-clock deadline for properties, since clocks of shared machines lie; who runs what."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


def pytest_configure():
    """The same terminal and language everywhere. Programs that a test interrupts would inherit that whoever started the tests in the background ignores Ctrl-C."""
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ["TERM"] = "xterm"  # a dumb terminal would be answered in plain words
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With ``-n`` a file stays with one process, which keeps its fixtures, and the engine is used by one alone."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "engine" if nodeid.startswith("tests/engine/") else nodeid.partition("::")[0]

    config.option.loadscopereorder = False  # the engine's tests take longest, though they are few
    return ByFile(config, log)
