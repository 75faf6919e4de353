"""Every fix for the recorded machines is tried again by hand; reports that state no fault get none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from compat.app.doctor import Question, examine, judged
from compat.errors import InputError
from compat.fixes import replayed
from compat.matrix import matrix
from compat.rules import judge

ROOT = Path(__file__).parents[2]
MACHINES = ROOT / "tests" / "machines"
sys.path[:0] = [str(MACHINES), str(ROOT / "scripts")]
import replay  # noqa: E402 - the recordings' own loader
import score_cases as scoring  # noqa: E402 - builds the facts of a reported case

MATRIX = matrix()
LONGEST = 206  # characters of a fix
CASES = scoring.tomllib.loads((ROOT / "tests" / "cases" / "reported.toml").read_text("utf-8"))["case"]
STATED = [case for case in CASES if case.get("packages") and case["code"] != "none"]


@pytest.mark.parametrize("path", sorted(MACHINES.glob("*.toml")), ids=lambda path: path.stem)
def test_each_fix_of_a_recorded_machine_mends_or_says_that_it_was_not_tried(path):
    machine = replay.load(path)
    known = replay.asked(machine, MATRIX)
    report, at_first = judged(known, MATRIX), codes(judge(known, MATRIX))
    for found in report.findings:
        assert len("\n".join([found.fix.text, *found.fix.commands])) <= LONGEST
        if found.fix.checked and found.fix.changes:
            known = replayed(known, found.fix.changes, MATRIX)
            assert found.code not in codes(judge(known, MATRIX))
        elif found.fix.changes:
            assert found.fix.unchecked
    assert codes(judge(known, MATRIX), "error") <= at_first


@pytest.mark.parametrize("case", STATED, ids=[case["source"].rpartition("github.com/")[2] for case in STATED])
def test_each_checked_fix_of_a_reported_case_mends_it_and_harms_nothing(case):
    known = scoring.host_of(case)
    said = tuple(case.get("commands", {}).values())
    for found in judged(known, MATRIX, error=case.get("error", ""), commands=said).findings:
        after = replayed(known, found.fix.changes, MATRIX) if found.fix.checked else None
        if after is not None:
            before = codes(judge(known, MATRIX), "error")
            known = after
            assert codes(judge(known, MATRIX), "error") <= before


def codes(report, least=""):
    return {one.code for one in report.findings if one.severity != "info" and least in {"", one.severity}}


def found_in(tmp_path, text):
    path = tmp_path / "report.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return examine(Question(report=str(path)), MATRIX)


def test_a_scrape_of_a_healthy_node_is_no_fault(tmp_path):
    card = 'gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",DCGM_FI_DRIVER_VERSION="550.54.15"'
    figures = {"GPU_TEMP": 41, "XID_ERRORS": 0, "ECC_DBE_VOL_TOTAL": 0, "UNCORRECTABLE_REMAPPED_ROWS": 0}
    report, _ = found_in(tmp_path, "".join(f"DCGM_FI_DEV_{name}{{{card}}} {n}\n" for name, n in figures.items()))
    assert not codes(report)


def test_two_nodes_that_disagree_state_neither_value(tmp_path):
    nodes = [
        {
            "kind": "Node",
            "metadata": {"name": image, "labels": {"nvidia.com/gpu.product": card}},
            "status": {"nodeInfo": {"osImage": image, "kernelVersion": "5.15.0", "architecture": "amd64"}},
        }
        for image, card in (("Ubuntu 22.04.3 LTS", "NVIDIA-A100-SXM4-80GB"), ("Ubuntu 20.04.6 LTS", "Tesla-T4"))
    ]
    report, host = found_in(tmp_path, json.dumps({"kind": "List", "items": nodes}, indent=4))
    assert not codes(report)
    assert not host.os
    assert "22.04" in host.reading("os").why
    assert "20.04" in host.reading("os").why
    assert host.gpus is None


def test_a_binary_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="binary"):
        found_in(tmp_path, Path(sys.executable).resolve().read_bytes()[:50_000])
