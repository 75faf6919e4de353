"""Every code that a probe can end with has a page: the rule's, or one of ours."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from compat import probes, rules
from compat.build import codes, outcome, verification
from compat.rules.pages import page_of

CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
PROBES = sorted(Path(probes.__file__).parent.glob("*.py"))
OURS = [*PROBES, *(Path(codes.__file__).parent / f"{name}.py" for name in ("outcome", "verification", "peaks"))]


def literals(path):
    """Every string constant of a file that has the shape of a code; options and docstrings have another."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
            yield node.value


def known():
    return {*rules.RULES, *codes.CODES}


# Strings of that shape that are something else.
OTHERS = {"utf-8", "all-reduce"}


def test_whatever_a_probe_or_its_reader_calls_a_fault_is_a_code_with_a_page():
    found = {code for path in OURS for code in literals(path)} - OTHERS
    assert {"probe-timeout", "devices-hidden", "image-without-python", "probe-bandwidth-low"} <= found
    assert found - known() == set()


def test_every_page_of_ours_can_be_reached():
    assert set(codes.CODES) <= {code for path in OURS for code in literals(path)}


def test_no_code_is_told_twice():
    assert set(codes.CODES).isdisjoint(rules.RULES)


@pytest.mark.parametrize("code", sorted(codes.CODES))
def test_a_page_says_what_why_and_what_to_do(code):
    page = page_of(codes.rule_of(code))
    assert page.code == code
    parts = [page.title, page.what, page.why, page.fix]
    assert len(set(parts)) == len(parts)
    assert not page.title.endswith(".")
    assert all(part.endswith(".") and part[0].isupper() for part in parts[1:] if part[0].isalpha())
    assert all(source.startswith("https://") for source in page.sources)


def test_a_rules_code_is_told_by_the_rules_page():
    assert codes.rule_of("shm-too-small") is rules.RULES["shm-too-small"]


@pytest.mark.parametrize("code", ["", "x", "no-such-code", "probe-failed\n", "\u00e9", "a" * 80])
def test_a_code_that_an_image_made_up_is_a_probe_that_failed(code):
    line = outcome.Probe("p", "fail", "w", {}, code)
    assert [item.code for item in outcome.findings([line], "x")] == ["probe-failed"]


@pytest.mark.parametrize("status", [0, 1, 3, 124, 127, 137, 139])
def test_each_ending_of_the_container_has_its_page(status):
    (probe,) = verification._concluded([], status, 5.0)
    assert probe.code in known()
    assert probe.why
