"""AMD's tools in the layouts that are meant for programs: rocm-smi's CSV and JSON, the driver block of amd-smi.

::

    device,Card series,Card model,Card vendor,Card SKU
    card0,Arcturus GL-XL [AMD Instinct MI100],0x0c34,Advanced Micro Devices Inc. [AMD/ATI],D34316

    "card0": {
        "Card Series": "AMD Instinct MI300X",
        "GFX Version": "gfx942"

        DRIVER:
            NAME: amdgpu
            VERSION: 6.18.3
            OS_KERNEL_VERSION: 5.15.0-164-generic

A number like 0x738c is what rocm-smi prints of a card whose name it does not know. The driver that comes with the
kernel answers with the kernel's release instead of a version.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Gpu
from compat.reading.claims import Claim
from compat.reading.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reading.page import Page, Pair, View

# Columns and keys that name a card, the richest first.
_NAMES: Final = ("card series", "device name", "card model")

_CARD = re.compile(r'^\W*"?(?:card(\d{1,3})|system)"?\s*:\s*\{')
_KEY = re.compile(r'"([A-Za-z][\w /]{1,40})"\s*:\s*"([^"]*)"')
_DRIVER_NAME = re.compile(r"^\s*NAME:\s*amdgpu\s*$")
_DRIVER_VERSION = re.compile(r"^\s*VERSION:\s*(\d+(?:\.\d+)+)\s*$")
_KERNEL = re.compile(r"^\s*OS_KERNEL_VERSION:\s*(\d+\.\d+\.\d+\S*)")
_NUMBER = re.compile(r"(?:0x)?[0-9a-fA-F]+|N/A|")


def _heads(page: Page, _found: Mapping[str, list[Pair]]) -> Iterator[int]:
    """The head of the CSV, the card's opening brace."""
    yield from (at for at in page.find("device,") if page.lines[at].text.lstrip().startswith("device,"))
    yield from (at for at in page.find(": {") if _CARD.match(page.lines[at].text))


def _tables(view: View) -> Iterator[Claim]:
    """Rows of the CSV, members of the JSON, the driver block."""
    for mark in view.own:
        text = view.page.lines[mark].text
        if text.lstrip().startswith("device,"):
            yield from _rows(view, mark, text)
        elif found := _CARD.match(text):
            yield from _members(view, mark, found.group(1) or "")
    yield from _driver(view)


def _rows(view: View, head: int, names: str) -> Iterator[Claim]:
    """Rows below the CSV's head, one per card; ``cardsystem`` has what concerns all of them."""
    columns = [name.strip().lower() for name in names.split(",")]
    for index, line in view.span(head + 1, head + 1 + devices.MOST):
        cells = [cell.strip() for cell in line.split(",")]
        if not cells[0].startswith("card") or len(cells) < len(columns):
            break
        row = dict(zip(columns, cells, strict=False))
        yield from view.stamp(index, _card(row, cells[0].removeprefix("card")))


def _members(view: View, start: int, number: str) -> Iterator[Claim]:
    """The members of one card's object, up to its closing brace."""
    row: dict[str, str] = {}
    for _, line in view.span(start, start + 80):
        row.update((name.lower(), value) for name, value in _KEY.findall(line))
        if "}" in line:
            break
    yield from view.stamp(start, _card(row, number))


def _card(row: Mapping[str, str], number: str) -> Iterator[Claim]:
    """The device and the driver that one row states."""
    if (driver := row.get("driver version", "")) and driver[:1].isdigit():
        yield Claim("amdgpu", driver)
    name = next((row[key] for key in _NAMES if key in row and not _NUMBER.fullmatch(row[key])), "")
    target = devices.gfx(row.get("gfx version", ""))
    if gpu := devices.device(name, vendor="amd", target=target):
        yield Claim("gpus", gpu, key=number)
    elif target:
        yield Claim("gpus", Gpu(target=target, vendor="amd"), key=number)


def _driver(view: View) -> Iterator[Claim]:
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
    name="rocm tables",
    phrases=("OS_KERNEL_VERSION:",),
    marked=_heads,
    lines={"OS_KERNEL_VERSION:": _kernel},
    beyond=_tables,
    alone=True,
)
