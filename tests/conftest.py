"""Settings for all tests: properties have no wall-clock deadline, because machines are shared and clocks lie."""

from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
