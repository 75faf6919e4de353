"""What a conflict says and offers on the real matrix: reasons that cite rows, ways out, and the commands for them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest
from review import ask, commands_of

from compat.errors import InputError
from compat.facts import host
from compat.matrix import matrix
from compat.render.plan import answer as as_text
from compat.resolve import resolve

if TYPE_CHECKING:
    from pathlib import Path

    from compat.plan import Answer, Remedy

HOSTS = {
    "two-vendors": 'gpus = ["NVIDIA A10", "AMD Radeon PRO W7900"]\ndriver = "580.65.06"\nplatform = "linux"',
    "old-amd": 'gpus = ["AMD Instinct MI300X"]\namdgpu = "5.16"\nplatform = "linux"',
    "laptop": 'gpus = [{ pci = "10de:1392" }, { name = "AMD Radeon Pro W7400" }]\nplatform = "linux"',
}


@cache
def answer(question: str) -> Answer:
    (reply,) = ask(f"envcheck resolve {question}")
    return reply.answer


def fix(question: str, words: str) -> Remedy:
    found = [one for one in answer(question).fixes if words in one.text]
    assert found, [one.text for one in answer(question).fixes]
    return found[0]


def facts(question: str) -> list[str]:
    """What a conflict says of the matrix."""
    return [one.text for conflict in answer(question).conflicts for one in conflict.members if one.kind == "matrix"]


SPLIT = "torch==2.9.1 tensorflow==2.15.0 --gpu A100 --driver 550.54.14"
TWO_VENDORS = "torch --gpu A10 --gpu W7900 --driver 580.65.06"


@pytest.mark.parametrize(
    ("question", "words", "commands"),
    [
        (SPLIT, "two images", [("torch==2.9.1", "--driver 550"), ("tensorflow==2.15.0", "--driver 550")]),
        (TWO_VENDORS, "one image per GPU", [("A10", "--driver 580"), ("W7900",)]),
        (TWO_VENDORS, "leave NVIDIA A10", [("W7900",)]),
        ("torch --gpu gfx90c", "borrow the code of gfx900", [("--gpu gfx900",)]),
        ("torch==2.6.0 --gpu 'RTX 5090'", "--cpu", [("--cpu", "--arch x86_64")]),
        ("torch==2.6.0 --gpu GH200 --driver 450.80.02", "--cpu", [("--cpu", "--arch aarch64")]),
        ("torch==2.9.1+rocm6.4 --gpu MI300X --driver 5.16", "update the AMD driver", [("--driver 6.1",)]),
        ("'torch>=2.3' --gpu sm_30 --gpu sm_35", "instead of", [("--gpu sm_",)]),
    ],
)
def test_each_plan_that_a_way_out_leads_to_has_its_command(
    question: str, words: str, commands: list[tuple[str, ...]]
) -> None:
    told = commands_of(fix(question, words))
    assert len(told) == len(commands) == len(fix(question, words).plans)
    for command, parts in zip(told, commands, strict=True):
        assert all(part in command for part in parts)
        (reply,) = ask(command)
        assert reply.answer.status == "plan"


def test_an_option_of_one_maker_goes_with_its_last_gpu() -> None:
    told = commands_of(fix(TWO_VENDORS, "leave NVIDIA A10"))
    assert "--driver" not in told[0]


def test_the_plans_of_a_split_are_those_that_its_commands_give() -> None:
    way = fix(SPLIT, "two images")
    for command, plan in zip(way.commands, way.plans, strict=True):
        (reply,) = ask(command)
        assert reply.answer.plan is not None
        assert [build.requirement for build in reply.answer.plan.builds] == [one.requirement for one in plan.builds]


def test_a_companion_is_not_split_from_its_framework() -> None:
    """Apart from torch, torchvision is of no use, and another torch would come with it."""
    assert not [one for one in answer("torch==2.1.0 torchvision==0.20.0 --gpu A100").fixes if "split" in one.text]


@pytest.mark.parametrize("name", HOSTS)
def test_commands_for_a_described_machine_name_its_file_and_work(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.toml"
    path.write_text(HOSTS[name])
    (reply,) = ask(f"envcheck resolve torch==2.9.1 --host {path}")
    commands = [command for one in reply.answer.fixes for command in commands_of(one)]
    assert commands or reply.answer.status == "plan"
    for command in commands:
        assert f"--host {path}" in command
        (then,) = ask(command)
        assert then.answer.status == "plan", command


@pytest.mark.parametrize(
    ("question", "said", "unsaid"),
    [
        (TWO_VENDORS, r"serves the GPUs of one vendor", r"cuda10|carries"),
        ("torch --gpu MI300X --rocm 5.6", r"rocm6\.0.*rocm7", r"cuda"),
        ("torch --gpu MI300X --rocm 5.6", r"\+rocm5\.6.*cannot run on gfx942", r"not known"),
        (
            "torch --gpu 'RTX 5090' --driver 550.54.14",
            r"known to drivers from 570",
            r"builds for other GPUs do not count",
        ),
        ("tensorflow --gpu 'GT 710' --python 3.13", r"where all else fits, tensorflow has wheels for", r"sm_90a"),
        (SPLIT, r"takes its own from the system", r"cuda13"),
        ("torch==1.10.1 --gpu A100 --arch aarch64", r"published with GPU code for .*linux_x86_64", r"$^"),
        ("torchvision==0.19.1 --gpu gfx803", r"cannot run on gfx803|has no build", r"$^"),
        ("'tensorflow[and-cuda]==2.15.0' --gpu T4", r"extra and-cuda", r"is published as"),
    ],
)
def test_the_reasons_are_those_that_decide(question: str, said: str, unsaid: str) -> None:
    assert any(re.search(said, text) for text in facts(question)), facts(question)
    assert not any(re.search(unsaid, text) for text in facts(question)), facts(question)


def test_every_reason_of_two_vendors_cites_its_row() -> None:
    members = [one for conflict in answer(TWO_VENDORS).conflicts for one in conflict.members if one.kind == "matrix"]
    assert all(one.source for one in members)


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("torch --gpu MI300X", "the host has AMD driver"),
        ("torch==2.14.0+rocm10.1.0 --gpu MI300X --driver 6.8", "whether ROCm 10.1 accepts AMD driver 6.8 is not known"),
        ("torch --gpu A100 --driver 535.104.05", "with cuda-compat-13"),
        ("torch --gpu A100", "the host has NVIDIA driver"),
    ],
)
def test_what_a_plan_rests_on_is_said(question: str, condition: str) -> None:
    assert any(condition in text for text in answer(question).conditions), answer(question).conditions


@pytest.mark.parametrize(
    "question", ["torch --gpu 'RTX 4090' --driver 535.104.05", "torch --gpu A100 --driver 580.65.06"]
)
def test_a_newer_driver_in_the_image_is_not_suggested_where_it_does_not_apply(question: str) -> None:
    assert not any("cuda-compat" in text for text in answer(question).conditions)


@pytest.mark.parametrize(
    ("question", "runtime"),
    [
        ("torch --gpu MI300X --driver 5.18.13", "rocm6.1"),
        ("torch --rocm 6.4 --driver 6.8", "rocm6.4"),
        ("onnxruntime-gpu --gpu L4", "cuda"),
        ("xgboost --gpu V100 --driver 535.104.05", "cuda12"),
        ("xgboost --cpu", "cpu"),
        ("torch --gpu 'Arc A770'", "xpu"),
    ],
)
def test_a_plan_of_known_code_is_found(question: str, runtime: str) -> None:
    plan = answer(question).plan
    assert answer(question).status == "plan"
    assert plan is not None
    assert plan.runtime.startswith(runtime)


@pytest.mark.parametrize(
    ("question", "said", "unsaid"),
    [
        ("'torch>=2.4,<2.1' --gpu L40S", "no version can meet", "exists"),
        ("torch --gpu 'GTX 860M'", "of several kinds", "did you mean"),
        ("torch --gpu 'Intel HD 620'", "unknown GPU", "Quadro"),
        ("torch --gpu A100 --rocm 6.4 --driver 550.54.14", "contradict each other", "traceback"),
        ("torch --cuda 12.6 --rocm 6.4", "contradict each other", "driver"),
        ("trch --gpu A100", "did you mean torch", "exists"),
        ("torch==2.9.1+rocm7.2 --gpu MI300X", "2.9.1+rocm6.4", "did you mean"),
    ],
)
def test_a_refusal_says_what_was_wrong(question: str, said: str, unsaid: str) -> None:
    with pytest.raises(InputError) as refused:
        ask(f"envcheck resolve {question}")
    assert said in str(refused.value)
    assert unsaid not in str(refused.value)


@pytest.mark.parametrize("wish", ["numpy", "numpy>=1.20", "numpy<2"])
def test_a_dependency_asked_for_by_name_keeps_the_bounds_of_the_builds(wish: str) -> None:
    plan = answer(f"torch==1.12.1 '{wish}' --gpu sm_61 --driver 440.33").plan
    assert plan is not None
    (kept,) = [text for text in plan.constraints if text.startswith("numpy")]
    assert "<2" in kept


@pytest.mark.parametrize(
    ("question", "subject", "lost"),
    [
        ("torch --gpu A100", "base image", "nvidia/cuda:.*: lost to the newest patch of the runtime"),
        ("torch --gpu A100", "base image", "ubuntu:.*: lost to an image made for this runtime"),
        ("torch --gpu 'RTX 3090' --driver 550.54.14", "base image", "nvidia/cuda:12.*: breaks NVIDIA driver 550"),
        ("torch --gpu 'RTX 3090' --driver 550.54.14", "torch", r"2\.15\.0 cuda13\.2: breaks NVIDIA driver 550"),
        ("torch --gpu A100", "python", "3.11: would be a standalone build"),
    ],
)
def test_each_choice_tells_what_lost_to_it_and_why(question: str, subject: str, lost: str) -> None:
    plan = answer(question).plan
    assert plan is not None
    (choice,) = [one for one in plan.choices if one.subject == subject]
    assert any(re.fullmatch(lost + ".*", text) for text in choice.rejected), choice.rejected
    assert not any("rocm" in text or "xpu" in text for text in choice.rejected)


def test_builds_for_a_board_stay_among_themselves() -> None:
    """A server's wheel beside a Jetson's would leave one of them without its GPU."""
    plan = answer("torch tensorflow --arch aarch64 --prefer stable").plan
    assert plan is not None
    assert len({build.runtime for build in plan.builds}) == 1
    assert any("Jetson" in text for text in plan.conditions)
    single = answer("torch --arch aarch64").plan
    assert single is not None
    assert not any("Jetson" in text for text in single.conditions)


@pytest.mark.parametrize(
    ("gpu", "status"), [("T4", "conflict"), ("V100", "conflict"), ("A100", "plan"), ("L4", "plan")]
)
def test_a_source_is_not_compiled_for_gpus_older_than_it_is_made_for(gpu: str, status: str) -> None:
    assert answer(f"flash-attn==2.8.3 torch==2.9.1 --gpu {gpu}").status == status


def test_an_extra_that_chooses_no_build_is_said_to_be_unknown() -> None:
    assert any("torch[foo]" in text for text in answer("'torch[foo]' --gpu A100").conditions)
    assert not any("extra" in text for text in answer("'jax[cuda12]' --gpu A100").conditions)


def test_an_extra_for_another_device_can_be_changed() -> None:
    (command,) = commands_of(fix("'jax[tpu]' --gpu A100", "ask for jax"))
    (reply,) = ask(command)
    assert "tpu" not in command
    assert reply.answer.status == "plan"


@pytest.mark.parametrize("name", ["NVIDIA RTX 7090 Ultra", "some accelerator"])
def test_a_gpu_of_no_known_name_is_unknown_and_not_absent(name: str) -> None:
    found = resolve(("torch",), host(gpus=[name], driver="580.65.06"), matrix())
    assert found.status == "unknown"
    assert any(name in text for text in found.conditions)


def test_a_detected_gpu_that_the_matrix_does_not_know_is_unknown_and_not_absent(tmp_path: Path) -> None:
    name = "NVIDIA RTX 7090 Ultra"
    path = tmp_path / "host.json"  # as a driver tells it: its name beside the number that the bus gives
    path.write_text(
        f'{{"gpus": [{{"name": "{name}", "vendor": "nvidia", "pci": "10de:fffe"}}], "driver": "580.65.06"}}'
    )
    (reply,) = ask(f"envcheck resolve torch --host {path}")
    assert reply.answer.status == "unknown"
    assert any(name in text for text in reply.answer.conditions)


def test_an_image_that_a_driver_cannot_start_is_named() -> None:
    said = facts("tensorflow==2.13.1 --gpu 'RTX 3090' --driver 465.19.01")
    assert any("no image of these starts with NVIDIA driver 465" in text for text in said)


def test_a_bare_target_has_no_brand_that_an_image_could_refuse() -> None:
    assert answer("tensorflow==2.13.1 --gpu sm_80 --driver 450.80.02").status == "plan"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("\"torch==2.9.1; python_version<'3.0'\" --gpu A100", "and the marker is true on none of these"),
        (
            "tensorflow-metal --gpu A100",
            "is published as metal for macosx_arm64, and the plan is for linux_x86_64",
        ),
        ("tensorflow-gpu==1.14.0 --cpu --arch x86_64", "for linux_x86_64 as cuda10.0, and a CPU build is asked for"),
        ("'jax[cuda12]==0.4.30' --cpu --arch x86_64", "the extra cuda12 of jax chooses its build for cuda12.1"),
        (
            "bitsandbytes==0.41.3.post2 --gpu A100 --python 3.14",
            "and there is a build of one for each build of the other",
        ),
    ],
)
def test_a_wish_that_fails_by_itself_says_what_is_wrong_with_it(question: str, reason: str) -> None:
    assert any(reason in text for text in facts(question))


@pytest.mark.parametrize(
    ("cuda", "offered"), [("12.7", "12."), ("12.5", "12."), ("11.2", "11."), ("13.1", "13."), ("14.0", "13.")]
)
def test_of_runtimes_one_of_the_same_major_is_nearest(cuda: str, offered: str) -> None:
    command = fix(f"torch --cuda {cuda} --gpu A100", "use cuda").command
    assert f"--cuda {offered}" in command


def test_a_package_without_builds_is_not_left_out_of_the_plan() -> None:
    plan = answer("torch numpy protobuf --gpu A100").plan
    assert plan is not None
    assert {"numpy", "protobuf"} <= set(plan.constraints)


def test_what_must_be_installed_beside_a_build_is_shown() -> None:
    """Without its plug-in jax would run on the processor, and nothing would say so."""
    plan = answer("jax==0.12.0 --gpu gfx1201").plan
    assert plan is not None
    pins = [pin for build in plan.builds for pin in build.pins]
    assert pins
    text = as_text(answer("jax==0.12.0 --gpu gfx1201"))
    assert all(pin in text for pin in pins)


def test_a_bound_that_a_person_sets_is_not_said_to_require_itself() -> None:
    assert "torch 2.2.0 requires numpy<2, numpy>=2 is asked for" in facts("torch==2.2.0 'numpy>=2' --gpu L4")
