"""Each rule on facts that show its fault and on facts that do not: rows of (code, faulty facts, sound facts)."""

from __future__ import annotations

import pytest
from rule_cases import FAULTY
from rule_neighbours import SOUND

from compat.rules import RULES


def codes(report):
    return {item.code for root in report.findings for item in (root, *root.consequences)}


def ids(rows):
    return [f"{code}-{number}" for number, (code, *_) in enumerate(rows)]


@pytest.mark.parametrize(("code", "facts"), FAULTY, ids=ids(FAULTY))
def test_the_fault_is_found(doctor, code, facts):
    assert code in codes(doctor(**facts))


@pytest.mark.parametrize(("code", "facts"), SOUND, ids=ids(SOUND))
def test_sound_facts_raise_nothing(doctor, code, facts):
    assert code not in codes(doctor(**facts))


@pytest.mark.parametrize(("code", "facts"), FAULTY, ids=ids(FAULTY))
def test_a_finding_cites_its_facts_and_says_what_to_do(doctor, code, facts):
    report = doctor(**facts)
    found = next(item for root in report.findings for item in (root, *root.consequences) if item.code == code)
    assert found.evidence, "no evidence"
    assert all(item.source for item in found.evidence), found.evidence
    assert found.fix.text
    assert found.sources
    assert found.detail.endswith((".", "!", "?")), found.detail


def test_every_rule_has_a_faulty_case():
    assert RULES.keys() - {code for code, _ in FAULTY} == set()


def test_the_cases_name_rules_that_exist():
    assert {code for code, _ in (*FAULTY, *SOUND)} <= RULES.keys()
