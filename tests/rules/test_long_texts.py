"""Texts of megabytes and texts of nonsense: a message is heard wherever it stands, and nonsense is no error."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.facts import Host
from compat.matrix import matrix as shipped
from compat.reading.messages import recognise
from compat.rules import judge

MESSAGE = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."


@pytest.mark.parametrize("where", ["first", "middle", "last"])
@pytest.mark.parametrize("filler", ["step {0} of {0}: fine\n", "\n", "layer {1} is ready\n", "> "])
def test_a_message_is_heard_wherever_it_stands_in_megabytes(matrix, where, filler):
    parts = [filler.format(n, f"{n:x}".translate(str.maketrans("0123456789", "ghijklmnop"))) for n in range(60_000)]
    parts.insert({"first": 0, "middle": 30_000, "last": 60_000}[where], f"\n{MESSAGE}\n")
    heard = recognise("".join(parts) + " " * 200_000, matrix)
    assert "driver-too-old" in heard
    assert heard.host.driver_cuda == "11.4"


def errors_in(text):
    """Errors about a machine of which nothing is known, so that every finding rests on the text."""
    return [item for item in judge(Host(), shipped(), error=text).findings if item.severity == "error"]


@given(st.text(max_size=2000))
@settings(max_examples=40, deadline=None)
def test_random_text_is_never_an_error(text):
    assert not errors_in(text)


@given(st.binary(max_size=2000))
@settings(max_examples=40, deadline=None)
def test_random_bytes_are_never_an_error(raw):
    assert not errors_in(raw.decode("utf-8", "replace"))
