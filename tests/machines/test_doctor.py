"""Recorded machines through detectors and rules: the broken are told what is broken, the healthy are left in peace."""

from __future__ import annotations

from pathlib import Path

import pytest
import replay

from compat import matrix, rules
from compat.app.hosts import named
from compat.detect import detect

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def known():
    return matrix.matrix()


@pytest.fixture(params=sorted(HERE.glob("*.toml")), ids=lambda path: path.stem)
def machine(request):
    return replay.load(request.param)


def test_first_finding_is_the_cause(machine, known):
    host = named(detect(root=machine, run=machine.run), known)
    findings = [each for each in rules.judge(host, known).findings if each.severity != "info"]
    want = machine.said.get("finding")
    if want is None:
        assert [each.code for each in findings] == []
    else:
        assert findings[0].code == want


def test_evidence_of_every_finding_is_a_fact_that_was_read(machine, known):
    host = named(detect(root=machine, run=machine.run), known)
    for finding in rules.judge(host, known).findings:
        for item in finding.evidence:
            assert item.source, (finding.code, item)
