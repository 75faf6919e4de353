"""Findings: which is told first, what ``--fail-on`` makes of them, and what JSON readers get."""

import json
from itertools import pairwise, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.changes import Uninstall
from compat.facts import Gpu
from compat.findings import Evidence, Finding, Fix, Place, Report, Unchecked, plain, ranked

SEVERITIES = ("error", "warning", "info")
CONFIDENCES = ("certain", "likely", "possible")


def finding(severity="error", confidence="certain", code="x", **more):
    return Finding(code=code, severity=severity, confidence=confidence, title="t", detail="d", **more)


@pytest.mark.parametrize(
    ("severity", "threshold", "reached"),
    [
        ("error", "error", True),
        ("error", "warning", True),
        ("error", "info", True),
        ("warning", "error", False),
        ("warning", "warning", True),
        ("warning", "info", True),
        ("info", "error", False),
        ("info", "warning", False),
        ("info", "info", True),
    ],
)
def test_what_reaches_a_threshold(severity, threshold, reached):
    assert finding(severity).at_least(threshold) is reached
    assert Report((finding(severity),)).fails(threshold) is reached


def test_one_finding_among_many_is_enough_to_fail():
    report = Report((finding("info"), finding("error"), finding("info")))
    assert report.fails("error")
    assert not Report((finding("info"), finding("warning"))).fails("error")


@pytest.mark.parametrize("severity", SEVERITIES)
def test_never_means_never(severity):
    assert not Report((finding(severity),)).fails("never")


@pytest.mark.parametrize("threshold", ["error", "warning", "info", "never"])
def test_a_report_without_findings_fails_nothing(threshold):
    assert not Report().fails(threshold)
    assert Report(judged=True).ok


def test_counting_leaves_consequences_out():
    report = Report((finding(consequences=(finding(), finding())), finding("warning")))
    assert [report.count(severity) for severity in SEVERITIES] == [1, 1, 0]
    assert not report.ok
    assert Report((finding("warning", consequences=(finding("error"),)),)).ok


def test_the_worst_comes_first_and_among_equals_the_surest():
    best_to_worst = [finding(severity, confidence) for severity, confidence in product(SEVERITIES, CONFIDENCES)]
    assert list(ranked(reversed(best_to_worst))) == best_to_worst


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_among_equals_the_order_of_the_rules_stays(order):
    assert [item.code for item in ranked(finding(code=code) for code in order)] == list(order)


findings = st.builds(finding, st.sampled_from(SEVERITIES), st.sampled_from(CONFIDENCES), st.sampled_from("abc"))


@given(st.lists(findings, max_size=8))
def test_ranking_loses_nothing_and_is_settled_at_once(items):
    once = ranked(items)
    assert sorted(map(repr, once)) == sorted(map(repr, items))
    assert ranked(once) == once
    for before, after in pairwise(once):
        assert SEVERITIES.index(before.severity) <= SEVERITIES.index(after.severity)


@given(st.lists(findings, max_size=6), st.sampled_from(SEVERITIES))
def test_a_laxer_threshold_fails_wherever_a_stricter_one_does(items, threshold):
    report = Report(tuple(items), judged=True)
    laxer = SEVERITIES[SEVERITIES.index(threshold) :]
    if report.fails(threshold):
        assert all(report.fails(other) for other in laxer)
    assert report.fails("error") == (not report.ok)


def test_the_document_of_a_finding_is_json_with_records_spelled_short():
    item = finding(
        evidence=(Evidence("gpus", (Gpu(name="Tesla T4", target="sm_75"),), "nvml"),),
        fix=Fix("do it", ("a", "b"), (Uninstall(("x",)),), checked=True),
        sources=("https://s",),
        consequences=(finding(code="y", evidence=(Evidence("driver", None, "nvml"),)),),
    )
    document = plain(item)
    assert json.loads(json.dumps(document)) == document
    assert document["evidence"] == [
        {"fact": "gpus", "value": [{"name": "Tesla T4", "target": "sm_75"}], "source": "nvml"}
    ]
    fix = {"text": "do it", "commands": ["a", "b"], "changes": [{"kind": "uninstall", "names": ["x"]}], "checked": True}
    assert document["fix"] == {**fix, "unchecked": ""}
    assert document["sources"] == ["https://s"]
    (consequence,) = document["consequences"]
    assert (consequence["code"], consequence["evidence"][0]["value"]) == ("y", None)
    assert "place" not in document
    assert "place" not in consequence


def test_a_finding_of_a_file_says_where():
    place = {"file": "Dockerfile", "line": 3, "end_line": 4, "column": 0, "end_column": 0}
    assert plain(finding(place=Place("Dockerfile", 3, 4)))["place"] == place
    assert plain(finding(place=Place("Dockerfile")))["place"] == place | {"line": 0, "end_line": 0}


@pytest.mark.parametrize(
    ("item", "fact", "names"),
    [
        (Unchecked.wanting("env", ["a", "b"]), "env", ("a", "b")),
        (Unchecked.wanting("gpus", ["a"]), "gpus", ("a",)),
        (Unchecked("x, y", "nobody asked"), "", ("x, y",)),
        (Unchecked("x", "whether it is unknown is not known"), "", ("x",)),
    ],
)
def test_what_was_not_checked_knows_the_fact_that_is_wanting(item, fact, names):
    assert (item.fact, item.names) == (fact, names)


@pytest.mark.parametrize(
    ("report", "checked"),
    [
        (Report(), False),
        (Report(judged=True), True),
        (Report(judged=True, unanswered=("a",)), False),
        (Report((finding("info"),), unanswered=("a",)), False),
        (Report((), ("a",)), True),
        (Report((finding(),)), True),
        (Report((), (), (Unchecked("a", "b"),)), False),
        (Report((), ("a",), (Unchecked("a", "b"),)), True),
        (Report((finding(),), (), (Unchecked("a", "b"),)), True),
    ],
)
def test_silence_is_fine_only_where_something_was_judged(report, checked):
    assert report.checked is checked
    assert report.ok is (False if report.count("error") else True if checked else None)
    assert report.exit_code("never") == (0 if checked else 3)
