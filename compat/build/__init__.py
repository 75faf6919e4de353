"""The container engine: build an image, run the probes in it, clean up. The only place that imports its SDK."""

from compat.build.images import Built, build_image
from compat.build.outcome import Probe, Verification
from compat.build.verification import LEVELS, clean, probe, verify

__all__ = ["LEVELS", "Built", "Probe", "Verification", "build_image", "clean", "probe", "verify"]
