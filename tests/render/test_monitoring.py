"""What the engines of a cluster read: a short line, Prometheus' text format, labels, one object a node."""

import json
import os
import re
import subprocess
from shutil import which

import pytest
from hypothesis import given
from hypothesis import strategies as some

from compat import facts, render
from compat.app.files import write_atomically
from compat.errors import InputError
from compat.findings import Finding, Report, Stamp, Unchecked
from compat.render import monitoring

STAMP = Stamp(version="1.2", matrix="sha256:0", seconds=1_800_000_000, node="n1")
HOST = facts.host(
    "t", os="ubuntu22.04", driver="535.54.03", gpus=[{"name": 'NVIDIA "A100"', "target": "sm_80"}, "x", "x"]
)


def finding(code="driver-library-mismatch", severity="error", confidence="certain", detail="They differ."):
    return Finding(code=code, severity=severity, title="t", detail=detail, confidence=confidence)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (Report((finding(),)), "driver-library-mismatch: They differ."),
        (Report((finding(confidence="likely"),)), "driver-library-mismatch (likely): They differ."),
        (Report((finding(severity="warning"),)), "driver-library-mismatch (warning): They differ."),
        (Report((), ("a fits",)), "ok: nothing found that does not fit"),
        (Report(), "unchecked: too little is known"),
        (Report((), (), (Unchecked("a", "b is unknown"),)), "unchecked: a: b is unknown"),
        # what a gate asked for by name outweighs a warning, but no error
        (Report((finding(severity="info"),), (), (Unchecked("x", "y"),), unanswered=("x",)), "unchecked: x: y"),
        (Report((finding(),), (), (Unchecked("x", "y"),), unanswered=("x",)), "driver-library-mismatch: They differ."),
    ],
)
def test_the_line_begins_with_the_code(report, said):
    assert render.report(report, HOST, "line") == said


@given(some.text())
def test_the_line_is_one_line_of_at_most_80_characters(detail):
    said = monitoring.line(Report((finding(detail=detail),)))
    assert len(said) <= 80
    assert len(said.splitlines()) == 1


@given(some.text(min_size=1))
def test_a_label_is_one_that_kubernetes_takes(text):
    host = facts.host("t", gpus=[{"name": "a", "target": text}])
    for line in monitoring.nfd(Report((), ("a",)), host).splitlines():
        assert re.fullmatch(r"envcheck\.[a-z]+=[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", line)


def test_labels_tell_the_verdict_its_cause_and_what_a_selector_needs():
    said = monitoring.nfd(Report((finding(),)), HOST).splitlines()
    assert said == [
        "envcheck.ok=false",
        "envcheck.cause=driver-library-mismatch",
        "envcheck.driver=535.54.03",
        "envcheck.targets=sm_80",
    ]
    assert monitoring.nfd(Report(), facts.Host()) == "envcheck.ok=unknown"


def test_each_code_is_one_series_and_unknown_is_not_ok():
    report = Report((finding(), finding(severity="info"), finding("b", "warning", "likely")))
    said = monitoring.prometheus(report, HOST, STAMP).splitlines()
    assert [line for line in said if line.startswith("envcheck_finding")] == [
        'envcheck_finding{code="b",severity="warning",confidence="likely",node="n1"} 1',
        'envcheck_finding{code="driver-library-mismatch",severity="error",confidence="certain",node="n1"} 1',
    ]
    assert 'envcheck_gpus{name="NVIDIA \\"A100\\"",target="sm_80",node="n1"} 1' in said
    assert 'envcheck_gpus{name="x",target="",node="n1"} 2' in said
    assert 'envcheck_last_run_timestamp_seconds{node="n1"} 1800000000' in said
    assert "envcheck_ok 0" in monitoring.prometheus(Report(), HOST, Stamp(version="1", matrix="", seconds=0))
    assert "envcheck_ok 1" in monitoring.prometheus(Report((), ("a",)), HOST, Stamp(version="1", matrix="", seconds=0))


@pytest.mark.skipif(not which("promtool"), reason="promtool is not installed")
def test_prometheus_own_checker_takes_it():
    text = monitoring.prometheus(Report((finding(), finding("b"))), HOST, STAMP) + "\n"
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_json_line_is_the_document_with_who_says_it_and_when():
    line = render.report(Report((finding(),)), HOST, "jsonl", stamp=STAMP)
    assert len(line.splitlines()) == 1
    document = json.loads(line)
    told = {"node": "n1", "checked_at": "2027-01-15T08:00:00Z", "version": "1.2", "matrix": "sha256:0"}
    assert told.items() <= document.items()
    assert document == json.loads(render.report(Report((finding(),)), HOST, "json", stamp=STAMP))


@pytest.mark.parametrize(
    ("severity", "confidence", "code"), [("error", "certain", 1), ("error", "likely", 0), ("warning", "certain", 0)]
)
def test_a_gate_that_drains_nodes_can_ask_for_certain_errors_alone(severity, confidence, code):
    report = Report((finding(severity=severity, confidence=confidence),))
    assert report.exit_code("certain") == code


def test_a_file_that_may_be_written_but_not_replaced_is_written_in_place(tmp_path, monkeypatch):
    """A pod's termination log is a file of another file system, mounted over a name in /dev."""
    log, other = tmp_path / "termination-log", tmp_path / "other"
    log.write_text("old and longer than the new")

    def refuse(*_, **__):
        raise OSError(16, os.strerror(16))

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    write_atomically(str(log), "new\n")
    assert log.read_text() == "new\n"
    assert [path.name for path in tmp_path.iterdir()] == ["termination-log"]
    with pytest.raises(InputError, match="busy"):
        write_atomically(str(other), "new\n")
