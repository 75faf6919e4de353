"""DeepSpeed's ``ds_report``: rows of ``label ........ value``, which arrive here as ``label: value``.

Two blocks, the operators and the general information::

    async_io ............... [NO] ....... [OKAY]
    torch version .................... 1.10.0a0+git539d476
    torch cuda version ............... None
    torch hip version ................ 5.1.20531-cacfa990
    nvcc version ..................... None
    deepspeed info ................... 0.6.2+ef17c89, ef17c89, master
    deepspeed wheel compiled w. ...... torch 1.10, hip 5.1
    shared memory (/dev/shm) size .... 188.00 GB

Versions that its warnings wish for are no facts; those they name as found are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.values as values
from compat.facts import Build
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Pair

_MARKS: Final = (
    "torch install path", "torch cuda version", "torch hip version", "deepspeed info", "deepspeed install path",
    "deepspeed wheel compiled w", "nvcc version", "op name", "shared memory size", "async_io", "fused_adam",
    "cpu_adam", "sparse_attn", "transformer_inference", "fused_lamb",
)  # fmt: skip
_MISMATCH = re.compile(
    r"Installed CUDA version (\d+\.\d+) does not match the version torch was compiled with (\d+\.\d+)"
)
_WHEEL = re.compile(r"torch (\d[\w.+]*), (cuda|hip) (\d+\.\d+)")


def _wheel(pair: Pair) -> Iterator[Claim]:
    """What DeepSpeed itself was compiled with, which need not be what it runs with.

    Only the operators that came compiled are bound to it: those of a wheel that has none (the column "installed" says
    YES for no operator) are compiled at their first use, for the torch that is there.
    """
    found = _WHEEL.search(pair.value)
    if found and found[1] != "0.0" and "[YES]" in pair.page.text:
        torch, kind, version = found.groups()
        prefix = "cuda" if kind == "cuda" else "rocm"
        runtime = "" if version == "0.0" else f"{prefix}{version}"
        yield Claim("builds", Build(torch=torch, runtime=runtime), key="deepspeed")


def _shm(pair: Pair) -> Iterator[Claim]:
    """Size of /dev/shm with its unit."""
    if found := re.match(r"(\d+(?:\.\d+)?) ([KMG])B", pair.value):
        scale = {"K": 1 / 1024, "M": 1, "G": 1024}[found.group(2)]
        yield Claim("shm_mib", int(float(found.group(1)) * scale))


def _mismatch(line: str) -> Iterator[Claim]:
    """The toolkit that is there, and the CUDA of torch."""
    if found := _MISMATCH.search(line):
        yield Claim("cuda_toolkit", found.group(1), weight=Weight.LISTED)
        yield from filter(None, [values.build_claim("cuda", found.group(2))])


PROGRAM: Final = Program(
    name="ds_report",
    labels={
        "torch version": values.package("torch"),
        "torch cuda version": values.runtime("cuda"),
        "torch hip version": values.hip_build,
        "nvcc version": values.first("cuda_toolkit"),
        "deepspeed info": values.package("deepspeed"),
        "deepspeed wheel compiled w": _wheel,
        "shared memory size": _shm,
    },
    marks=_MARKS,
    phrases=("extension op report", "DeepSpeed general environment info"),
    lines={
        "untested triton version": said("packages", r"untested triton version \((\d[\w.+]*)\)", "triton", Weight.HINT),
        "the version torch was compiled with": _mismatch,
        "but detected": said(
            "packages", r"requires a torch version .{0,60}but detected (\d+\.\d+[\w.+]*)", "torch", Weight.HINT
        ),
    },
    alone=True,
)
