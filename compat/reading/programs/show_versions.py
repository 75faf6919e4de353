"""``pandas.show_versions()``, scikit-learn's and xarray's: names and versions behind colons.

::

    INSTALLED VERSIONS                       System:
    ------------------                           python: 3.11.7 (main, May  9 2026) [GCC 12.2.0]
    python                : 3.11.7           executable: /opt/venv/bin/python
    OS                    : Linux               machine: Linux-6.8.0-45-generic-x86_64-with-glibc2.36
    OS-release            : 6.8.0-45         Python dependencies:
    machine               : x86_64                  pip: 24.0
    numpy                 : 2.4.6                 numpy: 2.4.6

Older pandas printed Python with all five parts of its version (``3.12.7.final.0``). What follows under "threadpoolctl
info" has labels of the same names for other things.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import compat.reading.values as values
from compat.reading.program import Program
from compat.reading.systems import architecture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.claims import Claim
    from compat.reading.page import Pair

_MARKS: Final = ("python-bits", "os-release", "byteorder", "threadpoolctl", "setuptools")
_PACKAGES: Final = (
    "pandas", "numpy", "scipy", "numba", "pyarrow", "xarray", "dask", "torch", "tensorflow", "jax", "joblib", "cupy",
    "matplotlib",
)  # fmt: skip


def _machine(pair: Pair) -> Iterator[Claim]:
    """An architecture with pandas, a whole platform string with scikit-learn."""
    return values.arch()(pair) if architecture(pair.value) else values.platform_claims(pair.value)


PROGRAM: Final = Program(
    name="show_versions",
    labels={
        **values.packages(*_PACKAGES),
        "sklearn": values.package("scikit-learn"),
        "python": values.python,
        "machine": _machine,
        "os-release": values.kernel,
    },
    marks=_MARKS,
    phrases=("INSTALLED VERSIONS",),
    least=2,
)
