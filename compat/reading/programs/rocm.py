"""AMD's tools: rocminfo, rocm-smi in its layouts, amd-smi, hipcc.

rocminfo describes every agent, the processors too; a GPU's "Name" is its target::

    Agent 2
      Name:                    gfx1032
      Marketing Name:          AMD Radeon PRO W6600
      Device Type:             GPU

rocm-smi numbers its rows, and the labels' capitals changed between releases::

    Driver version: 5.6.19
    GPU[0]          : Card series:          Navi 21 [Radeon RX 6900 XT]

amd-smi prints nested keys, and a table since ROCm 7::

    MARKET_NAME: AMD Instinct MI300X
    TARGET_GRAPHICS_VERSION: gfx942
    DRIVER:
        NAME: amdgpu
        VERSION: 6.18.3
        OS_KERNEL_VERSION: 5.15.0-164-generic

The driver that comes with the kernel answers with the kernel's release instead of a version.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Gpu
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Pair
    from compat.reading.program import View

_NEEDLES: Final = (
    "HSA System Attributes", "HSA Agents", "ROCm System Management Interface", "ROCK module", "ROCk module",
    "AMDSMI Tool", "AMD-SMI", "Device Type: ", "amdgcn-amd-amdhsa", "Card series", "Card Series", "Card model", "GPU[",
    "OS_KERNEL_VERSION:",
)  # fmt: skip
_FIELD = re.compile(r"\s*(Name|Marketing Name|Device Type|Vendor Name|Uuid)\s*:\s*(.*)")
_ISA = re.compile(r"Name:\s*amdgcn-amd-amdhsa--(gfx[0-9a-f]+)(?![\w-])")
_SMI = re.compile(r"GPU\[(\d{1,3})\]\s*:\s*([A-Za-z][\w /]{0,40}?)\s*:\s*(.*)")
_NUMA = re.compile(r"GPU(?:\[| )(\d{1,3})\]?\s*: \(Topology\) Numa Node: (\d{1,3})\b")
_DRIVER = re.compile(r"^\W*Driver version:\s*(\d+(?:\.\d+)+)", re.IGNORECASE)
_DRIVER_NAME = re.compile(r"^\s*NAME:\s*amdgpu\s*$")
_DRIVER_VERSION = re.compile(r"^\s*VERSION:\s*(\d+(?:\.\d+)+)\s*$")
_KERNEL = re.compile(r"^\s*OS_KERNEL_VERSION:\s*(\d+\.\d+\.\d+\S*)")
_AMDSMI_ROW: Final = r"\|\s*[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\s+(?P<name>AMD [^|]+?)\s*\|"
_NAMES: Final = ("card series", "device name", "card model")
# Lines of one agent of rocminfo at most: pools and ISAs included.
AGENT: Final = 120


def _board(pair: Pair) -> Iterator[Claim]:
    """A card's name in clinfo, AMD's own (``Board name``) and the other's (``Device Board Name (AMD)``)."""
    if gpu := devices.device(pair.value, vendor="amd"):
        yield Claim("gpus", gpu)


def _market(pair: Pair) -> Iterator[Claim]:
    """amd-smi static: the name, and the gfx target a few lines below."""
    if gpu := devices.device(pair.value, vendor="amd"):
        below = (re.search(r"TARGET_GRAPHICS_VERSION:\s*(\S+)", text) for text in pair.below(12))
        target = next((devices.gfx(found.group(1)) for found in below if found), "")
        yield Claim("gpus", replace(gpu, target=target))


def _tables(view: View) -> Iterator[Claim]:
    """Agents of rocminfo, rows of rocm-smi."""
    yield from _agents(view)
    yield from _rows(view)
    yield from _block(view)
    if view.own:
        for needle in ("Driver version", "Driver Version"):
            for index, line in view.lines(needle):
                if (found := _DRIVER.match(line)) and "NVIDIA" not in line:
                    yield from view.stamp(index, [Claim("amdgpu", found.group(1))])


def _agents(view: View) -> Iterator[Claim]:
    """Each agent prints Name, Uuid, Marketing Name, Vendor Name ... Device Type, ISAs; CPUs are agents too.

    The marks are the labels themselves rather than the ``Agent N`` titles, because a cut or Markdown may eat those.
    """
    names = [index for index, line in view.lines("Marketing Name") if "Marketing Name" in line]
    heads = [_head(view, index) for index in names]
    seen: set[str] = set()
    for position, index in enumerate(names):
        stop = heads[position + 1] if position + 1 < len(names) else index + AGENT
        above = [text for _, text in view.span(heads[position], index)]
        below = [text for _, text in view.span(index, min(stop, index + AGENT))]
        if claim := _agent(above, below, str(len(seen))):
            seen.add(str(index))
            yield from view.stamp(index, [claim])
    yield from _nameless(view, names)


def _head(view: View, index: int) -> int:
    """The line that begins an agent: its "Name", some lines above the "Marketing Name"; what grep kept may be next."""
    above = [at for at, text in view.span(max(0, index - 4), index) if re.match(r"\s*Name\s*:(?!\s*amdgcn)", text)]
    return above[-1] if above else index


def _agent(above: list[str], below: list[str], key: str) -> Claim | None:
    """The device that an agent's fields describe; ``None`` for processors."""
    fields: dict[str, str] = {}
    for text in (*above, *below):
        if (found := _FIELD.match(text)) and (found.group(1) not in fields or found.group(1) == "Name"):
            if found.group(1) == "Name" and fields.get("Name", "").startswith("gfx"):
                continue
            if found.group(1) != "Name" or text in above:
                fields[found.group(1)] = found.group(2).strip()
    target = devices.gfx(fields.get("Name", ""))
    if not target:
        isa = next((found for text in below if (found := _ISA.search(text))), None)
        target = isa.group(1) if isa else ""
    if fields.get("Device Type") == "CPU" or (not target and fields.get("Device Type") != "GPU"):
        return None
    gpu = devices.device(fields.get("Marketing Name", ""), vendor="amd", target=target)
    return Claim("gpus", gpu or Gpu(target=target, vendor="amd"), key=key)


def _nameless(view: View, names: list[int]) -> Iterator[Claim]:
    """``rocminfo | grep gfx``: targets without any name around them."""
    if names:
        return
    for index, line in view.lines("gfx"):
        found = re.fullmatch(r"\s*Name:\s*(gfx[0-9a-f]{3,5})\s*", line)
        if found and devices.gfx(found.group(1)):
            yield from view.stamp(index, [Claim("gpus", Gpu(target=found.group(1), vendor="amd"))])


def _rows(view: View) -> Iterator[Claim]:
    """``GPU[0] : Card series: ...``; the richest of the name rows wins, in the order of ``_NAMES``."""
    names: dict[str, dict[str, tuple[int, str]]] = {}
    targets: dict[str, str] = {}
    for index, line in view.lines("GPU["):
        if found := _SMI.search(line):
            number, label, value = found.group(1), found.group(2).strip().lower(), found.group(3).strip()
            if label in _NAMES and not re.fullmatch(r"(?:0x)?[0-9a-fA-F]+|N/A|", value):
                names.setdefault(number, {}).setdefault(label, (index, value))
            elif label == "driver version" and (version := values.dotted(value)):
                yield from view.stamp(index, [Claim("amdgpu", version)])
            elif label == "gfx version":
                targets[number] = devices.gfx(value)
    for number, rows in names.items():
        index, value = next(rows[label] for label in _NAMES if label in rows)
        if gpu := devices.device(value, vendor="amd", target=targets.get(number, "")):
            yield from view.stamp(index, [Claim("gpus", gpu, key=number)])
    for number in targets.keys() - names.keys():
        if targets[number]:
            bare = Gpu(target=targets[number], vendor="amd")
            yield from view.stamp(view.own[0], [Claim("gpus", bare, key=number, weight=Weight.LISTED)])


def _numa(line: str) -> Iterator[Claim]:
    """The node in ``--showtoponuma``; the table has no names."""
    if found := _NUMA.search(line):
        yield Claim("gpus", Gpu(vendor="amd", numa=int(found[2])), key=found[1])


def _block(view: View) -> Iterator[Claim]:
    """The driver block of ``amd-smi static``."""
    for index, line in view.lines("NAME: amdgpu"):
        below = (_DRIVER_VERSION.match(text) for _, text in view.span(index + 1, index + 3))
        version = next((found.group(1) for found in below if found), "")
        if _DRIVER_NAME.match(line) and version:
            yield from view.stamp(index + 1, [Claim("amdgpu", version)])


def _kernel(line: str) -> Iterator[Claim]:
    """The kernel's release in the driver block."""
    if found := _KERNEL.match(line):
        yield from values.kernel_claims(found.group(1))


PROGRAM: Final = Program(
    name="rocm tools",
    labels={"market_name": _market, "board name": _board, "device board name": _board},
    marks=("market_name", "board name", "device board name"),
    phrases=_NEEDLES,
    lines={
        "module version": said("amdgpu", r"ROC[Kk] module version (\d+(?:\.\d+)+)"),
        "amdgpu version:": said("amdgpu", r"amdgpu version:\s*(\d+(?:\.\d+)+)"),
        "ROCm version:": said("rocm", r"ROCm version:\s*(\d+\.\d+(?:\.\d+)?)"),
        "HIP version:": said("hip", r"HIP version:\s*(\d+(?:\.\d+)+)"),
        "AMD ": devices.card(_AMDSMI_ROW, maker="amd"),
        "Numa Node:": _numa,
        "OS_KERNEL_VERSION:": _kernel,
    },
    beyond=_tables,
    alone=True,
)
