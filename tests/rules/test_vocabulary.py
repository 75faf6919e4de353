"""The vocabulary of a long text never says no to what the text holds, and says no to most of what it does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.matrix import matrix as shipped
from compat.reading.literals import literals
from compat.reading.messages import recognise
from compat.reading.vocabulary import LONGEST, MANY, SHORT, Vocabulary
from compat.rules import judge

LITERALS = sorted({text for row in shipped().table("signals") for text in literals(row.pattern)})


@given(st.text(alphabet="abz019_ -:.é\n", max_size=200), st.data())
def test_every_piece_of_a_text_may_be_in_it(text, data):
    lowered = text.lower()
    start = data.draw(st.integers(0, len(lowered)))
    stop = data.draw(st.integers(start, len(lowered)))
    assert Vocabulary.of(lowered).may_hold(lowered[start:stop])


@given(st.sampled_from(LITERALS), st.text(max_size=30), st.text(max_size=30))
def test_a_messages_literal_may_be_in_any_text_around_it(literal, before, after):
    assert Vocabulary.of(f"{before}{literal}{after}".lower()).may_hold(literal)


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("the driver is new", "driver version is"),
        ("cuda driver", "out of memory"),
        ("", "xid"),
        ("> > >", "nvml"),
        ("libcudart", "libnvrtc"),
        ("x" * (LONGEST + 1), "xxx"),
    ],
)
def test_what_cannot_be_there_is_refused(text, literal):
    assert not Vocabulary.of(text).may_hold(literal)


def test_hashes_and_addresses_are_not_words_of_their_own():
    lines = "\n".join(f"pulling {index * 2654435761 % 2**64:016x} done" for index in range(50_000))
    assert len(Vocabulary.of(lines).words) < 100


def test_a_log_is_no_data_and_random_words_are():
    assert not Vocabulary.of("epoch loss accuracy " * 100_000).is_of_data
    made = " ".join(
        f"{chr(103 + n % 20)}{chr(103 + n // 20 % 20)}{chr(103 + n // 400 % 20)}{n:x}g" for n in range(300_000)
    )
    assert Vocabulary.of(made.translate(str.maketrans("0123456789abcdef", "ghijklmnopqrstuv"))).is_of_data
    assert MANY > 100_000


MESSAGE = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."


@pytest.mark.parametrize("where", ["first", "middle", "last"])
@pytest.mark.parametrize("filler", ["step {0} of {0}: fine\n", "\n", "layer {1} is ready\n", "> "])
def test_a_message_is_heard_wherever_it_stands_in_megabytes(matrix, where, filler):
    parts = [filler.format(n, f"{n:x}".translate(str.maketrans("0123456789", "ghijklmnop"))) for n in range(60_000)]
    parts.insert({"first": 0, "middle": 30_000, "last": 60_000}[where], f"\n{MESSAGE}\n")
    text = "".join(parts) + " " * SHORT
    heard = recognise(text, matrix)
    assert "driver-too-old" in heard
    assert heard.host.driver_cuda == "11.4"


@given(st.text(max_size=2000))
@settings(max_examples=40, deadline=None)
def test_random_text_is_never_an_error(text):
    found = judge(shipped_host(), shipped(), error=text)
    assert not [item for item in found.findings if item.severity == "error"]


@given(st.binary(max_size=2000))
@settings(max_examples=40, deadline=None)
def test_random_bytes_are_never_an_error(raw):
    found = judge(shipped_host(), shipped(), error=raw.decode("utf-8", "replace"))
    assert not [item for item in found.findings if item.severity == "error"]


def shipped_host():
    """A machine of which nothing is known, so that every finding rests on the text."""
    from compat.facts import Host

    return Host()
