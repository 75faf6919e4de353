"""Of a long text the lines that say something new are kept, with their numbers; a short one is kept as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.excerpts import ALIKE, LONG, LOOKED_AT, WIDEST, condensed, numbered

LOSS = "step {0}: loss 0.{0:07}"


def log(lines: int, **said: str) -> str:
    """A training log with lines put in at ``at<index>``."""
    told = {int(name[2:]): line for name, line in said.items()}
    return "\n".join(told.get(index, LOSS.format(1_000_000 + index)) for index in range(lines))


@given(st.text(max_size=300))
def test_a_short_text_is_kept_as_it_is(text):
    assert condensed(text) == text
    assert [line for _, line in numbered(text)] == text.split("\n")


@given(st.text(max_size=300))
def test_lines_are_numbered_as_an_editor_numbers_them(text):
    lines = text.split("\n")
    assert all(lines[number - 1] == line for number, line in numbered(text))


@pytest.mark.parametrize("place", [0, 1, 30_000, 59_998, 59_999])
def test_the_one_line_that_differs_is_kept_with_its_number(place):
    text = log(60_000, **{f"at{place}": "RuntimeError: CUDA error: out of memory"})
    assert len(text) > LONG
    kept = dict(numbered(text))
    assert kept[place + 1] == "RuntimeError: CUDA error: out of memory"
    assert len(kept) == ALIKE + 1


def test_lines_that_differ_in_digits_only_are_alike_and_the_first_of_them_are_kept():
    kept = numbered(log(60_000))
    assert kept == [(index + 1, LOSS.format(1_000_000 + index)) for index in range(ALIKE)]


def test_lines_that_differ_in_a_letter_are_not_alike():
    words = [f"worker {chr(97 + index % 26)}{chr(97 + index // 26 % 26)} is up" for index in range(80_000)]
    kept = {line for _, line in numbered("\n".join(words))}
    assert kept == set(words)


def test_of_millions_of_lines_those_near_either_end_are_looked_at():
    text = "first\n" + "\n" * (LOOKED_AT * 3) + "last"
    kept = numbered(text)
    assert kept[0] == (1, "first")
    assert kept[-1] == (text.count("\n") + 1, "last")
    assert len(kept) <= 2 * ALIKE + 2


def test_a_line_without_end_is_cut():
    assert [len(line) for _, line in numbered("x" * (LONG * 2))] == [WIDEST]


@pytest.mark.parametrize("line", ["é" * 30, "\ud800 lone surrogate", "\x00\x01", "日本語のログ 12"])
def test_characters_of_any_kind_keep_lines_and_numbers_together(line):
    text = log(60_000, at40000=line)
    assert dict(numbered(text))[40_001] == line
