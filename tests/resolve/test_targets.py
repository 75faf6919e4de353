"""Targets: what options state, which GPUs bind a plan, and what is assumed where the target says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from worlds import Question, Rows, build, common_tables, package

from compat.errors import InputError
from compat.facts import Fact, Gpu, Host, Unknown, host
from compat.facts import load as load_host
from compat.matrix import Matrix, matrix
from compat.resolve import resolve
from compat.resolve.devices import ENDLESS, driver_number
from compat.resolve.knowledge import knowledge
from compat.resolve.read_situation import situation
from compat.resolve.remedy_changes import allowed_places, relaxed
from compat.resolve.request import read
from compat.resolve.target import for_image, from_options, gpu

if TYPE_CHECKING:
    from compat.resolve.situation import Situation

REAL = matrix()


def small() -> Matrix:
    tables = common_tables()
    tables["packages"] = [package("alpha")]
    tables["builds.alpha"] = [
        build("1.0", "cuda11.8", kernels="sm_70 sm_80"),
        build("1.0", "rocm5.4", kernels="gfx900"),
    ]
    return Matrix(Rows(tables))


def seen(machine: Host, *, cpu: bool = False) -> Situation:
    known = knowledge(small())
    return situation(read(["alpha"], known), [machine], known, cpu=cpu)


def card(target: str, **more: Any) -> Gpu:
    return Gpu(name=f"card {target}", target=target, **more)


# --- options ---


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("sm_89", "sm_89"),
        ("8.9", "sm_89"),
        ("sm_90a", "sm_90"),
        ("gfx1100", "gfx1100"),
        ("GFX942", "gfx942"),
        ("gfx90a:xnack-", "gfx90a:xnack-"),
        ("NVIDIA A100", "sm_80"),
        ("a100", "sm_80"),
        ("rtx 4090", "sm_89"),
        ("NVIDIA GeForce RTX 4090", "sm_89"),
        ("10de:2684", "sm_89"),
        ("MI300X", "gfx942"),
        ("H100", "sm_90"),
    ],
)
def test_a_gpu_is_found_by_what_people_call_it(text: str, target: str) -> None:
    assert gpu(REAL, text).target == target


def test_an_unknown_gpu_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(InputError, match="did you mean") as caught:
        gpu(REAL, "GeForce RTX 4099")
    assert caught.value.where == "--gpu"


def test_a_name_of_several_kinds_is_refused_with_the_kinds() -> None:
    with pytest.raises(InputError, match="several kinds") as caught:
        gpu(REAL, "RTX 6000")
    assert "sm_" in caught.value.expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cpu": True, "gpus": ["sm_80"]}, "--cpu and --gpu contradict"),
        ({"cpu": True, "cuda": "12.6"}, "--cpu and --cuda contradict"),
        ({"cuda": "12.6", "rocm": "6.4"}, "--cuda and --rocm contradict"),
        ({"driver": "535.54", "rocm": "6.4"}, "--driver and --rocm contradict"),
        ({"gpus": ["gfx1100"], "cuda": "12.6"}, "--cuda and --gpu contradict"),
        ({"gpus": ["sm_80"], "rocm": "6.4"}, "--rocm and --gpu contradict"),
        ({"gpus": ["gfx1100"], "driver": "535.54"}, "--driver and --gpu contradict"),
        ({"driver": "535.54", "rocm": "6.4", "gpus": ["gfx1100"]}, "NVIDIA's driver"),
        ({"driver": "6.8", "rocm": "6.4", "gpus": ["gfx1100", "sm_80"]}, "--driver and --rocm contradict"),
        ({"driver": "newest"}, "535.54.03"),
        ({"driver": "5x"}, "535.54.03"),
        ({"driver": "535;x"}, "535.54.03"),
        ({"cuda": "twelve"}, "12.6"),
        ({"python": "3"}, "3.11"),
        ({"python": "py311"}, "3.11"),
        ({"os": "ubunto22.04"}, "ubuntu22.04"),
        ({"arch": "sparc"}, "x86_64 or aarch64"),
        ({"gpus": ["sm_999"]}, "sm_120"),
        ({"gpus": ["sm_٨٠"]}, "sm_XY"),
        ({"driver": "٥٧٠"}, "535.54.03"),
        ({"cuda": "١٢"}, "12.6"),
        ({"python": "3.١١"}, "3.11"),
    ],
)
def test_options_that_contradict_or_cannot_be_read_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        from_options(REAL, **options)
    assert words in str(caught.value)
    assert "--" in caught.value.where


def test_options_are_facts_that_name_the_option() -> None:
    machine = from_options(
        REAL, gpus=["sm_80"], driver="535.54.03", cuda="12", python="3.11.4", os="Ubuntu-22.04", arch="arm64"
    )
    assert {name: machine.source(name) for name in machine} == {
        "os": "--os",
        "arch": "--arch",
        "gpus": "--gpu",
        "driver": "--driver",
        "cuda_toolkit": "--cuda",
        "python": "--python",
    }
    assert (machine.cuda_toolkit, machine.python, machine.os, machine.arch) == (
        "12",
        "3.11",
        "ubuntu22.04",
        "aarch64",
    )


def test_an_image_replaces_the_hosts_python_and_libc_but_no_option() -> None:
    detected = host("/proc", python="3.13", glibc="2.41", driver="535.54", os="debian13")
    kept = for_image(from_options(REAL, python="3.11").over(detected))
    assert kept.python == "3.11"
    assert not kept.known("glibc")
    assert not kept.known("os")
    assert kept.driver == "535.54"
    assert not for_image(detected).known("python")


# --- drivers ---


@pytest.mark.parametrize(
    ("text", "number"), [("525", (525, ENDLESS)), ("525.60.13", (525, 60, 13)), ("580.65", (580, 65))]
)
def test_a_branch_counts_as_its_newest_release(text: str, number: tuple[int, ...]) -> None:
    assert driver_number(text) == number


def test_a_branch_is_said_to_be_read_so() -> None:
    assert "driver 525 is read as the newest release of branch 525" in seen(host(driver="525")).conditions


# --- which GPUs bind ---


def test_every_card_binds_whatever_its_vendor() -> None:
    found = seen(host(gpus=[card("sm_80"), card("gfx900")]))
    assert [device.vendor for device in found.devices] == ["nvidia", "amd"]


def test_a_built_in_gpu_is_idle_beside_a_card_and_binds_alone() -> None:
    built_in = card("gfx900", integrated=True)
    beside = seen(host(gpus=[built_in, card("sm_80")]))
    assert [device.target for device in beside.devices] == ["sm_80"]
    assert [device.target for device in beside.idle] == ["gfx900"]
    assert any("left idle" in text for text in beside.conditions)
    assert [device.target for device in seen(host(gpus=[built_in])).devices] == ["gfx900"]


def test_a_gpu_given_to_a_virtual_machine_is_idle() -> None:
    found = seen(host(gpus=[card("sm_80", driver="vfio-pci"), card("sm_70")]))
    assert [device.target for device in found.devices] == ["sm_70"]


def test_a_servers_display_chip_is_no_gpu() -> None:
    found = seen(host(gpus=[Gpu(name="ASPEED Graphics Family", vendor="aspeed")]))
    assert not found.devices
    assert found.nothing


def test_no_gpu_binds_and_nothing_known_does_not() -> None:
    assert seen(host(gpus=[])).nothing
    assert not seen(Host()).nothing
    assert not seen(host(gpus=[]), cpu=True).nothing


def test_unknown_gpus_are_assumed_with_the_reason() -> None:
    found = seen(Host({"gpus": Unknown("nvidia-smi timed out", "nvidia-smi")}))
    assert any("nvidia-smi timed out" in text for text in found.conditions)


def test_the_architecture_is_assumed_aloud() -> None:
    assert seen(Host()).place == "linux_x86_64"
    assert any("assumed to be x86_64" in text for text in seen(Host()).conditions)
    assert seen(host(arch="aarch64")).place == "linux_aarch64"


@pytest.mark.parametrize(
    ("platform", "arch", "place"),
    [
        ("linux", "x86_64", "linux_x86_64"),
        ("wsl2", "x86_64", "linux_x86_64"),
        ("windows", "x86_64", "win_amd64"),
        ("darwin", "arm64", "macosx_arm64"),
        ("darwin", "x86_64", "macosx_x86_64"),
    ],
)
def test_places(platform: str, arch: str, place: str) -> None:
    assert seen(host(platform=platform, arch=arch)).place == place


def test_a_toolkit_on_the_host_asks_for_nothing_but_the_option_does() -> None:
    lying_about = seen(Host({"cuda_toolkit": Fact("12.6", "nvcc")}))
    asked = seen(Host({"cuda_toolkit": Fact("11.8", "--cuda", option=True)}))
    assert (lying_about.runtime, asked.runtime) == ("", "cuda11.8")


def test_a_hosts_own_system_does_not_bind_the_image() -> None:
    assert seen(host(os="ubuntu18.04")).os == ""


# --- what is assumed shows in the plan ---


def test_a_plan_for_an_unknown_machine_says_what_it_assumes() -> None:
    answer = resolve(["alpha"], Host(), small())
    assert answer.plan is not None
    assert answer.plan.runtime == "cuda11.8"
    assert any("driver 450.30 or later" in text for text in answer.conditions)
    assert any("has a GPU for which" in text for text in answer.conditions)


def test_members_tell_options_from_facts_of_the_host() -> None:
    question = Question({**small()._stores[0].tables}, ["alpha"], [], {})
    machine = Host({"driver": Fact("390.1", "--driver", option=True), "gpus": Fact((card("sm_80"),), "nvml")})
    answer = resolve(question.requirements, machine, small())
    kinds = {member.text: member.kind for member in answer.conflicts[0].members if member.kind != "matrix"}
    assert kinds["NVIDIA driver 390.1"] == "option"
    assert next(member.source for member in answer.conflicts[0].members if member.kind == "option") == "--driver"


@pytest.mark.parametrize(
    "facts",
    [
        {"driver": "newest"},
        {"driver": ""},
        {"python": "abc"},
        {"python": "t"},
        {"glibc": "musl"},
        {"arch": "toaster"},
        {"platform": "plan9"},
        {"amdgpu": "in-box"},
        {"cpu_flags": []},
        {"gpus": [Gpu()]},
        {"gpus": [Gpu(name="x" * 10_000, vendor="nvidia")]},
        {"gpus": [Gpu(name="?", vendor="nvidia", target="sm_")]},
        {"gpus": [Gpu(name="?", vendor="nvidia", target="sm_999")]},
        {"gpus": [Gpu(name="?", vendor="amd", target="gfx:::")]},
        {"gpus": [Gpu(name="?", vendor="nvidia", target="gfx1100")]},
        {"gpus": [Gpu(pci="zzzz:zzzz")]},
    ],
)
def test_a_host_file_may_say_anything_and_gets_an_answer_or_a_refusal(facts: dict[str, Any]) -> None:
    try:
        answer = resolve(["alpha"], host("file", **facts), small())
    except InputError as error:
        assert error.expected
    else:
        assert answer.status in {"plan", "conflict", "unknown"}


def test_no_image_is_planned_on_a_release_candidate_of_python():
    """Ubuntu 22.04 packages Python 3.11 as 3.11.0~rc1 only."""
    rows = [row for row in REAL.table("systems") if row.unfinished]
    assert rows
    for row in rows:
        assert set(row.unfinished) < set(row.pythons)
        for python in row.unfinished:
            target = from_options(REAL, gpus=["A100"], os=row.os, python=python)
            base = resolve(["torch==2.9.1"], target, REAL).plan.base_image
            assert (base.os, base.python_from) == (row.os, "uv")


@pytest.mark.parametrize("target", ["sm_80; rm -rf /", "$(reboot)", "\x1b[31m", "x" * 500, "sm 80"])
def test_a_target_that_is_none_says_nothing(target: str) -> None:
    """Host files are hostile: what does not look like a kernel target is not repeated, and the product's row counts."""
    host = load_host({"gpus": [{"name": "NVIDIA A100", "target": target}], "driver": "580.65.06"}, "host")
    answer = resolve(["torch"], host, REAL)
    assert answer.plan is not None
    assert [gpu.target for gpu in answer.plan.gpus] == ["sm_80"]


def test_a_gpu_of_no_maker_is_unknown() -> None:
    answer = resolve(["torch"], load_host({"gpus": [{"name": "X", "target": "foo1"}]}, "host"), REAL)
    assert answer.status == "unknown"
    assert "which kernels X runs is unknown" in answer.conditions[0]


def test_a_place_that_costs_a_fact_is_allowed_only_without_that_fact() -> None:
    target = situation((), [load_host({"arch": "aarch64", "platform": "linux"}, "host")], knowledge(REAL))
    bits = sum(soft.bit for soft in target.softs if soft.subject == "arch")
    assert [place for place, _ in target.places] == ["linux_aarch64", "linux_x86_64"]
    assert allowed_places(target) == ("linux_aarch64",)
    assert allowed_places(relaxed(target, bits)) == ("linux_aarch64", "linux_x86_64")


def test_of_several_machines_each_fact_is_that_of_one_that_states_it() -> None:
    hosts = [load_host({"platform": "linux"}, "one"), load_host({"arch": "aarch64"}, "other")]
    assert situation((), hosts, knowledge(REAL)).place == "linux_aarch64"
    assert situation((), hosts[::-1], knowledge(REAL)).place == "linux_aarch64"
