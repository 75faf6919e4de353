"""Doctor, lint and resolve give one verdict on the same pins and the same machine; what still differs is counted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import agreement

from compat import rules
from compat.findings import Finding, Report, Unchecked
from compat.lint import RULES as LINT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KNOWN = tomllib.loads((Path(__file__).parent / "known.toml").read_text("utf-8"))["differences"]


@pytest.fixture(scope="module")
def tally():
    return agreement.run(0, 180, tuple(agreement.JOINTS))


@pytest.mark.parametrize("joint", agreement.JOINTS)
def test_no_more_differences_than_are_known(joint, tally):
    assert tally.asked[joint] >= 10
    assert tally.differing[joint] <= KNOWN[joint], agreement.told(tally)


def test_every_code_of_a_joint_is_one():
    named = {code for joint in agreement.JOINTS.values() for code in joint.codes}
    assert named <= {*rules.RULES, *LINT}


def finding(code, severity="error", confidence="certain"):
    return Finding(code=code, severity=severity, confidence=confidence, title="", detail="")


@pytest.mark.parametrize(
    ("report", "word"),
    [
        (Report((finding("driver-too-old-for-runtime"),)), "clashes"),
        (Report((finding("driver-too-old-for-runtime", confidence="possible"),)), "unknown"),
        (Report((finding("driver-too-old-for-runtime", severity="info"),)), "fits"),
        (Report((finding("glibc-too-old"),)), "fits"),  # a fault of another joint is no verdict about this one
        (Report((), (), (Unchecked.wanting("driver", ["driver-too-old-for-runtime"]),)), "unknown"),
        (Report((), (), (Unchecked.wanting("env", ["devices-hidden"]),)), "fits"),
    ],
)
def test_findings_of_the_joint_alone_decide(report, word):
    asked = agreement.Question("driver", (), ())
    assert agreement._by_findings(asked, report).word == word


def test_differing_words_and_rows_are_told_apart():
    fits, clashes = agreement.Verdict("fits"), agreement.Verdict("clashes", frozenset({"a"}))
    assert agreement._cited_apart({"doctor": clashes, "lint": clashes}) == ""
    assert "by other rows" in agreement._cited_apart(
        {"d": clashes, "l": agreement.Verdict("clashes", frozenset({"b"}))}
    )
    assert "no row cited by l" in agreement._cited_apart({"d": clashes, "l": agreement.Verdict("clashes")})
    tally = agreement.Tally()
    tally.add("driver", "", "same")
    tally.add("driver", "doctor fits lint clashes", "other")
    assert tally.differing == {"driver": 1}
    assert "1 differ of 2" in agreement.told(tally)
    assert fits.rows == frozenset()
