"""Reading costs in proportion to the text's length, and less than that for long ones: counted, never timed."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import compat.reading
from compat import reading
from compat.reading.damage import LONGEST_LINE, MOST_CHARACTERS, MOST_LINES, clean
from compat.reading.page import Page

if sys.version_info >= (3, 11):
    from re import _parser as parser
else:
    import sre_parse as parser

HERE = Path(__file__).parent
CORPUS = "\n".join(path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*/*.txt"))) + "\n"

PIECES = {
    "every sample": CORPUS,
    "prose": "It fails on my machine: I have tried everything (really), see below.\n",
    "device rows": "|   0  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |\n",
    "devices": "GPU 0: NVIDIA A100-SXM4-80GB\n",
    "agents": "  Name:      gfx1030\n  Marketing Name:      AMD Radeon RX 6900 XT\n  Device Type:      GPU\n",
    "packages": "[pip3] numpy==1.26.4\ntorch==2.1.0\n[conda] mkl      2023.1.0     h213fc3f_46344\n",
    "one line": "CUDA Version: 12.2 GPU 0: NVIDIA ",
    "one token": "a",
    "empty lines": "\n",
    "carriage returns": "Python version: 3.8\r",
    "null bytes": "\x00",
    "quotes": "> ",
    "brackets": "([{<",
    "tags": "<details ",
    "entities": "&lt;&#",
    "dictionary": "('GPU 0', 'NVIDIA A100'), ",
    "questions": ">>> torch.__version__\n",
    "heads": "Package    Version\n---- ----\n",
    "marks without facts": "NVIDIA-SMI\nroot Driver Version\n\n\n",
}


def calls(text: str) -> int:
    """Calls of Python and C functions that reading ``text`` takes."""
    count = 0

    def watch(_frame, event, _what):
        nonlocal count
        count += event in {"call", "c_call"}

    reading.read("warm")
    sys.setprofile(watch)
    try:
        reading.read(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", PIECES)
def test_four_times_the_text_takes_at_most_four_times_the_calls(name):
    piece = PIECES[name]
    text = piece * max(1, 20_000 // len(piece))
    assert calls(text * 4) <= 4.5 * calls(text) + 2_000


@pytest.mark.parametrize("name", ["devices", "packages", "prose", "empty lines"])
def test_a_long_repetition_takes_a_glance_per_line_more_than_its_beginning(name):
    piece = PIECES[name]
    text = piece * (1_200_000 // len(piece) + 1)
    more = 3 * text.count("\n")
    assert calls(text * 4) <= calls(text) + 3 * more + 5_000


@pytest.mark.parametrize("piece", ["x{0}y\n", "label {0}: value {0}\n", "word{0} " * 200 + "\n"])
def test_what_is_read_is_bounded_whatever_comes(piece):
    letters = str.maketrans("0123456789", "abcdefghij")
    text = "".join(piece.format(str(number).translate(letters)) for number in range(5_000_000 // len(piece) + 1))
    lines = clean(text)
    assert len(lines) <= MOST_LINES
    assert sum(len(line.text) for line in lines) <= MOST_CHARACTERS + 2 * LONGEST_LINE
    assert lines[-1].number in {text.count("\n"), text.count("\n") + 1}


def test_a_report_in_the_middle_of_megabytes_is_read_with_its_line_numbers():
    log = "".join(f"step {number}: loss 0.{number}\n" for number in range(60_000))
    text = f"{log}Driver Version: 535.54.03  CUDA Version: 12.2 | NVIDIA-SMI\n{log}"
    host = reading.read(text).host
    assert host.driver == "535.54.03"
    assert host.source("driver").endswith("line 60001")


@pytest.mark.parametrize("hits", [1, 999, 1000, 1001, 2500])
def test_a_phrase_is_found_from_both_ends(hits):
    page = Page.of("\n".join(f"GPU[{number}] text" for number in range(hits)) + "\nend")
    found = page.find("GPU[")
    assert found == sorted(set(found))
    assert found[0] == 0
    assert found[-1] == hits - 1
    assert len(found) == min(hits, 2000)


# --- expressions ---


def patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Every compiled expression of the readers, with its module and name."""
    found = []
    for module in pkgutil.walk_packages(compat.reading.__path__, "compat.reading."):
        for name, value in vars(importlib.import_module(module.name)).items():
            items = value if isinstance(value, (list, tuple)) else (value,)
            for item in items:
                parts = item if isinstance(item, tuple) else (item,)
                found += [(f"{module.name}.{name}", part) for part in parts if isinstance(part, re.Pattern)]
    return found


def repeats(tree, *, inside: bool = False) -> bool:
    """Whether an unbounded repeat stands inside another that can take any number of turns: exponential time."""
    for code, value in tree:
        kind = str(code)
        if kind in {"MAX_REPEAT", "MIN_REPEAT"}:
            low, high, body = value
            endless = high == parser.MAXREPEAT
            if endless and inside and len(body) == 1 and low == 0:
                return True
            if repeats(body, inside=inside or (endless and not anchored(body))):
                return True
        elif kind == "SUBPATTERN":
            if repeats(value[-1], inside=inside):
                return True
        elif kind == "BRANCH" and any(repeats(branch, inside=inside) for branch in value[1]):
            return True
    return False


def anchored(body) -> bool:
    """Whether each turn of a repeat must take a character of its own, which makes the ways to part a text few."""
    return any(
        str(code) in {"LITERAL", "NOT_LITERAL"}
        or (str(code) == "BRANCH" and all(anchored(branch) for branch in value[1]))
        for code, value in flat(body)
    )


def flat(body):
    for code, value in body:
        if str(code) == "SUBPATTERN":
            yield from flat(value[-1])
        else:
            yield code, value


def test_the_checker_knows_a_bad_expression_from_a_good_one():
    assert repeats(parser.parse(r"(?:\w*)*x"))
    assert repeats(parser.parse(r"(?:a|\s*)+x"))
    assert not repeats(parser.parse(r"(?:,\w*)*x"))
    assert not repeats(parser.parse(r"\w+\s+\w+"))


@pytest.mark.parametrize(("name", "pattern"), patterns(), ids=lambda item: item if isinstance(item, str) else "")
def test_no_expression_repeats_a_repeat(name, pattern):
    assert not repeats(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE & ~re.LOCALE)), name
