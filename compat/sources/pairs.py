"""Pairs of a Dockerfile's ENV and ARG: ``NAME=VALUE``, and the old form with a blank.

Source: Docker documentation, "Dockerfile reference", "Environment replacement".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from compat.sources import shell

_PAIR: Final = re.compile(r"([A-Za-z_]\w*)=((?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s\\\"'])*)")


def read(text: str, values: Mapping[str, str]) -> dict[str, str]:
    """The pairs of an instruction, filled with what held before it: a variable has one value throughout it."""
    return {
        name: shell.fill(re.sub(r"\\(.)", r"\1", value).strip("\"'"), values) for name, value in _PAIR.findall(text)
    }


def lines(text: str, first: int) -> dict[str, int]:
    """The line of each pair of an instruction that goes over several lines, whose ``first`` is given."""
    found, place, line = {}, 0, first
    for pair in _PAIR.finditer(text):
        line += text.count("\n", place, pair.start())
        place = pair.start()
        found[pair[1]] = line
    return found


def old(text: str, values: Mapping[str, str]) -> dict[str, str]:
    """``ENV NAME value`` without an equals sign, the old form."""
    name, _, value = text.partition(" ")
    quoted = re.fullmatch(r"([\"'])(.*)\1", value.strip())
    value = quoted[2] if quoted and quoted[1] not in quoted[2] else value.strip()
    return {name: shell.fill(value, values)} if re.fullmatch(r"[A-Za-z_]\w*", name) else {}
