"""What an image's probes printed, read by a stranger's eye: our lines count, everything else is passed over."""

import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.build import archives, outcome, peaks
from compat.findings import Finding
from compat.matrix import matrix

PASS = {"event": "probe", "name": "driver.load", "status": "pass", "figures": {"ms": 1.5}, "seconds": 2}
FAIL = {
    "event": "probe",
    "name": "torch.matmul",
    "status": "fail",
    "why": "off by 3",
    "code": "probe-kernel-wrong-result",
}
START = {"event": "start", "probe": "torch.compile"}
END = {"event": "end"}


def lines(*events):
    return [item if isinstance(item, str) else json.dumps(item) for item in events]


@pytest.mark.parametrize(
    ("events", "names", "begun"),
    [
        ((), [], ""),
        ((PASS, FAIL), ["driver.load", "torch.matmul"], ""),
        ((START,), [], "torch.compile"),
        ((START, PASS), ["driver.load"], ""),
        ((PASS, START), ["driver.load"], "torch.compile"),
        ((START, END), [], ""),
        (("Welcome to this image!", PASS, "{broken", "[1, 2]", " " + json.dumps(FAIL)), ["driver.load"], ""),
        (({**PASS, "status": "great"}, {**PASS, "event": "probes"}), [], ""),
        (({**PASS, "why": "x" * 300_000},), [], ""),  # no line of ours is so long
    ],
)
def test_our_lines_are_read_and_the_others_passed_over(events, names, begun):
    found, unfinished = outcome.read(lines(*events))
    assert [item.name for item in found] == names
    assert unfinished == begun


@pytest.mark.parametrize(
    ("events", "complete"),
    [((), False), ((PASS, START), False), ((PASS, END), True), ((END, "x"), True), (("end",), False)],
)
def test_the_scripts_say_when_they_are_through(events, complete):
    assert outcome.is_complete(lines(*events)) is complete


def test_a_result_keeps_what_it_measured():
    (found,), _ = outcome.read(lines(PASS))
    assert found == outcome.Probe("driver.load", "pass", "", {"ms": 1.5}, "", 2.0)


@pytest.mark.parametrize(("key", "longest"), [("name", 200), ("why", 2000), ("code", 80)])
def test_a_text_is_cut_to_what_a_report_can_bear(key, longest):
    (found,), _ = outcome.read(lines({**PASS, key: "x" * 5000}))
    assert getattr(found, key) == "x" * longest
    _, begun = outcome.read(lines({"event": "start", "probe": "x" * 5000}))
    assert begun == "x" * 200


@pytest.mark.parametrize("odd", [None, [], "text", {"a": 1}, 3])
def test_a_field_of_another_kind_is_left_out(odd):
    (found,), _ = outcome.read(lines({**PASS, "figures": odd, "seconds": odd}))
    assert found.figures == (odd if isinstance(odd, dict) else {})
    assert found.seconds == (3.0 if odd == 3 else 0.0)


def probe(name="p", status="fail", why="", code="", **figures):
    return outcome.Probe(name, status, why, figures, code)


@pytest.mark.parametrize(
    ("probes", "expected"),
    [
        ([], []),
        ([probe(status="pass"), probe(status="skip")], []),
        ([probe()], [("probe-failed", "error", "p", 1)]),
        ([probe(why="w")], [("probe-failed", "error", "p: w", 1)]),
        # a second failure of a kind is evidence, another kind is another finding; slow is not failed
        (
            [
                probe("a", code="probe-timeout"),
                probe("b", code="probe-timeout"),
                probe("c", code="probe-bandwidth-low"),
            ],
            [("probe-timeout", "error", "a", 2), ("probe-bandwidth-low", "warning", "c", 1)],
        ),
        ([probe(code="gpu-thermal-throttle", why="hot")], [("gpu-thermal-throttle", "warning", "p: hot", 1)]),
        # a rule may call it a warning; a probe that failed with it is an error
        ([probe(code="gpu-persistence-off")], [("gpu-persistence-off", "error", "p", 1)]),
        # what an image made up
        ([probe(code="made-up")], [("probe-failed", "error", "p", 1)]),
    ],
)
def test_failures_become_findings(probes, expected):
    found = outcome.findings(probes, "image x")
    assert [(item.code, item.severity, item.detail, len(item.evidence)) for item in found] == expected
    assert all(entry.source == "image x" for item in found for entry in item.evidence)
    assert all(item.fix.text for item in found)


@pytest.mark.parametrize(("severities", "ok"), [((), True), (("warning", "info"), True), (("warning", "error"), False)])
def test_a_run_is_fine_unless_something_is_in_error(severities, ok):
    found = tuple(Finding(code=item, severity=item, title="", detail="") for item in severities)
    assert outcome.Verification(image="", level="driver", findings=found).ok is ok


A100 = next(row for row in matrix().table("gpus") if row.name == "NVIDIA A100-SXM4-40GB")


@pytest.mark.parametrize(
    ("name", "key", "peak", "low"),
    [
        ("bench-driver.device_copy", "gb_per_s", A100.bandwidth_gbs, 0.5),
        ("bench-torch.matmul_float32", "tflops", A100.fp32_tflops, 0.3),
        ("bench-torch.matmul_bfloat16", "tflops", A100.bf16_tflops, 0.3),
    ],
)
@pytest.mark.parametrize("over", [0.02, -0.02])
def test_a_figure_is_low_below_its_share_of_the_peak(name, key, peak, low, over):
    have = peak * (low + over)
    (found,) = peaks.weighed([probe(name, "pass", device=A100.name, **{key: have})])
    assert found.status == ("pass" if over > 0 else "fail")
    assert found.code == ("" if over > 0 else "probe-bandwidth-low")
    assert found.figures["peak"] == peak
    assert math.isclose(found.figures["share"], low + over, abs_tol=0.001)


@pytest.mark.parametrize(
    "item",
    [
        probe("bench-driver.device_copy", "pass", device="Unknown GPU", gb_per_s=1.0),
        probe("bench-driver.device_copy", "pass", device=A100.name),
        probe("bench-driver.device_copy", "pass", device=A100.name, gb_per_s=float("nan")),
        probe("bench-driver.device_copy", "pass", device=A100.name, gb_per_s="fast"),
        probe("bench-driver.device_copy", "skip", device=A100.name, gb_per_s=1.0),
        probe("bench-torch.matmul_int4", "pass", device=A100.name, tflops=0.1),
        probe("driver.device_copy", "pass", device=A100.name, gb_per_s=1.0),
    ],
)
def test_where_there_is_nothing_to_compare_a_result_stays_as_it_is(item):
    assert peaks.weighed([item]) == (item,)


def test_a_device_that_the_matrix_does_not_know_is_weighed_by_what_it_says_itself():
    (found,) = peaks.weighed([probe("bench-driver.device_copy", "pass", gb_per_s=40.0, peak_gb_per_s=100.0)])
    assert (found.status, found.figures["share"], found.why) == (
        "fail",
        0.4,
        "40 of 100 that the device can do at most",
    )


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=8), st.integers(1, 60))
def test_chunks_read_as_one_stream(chunks, size):
    stream, found = io.BufferedReader(archives._Joined(chunks), 8), b""
    while part := stream.read(size):
        assert len(part) <= size
        found += part
    assert found == b"".join(chunks)
