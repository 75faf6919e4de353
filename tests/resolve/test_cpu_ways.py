"""CPU builds as a way out: only of packages that are of use without a GPU, and the other way round where --cpu is in the way."""

from __future__ import annotations

import pytest
from review import ask, commands_of

from compat.errors import InputError

FOR_GPUS = [
    "cupy",
    "flash-attn",
    "jax-cuda12-plugin",
    "numba-cuda",
    "tensorrt",
    "torch-tensorrt",
    "transformer-engine",
    "vllm",
    "xformers",
]
"""Packages that are of no use on a processor: a plan without a GPU would install and never run."""

EITHER = [
    "torch",
    "torchvision",
    "tensorflow",
    "jax",
    "paddlepaddle",
    "xgboost",
    "torch-geometric",
    "deepspeed",
    "pyg-lib",
    "bitsandbytes==0.46.0",
    "catboost",
    "ctranslate2",
    "faiss-gpu",
    "faster-whisper",
    "onnxruntime-gpu",
    "tensorflow-gpu",
    "torch-xla",
    "warp-lang",
]
"""Packages with builds for processors, or whose code runs there too, by itself or wherever their framework's does."""


def answer(question: str):
    (reply,) = ask(f"envcheck resolve {question}")
    return reply.answer


@pytest.mark.parametrize("package", FOR_GPUS)
def test_no_cpu_plan_of_what_needs_a_gpu(package: str) -> None:
    told = answer(f"{package} --cpu --arch x86_64")
    assert told.status == "conflict"
    assert any("a CPU build is asked for" in one.text for one in told.conflicts[0].members)
    assert [fix.changes for fix in told.fixes] == [{"cpu": "false"}]
    assert "--cpu" not in told.fixes[0].command
    (again,) = ask(told.fixes[0].command)
    assert again.answer.status == "plan"


@pytest.mark.parametrize("package", FOR_GPUS)
@pytest.mark.parametrize("target", ["--gpu K40m --driver 390.46", "--gpu gfx803"])
def test_no_cpu_build_is_offered_of_what_needs_a_gpu(package: str, target: str) -> None:
    try:
        told = answer(f"{package} {target}")
    except InputError as error:
        pytest.fail(f"{package} {target}: {error}")
    assert all("--cpu" not in command for fix in told.fixes for command in commands_of(fix))


@pytest.mark.parametrize("package", EITHER)
def test_a_cpu_plan_of_what_runs_on_a_processor(package: str) -> None:
    told = answer(f"{package} --cpu --arch x86_64")
    assert told.status == "plan"
    assert told.plan is not None
    assert told.plan.runtime == "cpu"


@pytest.mark.parametrize(
    ("question", "fix", "command"),
    [
        ("paddlepaddle-gpu --cpu --arch x86_64", "ask for paddlepaddle==", "paddlepaddle=="),
        ("jax[cuda12]==0.4.30 --cpu --arch x86_64", "ask for jax==0.4.30 (cpu)", " jax==0.4.30 "),
        ("jax[cuda12]==0.4.30 --cpu --arch x86_64", "leave --cpu out", "'jax[cuda12]==0.4.30' --arch"),
        ("flash-attn torch --cpu --arch x86_64", "leave --cpu out", " flash-attn torch --arch"),
        ("faiss-gpu --gpu MI300X", "use a GPU that these builds have code for", "--gpu sm_"),
    ],
)
def test_the_way_out_is_the_one_that_a_person_would_take(question: str, fix: str, command: str) -> None:
    found = [one for one in answer(question).fixes if one.text.startswith(fix)]
    assert found, [one.text for one in answer(question).fixes]
    assert command in found[0].command
    (again,) = ask(found[0].command)
    assert again.answer.status == "plan"


def test_leaving_cpu_out_is_not_offered_for_a_machine_that_says_what_it_has(tmp_path) -> None:
    file = tmp_path / "host.toml"
    file.write_text('gpus = []\nplatform = "linux"\narch = "x86_64"\n')
    assert answer(f"flash-attn --cpu --host {file}").fixes == ()


@pytest.mark.parametrize("package", ["faiss-gpu", "tensorrt"])
def test_a_build_that_tells_no_code_is_not_for_gpus_that_its_package_never_had_builds_for(package: str) -> None:
    told = answer(f"{package} --gpu MI300X")
    assert told.status == "conflict"
    assert any("has no build for amd GPUs" in one.text for one in told.conflicts[0].members)


def test_a_companion_for_another_minor_goes_beside_torch_by_cuda_alone() -> None:
    assert len({one.runtime for one in answer("torch xformers --gpu MI300X").plan.builds}) == 1
    assert answer("torch==2.5.1+cu124 xformers==0.0.28.post3 --gpu A100").status == "plan"


@pytest.mark.parametrize(("package", "plugin"), [("paddlepaddle", "paddle-custom-npu"), ("torch", "torch-npu")])
def test_a_plug_in_that_brings_the_maker_s_devices_is_told(package: str, plugin: str) -> None:
    texts = [one.text for one in answer(f"{package} --gpu Ascend-910B").conflicts[0].members]
    assert any(text.startswith(f"{plugin} brings huawei devices") for text in texts)
    others = answer("tensorflow --gpu Ascend-910B").conflicts[0].members
    assert not any(plugin in one.text for one in others)


@pytest.mark.parametrize("asked", ["vllm", "torch==2.9.1 vllm"])
def test_builds_that_are_published_elsewhere_leave_the_question_open(asked: str) -> None:
    """vLLM's own documentation has wheels for ROCm in an index of its own, and AMD's has images."""
    told = answer(f"{asked} --gpu MI300X")
    assert told.status == "unknown"
    assert any("published elsewhere" in one and "wheels.vllm.ai/rocm" in one for one in told.conditions)
    assert answer(f"{asked} --gpu A770").status == "conflict"  # nobody tells of any for Intel's


@pytest.mark.parametrize("other", ["", "flash-attn", "xformers", "vllm", "bitsandbytes", "accelerate"])
def test_a_proven_clash_stays_proven_whatever_else_is_asked_for(other: str) -> None:
    """What only the rows of the other package infer has no part in a clash of torch with the GPU."""
    told = answer(f"torch==2.4.0 {other} --gpu sm_120")
    (clash,) = [one for one in told.conflicts if {"wish", "option"} == {each.kind for each in one.members} - {"matrix"}]
    assert [one.text for one in clash.members if one.kind == "wish"] == ["torch==2.4.0"]
    assert not any(one.likely for one in clash.members)


def test_the_package_with_the_same_for_gpus_is_offered_first() -> None:
    told = answer("onnxruntime==1.20.0 --gpu sm_89")
    assert told.fixes[0].changes == {"onnxruntime": "left out", "onnxruntime-gpu": "1.20.0"}
    assert told.fixes[0].asks[0].requirements == ("onnxruntime-gpu==1.20.0",)
    assert not any("onnxruntime-gpu" in fix.changes for fix in answer("onnxruntime==1.20.0 --gpu MI300X").fixes)


def test_a_wheel_that_reaches_a_gpu_without_gpu_code_is_told_how() -> None:
    told = answer("lightgbm==4.7.0 --gpu sm_89").conditions
    assert any("GPU code" in one and "OpenCL" in one for one in told)
    assert not any("through a framework beside it" in one for one in told)
