"""The benchmark beside other pickers: stubs that show a machine, answers read from what programs print, grades."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compat import facts
from compat.matrix import matrix

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import bench_doctor  # noqa: E402
import bench_peers  # noqa: E402
import peers  # noqa: E402
from side_by_side import Run, interleave, quiet_environment, ratio, run_once  # noqa: E402

DATA: dict[str, Any] = tomllib.loads((ROOT / "scripts" / "bench_peers.toml").read_text("utf-8"))
REQUESTS = DATA["request"]
NAMES = [request["name"] for request in REQUESTS]
OPEN = DATA["releases"]["torch"]
PINNED = DATA["releases"]["torch==2.10.0"]

UV = "TRACE Fetching metadata for `torch` from `https://download.pytorch.org/whl/{}/torch/`\n"


def cards_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [DATA["cards"][name] for name in request["cards"]]


@pytest.mark.parametrize(
    ("tool", "text", "release", "answer"),
    [
        ("uv", UV.format("cu132") + UV.format("cu130") + UV.format("cpu"), OPEN, "cu132"),
        ("uv", UV.format("cu118") + UV.format("cu117") + UV.format("cpu"), PINNED, "cpu"),
        ("uv", UV.format("rocm7.2") + UV.format("cpu"), OPEN, "rocm7.2"),
        ("uv", "error: no interpreter found", OPEN, "no answer"),
        ("light-the-torch", "order cu131 cu130 cu128 cpu\n", OPEN, "cu130"),
        ("light-the-torch", "Traceback (most recent call last):\n", OPEN, "no answer"),
        ("torchruntime", "[WARNING] unknown card\nplatform rocm6.4\n", OPEN, "rocm6.4"),
        ("torchruntime", "platform cu124\n", PINNED, "refuses"),
        ("env-doctor", "pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/cu130\n", OPEN, "cu130"),
        ("env-doctor", "pip install torch==1.7.1+cu110 -f https://example.org/torch.html\n", OPEN, "cu110"),
        ("env-doctor", "Falling back to: pip install torch==2.10.0\npip install torch==2.10.0\n", PINNED, "cu128"),
        ("env-doctor", "No NVIDIA Driver found. Assuming CPU-only.\n   pip install torch\n", OPEN, "cpu"),
        ("env-doctor", "Manual verification needed\n", OPEN, "no answer"),
        ("envcheck", '{"status": "plan", "plan": {"runtime": "cuda12.6"}}', OPEN, "cu126"),
        ("envcheck", '{"status": "plan", "plan": {"runtime": "rocm7.2"}}warning: old', OPEN, "rocm7.2"),
        ("envcheck", '{"status": "conflict", "plan": null}', OPEN, "refuses"),
        ("envcheck", '{"status": "unknown", "plan": {"runtime": "cuda12.9"}}', OPEN, "unknown"),
        ("envcheck", "Traceback (most recent call last):", OPEN, "no answer"),
    ],
)
def test_answers_are_read_from_what_a_tool_prints(tool: str, text: str, release: dict[str, Any], answer: str) -> None:
    assert peers.read(tool, text, release) == answer


@pytest.mark.parametrize(
    ("answer", "text", "grade"),
    [
        ("cu126", "by minor-version compatibility", "right"),
        ("cu126", "", "poor"),
        ("cu118", "", "poor"),
        ("cu1260", "minor-version", "wrong"),
        ("cpu", "minor-version", "wrong"),
        ("no answer", "", "wrong"),
    ],
)
def test_a_right_answer_must_also_say_what_matters(answer: str, text: str, grade: str) -> None:
    request = {"right": "cu12[68]", "poor": "cu11\\d", "says": "minor-version"}
    assert peers.judge(answer, text, request) == grade


def test_without_a_poor_answer_all_else_is_wrong() -> None:
    assert peers.judge("", "", {"right": "cu126"}) == "wrong"


@pytest.mark.parametrize("request_", REQUESTS, ids=NAMES)
def test_the_table_is_sound(request_: dict[str, Any]) -> None:
    assert request_["why"]
    assert request_.get("ask", ["torch"])[0] in DATA["releases"]
    for pattern in ("right", "poor", "says"):
        re.compile(request_.get(pattern, ""))
    assert set(request_.get("peers", ())) <= set(peers.TOOLS)
    known = facts.load(peers.describe(request_, cards_of(request_)), "table")
    assert len(known.gpus or ()) == (0 if "broken" in request_ else len(request_["cards"]))


def test_names_are_told_once() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", [name for name in DATA["cards"] if "pci" in DATA["cards"][name]])
def test_cards_are_those_of_the_matrix(name: str) -> None:
    card = DATA["cards"][name]
    rows = [row for row in matrix().table("gpus") if card["pci"] in row.pci]
    if card["vendor"] != "intel":
        assert any(card.get("target", row.target) == row.target for row in rows)


@pytest.mark.parametrize("asked", [name for name in DATA["releases"] if name.startswith("torch==")])
def test_releases_are_those_of_the_matrix(asked: str) -> None:
    version = asked.partition("==")[2]
    rows = [build for build in matrix().builds("torch") if build.version.partition("+")[0] == version]
    here = [build for build in rows if "linux_x86_64" in build.platforms]
    variants = {
        build.runtime.replace("cuda", "cu").replace(".", "", 1 if "cuda" in build.runtime else 0) for build in here
    }
    assert set(DATA["releases"][asked]["variants"]) <= variants
    assert DATA["releases"][asked]["default"] in variants


def stub(folder: Path, *argv: str) -> Run:
    return run_once([str(folder / argv[0]), *argv[1:]], {"PATH": "/usr/bin:/bin"})


def test_stubs_speak_like_the_programs(tmp_path: Path) -> None:
    request = next(one for one in REQUESTS if one["name"].startswith("1080 Ti and 5090"))
    peers.write_stubs(tmp_path, request, cards_of(request))
    assert stub(tmp_path, "nvidia-smi", "--query-gpu=driver_version", "--format=csv").text.splitlines() == [
        "driver_version",
        *["580.65.06"] * 2,
    ]
    assert (
        "driver_version" not in stub(tmp_path, "nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").text
    )
    rows = stub(tmp_path, "nvidia-smi", "--query-gpu=index,name,memory.total,compute_cap", "--format=csv,noheader").text
    assert [row.rpartition(", ")[2] for row in rows.splitlines()] == ["6.1", "12.0"]
    assert "Driver Version: 580.65.06" in stub(tmp_path, "nvidia-smi").text
    assert re.findall(r"\[(10de:\w+)\]", stub(tmp_path, "lspci", "-nn").text) == ["10de:1b06", "10de:2b85"]
    assert not (tmp_path / "rocm_agent_enumerator").exists()


def test_a_broken_driver_fails_as_nvidia_smi_does(tmp_path: Path) -> None:
    request = next(one for one in REQUESTS if "broken" in one)
    peers.write_stubs(tmp_path, request, cards_of(request))
    run = stub(tmp_path, "nvidia-smi")
    assert (run.code, "mismatch" in run.text) == (18, True)


def test_cards_without_rocm_are_only_on_the_bus(tmp_path: Path) -> None:
    request = next(one for one in REQUESTS if one["name"].startswith("MI300X"))
    peers.write_stubs(tmp_path, request, cards_of(request))
    assert [path.name for path in tmp_path.iterdir()] == ["lspci"]
    assert "1002:74a1" in stub(tmp_path, "lspci").text


def test_amd_targets_come_after_the_processor(tmp_path: Path) -> None:
    request = next(one for one in REQUESTS if one["name"].startswith("gfx1036"))
    peers.write_stubs(tmp_path, request, cards_of(request))
    assert stub(tmp_path, "rocm_agent_enumerator").text.split() == ["gfx000", "gfx1036", "gfx1100"]


def test_ratios_are_taken_within_a_round() -> None:
    ours, theirs = [Run(1.0, 0, ""), Run(10.0, 0, "")], [Run(2.0, 0, ""), Run(20.0, 0, "")]
    assert ratio(ours, theirs) == 2.0


def test_commands_take_turns_and_the_first_round_is_dropped(tmp_path: Path) -> None:
    log = tmp_path / "log"
    commands = {name: [sys.executable, "-c", f"open({str(log)!r}, 'a').write({name!r})"] for name in "ab"}
    runs = interleave(commands, quiet_environment(str(tmp_path), "/usr/bin:/bin"), 2)
    assert log.read_text() == "ababab"
    assert {name: len(seen) for name, seen in runs.items()} == {"a": 2, "b": 2}


def test_a_program_that_is_not_there_is_no_crash() -> None:
    assert run_once(["/nonexistent/program"], {}).code == -1


def test_totals_count_grades_per_tool() -> None:
    marks = {"envcheck": ["right", "right", "poor"], "uv": ["wrong"], "torchruntime": []}
    times = {"envcheck": [(1.0, 0.2)] * 3, "uv": [(0.5, 0.1)], "torchruntime": []}
    lines = bench_peers.summary(marks, times)
    assert lines[2].split() == ["envcheck", "2", "1", "0", "3", "200", "ms", "1.00"]
    assert lines[3].split() == ["uv", "0", "0", "1", "1", "100", "ms", "0.50"]
    assert len(lines) == 4


def test_missing_peers_are_said_and_skipped(tmp_path: Path) -> None:
    ours = tmp_path / "envcheck"
    answer = json.dumps({"status": "plan", "plan": {"runtime": "cuda12.6"}})
    ours.write_text(f"#!/bin/sh\ncase $1 in --version) echo envcheck 9.9;; *) echo '{answer}';; esac\n")
    ours.chmod(0o755)
    argv = [sys.executable, str(ROOT / "scripts" / "bench_peers.py"), "--envcheck", str(ours), "--rounds", "1"]
    done = subprocess.run([*argv, "--peers", str(tmp_path)], capture_output=True, text=True, check=True)
    assert "envcheck: 9.9" in done.stdout
    assert all(f"{tool}: not there, left out" in done.stdout for tool in peers.TOOLS[1:])
    assert f"{len(REQUESTS)}" in done.stdout.splitlines()[-1].split()


def test_doctor_names_what_its_environment_lacks(tmp_path: Path) -> None:
    env = quiet_environment(str(tmp_path), "/usr/bin:/bin")
    found = bench_doctor.commands(str(tmp_path / "envcheck"), str(tmp_path / "python"))
    assert bench_doctor.missing(found["env-doctor check --json"], env) == "no env-doctor in that environment"
    assert bench_doctor.missing([sys.executable, "-c", "import torch_that_is_not_there"], env).startswith(
        "no torch"
    ) is (run_once([sys.executable, "-c", "import torch"], env).code != 0)


def test_doctor_prints_multiples_of_ours() -> None:
    runs = {bench_doctor.OURS: [Run(0.2, 0, "")] * 3, "other": [Run(1.0, 1, "")] * 3}
    lines = bench_doctor.table(runs)
    assert lines[1].split()[-2:] == ["1.00", "0"]
    assert lines[2].split()[-2:] == ["5.00", "1"]
