"""What the doctor asks back, and the script of the steps that were checked."""

import pytest

from compat.app.doctor import Question, examine, judged
from compat.facts import host
from compat.matrix import matrix
from compat.render import report as rendered
from compat.render.script import script

MATRIX = matrix()
BLIND = "torch.cuda.is_available() returns False"


def asked(error="", **facts):
    return judged(host("test", **facts), MATRIX, error=error)


def test_open_causes_are_answered_by_at_most_three_commands_that_decide_them():
    found = asked(BLIND, platform="linux").questions
    assert 1 <= len(found) <= 3
    assert found[0].run == "python -m torch.utils.collect_env"
    assert "CPU-only" in found[0].decides
    assert len({one.run for one in found}) == len(found)


def test_a_program_that_has_answered_is_not_asked_again():
    report = "PyTorch version: N/A\nOS: Ubuntu 22.04 LTS (x86_64)\nNvidia driver version: 550.54.14\n{}"
    found = examine(Question(pasted=report.format(BLIND)), MATRIX)[0].questions
    assert found
    assert not any("collect_env" in one.run for one in found)


@pytest.mark.parametrize(
    "sentence",
    [
        "The GPU is not available in a notebook by default",
        "GPU is not detected on my laptop since the upgrade",
        "it cannot find the graphics card and runs on the CPU instead",
        "please document the fallback to the CPU when there is no suitable GPU around",
    ],
)
def test_what_a_person_writes_is_no_evidence_and_is_asked_back(sentence):
    found = asked(sentence)
    assert found.findings == ()
    assert found.questions


@pytest.mark.parametrize(
    "line", ["Error: No GPU device found!", "RuntimeError: CUDA is not available", "WARNING: falling back to CPU"]
)
def test_what_a_program_prints_is(line):
    assert [one.code for one in asked(line).findings][:1] == ["cpu-only-build"]


def test_a_list_alone_that_decides_nothing_is_asked_about():
    found, _ = examine(Question(pasted="torch==2.1.0+cpu\n"), MATRIX)
    assert found.findings == ()
    assert "whether a GPU is there is not known" in {str(one.why) for one in found.unchecked}
    assert found.questions


def test_the_same_command_is_told_once():
    place = "/home/me/env/lib/python3.9/site-packages/bitsandbytes"
    found = asked(
        f"{place}/cextension.py:34: UserWarning: The installed version of bitsandbytes was compiled without GPU support.\n"
        f"{place}/libbitsandbytes_cpu.so: undefined symbol: cadam32bit_grad_fp32"
    )
    assert [one.fix.commands for one in found.findings] == [("pip install --upgrade bitsandbytes",), ()]
    assert found.findings[1].fix.text == "The steps above mend this too."


def test_a_sure_finding_asks_nothing():
    assert asked(packages={"torch": "2.1.0", "torchvision": "0.15.2"}).questions == ()


def test_no_command_of_another_platform_or_vendor_is_asked_for():
    windows = [one.run for one in asked(BLIND, platform="windows").questions]
    assert not any(run.startswith(("ls", "env ", "ldconfig", "lsmod")) for run in windows)
    amd = [one.run for one in asked(BLIND, gpus=[{"name": "AMD Radeon RX 7900 XTX", "target": "gfx1100"}]).questions]
    assert "nvidia-smi" not in amd
    nvidia = [one.run for one in asked(BLIND, driver="470.57.02", builds={"torch": {"runtime": "cuda11.3"}}).questions]
    assert not any(run.startswith("rocminfo") for run in nvidia)


def test_what_is_known_is_not_asked_for():
    known = asked(
        BLIND, gpus=[{"name": "Tesla T4", "target": "sm_75"}], driver="550.54.14", driver_cuda="12.4", nvml="ok"
    )
    assert all(one.run != "nvidia-smi" for one in known.questions)


@pytest.mark.parametrize(
    ("error", "program"),
    [
        ("No GPU/TPU found, falling back to CPU.", "jax.print_environment_info()"),
        ("Could not find cuda drivers on your machine, GPU will not be used.", "tf.sysconfig.get_build_info()"),
        ("CUDNN 7.6, but CUDNN version in your machine is 7.3, which may cause", "paddle.utils.run_check()"),
    ],
)
def test_a_user_of_another_framework_is_asked_for_what_that_prints(error, program):
    found = [one.run for one in asked(error, platform="linux").questions]
    assert any(program in run for run in found)
    assert not any("torch" in run for run in found)


@pytest.mark.parametrize(
    ("error", "asked_for"),
    [
        ("Microsoft.ML.OnnxRuntime.OnnxRuntimeException: LoadLibrary failed with error 126", "dotnet list package"),
        ("Caused by: java.lang.UnsatisfiedLinkError: no jnitorch in java.library.path", "nvidia-smi"),
        ("thread 'main' panicked at src/main.rs:3:5: torch::Cuda::is_available() is false", "nvidia-smi"),
    ],
)
def test_a_program_of_another_language_is_asked_by_no_program_of_pythons(error, asked_for):
    found = [one.run for one in asked(error, platform="linux").questions]
    assert asked_for in found
    assert not [run for run in found if run.startswith(("python", "pip"))]


def test_who_speaks_with_intels_gpus_is_asked_for_their_list():
    found = [one.run for one in asked("Warning: XPU device count is zero!", platform="linux").questions]
    assert "sycl-ls" in found
    assert "nvidia-smi" not in found


def test_questions_are_ready_to_paste():
    found, machine = asked(BLIND), host("test")
    assert "`python -m torch.utils.collect_env`" in rendered(found, machine, "markdown")
    assert "$ python -m torch.utils.collect_env" in rendered(found, machine, "text")


PAIR = {"packages": {"torch": "2.1.0", "torchvision": "0.15.2"}, "arch": "x86_64", "python": "3.10"}


def test_a_script_stops_at_the_first_failure_and_says_why():
    machine = host("test", platform="linux", **PAIR)
    lines = script(asked(platform="linux", **PAIR), machine).splitlines()
    assert lines[:2] == ["#!/bin/sh", "set -eu"]
    assert any(line.startswith("pip install") and "torchvision==0.16.0" in line for line in lines)
    assert any(line.startswith("# ") and "torch==2.0.1" in line for line in lines)


def test_what_was_not_checked_is_a_comment_in_the_script():
    machine = host("test", driver="535.171.04", driver_library="535.183.01")
    lines = script(judged(machine, MATRIX), machine).splitlines()
    assert "#   sudo modprobe -r nvidia_uvm nvidia_drm && sudo modprobe nvidia" in lines
    assert "sudo modprobe -r nvidia_uvm nvidia_drm && sudo modprobe nvidia" not in lines


def test_windows_gets_powershell():
    facts = {
        "platform": "windows",
        "env": {"CUDA_VISIBLE_DEVICES": "7"},
        "gpus": [{"name": "Tesla T4", "target": "sm_75"}],
    }
    assert script(asked(**facts), host("test", **facts)).startswith("$ErrorActionPreference = 'Stop'")


def test_powershell_stops_at_a_program_that_fails_and_takes_machine_code_before_a_companion_that_stays():
    facts = {
        "platform": "windows", "arch": "x86_64", "python": "3.12", "driver": "576.02",
        "gpus": [{"name": "RTX 5080", "target": "sm_120"}],
        "packages": {"torch": "2.4.1+cu121", "torchvision": "0.19.1+cu121"},
    }  # fmt: skip
    *_, install, stop = script(asked(**facts), host("test", **facts)).splitlines()
    assert install.startswith("pip install torch==2.7.0+cu128 torchvision==0.22.0+cu128 ")
    assert stop == "if ($LASTEXITCODE) { exit $LASTEXITCODE }"


def test_a_step_without_a_command_leaves_no_empty_list_in_the_script():
    facts = {
        "container": "docker",
        "gpus": [],
        "packages": {"torch": "2.9.1"},
        "builds": {"torch": {"runtime": "cuda12.8"}},
    }
    lines = script(asked(**facts), host("test", **facts)).splitlines()
    assert lines[-1].startswith("# not checked")
    assert lines[-1].endswith(".")


def test_the_script_has_the_lines_of_a_repository_that_are_too_long_beside_a_finding():
    facts = {"platform": "linux", "os": "ubuntu24.04"}
    found = asked('docker: could not select device driver "" with capabilities: [[gpu]].', **facts)
    commands, lines = found.findings[0].fix.commands, script(found, host("test", **facts))
    assert "sudo apt install nvidia-container-toolkit" in commands
    assert "gpgkey" not in "".join(commands)
    assert lines.index("gpgkey") < lines.index("sudo apt update") < lines.index("apt install nvidia-container-toolkit")


def test_who_only_writes_of_another_language_is_asked_as_before():
    found = [one.run for one in asked(f"I tried TorchSharp and ai.djl, too. {BLIND}", platform="linux").questions]
    assert "python -m torch.utils.collect_env" in found


def test_what_could_not_be_installed_is_not_asked():
    text = "ERROR: Could not find a version that satisfies the requirement torch==1.7.0 (from versions: 0.1.2)"
    found = [one.run for one in asked(text).questions]
    assert found[0].startswith('python -c "import platform, sys;')
    assert not any("torch" in one for one in found)


def test_a_cudnn_that_no_wheel_brings_for_the_cuda_here_is_nvidias_own():
    text = "torch==1.8.1\nCUDA Version: 10.2\nImportError: libcudnn.so.8: cannot open shared object file: No such file"
    first, *rest = examine(Question(pasted=text), MATRIX)[0].findings
    assert "Install cuDNN 8.4.1 for CUDA 10.2" in first.fix.text
    assert not rest
