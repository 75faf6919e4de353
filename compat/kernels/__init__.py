"""Which GPU targets a binary carries, read from its headers alone.

``inspect(path)`` takes a library, cubin, PTX, fat binary, code object, static archive, wheel, image layer or a whole
directory; ``inspect_package`` an installed distribution. "No kernel image is available" is decided here before
anything is run.
"""

from __future__ import annotations

from compat.kernels.package import Kernels, build_kernels, inspect_package
from compat.kernels.places import inspect, inspect_file
from compat.kernels.values import SCHEMA, Code, Inspection, dump
from compat.kernels.verdict import Verdict, judge

__all__ = [
    "SCHEMA",
    "Code",
    "Inspection",
    "Kernels",
    "Verdict",
    "build_kernels",
    "dump",
    "inspect",
    "inspect_file",
    "inspect_package",
    "judge",
]
