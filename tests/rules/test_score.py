"""The script that scores the doctor: how a case becomes facts, and what its last line counts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from compat.facts import Gpu

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "score_cases.py"


@pytest.fixture(scope="module")
def score():
    spec = importlib.util.spec_from_file_location("envcheck_tests_score_cases", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ubuntu 22.04.4 LTS", {"os": "ubuntu22.04", "platform": "linux"}),
        ("Red Hat Enterprise Linux 6.4", {"os": "rhel6.4", "platform": "linux"}),
        ("Windows 11", {"os": "windows11", "platform": "windows"}),
        ("macOS 13.7.4 (arm64)", {"os": "macos13.7.4", "platform": "darwin"}),
        ("WSL2 Ubuntu 20.04", {"os": "ubuntu20.04", "platform": "wsl2"}),
        ("Debian 10", {"os": "debian10", "platform": "linux"}),
        ("some Linux", {"platform": "linux"}),
    ],
)
def test_the_system_is_read_from_its_own_name(score, text, found):
    told = score.system_of(text)
    assert {name: told.get(name) for name in ("os", "platform") if name in told} == found


def test_gpus_join_their_capabilities_by_position(score):
    given = {"gpus": ["NVIDIA A10", "Tesla T4"], "compute_capabilities": ["8.6", "7.5"]}
    assert score.gpus_of(given) == (
        Gpu(name="NVIDIA A10", target="sm_86", vendor="nvidia"),
        Gpu(name="Tesla T4", target="sm_75", vendor="nvidia"),
    )


def test_one_capability_serves_all_gpus_of_one_name(score):
    given = {"gpus": ["Tesla V100"] * 2, "compute_capabilities": ["7.0"]}
    assert [gpu.target for gpu in score.gpus_of(given)] == ["sm_70", "sm_70"]


def test_a_gfx_target_without_a_name_is_a_gpu_and_a_vague_one_names_none(score):
    assert score.gpus_of({"gfx": ["gfx1030"]})[0].vendor == "amd"
    assert score.gpus_of({"gfx": ["gfx101x"]})[0].target == ""


def test_builds_and_packages_become_facts(score):
    case = {
        "kind": "container",
        "host": {"python": "3.10", "driver": "535.54", "env": {"A": 1}, "docker": "24.0"},
        "packages": {"torch": "2.0.1+cu118"},
        "build": {"torch_cuda": "11.8", "arch_list": ["sm_80"], "paddle_cuda": "10.2"},
    }
    host = score.host_of(case)
    assert (host.container, host.python, host.engine, host.env) == (
        "docker",
        "3.10",
        "docker 24.0",
        {"A": "1"},
    )
    assert host.builds["torch"].kernels == ("sm_80",)
    assert host.builds["paddlepaddle-gpu"].runtime == "cuda10.2"


def _case(folder, name, code, error, also=(), host=""):
    lines = [
        f'id = "{name}"',
        'kind = "host"',
        f'error = "{error}"',
        host,
        "[expect]",
        f'code = "{code}"',
        f"also = {list(also)}",
        'cause = "x"',
        'confirmed_by = "reporter"',
    ]
    (folder / f"{name}.toml").write_text("\n".join(lines), "utf-8")


def _run(score, folder, capsys, monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["score_cases.py", str(folder), *options])
    code = score.main()
    return code, capsys.readouterr()


def test_the_last_line_counts_first_any_and_false_alarms(score, tmp_path, capsys, monkeypatch):
    _case(tmp_path, "right", "out-of-memory", "CUDA out of memory. Tried to allocate")
    _case(tmp_path, "also-right", "no-driver", "CUDA out of memory. Tried to allocate", also=["out-of-memory"])
    _case(tmp_path, "wrong", "no-driver", "CUDA out of memory. Tried to allocate")
    _case(tmp_path, "unknown", "no-driver", "something else entirely")
    _case(tmp_path, "healthy", "none", "a question about loss curves")
    _case(tmp_path, "alarmed", "none", "CUDA out of memory. Tried to allocate")
    code, told = _run(score, tmp_path, capsys, monkeypatch)
    assert code == 0
    assert told.out.splitlines()[-1] == "first 0.500 any 0.500 false_alarms 1/2"
    assert "wrong: expected no-driver, said out-of-memory" in told.out
    assert "alarmed: out-of-memory" in told.out
    assert "confirmed by maintainer or reporter: first 0.500" in told.out


def test_the_halves_are_disjoint_and_whole(score, tmp_path, capsys, monkeypatch):
    for number in range(12):
        _case(tmp_path, f"case{number}", "out-of-memory", "CUDA out of memory. Tried to allocate")
    names = [path.name for path in tmp_path.glob("*.toml")]
    halves = {half: {name for name in names if score.half_of(name, 7) == half} for half in "AB"}
    assert halves["A"] | halves["B"] == set(names)
    assert all(halves.values())
    _, told = _run(score, tmp_path, capsys, monkeypatch, "--half", "A", "--seed", "7", "--quiet")
    assert "misses" not in told.out


def test_an_empty_folder_is_bad_usage(score, tmp_path, capsys, monkeypatch):
    code, told = _run(score, tmp_path, capsys, monkeypatch)
    assert code == 2
    assert "no case" in told.err
