"""Tables on a terminal: whole lines where nobody reads along, folded where the paper is narrow, blocks where it must be."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.render.ink import Ink, printable, table

HEAD = ("name", "kernels", "how")
ROWS = [
    ("cuda12.8", "sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120", "measured"),
    ("cpu", "", "documented"),
]
WORD = st.text("abcdefgh_019", min_size=1, max_size=9)
CELL = st.lists(WORD, max_size=6).map(" ".join)
TABLES = st.integers(1, 5).flatmap(lambda n: st.lists(st.tuples(*[CELL] * n), min_size=1, max_size=6))


def test_where_no_terminal_reads_a_row_is_one_line():
    lines = table(ROWS, Ink(width=60), head=HEAD)
    assert lines == [
        "name      kernels                                      how",
        "cuda12.8  sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120  measured",
        "cpu                                                    documented",
    ]


def test_a_wide_cell_is_folded_within_its_column():
    assert table(ROWS, Ink(columns=50), head=HEAD, indent="  ") == [
        "  name      kernels                     how",
        "  cuda12.8  sm_70 sm_75 sm_80 sm_86     measured",
        "            sm_90 sm_100 sm_120",
        "  cpu                                   documented",
    ]


def test_where_it_just_does_not_fit_columns_move_together():
    assert table([("aaaa", "bbbb", "cccc")], Ink(columns=14), head=("x", "y", "z"))[1] == "aaaa bbbb cccc"


def test_where_words_do_not_fit_side_by_side_each_row_is_a_block():
    rows = [("linux_x86_64", "documented"), ("win_amd64", "")]
    assert table(rows, Ink(columns=20), head=("platform", "how"), indent="  ") == [
        "  platform  linux_x86_64",
        "  how       documented",
        "",
        "  platform  win_amd64",
    ]


def test_without_a_head_a_row_that_is_too_wide_is_stacked():
    assert table([("linux_x86_64", "documented")], Ink(columns=10)) == ["linux_x86_64", "    documented"]


@pytest.mark.parametrize("head", [(), HEAD])
def test_nothing_is_no_line_or_the_head_alone(head):
    assert len(table([], Ink(columns=80), head=head)) == bool(head)


def test_only_the_head_is_bold():
    lines = table(ROWS, Ink(colored=True), head=HEAD)
    assert [line.startswith("\x1b[1m") for line in lines] == [True, False, False]


@given(TABLES, st.integers(0, 120), st.booleans())
def test_no_word_is_lost_or_cut_at_any_width(rows, columns, headed):
    head = tuple(f"h{number}" for number in range(len(rows[0]))) if headed else ()
    said = table(rows, Ink(columns=columns), head=head)
    words = sorted(word for row in rows for cell in row for word in cell.split())
    told = sorted(word for line in said for word in line.split())
    # a head is told once, or, in blocks, beside each cell that says something
    heads = re.compile(r"h[0-9]")
    assert sorted(word for word in told if not heads.fullmatch(word)) == [w for w in words if not heads.fullmatch(w)]


@given(TABLES, st.integers(1, 120))
def test_folded_lines_keep_to_the_terminal(rows, columns):
    """Wherever the longest words of the columns fit beside each other; the oracle counts them by itself."""
    least = sum(max(len(word) for row in rows for word in (row[at].split() or [""])) for at in range(len(rows[0])))
    if least + len(rows[0]) - 1 <= columns:
        assert max(len(line) for line in table(rows, Ink(columns=columns))) <= columns


@given(st.text(max_size=40), st.integers(20, 110))
def test_running_text_keeps_to_the_paper_but_for_words_that_are_longer(text, width):
    longest = max([len(word) for word in printable(text).split()] or [0])
    assert all(len(line) <= max(width, longest + 2) for line in Ink(width=width).wrap(text, "  "))
