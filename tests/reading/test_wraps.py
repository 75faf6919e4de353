"""Lines that a terminal or a mail program broke are mended, and nothing else is joined."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.reading.wraps import Line, unwrap


def numbered(*texts):
    return [Line(number, text) for number, text in enumerate(texts, 1)]


def mended(*texts):
    return [line.text for line in unwrap(numbered(*texts))]


def terminal(text, width):
    """What a terminal of ``width`` columns leaves of a line when its screen is copied."""
    return [text[start : start + width] for start in range(0, len(text), width)] or [""]


FLAGS = "Flags: " + " ".join(f"feature{number}_with_long_name" for number in range(12))
MODEL = "Versions_of_relevant_libraries=" + "".join(f"lib{number}x" for number in range(40))


@pytest.mark.parametrize("width", [72, 80, 100])
def test_a_terminals_breaks_are_undone_at_the_column(width):
    wrapped = [*terminal(FLAGS, width), "", *terminal(MODEL, width), "", "end: 1"]
    assert mended(*wrapped) == [FLAGS, "", MODEL, "", "end: 1"]


def test_a_mended_line_keeps_the_number_of_its_first_part():
    parts = terminal(MODEL, 72)
    found = unwrap(numbered("head: 1", *parts, "tail: 2"))
    assert found[1] == Line(2, MODEL)
    assert found[-1] == Line(2 + len(parts), "tail: 2")


def test_one_full_line_alone_proves_no_terminal():
    text = "x" * 80
    assert mended(text, "and then prose") == [text, "and then prose"]


def test_short_lines_of_one_length_prove_none_either():
    texts = ["a" * 40, "bbb", "c" * 40, "ddd", "e" * 40, "fff"]
    assert mended(*texts) == texts


def test_rows_of_a_frame_stay_rows():
    row = "|" + " " * 77 + "|"
    table = ["+" + "-" * 77 + "+", row, row, "+" + "-" * 77 + "+", row]
    assert mended(*table) == table


def test_a_mail_programs_break_is_undone_with_a_blank():
    first = "GPU 0: NVIDIA GeForce RTX 4090 in a machine that has several more cards of"
    assert mended(first, "another kind") == [f"{first} another kind"]


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("short label: value", "another line"),  # nothing forced that break
        ("x" * 40 + " no label in a line that would be long enough for mail", "goes on"),
        ("Label: a sentence that is long enough for a break and that ends by itself.", "goes on"),
        ("Label: a line that is long enough for a break and introduces what follows:", "goes on"),
        ("Label: a line that is long enough for a break with a column | of a table x", "goes on"),
        ("Label: a line that is long enough for a break, and the next one is another", "driver: 535.1"),
        ("Label: a line that is long enough for a break, and the next one is another", "- an item"),
        ("Label: a line that is long enough for a break, and the next one is another", " indented"),
        ("Label: a line that is long enough for a break, and the next one is another", ""),
        ("Label:     a column of labels, whatever printed it does not wrap at all, so", "goes on"),
        ("Label: " + "x" * 80, "goes on"),  # longer than any mail program leaves
    ],
)
def test_what_only_looks_broken_is_left(text, following):
    assert mended(text, following) == [text, following]


@given(st.lists(st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=100), max_size=12))
def test_no_sign_is_lost_and_numbers_rise(texts):
    found = unwrap(numbered(*texts))
    assert "".join("".join(line.text for line in found).split()) == "".join("".join(texts).split())
    numbers = [line.number for line in found]
    assert numbers == sorted(set(numbers))


@given(st.lists(st.text("abc: ", max_size=50), max_size=12))
def test_lines_narrower_than_any_screen_stay_unless_they_carry_a_label(texts):
    plain = [text.replace(":", "") for text in texts]
    assert mended(*plain) == plain


def test_a_blank_line_joins_nothing_so_that_lines_keep_their_numbers():
    assert unwrap(numbered("", "driver: 535.1", "", "os: linux")) == numbered("", "driver: 535.1", "", "os: linux")
