"""Every message has an example as its program prints it: its own row matches it, and no sharper one does."""

from __future__ import annotations

import re

import pytest

from compat.matrix import matrix
from compat.reading.literals import literals
from compat.rules.deeds import filled
from compat.versions import requirement

MATRIX = matrix()
ROWS = MATRIX.table("signals")
PATTERNS = {row.signal: re.compile(row.pattern, re.IGNORECASE | re.MULTILINE) for row in ROWS}
LITERALS = {row.signal: literals(row.pattern) for row in ROWS}
TOGETHER = {"ptx-version-file": {"ptx-version"}}
"""Rows that match one line by design: the rule asks for both."""


def heard(text):
    lowered = text.lower()
    near = (row for row in ROWS if any(literal in lowered for literal in LITERALS[row.signal]))
    return [row for row in near if PATTERNS[row.signal].search(text)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.signal)
def test_a_row_matches_its_example_and_no_sharper_row_does(row):
    assert row.example
    found = heard(row.example)
    assert row in found
    others = [other for other in found if other.signal not in TOGETHER.get(row.signal, ())]
    sharper = [other for other in others if other.candidates and len(other.candidates) < len(row.candidates)]
    assert [other.signal for other in sharper] == []
    assert row.benign or not any(other.benign for other in found)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.signal)
def test_an_example_is_short_and_names_nobody(row):
    assert len(row.example) <= 240
    assert not re.search(r"/(?:home|Users)/(?!user/)", row.example)


@pytest.mark.parametrize("row", [row for row in ROWS if row.mends], ids=lambda row: row.signal)
def test_what_a_row_says_to_do_is_short_and_known(row):
    assert row.candidates
    assert set(re.findall(r"\{(\w+)\}", row.mends)) <= set(PATTERNS[row.signal].groupindex)
    assert len(row.mends) <= 206
    assert not row.sets or re.fullmatch(r"[A-Z][A-Z0-9_]+=\S+", row.sets)
    said = {name: value for name, value in PATTERNS[row.signal].search(row.example).groupdict().items() if value}
    assert not row.installs or requirement(filled(row.installs, said))
    assert not row.deed or any(one.deed == row.deed for one in MATRIX.table("commands"))
