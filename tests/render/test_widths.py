"""Every text fits the terminal from 60 to 200 columns, also with wide characters; commands stay whole to be copied."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import cli
from compat.render.ink import Ink, columns, table

FILES = Path(__file__).resolve().parents[2] / "docs/howto/files"
WIDTHS = (60, 80, 100, 132, 200)
ASKED = {
    "doctor": ["doctor", "--host", "workstation.toml"],
    "doctor in full": ["doctor", "--host", "../../example-host.toml", "--verbose"],
    "report": ["doctor", "--report", "issue.md"],
    "conflict": ["resolve", "torch==2.6.0", "--gpu", "RTX 5090", "--driver", "570.26", "--python", "3.12"],
    "choices": ["resolve", "torch==2.0.1", "tensorflow==2.12.0", "--gpu", "A100", "--explain"],
    "codes": ["explain"],
    "page": ["explain", "cpu-only-build"],
    "message": ["explain", "libcudnn.so.9: cannot open shared object file"],
    "tables": ["matrix", "show", "torch==2.9.1", "--sources"],
    "target": ["matrix", "show", "sm_120"],
    "subjects": ["matrix", "list"],
    "nodes": ["fleet", "nodes.json", "torch==2.9.1"],
    "cells": ["ci", "torch==2.9.1", "jax==0.6.2", "--runtime", "cpu", "--runtime", "cuda11.8"],
}


def too_wide(line, width):
    """Whether a line is wider than the terminal though it could be folded: a command, a path, a word cannot."""
    indent = len(line) - len(line.lstrip())
    whole = line.lstrip().startswith("$ ") or max(map(columns, line.split()), default=0) > width - max(indent, 20) - 2
    return columns(line) > width and not whole


@pytest.mark.parametrize("words", ASKED.values(), ids=ASKED)
def test_an_answer_fits_the_terminal(capsys, monkeypatch, words):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(FILES)
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        cli.run(words)
        told = capsys.readouterr().out.splitlines()
        assert told
        assert not [line for line in told if too_wide(line, width)], width


MARKS = {"✗", "✓", "!", "?", "i", "$", "-"}


@pytest.mark.parametrize("words", ASKED.values(), ids=ASKED)
def test_a_dumb_terminal_gets_words_for_marks_and_every_word_of_the_drawn_answer(capsys, monkeypatch, words):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(FILES)
    cli.run(words)
    drawn = capsys.readouterr().out
    monkeypatch.setenv("TERM", "dumb")
    cli.run(words)
    plain = capsys.readouterr().out
    assert not set(plain) & set("✗✓·│─═┌→\x1b\r")
    assert not [line for line in plain.splitlines() if line.split()[:1] and line.split()[0] in MARKS - {"-"}]
    said = set(plain.replace(";", " ").replace(":", " ").split())
    told = {word.rstrip(":;") for word in drawn.replace(";", " ").replace(":", " ").split() if not word.endswith("…")}
    assert told - MARKS <= said or words == ASKED["tables"]  # a column of nothing is not named


def test_a_dumb_terminal_has_the_verdict_as_the_first_word_and_a_paragraph_on_one_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.chdir(FILES)
    cli.run(ASKED["conflict"])
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("Error: These do not fit together.")
    assert [line for line in rest if len(line) > 110]
    assert [line.split()[0] for line in rest if "envcheck resolve" in line] == ["Run:"] * 3


WIDE = st.text(st.sampled_from("ab 显卡驱动，版本 太旧"), max_size=60)


@given(WIDE, st.integers(12, 40))
def test_wide_characters_are_folded_and_none_is_lost(text, width):
    lines = Ink(width=width).wrap(text, "- ", "  ")
    assert "".join("".join(line[2:] for line in lines).split()) == "".join(text.split())
    assert all(columns(line) <= width for line in lines if max(map(columns, line.split()), default=0) < width - 2)


@given(st.lists(st.tuples(WIDE, WIDE), min_size=1, max_size=5))
def test_columns_of_wide_characters_stay_aligned(rows):
    rows = [(" ".join(left.split()), "|") for left, _ in rows]
    places = {columns(line.partition("|")[0]) for line in table(rows, Ink())}
    assert len(places) == 1


@pytest.mark.parametrize(("text", "count"), [("abc", 3), ("显卡", 4), ("é✗", 2), ("", 0)])
def test_a_wide_character_takes_two_columns(text, count):
    assert columns(text) == count
