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
from compat.reading.page import betrayed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reading.page import Page, Pair, View

NAME: Final = "ds_report"

_MARKS: Final = (
    "torch install path", "torch cuda version", "torch hip version", "deepspeed info", "deepspeed install path",
    "deepspeed wheel compiled w", "nvcc version", "op name", "shared memory size", "async_io", "fused_adam",
    "cpu_adam", "sparse_attn", "transformer_inference", "fused_lamb",
)  # fmt: skip
_UNTESTED = re.compile(r"untested triton version \((\d[\w.+]*)\)")
_DETECTED = re.compile(r"requires a torch version .{0,60}but detected (\d+\.\d+[\w.+]*)")
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


LABELS: Final[Mapping[str, values.Reader]] = {
    **dict.fromkeys(_MARKS, values.silent),
    "torch version": values.package("torch"),
    "torch cuda version": values.runtime("cuda"),
    "torch hip version": values.hip_build,
    "nvcc version": values.first("cuda_toolkit"),
    "deepspeed info": values.package("deepspeed"),
    "deepspeed wheel compiled w": _wheel,
    "shared memory size": _shm,
}


def recognise(page: Page, found: Mapping[str, list[Pair]]) -> list[int]:
    """Lines with a row of the report or its title."""
    return betrayed(page, found, _MARKS, ("extension op report", "DeepSpeed general environment info"))


def facts(view: View) -> Iterator[Claim]:
    """Rows, and the versions that warnings between them name as found (not the ones they wish for)."""
    yield from view.labelled(LABELS)
    for index, line in view.lines("untested triton version"):
        if found := _UNTESTED.search(line):
            yield from view.stamp(index, [Claim("packages", found.group(1), key="triton", weight=Weight.HINT)])
    for index, line in view.lines("the version torch was compiled with"):
        if found := _MISMATCH.search(line):
            toolkit = Claim("cuda_toolkit", found.group(1), weight=Weight.LISTED)
            built = values.build_claim("cuda", found.group(2))
            yield from view.stamp(index, [toolkit, *([built] if built else [])])
    for index, line in view.lines("but detected"):
        if found := _DETECTED.search(line):
            yield from view.stamp(index, [Claim("packages", found.group(1), key="torch", weight=Weight.HINT)])
