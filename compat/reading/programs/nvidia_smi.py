"""nvidia-smi: the table in its widths, ``-q``, ``-L``, ``--query-gpu`` and the sentences it fails with.

The table has come in two widths, and names that do not fit are cut with three dots::

    | NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |
    |   0  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |
    | N/A   36C    P8     9W /  70W |      0MiB / 15109MiB |      0%      Default |

``-q`` prints labels, ``-L`` one line per device, ``--query-gpu`` a table with commas::

    GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-11111111-2222-3333-4444-555555555555)

The driver is the field "Driver Version", since release 610 "KMD Version": on WSL it differs from the tool's own number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Gpu
from compat.reading.claims import Claim, Weight
from compat.reading.page import Page, Pair, ends
from compat.reading.program import Program, View, said

_DRIVER: Final = said("driver", r"(?:Driver|KMD) Version\s*:\s*(\d{3}(?:\.\d+)+)")
_CUDA = re.compile(r"CUDA (?:UMD )?Version\s*:\s*(\d+\.\d+)")
_ROW = re.compile(
    r"\|?\s*(\d{1,3})\s+(\S.*?)\s+(?:(On|Off|WDDM|TCC|MCDM|N/A|ERR!)\s*)?\|?\s*"
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])"
)
_SHORT_ROW = re.compile(r"\|\s*(\d{1,3})\s+(\S.*?)\s+(?:On|Off|WDDM|TCC|MCDM)\s*\|")
_MEMORY = re.compile(r"(\d+)MiB\s*/\s*(\d+)MiB")
_POWER = re.compile(r"\bP\d{1,2}\s+(?:\d{1,5}W|N/A)\s*/\s*(\d{1,5})W\s*\|")
_MODE = re.compile(r"\|\s*(?:\d+%|N/A)\s+(Default|E\. Process|E\. Thread|Prohibited)\s*\|")
_MODES: Final = {"E. Process": "exclusive_process", "E. Thread": "exclusive_thread"}
_MIG = re.compile(r"\|\s*(Disabled|Enabled)\s*\|?\s*$")
# A row of the table of MIG instances: device, GPU instance, compute instance, MIG device; or what says there is none.
_INSTANCE = re.compile(r"\|\s*(?:(\d{1,3})\s+\d{1,3}\s+\d{1,3}\s+\d{1,3}\s*\||No MIG devices found)")
_SIDE = re.compile(r"\W*Driver Version\s*:\s*\d{3}\.[\d.]{1,9}[\s,|]{1,20}CUDA Version\s*:\s*\d+\.")
_FIELD = re.compile(r"\W*(?:Driver Version\s*:\s*\d{3}\.|CUDA Version\s*:\s*\d+\.)")
_UNIT = re.compile(r"(?:GPU )?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$")
# What ``-q`` says of one device: the group, then lines within it.
_PARTS: Final = {
    "memory_mib": re.compile(r"FB Memory Usage\s+Total\s*:\s*(\d{1,9}) MiB"),
    "generation": re.compile(r"PCIe Generation\s+Max\s*:\s*(\d)\b"),
    "width": re.compile(r"Link Width\s+Max\s*:\s*(\d{1,2})x"),
    "generation_now": re.compile(r"PCIe Generation\s+Max\s*:\s*\d\s+Current\s*:\s*(\d)\b"),
    "width_now": re.compile(r"Link Width\s+Max\s*:\s*\d{1,2}x\s+Current\s*:\s*(\d{1,2})x"),
    "power_limit_w": re.compile(r"(?:Enforced|Current) Power Limit\s*:\s*(\d{1,5})(?:\.\d{1,3})? W"),
    "power_default_w": re.compile(r"Default Power Limit\s*:\s*(\d{1,5})(?:\.\d{1,3})? W"),
    "clock_max_mhz": re.compile(r"Max Clocks\s+Graphics\s*:\s*\d{1,5} MHz\s+SM\s*:\s*(\d{1,5}) MHz"),
}
_LINKS: Final = {"pcie_max": "", "pcie": "_now"}
_VIRTUAL: Final = {"Pass-Through": "passthrough", "VGPU": "vgpu", "Host VGPU": "host_vgpu", "None": "none"}
_VIRTUALIZATION = re.compile(r"Virtualization Mode\s*:\s*(Pass-Through|VGPU|Host VGPU|None)\s")
_BLOCK: Final = 400  # lines that -q prints of one device at most
_CELL = re.compile(r"GPU(\d{1,3})\s+((?:(?:X|SYS|NODE|PHB|PXB|PIX|NV\d{1,2}|N/A)\s+){2,})")
_LANES: Final = 18  # NVLinks of one device at most, up to Blackwell
_WHOLE: Final = 4  # GPUs of a board at least whose links are joined to one another alone
_NUMA = re.compile(r"\s\d[\d,-]{0,200}\s+(\d[\d,-]{0,20})(?:\s+(?:N/A|\d{1,3}))?$")  # CPUs, nodes, a node of its own
_FAILURES: Final = {
    "couldn't communicate with the NVIDIA driver": "driver not reachable",
    "Driver/library version mismatch": "Driver/library version mismatch",
    "Unable to determine the device handle": "device lost",
    "Failed to initialize NVML: Unknown Error": "Unknown Error",
    "Failed to initialize NVML: Insufficient Permissions": "Insufficient Permissions",
    "NVML: GPU access blocked by the operating system": "GPU access blocked by the operating system",
}


# A computer's or main board's own product name, which systems print under the same label.
_BOARD: Final = re.compile(r"MS-[0-9A-Z]{4}$|System Product Name$")


def _query_name(pair: Pair) -> Iterator[Claim]:
    """``Product Name`` of ``-q``; its GPU is the address on the nearest line above."""
    if (gpu := devices.device(pair.value, vendor="nvidia")) and not _BOARD.match(gpu.name):
        above = pair.page.lines[max(0, pair.index - 3) : pair.index]
        bus = next((found.group(1) for line in reversed(above) if (found := _UNIT.search(line.text))), "")
        yield Claim("gpus", replace(gpu, bus=bus, **_block(pair.below(_BLOCK))), key=bus)


def _block(lines: list[str]) -> dict[str, Any]:
    """What ``-q`` says of a device below its name, up to the next one."""
    end = next((index for index, line in enumerate(lines) if _UNIT.match(line.strip())), len(lines))
    text = "\n".join(lines[:end])
    found = {name: int(match[1]) for name, wanted in _PARTS.items() if (match := wanted.search(text))}
    links = {name: _link(found.pop("generation" + now, 0), found.pop("width" + now, 0)) for name, now in _LINKS.items()}
    virtual = _VIRTUALIZATION.search(text)
    return {**found, **links, **({"virtual": _VIRTUAL[virtual[1]]} if virtual else {})}


def _link(generation: int, width: int) -> str:
    """A link as the facts have it; empty if one half is not told."""
    return f"gen{generation} x{width}" if generation and width else ""


def _driver(pair: Pair) -> Iterator[Claim]:
    """A driver version; three digits tell it from other tools' fields of that name."""
    if (version := values.dotted(pair.value)) and len(version.split(".")[0]) == 3:
        yield Claim("driver", version)


def _marked(page: Page, _found: Mapping[str, list[Pair]]) -> Iterator[int]:
    """The rows of the table."""
    rows = {index for needle in ("Off |", "On |", "WDDM", "| 0000") for index in page.find(needle)}
    yield from (index for index in rows if ":" in (row := page.lines[index].text.strip()) and _card(row))
    yield from _picked(page)


def _card(row: str) -> re.Match[str] | None:
    """A device's row, of either width; rows of MIG or processes lack parts, and other makers print the same table."""
    found = _ROW.match(row) if ":" in row else _SHORT_ROW.match(row)
    return found if found and devices.vendor(found[2]) not in devices.OTHERS else None


def _picked(page: Page) -> Iterator[int]:
    """Lines that somebody picked out of the head: its two fields side by side, in its own spelling.

    Beside a cuDNN they are a list of what is installed instead.
    """
    for index in page.find("Driver Version"):
        near = range(max(0, index - 2), min(len(page.lines), index + 3))
        texts = [page.lines[other].text for other in near]
        fields = [_FIELD.match(text) for text in texts]
        alone = _SIDE.match(page.lines[index].text) is not None
        if (alone or sum(field is not None for field in fields) >= 2) and not any(
            "udnn" in text.lower() for text in texts
        ):
            yield from (other for other, field in zip(near, fields, strict=True) if field)


def _tables(view: View) -> Iterator[Claim]:
    """The head line, the device rows, answers to queries, failures."""
    yield from _heads(view)
    yield from _rows(view)
    yield from _queries(view)
    yield from _failures(view)
    yield from _topology(view)


def _topology(view: View) -> Iterator[Claim]:
    """``topo -m``: each device's NVLinks, which behind a switch all lead to each of the others, and its NUMA node.

    A table shows links between the devices that can be seen there: it tells all of a device's where four or more have
    as many to each other, or none has any, and else (a container with some of them) it leaves them open.
    """
    for start, head in view.lines("CPU Affinity"):
        others = len(re.findall(r"\bGPU\d{1,3}\b", head))
        rows = [(index, line, _CELL.match(line.strip())) for index, line in view.span(start + 1, start + 1 + others)]
        cells = [[one for one in found[2].split()[:others] if one != "X"] for _, _, found in rows if found]
        joined = {one if one.startswith("NV") else "" for row in cells for one in row}
        lanes = int(next(iter(joined))[2:] or 0) if len(joined) == 1 and others >= _WHOLE else None
        for index, line, found in rows:
            near = _NUMA.search(line.rstrip()) if found and "NUMA Affinity" in head else None
            node = int(near[1]) if near and near[1].isdecimal() else None  # several nodes are none
            if found:
                total = None if lanes is None else lanes * (others - 1)
                gpu = Gpu(vendor="nvidia", nvlinks=lanes if total and total > _LANES else total, numa=node)
                yield from view.stamp(index, [Claim("gpus", gpu, key=found[1])])


def _heads(view: View) -> Iterator[Claim]:
    """The CUDA version in the head of the table, whole or in parts."""
    marks = set(view.own)
    for needle in ("CUDA Version", "CUDA UMD Version"):
        for index, line in view.lines(needle):
            near = index in marks or "Driver Version" in line or line.strip().startswith("|")
            if near and "IX-ML" not in line and (found := _CUDA.search(line)):
                yield from view.stamp(index, [Claim("driver_cuda", found.group(1))])


def _rows(view: View) -> Iterator[Claim]:
    """Device rows of the table: index, name, persistence mode, PCI address."""
    seen: set[int] = set()
    tables = [view.span(start, start + 300) for start, _line in view.lines("MIG devices:")]
    made = [one[1] for _, line in next(iter(tables), ()) if (one := _INSTANCE.match(line.strip()))]
    for mark in ends(view.own):
        for index, line in view.span(mark, mark + 80):
            if index in seen:
                break
            seen.add(index)
            row = line.strip()
            if row.startswith("|") and not row.endswith("|"):
                continue  # the text was cut inside this row
            if (found := _card(row)) and (gpu := devices.device(found.group(2), vendor="nvidia")):
                gpu = _detailed(gpu, found, [text for _, text in view.span(index + 1, index + 3)])
                instances = made.count(found[1]) if made and gpu.mig == "enabled" else None
                yield from view.stamp(index, [Claim("gpus", replace(gpu, mig_devices=instances), key=found[1])])


def _detailed(gpu: Gpu, found: re.Match[str], below: list[str]) -> Gpu:
    """Memory, power limit, compute mode and MIG mode stand on the two lines under a row."""
    memory, power, mode, mig = (
        next((match for text in below if (match := one.search(text))), None) for one in (_MEMORY, _POWER, _MODE, _MIG)
    )
    persistence = {"On": True, "Off": False}.get(found.group(3)) if found.re is _ROW else None
    return replace(
        gpu,
        bus=found.group(4) if found.re is _ROW else "",
        memory_mib=int(memory.group(2)[:9]) if memory else None,
        memory_used_mib=int(memory.group(1)[:9]) if memory else None,
        mig=mig.group(1).lower() if mig else "",
        persistence=persistence,
        compute_mode=_MODES.get(mode[1], mode[1].lower()) if mode else "",
        power_limit_w=int(power[1]) if power else None,
    )


def _queries(view: View) -> Iterator[Claim]:
    """``--query-gpu=name,driver_version --format=csv``: a head line with the columns' names, then rows."""
    for start, head in view.lines("driver_version"):
        names = [name.strip().split(" ")[0] for name in head.split(",")]
        if "name" not in names or "--query" in head:  # the command names the same columns as its answer's head
            continue
        for index, line in view.span(start + 1, start + 1 + devices.MOST):
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) != len(names):
                break
            yield from view.stamp(index, _cells(dict(zip(names, cells, strict=True)), str(index - start - 1)))


def _cells(row: Mapping[str, str], position: str) -> Iterator[Claim]:
    """One row of ``--query-gpu``."""
    gpu = devices.device(row["name"], vendor="nvidia", target=devices.capability(row.get("compute_cap", "")))
    if gpu:
        yield Claim("gpus", gpu, key=row.get("index", position))
    if version := values.dotted(row.get("driver_version", "")):
        yield Claim("driver", version)


def _model(line: str) -> Iterator[Claim]:
    """The model of a driver of Windows."""
    if re.match(r"\|\s+\d{1,3}\s.{3,60}\sWDDM\s+\|", line):
        yield Claim("platform", "windows", weight=Weight.HINT)


def _failures(view: View) -> Iterator[Claim]:
    """What nvidia-smi says when NVML does not answer."""
    for sentence, answer in _FAILURES.items():
        for index, _line in view.lines(sentence):
            yield from view.stamp(index, [Claim("nvml", answer, weight=Weight.LISTED)])


_PHRASES: Final = (
    "NVIDIA-SMI",
    "NVSMI LOG",
    "(UUID: GPU-",
    "driver_version",
    "Failed to initialize NVML",
    "NVML library version",
    "NVRM version:",
    "NUMA Affinity",
)
PROGRAM: Final = Program(
    name="nvidia-smi",
    labels={
        "product name": _query_name,
        "driver version": _driver,
        "cuda version": values.first("driver_cuda"),
        "nvml version": values.silent,
        "cuda umd version": values.first("driver_cuda"),
    },
    marks=("attached gpus", "product name", "product brand"),
    phrases=_PHRASES,
    marked=_marked,
    lines={
        "Driver Version": _DRIVER,
        "KMD Version": _DRIVER,
        "NVRM version:": said("driver", r"NVRM version: .{0,80}?Kernel Module\s.{0,30}?(\d{3}(?:\.\d+)+)"),
        "NVML library version": said("driver_library", r"NVML library version: (\d{3}(?:\.\d+)*)"),
        "(UUID": devices.card(r"\bGPU (?P<key>\d{1,3}): (?P<name>.+?) \(UUID", maker="nvidia"),
        " WDDM ": _model,
    },
    beyond=_tables,
)
