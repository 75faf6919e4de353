"""What stands along all lines of a paste is not the report's: bullets, line numbers, boxes, signs that nobody sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import facts, reading
from compat.reading.frames import RUN, unframe
from compat.reading.wraps import Line

HERE = Path(__file__).parent
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*/*.txt"))}
TABLES = ("nvidia_smi", "rocm_smi", "lspci", "pip_", "uv_pip", "sdnext", "mmdeploy", "comfyui_levels", "jax_devices",
          "hand_table")  # fmt: skip
"""Reports that draw frames of their own, or are lists whose rows have nothing before them."""

LONG = [name for name, text in TEXTS.items() if text.count("\n") > 15 and not name.startswith(TABLES)]


def numbered(form):
    return lambda text: "\n".join(form.format(n=n) + line for n, line in enumerate(text.splitlines(), 1))


def boxed(text):
    wide = max(map(len, text.splitlines()))
    rows = "\n".join(f"│ {line.ljust(wide)} │" for line in text.splitlines())
    return f"╭{'─' * wide}╮\n{rows}\n╰{'─' * wide}╯"


def unseen(text):
    """Direction marks, typographic quotes, and colours whose escape character a form dropped."""
    lines = text.replace('"', "”").replace("'", "’").splitlines()
    return "\n".join(f"[1;92m\u2066{line}\u2069[0m" for line in lines)


FRAMES = {
    "bullets": lambda text: "\n".join(f"* {line}" for line in text.splitlines()),
    "a diff": lambda text: "\n".join(f"+ {line}" for line in text.splitlines()),
    "an editor's numbers": numbered("{n:4d}  "),
    "numbers with a dot": numbered("{n}. "),
    "a box": boxed,
    "signs that nobody sees": unseen,
}


def read(text):
    document = facts.dump(reading.read(text).host)
    return {key: value for key, value in document.items() if key not in {"read", "unknown"}}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", LONG)
def test_a_frame_changes_no_fact(name, frame):
    assert read(FRAMES[frame](TEXTS[name])) == read(TEXTS[name])


def unframed(*texts):
    return [line.text for line in unframe([Line(number, text) for number, text in enumerate(texts, 1)])]


WORDS = st.lists(st.from_regex(r"[A-Za-z][a-z ]{0,12}[a-z]", fullmatch=True), min_size=RUN, max_size=30)


@settings(max_examples=40)
@given(WORDS, st.sampled_from(["- ", "* ", "+ ", "•  "]))
def test_any_lines_lose_a_bullet_that_all_have(words, bullet):
    assert unframed(*(bullet + word for word in words)) == words


@settings(max_examples=40)
@given(WORDS, st.sampled_from(["{}. {}", "{}: {}", "{:>4}  {}", "{}) {}", "{}| {}"]))
def test_any_lines_lose_numbers_that_count_from_one(words, form):
    assert unframed(*(form.format(number, word) for number, word in enumerate(words, 1))) == words


@settings(max_examples=40)
@given(st.lists(st.text(alphabet="ab|-*1. ", max_size=12), max_size=20))
def test_no_line_is_lost_but_blank_ones(texts):
    lines = unframe([Line(number, text) for number, text in enumerate(texts, 1)])
    kept = {line.number for line in lines}
    assert all(number in kept for number, text in enumerate(texts, 1) if text)
    assert [line.number for line in lines] == sorted(kept)


KEPT = {
    "a short list": ["- CUDA 11.3", "- cuDNN 8.2", "- Python 3.8"],
    "devices": [f"{number}  Tesla V100  Off" for number in range(8)],
    "steps with text between": ["1. install it", "so", "2. run it", "so", "3. see"],
    "numbers that do not count": ["1. a", "1. b", "1. c", "1. d", "1. e", "1. f", "1. g"],
    "a table": [f"| {name} | 1.0 |" for name in "abcdefgh"],
    "a deeper list": [f"  - {name}" for name in "abcdefgh"],
}


@pytest.mark.parametrize("case", KEPT)
def test_what_a_report_has_of_its_own_stays(case):
    assert unframed(*KEPT[case]) == KEPT[case]


def test_blank_lines_that_a_form_put_after_every_line_are_dropped_and_numbers_kept():
    texts = [text for word in "abcdefgh" for text in (word, "")]
    lines = unframe([Line(number, text) for number, text in enumerate(texts, 1)])
    assert [line.text for line in lines] == list("abcdefgh")
    assert [line.number for line in lines] == list(range(1, 17, 2))


TWO = """Is debug build: False
Python version: 3.10.12 (main)
GPU models and configuration: GPU 0: {0}
Nvidia driver version: {1}
cuDNN version: Could not collect
"""


@pytest.mark.parametrize(
    ("second", "gpus", "driver"),
    [
        (("NVIDIA A100-SXM4-80GB", "535.54.03"), 1, "535.54.03"),  # one machine, pasted twice
        (("Tesla T4", "535.54.03"), None, "535.54.03"),
        (("Tesla T4", "550.54.14"), None, None),
    ],
)
def test_reports_of_two_machines_state_only_what_they_share(second, gpus, driver):
    page = reading.read(TWO.format("NVIDIA A100-SXM4-80GB", "535.54.03") + "\n" + TWO.format(*second))
    found = page.host.gpus
    assert (found and len(found), page.host.driver, page.host.python) == (gpus, driver, "3.10.12")
