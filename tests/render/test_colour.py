"""Colour is a coat: without its marks each answer reads as the plain one does, and each verdict has a colour of its own."""

import re

import pytest

from compat import facts, findings, plan
from compat.render import explanation, grid, inspection, verification
from compat.render import text as report_text
from compat.render.ink import Ink
from compat.render.plan import answer

MARK = re.compile(r"\x1b\[[0-9;]*m")
PENS = Ink(width=90), Ink(colored=True, width=90)
FINDINGS = tuple(
    findings.Finding(
        code=severity,
        severity=severity,
        title="t",
        detail="d",
        fix=findings.Fix("do", ("type",)),
        sources=("s",),
        evidence=(findings.Evidence("driver", "1", "nvml"),),
        consequences=(findings.Finding(code="c", severity="info", title="t", detail="d"),),
    )
    for severity in ("error", "warning", "info")
)
VERDICTS = [
    {"gpu": "A", "target": "sm_80", "kernels": kind, "why": "w"} for kind in ("native", "ptx", "none", "unknown")
]
GPUS = tuple(plan.GpuVerdict(name="A", target="sm_80", kernels=item["kernels"], why="w") for item in VERDICTS)
PLAN = plan.Plan(
    runtime="cuda12.6",
    python="3.12",
    base_image=plan.BaseImage(image="ubuntu:22.04", why="why"),
    builds=(plan.PlannedBuild(name="torch", version="2.9.1", runtime="cuda12.6"),),
    driver=plan.DriverNeed(minimum="525.60.13", note="note"),
    constraints=("numpy<2",),
    gpus=GPUS,
    choices=(plan.Choice(subject="torch", chosen="2.9.1", rejected=("2.8.0: older",), why="one; two"),),
    conditions=("assumed",),
)
CONFLICT = plan.Answer(
    status="conflict",
    conflicts=(plan.Conflict((plan.Member("wish", "torch", ""), plan.Member("matrix", "none", "a; b")), "why"),),
    fixes=(plan.Remedy(text="t", changes={}, command="envcheck resolve"),),
)
OBJECTS = {
    "objects": [
        {"path": "a", "sass": ["sm_80"], "ptx": [], "gfx": []},
        {"path": "b", "sass": [], "ptx": ["compute_90"], "gfx": []},
    ],
    "targets": {"sass": ["sm_80"], "ptx": ["compute_90"], "gfx": []},
    "unread": ["c: torn"],
}
PROBES = {
    "image": "x",
    "level": "driver",
    "probes": [
        {"name": "n", "status": status, "why": "w", "figures": {"ms": 1.23456}} for status in ("pass", "fail", "skip")
    ],
}
TOLD = explanation.Explanation(
    (explanation.Topic("c", "t", "what", "why", "fix", "error", ("s",), (explanation.Typed("Ubuntu", ("type",)),)),),
    (explanation.Message("m", "cuda", "meaning", True, ("c", "d")),),
)
LEFT = type("Left", (), {"name": "left", "why": "no build"})
CELL = type("Cell", (), {"name": "cell", "plan": PLAN})
ANSWERS = {
    "report": lambda pen: report_text.report(findings.Report(FINDINGS, ("fits",), (findings.Unchecked("a", "b"),)), facts.Host(), pen=pen),
    "clean report": lambda pen: report_text.report(findings.Report((), ("fits",)), facts.Host(), pen=pen),
    "nothing known": lambda pen: report_text.report(findings.Report((), (), (findings.Unchecked("a", "b"),)), facts.Host(), pen=pen),
    "plan": lambda pen: answer(plan.Answer(status="plan", plan=PLAN), pen=pen, explain=True),
    "nearest plan": lambda pen: answer(plan.Answer(status="unknown", plan=PLAN), pen=pen),
    "conflict": lambda pen: answer(CONFLICT, pen=pen),
    "inspection": lambda pen: inspection.text(OBJECTS, VERDICTS, pen=pen),
    "verification": lambda pen: verification.text(PROBES, FINDINGS, pen=pen),
    "explanation": lambda pen: explanation.text(TOLD, pen=pen),
    "grid": lambda pen: grid.text((CELL,), (LEFT,), pen=pen),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_without_its_marks_the_coloured_answer_is_the_plain_one(name):
    plain, coloured = (ANSWERS[name](pen) for pen in PENS)
    assert MARK.sub("", coloured) == plain
    assert "\x1b" not in plain
    assert coloured != plain


@pytest.mark.parametrize("name", ANSWERS)
def test_every_mark_is_taken_back_on_its_own_line(name):
    """A pager that shows a single line must not go on in red."""
    for line in ANSWERS[name](PENS[1]).splitlines():
        marks = MARK.findall(line)
        assert len(marks) % 2 == 0
        assert all(mark == "\x1b[0m" for mark in marks[1::2])


def coloured_lines(text):
    """Line without colour -> its first colour."""
    return {MARK.sub("", line): MARK.findall(line)[0] for line in text.splitlines() if MARK.search(line)}


def test_what_runs_is_green_and_what_does_not_is_red():
    lines = [line for line in ANSWERS["inspection"](PENS[1]).splitlines() if line.startswith("A (sm_80)")]
    assert [MARK.findall(line)[0] for line in lines] == ["\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[33m"]
    probes = [line for line in ANSWERS["verification"](PENS[1]).splitlines() if " n: w" in line]
    assert [MARK.findall(line)[0] for line in probes] == ["\x1b[32m", "\x1b[31;1m", "\x1b[33m"]
    heads = [
        MARK.findall(line)[0] for line in ANSWERS["report"](PENS[1]).splitlines() if MARK.sub("", line)[2:5] == "t  "
    ]
    assert heads == ["\x1b[31;1m", "\x1b[33;1m", "\x1b[34m"]


@pytest.mark.parametrize(
    "name", ["torch", "tensorflow", "jax", "jaxlib", "paddlepaddle", "paddlepaddle-gpu", "onnxruntime-gpu", "vllm"]
)
def test_each_framework_is_told_beside_the_interpreter(name):
    host = facts.host("t", python="3.12.1", packages={name: "1.0", "pip": "24.0"})
    text = report_text.report(findings.Report(), host)
    assert f"Python   3.12.1, {name} 1.0\n" in text
    assert "no framework" not in text
