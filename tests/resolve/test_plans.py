"""What a plan says: builds, image, driver, verdict per GPU, constraints, choices, conditions; on small matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from worlds import Question, build, common_tables, package

from compat.facts import Gpu, host
from compat.resolve import resolve, resolve_many

if TYPE_CHECKING:
    from compat.plan import Answer, Plan


def tables(**more: Any) -> dict[str, Any]:
    plain = {
        "packages": [
            {**package("alpha"), "module": "alpha_module"},
            package("beta"),
            package("gamma", kind="companion", follows="alpha"),
        ],
        "indexes": [
            {"name": "vendor", "url": "https://vendor.example/{variant}"},
            {"name": "pages", "url": "https://vendor.example/pages.html", "links": True},
        ],
        "builds.alpha": [build("1.0", "cuda11.8", kernels="sm_70 sm_80", cuda_from="wheel")],
        "builds.beta": [build("1.0", "cuda11.8", kernels="sm_80")],
        "builds.gamma": [build("1.0", "cuda11.8", kernels="-", requires=["alpha==1.0"])],
    }
    return {**common_tables(), **plain, **more}


def ask(requirements: list[str], gpus: list[str] | None = None, prefer: str = "proven", **more: Any) -> Answer:
    facts = {name: more.pop(name) for name in ("driver", "python", "glibc", "os", "arch") if name in more}
    question = Question(tables(**more), requirements, gpus or [], facts)
    return resolve(question.requirements, question.host(), question.matrix(), prefer=prefer)


def plan(*args: Any, **more: Any) -> Plan:
    answer = ask(*args, **more)
    assert answer.plan is not None, [conflict.why for conflict in answer.conflicts]
    return answer.plan


# --- builds ---


def test_a_build_is_told_completely() -> None:
    rows = [
        build(
            "1.0",
            "cuda11.8",
            kernels="sm_80",
            index="vendor",
            variant="cu118",
            local="cu118",
            cuda_from="packages",
            extras="gpu",
            pins=["plugin==1.0"],
            how="documented",
        )
    ]
    (found,) = plan(["alpha[more]"], ["sm_80"], **{"builds.alpha": rows}).builds
    assert found.requirement == "alpha[gpu,more]==1.0+cu118"
    assert (found.index, found.links) == ("https://vendor.example/cu118", False)
    assert (found.pins, found.cuda_from, found.module, found.how) == (
        ("plugin==1.0",),
        "packages",
        "alpha_module",
        "documented",
    )
    assert found.asked
    assert "made up for a test" in found.source


def test_a_page_of_links_is_told_from_an_index() -> None:
    rows = [build("1.0", "cuda11.8", kernels="sm_80", index="pages")]
    assert plan(["alpha"], **{"builds.alpha": rows}).builds[0].links


def test_a_framework_that_a_companion_brings_in_comes_first_and_was_not_asked() -> None:
    found = plan(["gamma"], ["sm_80"])
    assert [(one.name, one.asked) for one in found.builds] == [("alpha", False), ("gamma", True)]


def test_an_extra_that_chooses_a_variant_is_honoured() -> None:
    rows = [
        build("1.0", "cuda11.8", kernels="sm_80", extras="cuda11"),
        build("1.0", "cuda12.1", kernels="sm_80", extras="cuda12"),
    ]
    assert plan(["alpha[cuda11]"], ["sm_80"], **{"builds.alpha": rows}).runtime == "cuda11.8"
    assert plan(["alpha"], ["sm_80"], **{"builds.alpha": rows}).runtime == "cuda12.1"


# --- drivers ---


@pytest.mark.parametrize(
    ("runtime", "kernels", "minimum", "comfortable"),
    [
        ("cuda11.8", "sm_80", "450.36", "520.05"),  # the device's first toolkit, above the family floor
        ("cuda11.8", "sm_70", "450.30", "520.05"),
        ("cuda10.2", "sm_70", "440.10", "440.10"),
    ],
)
def test_the_lowest_driver_is_the_family_floor_or_that_of_the_device(
    runtime: str, kernels: str, minimum: str, comfortable: str
) -> None:
    rows = [build("1.0", runtime, kernels=kernels)]
    need = plan(["alpha"], [kernels], **{"builds.alpha": rows}).driver
    assert (need.minimum, need.comfortable) == (minimum, comfortable)


def test_ptx_needs_the_driver_of_its_own_toolkit() -> None:
    rows = [build("1.0", "cuda11.8", kernels="compute_80")]
    assert plan(["alpha"], ["sm_80"], **{"builds.alpha": rows}).driver.minimum == "520.05"
    clash = ask(["alpha"], ["sm_80"], driver="460.10", **{"builds.alpha": rows})
    assert clash.status == "conflict"
    assert {member.text for member in clash.conflicts[0].members} >= {"alpha", "NVIDIA driver 460.10"}


def test_a_floor_that_the_project_states_counts() -> None:
    rows = [build("1.0", "cuda11.8", kernels="sm_80", driver="525.10")]
    assert plan(["alpha"], ["sm_80"], **{"builds.alpha": rows}).driver.minimum == "525.10"
    assert ask(["alpha"], ["sm_80"], driver="520.10", **{"builds.alpha": rows}).status == "conflict"


def test_minor_version_compatibility_is_said_where_it_is_used() -> None:
    used = plan(["alpha"], ["sm_80"], driver="460.10")
    assert any("driver 460.10 runs it by minor-version compatibility" in text for text in used.conditions)
    unused = plan(["alpha"], ["sm_80"], driver="530.20")
    assert not any("minor-version" in text for text in unused.conditions)


# --- verdict per GPU ---


@pytest.mark.parametrize(
    ("code", "device", "kernels"),
    [
        ("sm_80", "sm_86", "native"),
        ("sm_70 sm_80", "sm_80", "native"),
        ("compute_70", "sm_90", "ptx"),
        ("sm_70 compute_80", "sm_86", "ptx"),
    ],
)
def test_verdicts(code: str, device: str, kernels: str) -> None:
    found = plan(["alpha"], [device], **{"builds.alpha": [build("1.0", "cuda11.8", kernels=code)]})
    assert [gpu.kernels for gpu in found.gpus] == [kernels]
    assert bool(found.gpus[0].why) == (kernels == "ptx")


def test_the_weakest_build_decides() -> None:
    rows = [build("1.0", "cuda11.8", kernels="compute_80")]
    assert plan(["alpha", "beta"], ["sm_80"], **{"builds.beta": rows}).gpus[0].kernels == "ptx"


def test_code_for_a_newer_kin_or_another_major_does_not_run() -> None:
    for code in ("sm_86", "sm_90", "sm_70"):
        rows = [build("1.0", "cuda11.8", kernels=code)]
        assert ask(["alpha"], ["sm_80"], **{"builds.alpha": rows}).status == "conflict"


def test_unknown_kernels_are_unknown_and_their_plan_is_shown() -> None:
    answer = ask(["alpha"], ["sm_80"], **{"builds.alpha": [build("1.0", "cuda11.8")]})
    assert answer.status == "unknown"
    assert answer.plan is not None
    assert answer.plan.gpus[0].kernels == "unknown"
    assert any("which kernels alpha 1.0 carries is not known" in text for text in answer.conditions)


def test_an_older_release_with_known_kernels_beats_a_newer_with_unknown_ones() -> None:
    rows = [build("2.0", "cuda11.8"), build("1.0", "cuda11.8", kernels="sm_80")]
    assert plan(["alpha"], ["sm_80"], **{"builds.alpha": rows}).builds[0].version == "1.0"


# --- images ---


def test_flavour_by_need() -> None:
    lean = plan(["alpha"], ["sm_80"])
    assert lean.base_image is not None
    assert lean.base_image.image == "nvidia/cuda:11.8.0-base-ubuntu22.04"
    rows = [build("1.0", "cuda11.8", kernels="sm_80", cuda_from="system", system="cuda11.8 cudnn8")]
    full = plan(["alpha"], ["sm_80"], **{"builds.alpha": rows})
    assert full.base_image is not None
    assert full.base_image.image == "nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04"
    assert full.system == ("cuda11.8", "cudnn8")


def test_a_plain_system_sets_what_nvidias_images_set() -> None:
    rows = [build("1.0", "cuda10.2", kernels="sm_80", cuda_from="wheel")]
    found = plan(["alpha"], ["sm_80"], **{"builds.alpha": rows})
    assert found.base_image is not None
    assert found.base_image.image == "ubuntu:22.04"
    assert found.env == {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "NVIDIA_VISIBLE_DEVICES": "all"}
    assert plan(["alpha"], ["sm_80"]).env is None


def test_an_image_that_refuses_the_driver_is_not_planned() -> None:
    rows = [build("1.0", "cuda11.8", kernels="sm_80", cuda_from="system", system="cuda11.8 cudnn8")]
    assert ask(["alpha"], ["sm_80"], driver="450.50", **{"builds.alpha": rows}).status == "conflict"
    assert ask(["alpha"], ["sm_80"], driver="460.10", **{"builds.alpha": rows}).status == "plan"


def test_a_tag_that_is_gone_is_not_planned_and_one_at_end_of_life_only_for_want_of_better() -> None:
    images = [
        {"repository": "ubuntu", "tag": "22.04", "runtime": "cpu", "os": "ubuntu22.04", "status": "gone"},
        {"repository": "ubuntu", "tag": "18.04", "runtime": "cpu", "os": "ubuntu18.04", "status": "eol"},
    ]
    found = plan(["alpha"], ["sm_80"], images=images)
    assert found.base_image is not None
    assert found.base_image.image == "ubuntu:18.04"


def test_a_tag_at_end_of_life_loses_to_one_that_is_rebuilt() -> None:
    images = [
        {"repository": "ubuntu", "tag": "22.04", "runtime": "cpu", "os": "ubuntu22.04", "status": "eol"},
        {"repository": "ubuntu", "tag": "18.04", "runtime": "cpu", "os": "ubuntu18.04"},
    ]
    found = plan(["alpha"], ["sm_80"], images=images)
    assert found.base_image is not None
    assert found.base_image.image == "ubuntu:18.04"


def test_the_python_of_the_distribution_before_a_standalone_one() -> None:
    assert plan(["alpha"], ["sm_80"]).python == "3.10"
    rows = [build("1.0", "cuda11.8", kernels="sm_80", python="3.9")]
    found = plan(["alpha"], ["sm_80"], **{"builds.alpha": rows})
    assert found.base_image is not None
    assert (found.python, found.base_image.python_from) == ("3.9", "uv")


# --- shared dependencies ---


def held(*, apart: bool = False, undeclared: str = "", **requires: list[str]) -> tuple[str, ...]:
    """What a plan of builds with these requirements holds; ``apart``: alpha comes from an index of its own."""
    own = {"index": "vendor", "variant": "cu118", "local": "cu118"} if apart else {}
    rows = {
        f"builds.{name}": [
            build(
                "1.0",
                "cuda11.8",
                kernels="sm_80",
                requires=lines,
                undeclared=undeclared,
                **own if name == "alpha" else {},
            )
        ]
        for name, lines in requires.items()
    }
    return plan(list(requires), ["sm_80"], **rows).constraints


def test_what_one_command_installs_is_held_by_its_own_metadata() -> None:
    assert held(alpha=["shared<3"]) == ()
    assert held(alpha=["shared>=1", "common>=2"], beta=["shared<3,>=2", "pinned==1.0"]) == ()


def test_what_an_earlier_command_installs_is_held_within_what_all_accept() -> None:
    assert held(apart=True, alpha=["shared>=1", "common>=2"], beta=["shared<3,>=2", "last<2"]) == ("shared>=2,<3",)
    assert held(apart=True, alpha=["shared<3", "pinned==1.0"], beta=["common>=2"]) == ("shared<3",)


def test_a_bound_that_no_wheel_declares_is_always_held() -> None:
    assert held(alpha=["shared<3", "common<2"], undeclared="shared") == ("shared<3",)


def test_three_builds_may_clash_where_no_two_do() -> None:
    """Gamma needs alpha, so that alpha stays when the wish for it goes: the core is the other two."""
    answer = ask(
        ["alpha", "beta", "gamma"],
        ["sm_80"],
        **{
            "builds.alpha": [build("1.0", "cuda11.8", kernels="sm_80", requires=["shared!=2"])],
            "builds.beta": [build("1.0", "cuda11.8", kernels="sm_80", requires=["shared>=2"])],
            "builds.gamma": [build("1.0", "cuda11.8", kernels="-", requires=["shared<=2", "alpha"])],
        },
    )
    assert answer.status == "conflict"
    assert [[member.text for member in one.members if member.kind == "wish"] for one in answer.conflicts] == [
        ["beta", "gamma"]
    ]


def test_a_marker_confines_a_dispute_to_some_pythons() -> None:
    found = plan(
        ["alpha", "beta"],
        ["sm_80"],
        **{
            "builds.alpha": [
                build("1.0", "cuda11.8", kernels="sm_80", requires=['shared<2; python_version >= "3.10"'])
            ],
            "builds.beta": [build("1.0", "cuda11.8", kernels="sm_80", requires=["shared>=2"])],
        },
    )
    assert found.python == "3.9"


# --- preference and choices ---


def variants() -> dict[str, Any]:
    return {
        "builds.alpha": [
            build("2.0", "cuda12.1", kernels="sm_80", how="inferred"),
            build("1.2.1", "cuda11.8", kernels="sm_80", cuda_from="wheel"),
            build("1.3.0", "cuda11.8", kernels="sm_80", cuda_from="system", system="cuda11.8 cudnn8"),
            build("1.4", "cuda12.1", kernels="compute_80"),
            build("1.1", "cuda10.2", kernels="sm_80"),
        ]
    }


@pytest.mark.parametrize(
    ("prefer", "driver", "version"),
    [
        ("proven", "530.20", "1.3.0"),  # native and documented before newest
        ("newest", "530.20", "2.0"),  # though only inferred; native still comes first
        ("smallest", "530.20", "1.2.1"),  # no CUDA libraries in the base image
        ("oldest-driver", "530.20", "1.1"),
        ("stable", "530.20", "1.2.1"),  # the release that had a bug-fix
        ("stable", "460.10", "1.1"),  # the driver was released for it
        ("proven", "460.10", "1.3.0"),
    ],
)
def test_preferences(prefer: str, driver: str, version: str) -> None:
    found = plan(["alpha"], ["sm_80"], prefer=prefer, driver=driver, **variants())
    assert found.builds[0].version == version


def test_ptx_only_where_nothing_runs_natively() -> None:
    found = plan(["alpha>=1.4"], ["sm_80"], driver="530.20", **variants())
    assert (found.builds[0].version, found.gpus[0].kernels) == ("2.0", "native")
    found = plan(["alpha==1.4"], ["sm_80"], driver="530.20", **variants())
    assert found.gpus[0].kernels == "ptx"


def test_where_one_build_needs_ptx_anyway_the_other_is_not_held_back_for_its_native_code() -> None:
    found = plan(
        ["alpha", "beta"],
        ["sm_80"],
        **{
            "builds.alpha": [
                build("1.0", "cuda11.8", kernels="sm_80"),
                build("2.0", "cuda11.8", kernels="compute_80"),
            ],
            "builds.beta": [build("1.0", "cuda11.8", kernels="compute_80")],
        },
    )
    assert [one.version for one in found.builds] == ["2.0", "1.0"]


def test_choices_name_what_lost_and_why() -> None:
    found = plan(["alpha"], ["sm_80"], driver="460.10", **variants())
    choice = next(one for one in found.choices if one.subject == "alpha")
    assert choice.chosen == "1.3.0 cuda11.8"
    assert any(text.startswith("2.0 cuda12.1: breaks NVIDIA driver 460.10") for text in choice.rejected)
    assert [one.subject for one in found.choices] == ["alpha", "base image", "python"]


def test_rows_known_by_inference_are_said_to_be() -> None:
    found = plan(["alpha==2.0"], ["sm_80"], **variants())
    assert any("alpha 2.0 is known by inference only" in text for text in found.conditions)


# --- several machines ---


def machines(*cards: tuple[str, str]) -> list[Any]:
    return [host("file", gpus=[Gpu(name=target, target=target)], driver=driver or None) for target, driver in cards]


def test_one_plan_for_all_machines_where_there_is_one() -> None:
    question = Question(tables(), ["alpha"])
    found = resolve_many(["alpha"], machines(("sm_70", "530.20"), ("sm_80", "460.10")), question.matrix())
    assert [group for group, _ in found] == [(0, 1)]
    assert [gpu.kernels for gpu in found[0][1].plan.gpus] == ["native", "native"]  # type: ignore[union-attr]


def test_as_few_plans_as_possible_and_a_conflict_alone() -> None:
    rows = [build("1.0", "cuda11.8", kernels="sm_70 sm_80"), build("2.0", "cuda12.1", kernels="sm_90 sm_80")]
    question = Question(tables(**{"builds.alpha": rows}), ["alpha"])
    hosts = machines(("sm_70", "530.20"), ("sm_90", "530.20"), ("sm_80", "530.20"), ("gfx900", ""))
    found = resolve_many(["alpha"], hosts, question.matrix())
    assert [group for group, _ in found] == [(0, 2), (1,), (3,)]
    assert [answer.status for _, answer in found] == ["plan", "plan", "conflict"]
