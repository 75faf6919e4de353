"""A GPU that only a text names: it turns a suspicion, it never proves anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.facts import host
from compat.matrix import matrix as shipped
from compat.rules import judge
from compat.rules.mentioned import NAMED, mentioned
from compat.rules.signals import recognise

TURNS = [
    ("RTX 5090 not supported: the bundled PyTorch does not support my card", "arch-too-new-for-build"),
    ("my RTX 5090 does not work with torch 2.5", "arch-too-new-for-build"),
    ("RTX5070Ti 不支持", "arch-too-new-for-build"),
    ("5090不支持", "arch-too-new-for-build"),
    ("PyTorch unterstützt die GPU nicht mehr: GTX780", "arch-too-old-for-build"),
    ("1080Ti: no kernel image is available for execution on the device", "arch-too-old-for-build"),
    ("GTX 780 is no longer supported", "arch-too-old-for-build"),
    ("Tesla K80: does it still work with the current release? It fails", "arch-too-old-for-build"),
    ("works on the RTX 3090, not supported on the RTX 5090", "arch-too-new-for-build"),
    ("After upgrading from RTX 4080 to RTX 5090 the bundled PyTorch is unsupported", "arch-too-new-for-build"),
    ("no issues with my 4090, but now with the 5090 it does not run", "arch-too-new-for-build"),
    ("Will this ever work on RTX 50 series cards? Nobody can run it", "arch-too-new-for-build"),
    ("the 50 series GPU is not supported", "arch-too-new-for-build"),
    ("my RX 580 is not supported by ROCm", "rocm-gfx-unsupported"),
]


@pytest.mark.parametrize(("text", "code"), TURNS)
def test_the_named_card_decides_what_is_suspected(doctor, text, code):
    findings = doctor(error=text).findings
    assert findings[0].code == code
    assert {item.severity for item in findings} <= {"warning", "info"}


LEFT_OPEN = [
    "neither the RTX 3090 nor the RTX 5090 is supported",  # two that fail
    "the GeForce 700 series is no longer supported",  # two generations under one number
    "30 series of experiments are not supported",
    "RTX 6000 not supported",  # the name of several generations
    "RTX 9999 not supported",  # of none
    "RTX 5090: training is slow",  # nothing is said to be missing
    "not supported at http://localhost:5090/api",  # a port
    "not supported: 5090 MB of memory, 3090 steps, 4090 images, 3070 ms, 1080p",  # quantities
    "the tesla driver fails",
]


@pytest.mark.parametrize("text", LEFT_OPEN)
def test_what_names_no_one_card_states_nothing(matrix, text):
    assert mentioned(recognise(text, matrix), host(), matrix) == {}


def test_a_known_card_stands_before_what_a_text_names(matrix):
    machine = host(gpus=[{"name": "NVIDIA GeForce RTX 3090", "vendor": "nvidia", "target": "sm_86"}])
    assert mentioned(recognise("RTX 5090 not supported", matrix), machine, matrix) == {}


def test_a_named_card_is_told_as_such(doctor):
    finding = doctor(error="my RTX 5090 is not supported").findings[0]
    assert [item.value[0].name for item in finding.evidence if item.source == NAMED] == ["NVIDIA GeForce RTX 5090"]


@pytest.mark.parametrize("build", ["2.5.1+cu124", "2.0.1+cu118", "1.13.1+cu117"])
def test_even_beside_a_build_that_lacks_its_code_words_are_no_error(doctor, build):
    """The machine of who writes of an RTX 5090 may have quite another card."""
    findings = doctor(error="RTX 5090 not supported", packages={"torch": build}).findings
    assert findings[0].code == "arch-too-new-for-build"
    assert {item.severity for item in findings} <= {"warning", "info"}


CARDS = ("RTX 5090", "GTX 780", "RX 580", "RTX 3090", "MI250", "Tesla T4", "5090", "vega 64")


@given(st.lists(st.sampled_from((*CARDS, "not", "supported", "GPU", "torch", "fails", ".", "x" * 300)), max_size=20))
def test_cards_among_words_are_a_warning_at_most_and_never_certain(words):
    findings = judge(host(), shipped(), error=" ".join(words)).findings
    assert {item.severity for item in findings} <= {"warning", "info"}
    assert {item.confidence for item in findings} <= {"possible", "likely"}
