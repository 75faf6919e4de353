"""Of a long text the lines that say something new are kept, with their numbers; a short one is kept as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.excerpts import ALIKE, BELOW, LONG, LOOKED_AT, MOST, WIDEST, condensed, numbered, speaks, telling

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
    assert kept == tuple((index + 1, LOSS.format(1_000_000 + index)) for index in range(ALIKE))


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


# --- what is millions of characters long and never says the same twice: a build's output ---

LETTERS = str.maketrans("0123456789", "abcdefghij")


def build(lines: int, **said: str) -> str:
    """A compiler's commands, no two alike, with lines put in at ``at<index>``."""
    told = {int(name[2:]): line for name, line in said.items()}
    command = "g++ -O3 -I/usr/include -c /src/{0}.cpp -o /build/{0}.o -DNAME={0}"
    return "\n".join(told.get(at, command.format(str(at).translate(LETTERS))) for at in range(lines))


LINES = 80_000
FAULT = "kernels.cu(12): fatal ERROR: no kernel image is there"


@pytest.mark.parametrize("place", [0, 5, 20_000, 40_000, 60_000, LINES - 1])
def test_a_fault_is_kept_wherever_it_stands_in_megabytes_of_commands(place):
    text = build(LINES, **{f"at{place}": FAULT})
    assert len(text) > 2 * MOST
    kept = dict(telling(text))
    assert kept[place + 1] == FAULT
    below = [number for number in range(place + 1, min(place + 1 + BELOW, LINES) + 1) if number in kept]
    assert len(below) == min(BELOW, LINES - 1 - place) + 1


def test_of_commands_without_a_fault_both_ends_are_kept():
    text = build(LINES)
    kept = telling(text)
    assert kept[0][0] == 1
    assert kept[-1][0] == LINES
    assert MOST // 3 < sum(len(line) for _, line in kept) <= MOST // 2


def test_what_is_kept_of_faults_alone_is_bounded():
    faults = "\n".join(f"error: {str(at).translate(LETTERS)} " + "x" * 80 for at in range(LINES))
    kept = telling(faults)
    assert MOST // 2 < sum(len(line) for _, line in kept) <= MOST
    assert [number for number, _ in kept] == sorted({number for number, _ in kept})


def test_a_long_log_that_repeats_itself_is_searched_whole():
    text = log(400_000, at200000="RuntimeError: CUDA error", at200001="that is all")
    assert len(text) > 2 * MOST
    assert telling(text) == numbered(text)


@given(st.lists(st.sampled_from(["ok", "Error: x", "done", "cannot open", "step 1"]), max_size=40))
def test_lines_are_searched_in_their_order_and_none_twice(words):
    numbers = [number for number, _ in telling("\n".join(words))]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("RuntimeError: CUDA error", True),
        ("ImportError: Can't load it", True),
        ("Driver/library version MISMATCH", True),
        ("device not found", True),
        ("not a word of it", False),
        ("NVIDIA-SMI 535.54   CUDA Version: 12.2", False),
        ("", False),
    ],
)
def test_messages_are_told_from_statements(line, told):
    assert speaks(line) == told
