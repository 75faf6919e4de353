"""Any text is safe to read, and a cut report never states what the whole one does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import facts, reading
from compat.reading.programs import PROGRAMS

HERE = Path(__file__).parent
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*/*.txt"))}
LABELS = sorted({label for program in PROGRAMS for label in program.vocabulary})
FRAGMENTS = sorted({line for text in TEXTS.values() for line in text.splitlines() if len(line) < 200})


@given(st.text(max_size=400))
@settings(deadline=None, max_examples=200)
def test_any_text_is_safe(text):
    facts.dump(reading.read(text).host)


@given(
    st.lists(
        st.tuples(st.sampled_from(LABELS), st.sampled_from([": ", " = ", "  ", "："]), st.text(max_size=40)),
        max_size=12,
    )
)
@settings(deadline=None, max_examples=200)
def test_any_value_of_a_known_label_is_safe(rows):
    page = reading.read("\n".join(label + mark + value for label, mark, value in rows))
    assert facts.load(facts.dump(page.host), "test") is not None


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=150)
def test_shuffled_and_damaged_reports_are_safe(lines, random):
    text = "\n".join(line[random.randrange(len(line) + 1) :] if random.random() < 0.3 else line for line in lines)
    document = facts.dump(reading.read(text).host)
    assert facts.load(document, "test") is not None


NUMBERS = ("driver", "driver_cuda", "cuda_toolkit", "cudnn", "python", "glibc", "kernel", "arch", "amdgpu", "os")


@pytest.mark.parametrize("name", TEXTS)
def test_a_cut_report_states_nothing_else(name):
    """Cut anywhere: each fact is absent, whole, or (on the cut line) the beginning of what it was."""
    text = TEXTS[name][:6000]
    whole = reading.read(text).host
    for end in range(0, len(text), max(1, len(text) // 60)):
        host = reading.read(text[:end]).host
        for fact in NUMBERS:
            if host.value(fact) is not None:
                assert str(whole.value(fact)).startswith(str(host.value(fact))), (fact, text[max(0, end - 60) : end])


def test_every_sample_can_be_read_together():
    page = reading.read("\n\n".join(TEXTS.values()))
    assert set(page.programs) >= {"collect_env", "nvidia-smi", "rocm tools", "nvcc", "ds_report"}


@pytest.mark.parametrize("line", ["\n", " " * 100_000, "GPU 0: NVIDIA X\n" * 20_000, "(" * 50_000, "[pip3] a==1\n" * 20_000, "GPU[0] : Card series: x\n" * 20_000, "<" * 100_000, "&lt" * 50_000, "> " * 100_000])  # fmt: skip
def test_repetition_is_safe(line):
    host = reading.read(line).host
    assert len(host.gpus or ()) <= 256
