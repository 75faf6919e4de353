"""Which runtime the measured facts of a wheel prove.

A wheel's GPU libraries name their major version (``libcudart.so.12``); PTX names the minor of the toolkit that wrote
it, since nvcc writes the newest PTX it knows (table ``cuda``, column ``ptx``).
"""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from compat import versions
from compat.kernels.linkage import implied
from compat.matrix import matrix

_OF_A_DEVICE = ("cuda", "rocm")
_ASKED = ("cudart", "cublas", "libcuda.", "nvcuda", "amdhip", "opencl", "_cuda", "sycl", "metal")
"""Parts of the names of libraries that only a GPU build asks for."""


def minors(carried: dict[str, Any]) -> set[str]:
    """Runtimes with their minor of which a wheel shows one: ``{"cuda12.5", "cuda12.6"}``; empty if it shows none."""
    if carried.get("variants"):
        return set(carried["variants"])
    told = carried.get("cuda", "")
    if told and told != "cpu" and "." in told:
        return {"cuda" + ".".join(told.split(".")[:2])}
    found = _by_ptx().get(carried.get("ptx_isa", ""), frozenset())
    named = major(carried)
    return {runtime for runtime in found if not named or runtime.partition(".")[0] == named}


def major(carried: dict[str, Any]) -> str:
    """Runtime without its minor, ``cuda12``, by the libraries that a wheel needs or brings; empty if they name none."""
    libraries = f"{carried.get('needs', '')} {carried.get('bundles', '')}".split()
    found = implied(libraries)
    if told := next((f"{kind}{found[kind]}" for kind in _OF_A_DEVICE if kind in found), ""):
        return told
    if any(name.startswith("Metal") for name in libraries):
        return "metal"
    majors = {runtime.partition(".")[0] for runtime in _by_ptx().get(carried.get("ptx_isa", ""), ())}
    return majors.pop() if len(majors) == 1 else ""


def without_gpu(carried: dict[str, Any]) -> bool:
    """Whether all objects of a wheel were read, and none has GPU code or asks for a GPU's libraries."""
    named = f"{carried.get('needs', '')} {carried.get('bundles', '')}".lower()
    asks = any(word in named for word in _ASKED)
    return bool(carried.get("deep")) and carried.get("targets") == "-" and not asks and not carried.get("opencl")


@lru_cache
def _by_ptx() -> dict[str, frozenset[str]]:
    """PTX ISA -> the toolkits that write it, as runtimes."""
    found: dict[str, set[str]] = {}
    for row in matrix().table("cuda"):
        if row.ptx and row.toolkit:
            found.setdefault(row.ptx, set()).add(f"cuda{versions.minor(row.cuda)}")
    return {isa: frozenset(runtimes) for isa, runtimes in found.items()}
