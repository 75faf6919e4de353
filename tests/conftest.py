"""Settings for all tests: properties have no wall-clock deadline, because machines are shared and clocks lie."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


def pytest_collection_modifyitems(config, items):
    """With ``--dist loadgroup`` a file keeps its fixtures in one worker, and the engine is used by one worker alone."""
    for item in items if config.pluginmanager.hasplugin("xdist") else ():
        group = "engine" if "engine" in item.path.parts else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
